//! Where placeholders become values, and where nothing is sent.

use std::sync::Arc;

use super::*;
use crate::operator::Own;
use crate::secrets::placeholder::Key;
use crate::secrets::{Source, Vault};

const VALUE: &str = "the-real-value/1";

struct Case {
    vault: Arc<Vault>,
    placeholders: Vec<String>,
    host: Host,
    secure: bool,
    granted: bool,
}

impl Case {
    async fn new(places: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, VALUE).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
        let places = (!places.is_empty()).then_some(places);
        let source = Source::File { path, ttl: None };
        let secret =
            Secret::new("KEY", source, &["api.test".into()], places.as_deref(), Some("sk-{}")).unwrap();
        let vault = Vault::load(vec![secret], Key::new([7; 32]), Own::shared()).await.unwrap();
        let placeholders = vault.placeholders("ann");
        Self {
            vault: Arc::new(vault),
            placeholders,
            host: Host::parse("api.test").unwrap(),
            secure: true,
            granted: true,
        }
    }

    /// The headers and the query as they leave; `@` stands for the placeholder.
    async fn fill(
        &self,
        headers: &[(&str, &str)],
        path: &str,
        query: &str,
    ) -> Result<(Vec<String>, String), String> {
        let real = |text: &str| text.replace('@', &self.placeholders[0]);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let value = match value.strip_prefix("Basic ") {
                Some(plain) => format!("Basic {}", STANDARD.encode(real(plain))),
                None => real(value),
            };
            map.append(HeaderName::from_bytes(real(name).as_bytes()).unwrap(), value.parse().unwrap());
        }
        let filling = Filling {
            secrets: self.vault.secrets(),
            placeholders: &self.placeholders,
            granted: &[self.granted],
            current: self.vault.current().await,
            host: &self.host,
            secure: self.secure,
        };
        let mut query = Some(Zeroizing::new(real(query)));
        let (path, mut headers) = (real(path), map);
        let mut parts = Parts { headers: &mut headers, path: &path, query: &mut query };
        match filling.fill(&mut parts) {
            Ok(_) => {
                let shown =
                    headers.values().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
                // A value is never in what is shown.
                assert!(!format!("{headers:?}").contains(VALUE));
                Ok((shown.collect(), query.unwrap().to_string()))
            }
            Err(refusal) => {
                assert_eq!(refusal.reason, Reason::Secret);
                Err(refusal.message)
            }
        }
    }
}

#[tokio::test]
async fn a_placeholder_becomes_the_value_in_its_places() {
    let case = Case::new(&[]).await;
    let (headers, _) =
        case.fill(&[("authorization", "Bearer @"), ("x-api-key", "@")], "/", "").await.unwrap();
    assert_eq!(headers, [format!("Bearer {VALUE}"), VALUE.to_owned()]);
    let (headers, _) = case.fill(&[("authorization", "Basic user:@")], "/", "").await.unwrap();
    assert_eq!(headers, [format!("Basic {}", STANDARD.encode(format!("user:{VALUE}")))]);
    let case = Case::new(&["query:key"]).await;
    let (_, query) = case.fill(&[], "/", "a=1&key=@&b=2").await.unwrap();
    assert_eq!(query, "a=1&key=the-real-value%2F1&b=2");
    // Nothing of the kind: as it was.
    let (headers, query) = case.fill(&[("x", "y")], "/", "q=1").await.unwrap();
    assert_eq!((headers, query), (vec!["y".to_owned()], "q=1".to_owned()));
}

#[tokio::test]
async fn net_13_a_placeholder_anywhere_else_stops_the_request() {
    let mut case = Case::new(&["header:authorization", "basic", "query:key"]).await;
    for (headers, path, query) in [
        (&[("user-agent", "@")][..], "/", ""),
        (&[("x-api-key", "@")], "/", ""),
        (&[("cookie", "a=@")], "/", ""),
        (&[("x-@", "1")], "/", ""),
        (&[("x-override", "Basic @")], "/", "@"),
        (&[], "/@", ""),
        (&[], "/", "q=@"),
        (&[], "/", "@=1"),
        (&[], "/", "@"),
        (&[], "/", "key=@&q=@"),
        (&[("authorization", "Bearer @"), ("origin", "@")], "/", ""),
    ] {
        let told = case.fill(headers, path, query).await;
        assert!(told.is_err(), "{headers:?} {path} {query}: {told:?}");
        assert!(!told.unwrap_err().contains(VALUE));
    }
    let good = [("authorization", "Bearer @")];
    assert!(case.fill(&good, "/", "key=@").await.is_ok());
    case.secure = false;
    assert!(case.fill(&good, "/", "").await.unwrap_err().contains("https only"));
    case.secure = true;
    case.host = Host::parse("other.test").unwrap();
    assert!(case.fill(&good, "/", "").await.unwrap_err().contains("not for the host `other.test`"));
    assert!(case.fill(&[("authorization", "Basic @:")], "/", "").await.is_err());
    case.host = Host::parse("api.test").unwrap();
    case.granted = false;
    assert!(case.fill(&good, "/", "").await.unwrap_err().contains("not this sandbox's"));
}

#[tokio::test]
async fn net_18_what_only_looks_like_a_placeholder_is_data() {
    let case = Case::new(&[]).await;
    let made_up = "sk-00112233445566778899aabbccddeeff";
    let (headers, query) =
        case.fill(&[("authorization", made_up), ("x", made_up)], "/x", made_up).await.unwrap();
    assert_eq!((headers, query), (vec![made_up.to_owned(), made_up.to_owned()], made_up.to_owned()));
    // Another owner's is no better.
    let others = case.vault.placeholders("bob").remove(0);
    let (headers, _) = case.fill(&[("authorization", &others)], "/", "").await.unwrap();
    assert_eq!(headers, [others]);
}
