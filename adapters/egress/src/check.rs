//! What the rules say of a request, without sending it: for operators who write them.

use dormouse_core::{Error, Result};
use hyper::Uri;
use serde::Serialize;

use crate::file::Settings;
use crate::message::Target;
use crate::policy::{Asked, Protocol};
use crate::reason::Reason;

/// What the rules say of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it may leave. Its host's addresses are checked when it does.
    pub allowed: bool,
    /// The rule that allows it, or the one that came nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What was lacking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// A sentence about what was lacking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Names of the secrets that may go with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Names of the headers that the rule sets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<String>,
}

impl Settings {
    /// What a profile says of a request; with `wss` or `ws`, of one that becomes a WebSocket. Looks nothing up, and sends nothing.
    ///
    /// # Errors
    /// `args_invalid` for what is no method or no address of these; `network_denied` for a profile that there is not.
    pub fn check(&self, profile: &str, method: &str, url: &str) -> Result<Verdict> {
        let shown: String = url.escape_debug().take(200).collect();
        let wrong = |told: &str| {
            Error::args_invalid(format!("`{shown}`: {told}"))
                .with_hint("write an address such as `https://api.example.com/v1/items`")
        };
        if method.bytes().any(|byte| byte.is_ascii_lowercase()) {
            let shown: String = method.escape_debug().take(80).collect();
            return Err(Error::args_invalid(format!("`{shown}` is no method: they are in upper case"))
                .with_hint(format!("write `{}`", shown.to_ascii_uppercase())));
        }
        let profile = self.profile(profile)?;
        let (url, websocket) = match url.split_once("://") {
            Some(("wss", rest)) => (format!("https://{rest}"), true),
            Some(("ws", rest)) => (format!("http://{rest}"), true),
            _ => (url.to_owned(), false),
        };
        let uri: Uri = url.parse().map_err(|_| wrong("this is no address"))?;
        let Target { protocol, host, port } = Target::of(&uri).map_err(|refusal| wrong(&refusal.message))?;
        let path = if uri.path().is_empty() { "/" } else { uri.path() };
        let asked = Asked { protocol, host: &host, port, method, path, websocket };
        Ok(match profile.decide(&asked) {
            Ok(rule) => {
                let secrets =
                    self.secrets.iter().filter(|secret| protocol == Protocol::Https && secret.is_for(&host));
                Verdict {
                    allowed: true,
                    rule: Some(rule.id.clone()),
                    reason: None,
                    message: None,
                    secrets: secrets.map(|secret| secret.name.clone()).collect(),
                    sets: rule.set.iter().map(|set| set.name.to_string()).collect(),
                }
            }
            Err(refusal) => Verdict {
                allowed: false,
                rule: refusal.rule,
                reason: Some(refusal.reason),
                message: Some(refusal.message),
                secrets: Vec::new(),
                sets: Vec::new(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file;

    #[test]
    fn a_verdict_names_the_rule_or_what_was_lacking() {
        let text = "[[profile.default.allow]]\nhost = \"a.test\"\nmethods = [\"GET\"]\nset = { x-key = \"{KEY}\" }\n\
                    [secret.KEY]\nenv = \"KEY\"\nhosts = [\"a.test\"]\n";
        let settings = file::parse(text, Path::new("net.toml")).unwrap();
        let check = |method: &str, url: &str| settings.check("default", method, url);
        let allowed = check("GET", "https://A.test?q").unwrap();
        assert!(allowed.allowed);
        assert_eq!((allowed.secrets, allowed.sets), (vec!["KEY".to_owned()], vec!["x-key".to_owned()]));
        let denied = check("POST", "https://a.test/").unwrap();
        assert_eq!((denied.allowed, denied.reason), (false, Some(Reason::Method)));
        assert_eq!(denied.rule.as_deref(), Some("profile.default.allow[0]"));
        assert_eq!(check("GET", "http://a.test/").unwrap().reason, Some(Reason::Port));
        assert_eq!(check("GET", "wss://a.test/").unwrap().reason, Some(Reason::Upgrade));
        assert_eq!(check("GET", "https://b.test/").unwrap().reason, Some(Reason::Host));
        let told = |url: &str| match check("GET", url) {
            Ok(verdict) => verdict.message.unwrap(),
            Err(error) => error.message().to_owned(),
        };
        for (url, wanted) in [
            (
                "http://a.test/",
                "no rule allows http to `a.test` at port 80; the nearest is of https at port 443",
            ),
            ("https://a.test:99999/", "the URL's port is none from 1 to 65535"),
            ("https://a.test:0/", "the URL's port is none from 1 to 65535"),
            ("https://user:word@a.test/", "the URL names a user"),
            ("https://127.1/", "the URL's host is no name"),
        ] {
            assert!(told(url).contains(wanted), "{url}: {}", told(url));
        }
        for bad in ["a.test", "ftp://a.test/", "https://127.1/", "https://u@a.test/", ""] {
            assert_eq!(check("GET", bad).unwrap_err().code().as_str(), "args_invalid", "{bad}");
        }
        assert_eq!(check("get", "https://a.test/").unwrap_err().hint(), Some("write `GET`"));
        assert_eq!(
            settings.check("none", "GET", "https://a.test/").unwrap_err().code().as_str(),
            "network_denied"
        );
    }
}
