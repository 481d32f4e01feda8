//! The short forms of the command line: `--allow-net HOST[:PORT]` and `--secret NAME=env:VAR@HOST[,HOST]`.

use dormouse_core::{Error, Result};

use crate::file::Settings;
use crate::host::HostPattern;
use crate::policy::{Rule, WantedRule, rule};
use crate::secrets::{Secret, Source, is_key};

/// What short forms name besides a file.
#[derive(Clone, Debug, Default)]
pub struct Short {
    rules: Vec<Rule>,
    secrets: Vec<Secret>,
}

impl Short {
    /// Reads them all.
    ///
    /// # Errors
    /// As [`allow_net`] and [`secret`].
    pub fn read(allow_net: &[String], secrets: &[String]) -> Result<Self> {
        let rules = allow_net.iter().map(|text| self::allow_net(text));
        let secrets = secrets.iter().map(|text| secret(text));
        Ok(Self { rules: rules.collect::<Result<_>>()?, secrets: secrets.collect::<Result<_>>()? })
    }

    /// A file's settings, and these.
    ///
    /// # Errors
    /// As [`Settings::allow`] and [`Settings::keep`].
    pub fn added_to(&self, mut settings: Settings) -> Result<Settings> {
        if !self.rules.is_empty() {
            settings.allow(self.rules.clone())?;
        }
        self.secrets.iter().try_for_each(|secret| settings.keep(secret.clone()))?;
        Ok(settings)
    }

    /// The secrets.
    pub fn secrets(&self) -> &[Secret] {
        &self.secrets
    }
}

/// Reads `HOST[:PORT]`: https, all methods and paths. IPv6 stands in brackets.
///
/// # Errors
/// `args_invalid` for what is no host or no port.
pub fn allow_net(text: &str) -> Result<Rule> {
    let shown: String = text.escape_debug().take(80).collect();
    let wrong = |told: &str| {
        Error::args_invalid(format!("--allow-net `{shown}`: {told}"))
            .with_hint("write HOST or HOST:PORT, such as `api.example.com`; --network FILE can say more")
    };
    if text.contains("://") || text.contains('/') {
        return Err(wrong("it is an address of a page, not a host"));
    }
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an address without a port.
        Some((before, _)) if before.contains(':') && !before.ends_with(']') => (text, None),
        Some((_, after)) if after.ends_with(']') => (text, None),
        Some((host, port)) => {
            let port = port.parse().ok().filter(|port| *port != 0);
            (host, Some(port.ok_or_else(|| wrong("its port is none from 1 to 65535"))?))
        }
        None => (text, None),
    };
    if HostPattern::parse(host).is_none() {
        return Err(wrong(if host.is_empty() { "it names no host" } else { "it is no host" }));
    }
    let given = WantedRule { host: host.to_owned(), port, ..WantedRule::default() };
    rule(&format!("--allow-net {shown}"), &given)
}

