//! Values in the kernel's keyrings: keys of the type `user`, as `keyctl padd user NAME @u` makes them.
//!
//! No daemon and no library of the system's has a part in it. What is looked for is looked for in the keyring of the session, in the
//! user's, and in the one that outlives the user's sessions, in this order.

use std::fmt::Write as _;

use linux_keyutils::{Key, KeyError, KeyRing, KeyRingIdentifier};
use zeroize::Zeroizing;

use crate::secrets::value::{MAX_VALUE, Value};

/// Longest name of a key, in bytes: what the kernel takes, without the NUL at its end.
pub(crate) const MAX_NAME: usize = 4_095;

/// ENOSYS, for which the library has no word.
const NO_SUCH_CALL: i32 = 38;

/// Whether a key can have this name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && !name.contains('\0')
}

/// The value of a key.
///
/// # Errors
/// Why it cannot be had, and what makes it so that it can.
pub(crate) fn read(name: &str) -> Result<Value, String> {
    let own = Own::open().map_err(|error| told(name, error))?;
    let key = own.find(name).map_err(|error| told(name, error))?;
    let mut bytes = Zeroizing::new(vec![0; MAX_VALUE + 2]);
    let length = key.read(&mut *bytes).map_err(|error| told(name, error))?;
    if length > bytes.len() {
        // Newer kernels copy nothing of it then.
        return Err(format!("the value is longer than {MAX_VALUE} bytes"));
    }
    bytes.truncate(length);
    Value::new(std::mem::take(&mut *bytes))
}

/// This thread's keyring, with links to those that lie outside of the session: a key can be read by whoever comes to it through a
/// keyring of its own. It is empty again when it is dropped.
struct Own(KeyRing);

impl Own {
    fn open() -> Result<Self, KeyError> {
        let own = Self(KeyRing::from_special_id(KeyRingIdentifier::Thread, true)?);
        // Where there is none, the session's may have the key all the same.
        let _ = own.0.link_keyring_id(KeyRingIdentifier::User);
        let _ = KeyRing::get_persistent(KeyRingIdentifier::Thread);
        Ok(own)
    }

    fn find(&self, name: &str) -> Result<Key, KeyError> {
        let of_session = KeyRing::from_special_id(KeyRingIdentifier::Session, false);
        match of_session.and_then(|ring| ring.search(name)) {
            Ok(key) => Ok(key),
            Err(of_session) => self.0.search(name).map_err(|error| match error {
                KeyError::KeyDoesNotExist => of_session,
                error => error,
            }),
        }
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.0.clear();
    }
}

/// Why a key cannot be read, and what helps.
fn told(name: &str, error: KeyError) -> String {
    let shown: String = name.escape_debug().take(80).collect();
    let mut text = match error {
        KeyError::KeyDoesNotExist | KeyError::KeyringDoesNotExist => {
            format!(
                "no keyring has a key `{shown}`; `keyctl padd user {shown} @u` puts what it reads into one"
            )
        }
        KeyError::KeyExpired | KeyError::KeyRevoked | KeyError::KeyRejected => {
            format!("the key `{shown}` counts no more")
        }
        KeyError::AccessDenied | KeyError::PermissionDenied => format!(
            "the key `{shown}` may not be read; it has to be the user's own, and containers often refuse keyrings altogether"
        ),
        KeyError::OperationNotSupported | KeyError::Unknown(NO_SUCH_CALL) => {
            format!("the key `{shown}` cannot be read: this kernel has no keyrings")
        }
        _ => format!("the key `{shown}` cannot be read"),
    };
    let _ = write!(text, " ({error})");
    text
}

/// A key of the session that is gone with what is returned. None: this machine lets nobody have keys, which is said.
#[cfg(test)]
pub(crate) fn put(name: &str, value: &[u8]) -> Option<impl Sized + use<>> {
    tests::Put::new(KeyRingIdentifier::Session, name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that is gone with the test.
    pub(super) struct Put(KeyRing, Key);

    impl Put {
        /// None: this machine lets nobody have keys, which is said.
        pub(super) fn new(ring: KeyRingIdentifier, name: &str, value: &[u8]) -> Option<Self> {
            let put =
                KeyRing::from_special_id(ring, true).and_then(|ring| Ok((ring, ring.add_key(name, value)?)));
            match put {
                Ok((ring, key)) => Some(Self(ring, key)),
                Err(error) => {
                    eprintln!("skipped: this machine has no keyrings ({error})");
                    None
                }
            }
        }
    }

    impl Drop for Put {
        fn drop(&mut self) {
            let _ = self.0.unlink_key(self.1);
        }
    }

    fn name(test: &str) -> String {
        format!("dormouse-test/{test}-{}", std::process::id())
    }

    #[test]
    fn a_key_of_the_session_and_one_of_the_user_can_be_read() {
        for (ring, test) in [(KeyRingIdentifier::Session, "session"), (KeyRingIdentifier::User, "user")] {
            let name = name(test);
            let Some(_put) = Put::new(ring, &name, b"told-by-a-keyring\n") else { return };
            assert_eq!(read(&name).expect(test).bytes(), b"told-by-a-keyring", "{test}");
        }
    }

    #[test]
    fn net_31_a_key_that_is_no_value_or_not_there_is_an_error_without_the_value() {
        let name = name("bounds");
        let Some(_put) = Put::new(KeyRingIdentifier::Session, &name, b"short") else { return };
        assert!(read(&name).unwrap_err().contains("shorter"));
        for (length, is_good) in [(MAX_VALUE, true), (MAX_VALUE + 1, false), (30_000, false)] {
            let _put = Put::new(KeyRingIdentifier::Session, &name, &vec![b'a'; length]);
            let read = read(&name);
            assert_eq!(read.is_ok(), is_good, "{length}");
            assert!(read.err().is_none_or(|told| told.contains("longer") && !told.contains("aaaa")));
        }
        let told = read("dormouse-test/none").unwrap_err();
        assert!(told.contains("`dormouse-test/none`") && told.contains("keyctl padd"), "{told}");
    }

    #[test]
    fn net_31_a_key_that_was_revoked_counts_no_more() {
        let name = name("revoked");
        let Some(put) = Put::new(KeyRingIdentifier::Session, &name, b"a-value-of-length") else { return };
        put.1.revoke().unwrap();
        assert!(read(&name).is_err());
    }

    #[test]
    fn names_of_keys_have_bounds() {
        assert!(is_name("git/ann") && is_name(&"a".repeat(MAX_NAME)));
        assert!(!is_name("") && !is_name("a\0b") && !is_name(&"a".repeat(MAX_NAME + 1)));
    }
}
