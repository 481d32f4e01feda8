//! Rules as lines: `GET,POST https://api.example.com/v1/**`. Calls ask in them, and are told in them what there is.

use dormouse_core::{Error, Result};

use crate::policy::{Protocol, Rule, WantedRule};

/// Longest line, in bytes.
const MAX: usize = 4 << 10;

/// Reads `[METHOD[,METHOD] ]PROTOCOL://HOST[:PORT][PATH]`. Without methods all, without a path all.
///
/// # Errors
/// `args_invalid` for what is no such line. What it names is looked at later.
pub(crate) fn read(line: &str) -> Result<WantedRule> {
    let shown: String = line.escape_debug().take(200).collect();
    let wrong = |told: &str| {
        Error::args_invalid(format!("`{shown}` is no rule of a network: {told}")).with_hint(
            "write it as `GET,POST https://api.example.com/v1/**`; methods and path can be left out",
        )
    };
    if line.len() > MAX {
        return Err(wrong("it is longer than 4096 bytes"));
    }
    let (methods, url) = match line.split_once(' ') {
        Some((methods, url)) => (methods.split(',').map(str::to_owned).collect(), url),
        None => (Vec::new(), line),
    };
    let (protocol, rest) = url.split_once("://").ok_or_else(|| wrong("it names no protocol"))?;
    let protocol = match protocol {
        "https" => Protocol::Https,
        "http" => Protocol::Http,
        "tcp" => Protocol::Tcp,
        _ => return Err(wrong("its protocol is none of https, http and tcp")),
    };
    let (place, path) = match rest.find('/') {
        Some(at) => (&rest[..at], Some(rest[at..].to_owned())),
        None => (rest, None),
    };
    let (host, port) = match place.rsplit_once(':') {
        // A colon of IPv6.
        Some((_, after)) if after.ends_with(']') => (place, None),
        Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong("its port is none"))?)),
        None => (place, None),
    };
    Ok(WantedRule {
        host: host.to_owned(),
        port,
        protocol,
        methods,
        paths: path.into_iter().collect(),
        websocket: None,
    })
}

/// A rule as lines, one for each of its paths.
pub(crate) fn shown(rule: &Rule) -> Vec<String> {
    let methods = match rule.methods.as_slice() {
        [] => String::new(),
        methods => format!("{} ", methods.join(",")),
    };
    let port = match rule.protocol.port() {
        Some(usual) if usual == rule.port => String::new(),
        _ => format!(":{}", rule.port),
    };
    let host = match rule.host.to_string() {
        host if host.contains(':') => format!("[{host}]"),
        host => host,
    };
    let place = format!("{methods}{}://{host}{port}", rule.protocol);
    match rule.paths.as_slice() {
        [] => vec![place],
        paths => paths.iter().map(|path| format!("{place}{path}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::rule;

    #[test]
    fn a_rule_is_written_as_it_is_read() {
        for line in [
            "https://api.example.com",
            "GET https://api.example.com/v1/**",
            "GET,POST http://*.example.com:8080/a/*/b",
            "tcp://db.example.com:5432",
            "https://[2001:db8::1]:8443/x",
            "https://*",
        ] {
            let read = rule("x", &read(line).unwrap()).unwrap();
            assert_eq!(shown(&read), [line]);
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for line in ["", "api.example.com", "ftp://a.test", "https://a.test:x", &"x".repeat(5_000)] {
            assert!(read(line).is_err(), "{line}");
        }
        assert!(rule("x", &read("get https://a.test").unwrap()).is_err());
    }
}
