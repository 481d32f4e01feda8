//! The values, as they are now, and what of them is looked for in answers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use dormouse_core::{Error, Result};
use zeroize::Zeroizing;

use crate::operator::Operator;
use crate::secrets::named::is_unreserved;
use crate::secrets::placeholder::{Key, placeholder};
use crate::secrets::value::Value;
use crate::secrets::wash::Forms;
use crate::secrets::{Secret, Source};

/// When a value that could not be read again is asked for the next time.
const AGAIN: Duration = Duration::from_secs(30);
/// How long a request waits for a value that is read again.
const PATIENCE: Duration = Duration::from_secs(2);
/// Earlier values of a secret that are still looked for in answers.
const EARLIER: usize = 3;

/// Values as they are at one time.
pub(crate) struct Current {
    values: Vec<Value>,
    /// What is looked for in answers.
    pub(crate) forms: Arc<Forms>,
}

impl Current {
    /// The value of the secret with this number.
    pub(crate) fn value(&self, number: usize) -> &Value {
        &self.values[number]
    }
}

/// A value, those before it, and until when it counts.
#[derive(Clone)]
struct Held {
    values: Vec<Value>,
    until: Option<Instant>,
}

/// All secrets of an installation.
pub(crate) struct Vault {
    key: Key,
    secrets: Vec<Secret>,
    /// Who opens their files and runs their commands.
    operator: Arc<dyn Operator>,
    /// Whether values are not read: nothing leaves.
    is_closed: bool,
    held: Mutex<Vec<Held>>,
    /// Whose values are read again, one at a time.
    reading: Arc<tokio::sync::Mutex<()>>,
    current: RwLock<(Arc<Current>, Option<Instant>)>,
}

impl Vault {
    /// Reads all values.
    ///
    /// # Errors
    /// `args_invalid` with the secret's name and why its value cannot be had.
    pub(crate) async fn load(secrets: Vec<Secret>, key: Key, operator: Arc<dyn Operator>) -> Result<Self> {
        let mut held = Vec::new();
        for secret in &secrets {
            held.push(read(secret, &*operator).await?);
        }
        Ok(Self::of(key, operator, (secrets, held), false))
    }

    /// Reads none: something else stands in the place of each.
    ///
    /// # Errors
    /// `internal`: what stands there is none.
    pub(crate) fn closed(secrets: Vec<Secret>, key: Key, operator: Arc<dyn Operator>) -> Result<Self> {
        let none = |told: String| Error::internal("a placeholder is no value", std::io::Error::other(told));
        let mut held = Vec::new();
        for secret in &secrets {
            let value = Value::new(placeholder(&key, "", secret).into_bytes()).map_err(none)?;
            held.push(Held { values: vec![value], until: None });
        }
        Ok(Self::of(key, operator, (secrets, held), true))
    }

    /// Others in their place, read now. Earlier values of those that have the same name are still looked for in answers. What comes
    /// from where it came from before, and cannot be read now, keeps its value, so that rules can be taken back while a source fails;
    /// a command is not run for it.
    ///
    /// # Errors
    /// As [`Vault::load`].
    pub(crate) async fn renewed(&self, secrets: Vec<Secret>) -> Result<Self> {
        if self.is_closed {
            return Self::closed(secrets, self.key.clone(), self.operator.clone());
        }
        let before = self.lock().clone();
        let mut held = Vec::new();
        for secret in &secrets {
            let own = self.secrets.iter().zip(&before).find(|(other, _)| other.name == secret.name);
            let kept = own.filter(|(other, _)| other.source == secret.source).map(|(_, kept)| kept);
            let mut new = match (&secret.source, kept) {
                // It may take its time, and is asked when its value is needed and over.
                (Source::Command { .. }, Some(kept)) => kept.clone(),
                (source, kept) => match (read(secret, &*self.operator).await, kept) {
                    (Err(error), Some(kept)) => {
                        tracing::warn!(%error, "a secret cannot be read again and keeps the value that it had");
                        let is_once = matches!(source, Source::Keyring { ttl: None, .. });
                        let until = (!is_once).then(|| Instant::now() + AGAIN);
                        Held { values: kept.values.clone(), until }
                    }
                    (read, _) => read?,
                },
            };
            for earlier in own.map_or(&[][..], |(_, own)| &own.values) {
                if !new.values.contains(earlier) {
                    new.values.push(earlier.clone());
                }
            }
            new.values.truncate(1 + EARLIER);
            held.push(new);
        }
        Ok(Self::of(self.key.clone(), self.operator.clone(), (secrets, held), false))
    }

