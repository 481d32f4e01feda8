//! What a sandbox has in place of a secret: 128 bits that nobody can guess, in the shape that a client library checks.

use std::fmt::Write as _;

use zeroize::Zeroizing;

use crate::secrets::Secret;

/// The key of an installation, from which placeholders are made.
pub(crate) type Key = Zeroizing<[u8; 32]>;

/// The placeholder of a secret for an owner: the same as long as the installation's key is, another for each owner.
pub(crate) fn placeholder(key: &Key, owner: &str, secret: &Secret) -> String {
    let mut hash = blake3::Hasher::new_keyed(key);
    for part in ["egress placeholder", owner, &secret.name] {
        hash.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }
    let digits = hash.finalize().as_bytes()[..16].iter().fold(String::new(), |mut all, byte| {
        let _ = write!(all, "{byte:02x}");
        all
    });
    secret.shape.replace("{}", &digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::Source;

    #[test]
    fn net_20_a_placeholder_is_one_owners_and_one_installations() {
        let named = |name| {
            Secret::new(name, Source::Env("X".into()), &["a.test".into()], None, Some("sk-{}")).unwrap()
        };
        let key = |byte| Key::new([byte; 32]);
        let one = placeholder(&key(1), "ann", &named("KEY"));
        assert!(one.starts_with("sk-") && one.len() == 35, "{one}");
        assert_eq!(one, placeholder(&key(1), "ann", &named("KEY")));
        for other in [
            placeholder(&key(1), "bob", &named("KEY")),
            placeholder(&key(2), "ann", &named("KEY")),
            placeholder(&key(1), "ann", &named("KEY2")),
            placeholder(&key(1), "annK", &named("EY")),
        ] {
            assert_ne!(one, other);
        }
    }
}