/// Reads `NAME=env:VAR@HOST[,HOST]`; in place of `env:VAR` there may be `file:PATH` or `keyring:KEY`. Its placeholder counts in the
/// usual places.
///
/// # Errors
/// `args_invalid` for what is none, and as [`Secret::new`]. The text is not repeated: a value may stand in it by mistake.
pub fn secret(text: &str) -> Result<Secret> {
    let wrong = |told: &str| {
        Error::args_invalid(format!("--secret: {told}"))
            .with_hint(
                "write NAME=env:VAR@HOST[,HOST], or in place of `env:VAR` `file:PATH` or `keyring:KEY`; values are never named",
            )
    };
    let (name, rest) = text.split_once('=').ok_or_else(|| wrong("it has no `=`"))?;
    let (source, hosts) = rest.rsplit_once('@').ok_or_else(|| wrong("it names no host"))?;
    let source = match source.split_once(':') {
        Some(("env", variable)) if !variable.is_empty() => Source::Env(variable.to_owned()),
        Some(("file", path)) if !path.is_empty() => Source::File { path: path.into(), ttl: None },
        Some(("keyring", key)) if is_key(key) => Source::Keyring { name: key.to_owned(), ttl: None },
        Some(("keyring", _)) => return Err(wrong("the name of its key has 1 to 4095 bytes, and no NUL")),
        _ => return Err(wrong("its source is none of `env:VAR`, `file:PATH` and `keyring:KEY`")),
    };
    let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
    Secret::new(name, source, &hosts, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Protocol;

    #[test]
    fn a_host_is_allowed_by_its_name() {
        for (text, host, port) in [
            ("api.example.com", "api.example.com", 443),
            ("API.example.com:8443", "api.example.com", 8443),
            ("*.example.com", "*.example.com", 443),
            ("*", "*", 443),
            ("10.0.0.1:80", "10.0.0.1", 80),
            ("[::1]", "::1", 443),
            ("[::1]:8080", "::1", 8080),
            ("2001:db8::1", "2001:db8::1", 443),
        ] {
            let rule = allow_net(text).unwrap();
            assert_eq!((rule.host.to_string().as_str(), rule.port), (host, port), "{text}");
            assert!(rule.protocol == Protocol::Https && rule.methods.is_empty() && rule.paths.is_empty());
        }
        for bad in
            ["", ":443", "a:", "a:0", "a:65536", "a:b", "https://a", "a/b", "127.1", "user@a", "a b", "a,b"]
        {
            assert!(allow_net(bad).is_err(), "{bad}");
        }
        for (bad, told) in [
            ("", "--allow-net ``: it names no host"),
            (":443", "--allow-net `:443`: it names no host"),
            ("a:0", "--allow-net `a:0`: its port is none from 1 to 65535"),
            ("a b", "--allow-net `a b`: it is no host"),
        ] {
            assert_eq!(allow_net(bad).unwrap_err().message(), told);
        }
    }

    #[test]
    fn a_secret_is_named_with_its_source_and_hosts() {
        let read = secret("KEY=env:API_KEY@api.test,*.b.test").unwrap();
        assert_eq!((read.name.as_str(), &read.source), ("KEY", &Source::Env("API_KEY".into())));
        assert_eq!(read.hosts[1], HostPattern::Below("b.test".into()));
        assert_eq!(
            secret("K=file:/a@b/c@h.test").unwrap().source,
            Source::File { path: "/a@b/c".into(), ttl: None }
        );
        assert_eq!(
            secret("K=keyring:git/ann@inside@h.test").unwrap().source,
            Source::Keyring { name: "git/ann@inside".into(), ttl: None }
        );
        for bad in [
            "",
            "K",
            "K=",
            "K=keyring:@a",
            "K=keyring:a@",
            "K=env:V",
            "K=env:V@",
            "K=env:V@*",
            "K=env:@a",
            "K=V@a",
            "=env:V@a",
            "1K=env:V@a",
            "K=env:V@a,",
            "K=hunter2-hunter2@a",
        ] {
            let error = secret(bad).expect_err(bad);
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let long = secret(&format!("K=keyring:{}@a", "x".repeat(4_096))).unwrap_err();
        assert!(long.message().contains("1 to 4095 bytes"), "{long}");
        assert!(long.hint().unwrap().contains("`file:PATH` or `keyring:KEY`"), "{long:?}");
    }

    #[test]
    fn net_31_no_placeholder_takes_the_place_of_a_variable_that_programs_need() {
        for name in [
            "PATH",
            "HOME",
            "LD_PRELOAD",
            "LC_ALL",
            "PYTHONPATH",
            "NODE_OPTIONS",
            "https_proxy",
            "SSL_CERT_FILE",
        ] {
            let error = secret(&format!("{name}=env:V@a.test")).expect_err(name);
            assert!(error.message().contains("programs need"), "{error}");
        }
        for name in ["GIT_TOKEN", "PYTHON_KEY", "path", "LDAP"] {
            assert!(secret(&format!("{name}=env:V@a.test")).is_ok(), "{name}");
        }
    }
}