    fn of(
        key: Key,
        operator: Arc<dyn Operator>,
        (secrets, held): (Vec<Secret>, Vec<Held>),
        is_closed: bool,
    ) -> Self {
        let current = RwLock::new((Arc::new(current(&held)), next(&held)));
        let reading = Arc::default();
        Self { key, secrets, operator, is_closed, held: Mutex::new(held), reading, current }
    }

    /// What the operator said of them.
    pub(crate) fn secrets(&self) -> &[Secret] {
        &self.secrets
    }

    /// The placeholder of each secret for an owner, in their order.
    pub(crate) fn placeholders(&self, owner: &str) -> Vec<String> {
        self.secrets.iter().map(|secret| placeholder(&self.key, owner, secret)).collect()
    }

    /// The values as they were last.
    pub(crate) fn now(&self) -> Arc<Current> {
        self.read().0
    }

    fn read(&self) -> (Arc<Current>, Option<Instant>) {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The values. Those whose time is over are read again; where that fails the earlier one goes on to count, and is asked for again
    /// half a minute later. One request waits for it, for at most [`PATIENCE`]; the others, and what comes until it is there, have the
    /// earlier one.
    pub(crate) async fn current(self: &Arc<Self>) -> Arc<Current> {
        let (now, until) = self.read();
        if !is_over(until) {
            return now;
        }
        let Ok(alone) = self.reading.clone().try_lock_owned() else { return now };
        let vault = self.clone();
        let reading = tokio::spawn(async move {
            vault.read_again().await;
            drop(alone);
        });
        let _ = tokio::time::timeout(PATIENCE, reading).await;
        self.now()
    }

    /// Reads those whose time is over.
    async fn read_again(&self) {
        let due: Vec<usize> = {
            let held = self.lock();
            (0..held.len()).filter(|number| is_over(held[*number].until)).collect()
        };
        let read = due.into_iter().map(|number| async move {
            let secret = &self.secrets[number];
            let told = secret.source.read(&*self.operator).await;
            let mut all = self.lock();
            let held = &mut all[number];
            let ttl = match told {
                Ok(value) => {
                    held.values.retain(|earlier| *earlier != value);
                    held.values.insert(0, value);
                    held.values.truncate(1 + EARLIER);
                    secret.source.ttl().unwrap_or(AGAIN)
                }
                Err(told) => {
                    tracing::warn!(secret = secret.name, "a secret cannot be read again: {told}");
                    AGAIN
                }
            };
            held.until = Some(Instant::now() + ttl);
            let new = (Arc::new(current(&all)), next(&all));
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        });
        futures::future::join_all(read).await;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| until <= Instant::now())
}

/// Reads the value of a secret.
async fn read(secret: &Secret, operator: &dyn Operator) -> Result<Held> {
    let value = secret.source.read(operator).await.map_err(|told| {
        Error::args_invalid(format!("secret.{}: {told}", secret.name))
            .with_hint("a secret is read when the server starts; its value has 8 to 8192 bytes")
    })?;
    let until = secret.source.ttl().map(|ttl| Instant::now() + ttl);
    Ok(Held { values: vec![value], until })
}

fn current(held: &[Held]) -> Current {
    let all: Vec<_> = held.iter().flat_map(|held| held.values.iter().flat_map(forms)).collect();
    let values = held.iter().map(|held| held.values[0].clone()).collect();
    Current { values, forms: Arc::new(Forms::new(&all)) }
}

/// Finds texts, such as placeholders, in the forms in which values are looked for.
pub(crate) fn forms_of(texts: &[String]) -> Forms {
    let values = texts.iter().filter_map(|text| Value::new(text.clone().into_bytes()).ok());
    Forms::new(&values.flat_map(|value| forms(&value)).collect::<Vec<_>>())
}

/// When the first of them has to be read again.
fn next(held: &[Held]) -> Option<Instant> {
    held.iter().filter_map(|held| held.until).min()
}

/// The forms in which a value is looked for: itself, in lower case (as in names of headers), base64 wherever in a text it begins, percent
/// escapes as browsers, Python, forms and the gate write them, as JSON escapes it by the libraries of several languages, and as HTML does.
/// Escapes are undone in a text besides; those that are listed here find values whose own parts look like escapes.
fn forms(value: &Value) -> Vec<Zeroizing<Vec<u8>>> {
    let bytes = value.bytes();
    let mut all = vec![Zeroizing::new(bytes.to_vec()), Zeroizing::new(bytes.to_ascii_lowercase())];
    for before in 0..3_usize {
        let mut text = Zeroizing::new(vec![0; before]);
        text.extend_from_slice(bytes);
        // Letters that are made of the value's bits alone.
        let (from, to) = ((before * 8).div_ceil(6), text.len() * 8 / 6);
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let whole = Zeroizing::new(engine.encode(&*text).into_bytes());
            all.push(Zeroizing::new(whole[from..to].to_vec()));
        }
    }
    for kept in ["", "!'()*", "/", "*", ":@!$&'()*+,;=/"] {
        for hex in [b"0123456789ABCDEF", b"0123456789abcdef"] {
            all.push(percent(bytes, kept.as_bytes(), hex, false));
            all.push(percent(bytes, kept.as_bytes(), hex, true));
        }
    }
    for slashes in [false, true] {
        let mut text = Zeroizing::new(Vec::new());
        for byte in bytes {
            if b"\"\\".contains(byte) || slashes && *byte == b'/' {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        all.push(text);
    }
    for escapes in ESCAPES {
        let mut text = Zeroizing::new(Vec::new());
        for byte in bytes {
            match escapes.iter().find(|(plain, _)| plain == byte) {
                Some((_, escape)) => text.extend_from_slice(escape.as_bytes()),
                None => text.push(*byte),
            }
        }
        all.push(text);
    }
    all.sort_by(|one, other| one.as_slice().cmp(other));
    all.dedup();
    all
}

/// Escapes of single characters: JSON as Go writes it, as PHP does if it is asked to, HTML as most do, and with numbers.
const ESCAPES: [&[(u8, &str)]; 5] = [
    &[(b'&', r"\u0026"), (b'<', r"\u003c"), (b'>', r"\u003e"), (b'"', r#"\""#), (b'\\', r"\\")],
    &[
        (b'&', r"\u0026"),
        (b'<', r"\u003C"),
        (b'>', r"\u003E"),
        (b'\'', r"\u0027"),
        (b'"', r"\u0022"),
        (b'\\', r"\\"),
        (b'/', r"\/"),
    ],
    &[(b'&', "&amp;"), (b'<', "&lt;"), (b'>', "&gt;"), (b'"', "&quot;"), (b'\'', "&#39;")],
    &[(b'&', "&amp;"), (b'<', "&lt;"), (b'>', "&gt;"), (b'"', "&quot;"), (b'\'', "&#x27;")],
    &[(b'&', "&amp;"), (b'<', "&lt;"), (b'>', "&gt;"), (b'"', "&#34;"), (b'\'', "&#39;")],
];

/// Percent escapes of all but letters, digits, `-._~` and what is `kept`.
fn percent(bytes: &[u8], kept: &[u8], hex: &[u8; 16], plus: bool) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(Vec::with_capacity(bytes.len() * 3));
    for byte in bytes {
        match byte {
            b' ' if plus => text.push(b'+'),
            byte if is_unreserved(*byte) || kept.contains(byte) => text.push(*byte),
            byte => text.extend_from_slice(&[b'%', hex[usize::from(byte >> 4)], hex[usize::from(byte & 15)]]),
        }
    }
    text
}

/// A value as it stands in a query.
pub(crate) fn in_query(value: &Value) -> Zeroizing<Vec<u8>> {
    percent(value.bytes(), b"", b"0123456789ABCDEF", false)
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::operator::Own;
    use crate::secrets::Washer;

    #[test]
    fn net_14_a_value_is_found_in_base64_wherever_it_begins_and_in_escapes() {
        let text = "p@ss w/rd+\"3\\4";
        let value = Value::new(text.into()).unwrap();
        let found = Arc::new(Forms::new(&forms(&value)));
        for before in ["", "u:", "user:", "someone:", "x"] {
            for after in ["", "!", "!!"] {
                let whole = format!("{before}{text}{after}");
                let encoded = STANDARD.encode(&whole);
                assert!(found.are_in(encoded.as_bytes()), "{whole}");
                assert!(found.are_in(URL_SAFE_NO_PAD.encode(&whole).as_bytes()), "{whole}");
                let mut washer = Washer::new(found.clone());
                let mut washed = washer.push(encoded.as_bytes());
                washed.extend(washer.end());
                assert_eq!(washed.len(), encoded.len());
                let stars = washed.iter().filter(|byte| **byte == b'*').count();
                assert!(stars >= text.len() * 4 / 3 - 2, "{}", String::from_utf8_lossy(&washed));
            }
        }
        for form in [
            "p%40ss%20w%2Frd%2B%223%5C4",
            "p%40ss%20w%2frd%2b%223%5c4",
            "p%40ss+w%2Frd%2B%223%5C4",
            "p%40ss%20w/rd%2B%223%5C4",
            "p@ss w/rd+\\\"3\\\\4",
            "p@ss w\\/rd+\\\"3\\\\4",
        ] {
            assert!(found.are_in(form.as_bytes()), "{form}");
        }
        let json = serde_json::to_string(text).unwrap();
        assert!(found.are_in(json.as_bytes()) && !found.are_in(b"p@ss w/rd"));
        let value = Value::new(r#"a&b<c>d'e/f"g"#.into()).unwrap();
        let found = Forms::new(&forms(&value));
        for form in [
            r#"a\u0026b\u003cc\u003ed'e/f\"g"#,
            r"a\u0026b\u003Cc\u003Ed\u0027e\/f\u0022g",
            "a&amp;b&lt;c&gt;d&#39;e/f&quot;g",
            "a&amp;b&lt;c&gt;d&#x27;e/f&quot;g",
            "a&amp;b&lt;c&gt;d&#39;e/f&#34;g",
        ] {
            assert!(found.are_in(form.as_bytes()), "{form}");
        }
        // Parts of it look like escapes themselves.
        let value = Value::new(r#"50%41"\u0041&amp;x"#.into()).unwrap();
        let found = Forms::new(&forms(&value));
        for form in [
            r#"50%41"\u0041&amp;x"#,
            r#"50%41\"\\u0041&amp;x"#,
            "50%2541%22%5Cu0041%26amp%3Bx",
            r#"50%41&quot;\u0041&amp;amp;x"#,
        ] {
            assert!(found.are_in(form.as_bytes()), "{form}");
        }
    }

    #[tokio::test]
    async fn a_key_that_is_gone_keeps_its_value_while_its_settings_are_the_same() {
        let name = format!("dormouse-test/vault-{}", std::process::id());
        let Some(put) = crate::secrets::keyring::put(&name, b"a-value-of-a-key") else { return };
        let secret = |ttl| {
            let source = Source::Keyring { name: name.clone(), ttl };
            Secret::new("KEY", source, &["a.test".into()], None, None).unwrap()
        };
        let vault = Vault::load(vec![secret(None)], Zeroizing::new([0; 32]), Own::shared()).await.unwrap();
        drop(put);
        let renewed = vault.renewed(vec![secret(None)]).await.unwrap();
        assert_eq!(renewed.now().value(0).bytes(), b"a-value-of-a-key");
        assert!(renewed.renewed(vec![secret(Some(Duration::ZERO))]).await.is_err());
    }

    #[tokio::test]
    async fn a_value_is_read_again_when_its_time_is_over_and_earlier_ones_are_still_washed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let write = |text: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        write("first-value");
        let source = Source::File { path: path.clone(), ttl: Some(Duration::ZERO) };
        let secret = Secret::new("KEY", source, &["a.test".into()], None, None).unwrap();
        let vault = Arc::new(Vault::load(vec![secret], Key::new([1; 32]), Own::shared()).await.unwrap());
        assert_eq!(vault.current().await.value(0).bytes(), b"first-value");
        write("second-value");
        let current = vault.current().await;
        assert_eq!(current.value(0).bytes(), b"second-value");
        assert!(current.forms.are_in(b"first-value") && current.forms.are_in(b"second-value"));
        // It cannot be read: the earlier one counts.
        std::fs::remove_file(&path).unwrap();
        assert_eq!(vault.current().await.value(0).bytes(), b"second-value");
    }

    #[tokio::test]
    async fn net_31_a_secret_that_cannot_be_had_is_an_error_by_name_without_its_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, "tiny").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        for source in [Source::Env("DORMOUSE_NO_SUCH_VARIABLE".into()), Source::File { path, ttl: None }] {
            let secret = Secret::new("KEY", source, &["a.test".into()], None, None).unwrap();
            let error = Vault::load(vec![secret], Key::new([1; 32]), Own::shared()).await.err().unwrap();
            assert!(error.message().starts_with("secret.KEY: ") && !error.message().contains("tiny"));
        }
    }

    #[tokio::test]
    async fn net_37_a_source_that_hangs_or_is_gone_holds_up_neither_requests_nor_settings() {
        let folder = tempfile::tempdir().unwrap();
        let (mark, path) = (folder.path().join("mark"), folder.path().join("key"));
        let write = |path: &std::path::Path| {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(path, "value-of-a-file").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
        };
        write(&path);
        let script =
            format!("test -e '{0}' && exec sleep 100; touch '{0}'; echo value-of-a-command", mark.display());
        let arguments = ["sh", "-c", &script].map(str::to_owned).to_vec();
        let hosts = ["a.test".to_owned()];
        let new = |name: &str, source| Secret::new(name, source, &hosts, None, None).unwrap();
        let command = new("COMMAND", Source::Command { arguments, ttl: Duration::from_millis(1) });
        let file = new("FILE", Source::File { path: path.clone(), ttl: None });
        let secrets = vec![command, file];
        let vault = Arc::new(Vault::load(secrets.clone(), Key::new([1; 32]), Own::shared()).await.unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
        let begun = Instant::now();
        for _ in 0..3 {
            assert_eq!(vault.current().await.value(0).bytes(), b"value-of-a-command");
        }
        // One of them has waited for a moment.
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        std::fs::remove_file(&path).unwrap();
        let begun = Instant::now();
        let renewed = Arc::new(vault.renewed(secrets.clone()).await.unwrap());
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        assert_eq!(renewed.now().value(1).bytes(), b"value-of-a-file");
        // Another source that has no value is an error, as at the start.
        let other = new("FILE", Source::File { path: folder.path().join("other"), ttl: None });
        assert!(vault.renewed(vec![secrets[0].clone(), other]).await.is_err());
    }
}
