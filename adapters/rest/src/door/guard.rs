//! By which name the server was called, and from which page: what keeps a web page of another site out, even one whose
//! name resolves to this machine.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, header};
use dormouse_core::{Error, ErrorCode, Result};

/// Names by which the server may be called.
#[derive(Clone, Debug)]
pub struct Hosts {
    names: Vec<String>,
    /// Every address, as against every name: it listens on all of them, and a page cannot be at an address by a trick.
    any_address: bool,
}

impl Hosts {
    /// `localhost` and the loopback addresses, the address that is listened on (any address, if that is the unspecified
    /// one), and these names, with or without a port.
    pub fn new(listening: SocketAddr, further: &[String]) -> Self {
        let mut names: Vec<String> =
            ["localhost", "127.0.0.1", "[::1]"].into_iter().map(str::to_owned).collect();
        names.push(match listening.ip() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        });
        names.extend(further.iter().map(|name| name.to_ascii_lowercase()));
        Self { names, any_address: listening.ip().is_unspecified() }
    }

    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        let mut named = request.headers().get_all(header::HOST).iter();
        let refused = || {
            Error::new(ErrorCode::Forbidden, "the server does not have the name of the `Host` header")
                .with_hint("call it by its address, or have the operator add the name with --allowed-host")
        };
        let (Some(host), None) = (named.next(), named.next()) else { return Err(refused()) };
        let host: Authority = host.to_str().ok().and_then(|text| text.parse().ok()).ok_or_else(refused)?;
        let target = request.uri().authority();
        if [Some(&host), target].into_iter().flatten().all(|authority| self.has(authority)) {
            Ok(())
        } else {
            Err(refused())
        }
    }

    fn has(&self, authority: &Authority) -> bool {
        let (host, whole) = (authority.host().to_ascii_lowercase(), authority.as_str().to_ascii_lowercase());
        // The library that parses authorities takes anything after a host, and a user before it.
        let is_rest = |rest: &str| match rest.strip_prefix(':') {
            Some(port) => port.bytes().all(|byte| byte.is_ascii_digit()),
            None => rest.is_empty(),
        };
        if !whole.strip_prefix(&host).is_some_and(is_rest) {
            return false;
        }
        let is_address = || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        self.names.iter().any(|name| *name == host || *name == whole) || (self.any_address && is_address())
    }
}

/// Sites whose pages may call the server. Callers that are no pages say no origin and may always.
#[derive(Clone, Debug, Default)]
pub struct Origins(Vec<String>);

impl Origins {
    /// These, such as `https://app.example`.
    ///
    /// # Errors
    /// `args_invalid` for what is no origin.
    pub fn new(origins: &[String]) -> Result<Self> {
        let read = |text: &String| {
            let lower = text.to_ascii_lowercase();
            let host = lower.strip_prefix("https://").or_else(|| lower.strip_prefix("http://"));
            match host.and_then(|host| host.parse::<Authority>().ok()) {
                Some(authority) if !authority.as_str().contains('@') => Ok(lower),
                _ => Err(Error::args_invalid(format!("`{}` is not an origin", text.escape_debug()))
                    .with_hint("write it as `https://app.example`, without a path")),
            }
        };
        Ok(Self(origins.iter().map(read).collect::<Result<_>>()?))
    }

    /// The page that calls is the server's own, or one of these sites'.
    pub(crate) fn check(&self, request: &Request) -> Result<()> {
        let headers = request.headers();
        let refused = || {
            Error::new(ErrorCode::Forbidden, "pages of other sites may not call this server")
                .with_hint("have the operator allow the site with --allowed-origin")
        };
        let mut said = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = said.next() else {
            // A page's plain links and images say no origin, but browsers tell that they are another site's.
            return if is_of_other_site(headers) { Err(refused()) } else { Ok(()) };
        };
        let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let own = format!("http://{}", host.to_ascii_lowercase());
        let known = origin == own || self.0.contains(&origin);
        if known && said.next().is_none() { Ok(()) } else { Err(refused()) }
    }
}

fn is_of_other_site(headers: &HeaderMap) -> bool {
    let said = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    said.is_some_and(|site| !["same-origin", "none"].contains(&site))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let start = Request::builder().uri("/api/sandboxes");
        let built = headers.iter().fold(start, |request, (name, value)| request.header(*name, *value));
        built.body(Body::empty()).unwrap()
    }

    #[test]
    fn mcp_03_the_server_is_called_by_a_name_of_its_own() {
        let hosts =
            Hosts::new("127.0.0.1:3008".parse().unwrap(), &["Box.example".into(), "b.example:8".into()]);
        for (host, known) in [
            ("localhost", true),
            ("LOCALHOST:3008", true),
            ("127.0.0.1:1", true),
            ("[::1]:3008", true),
            ("box.example", true),
            ("box.example:443", true),
            ("b.example:8", true),
            ("b.example", false),
            ("b.example:9", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("evil.example:3008", false),
            ("localhost:", true),
            ("localhost:evil", false),
            ("localhost:evil.example:80", false),
            ("[::1]evil.example", false),
            ("[::1]80", false),
            ("127.0.0.1@evil.example", false),
            ("evil.example@127.0.0.1", false),
            ("10.0.0.1", false),
            ("", false),
            ("a b", false),
        ] {
            assert_eq!(hosts.check(&request(&[("host", host)])).is_ok(), known, "{host}");
        }
        assert!(hosts.check(&request(&[])).is_err(), "no name at all");
        assert!(hosts.check(&request(&[("host", "localhost"), ("host", "evil.example")])).is_err());
        let mut absolute = request(&[("host", "localhost")]);
        *absolute.uri_mut() = "http://evil.example/api".parse().unwrap();
        assert!(hosts.check(&absolute).is_err());
        let all = Hosts::new("0.0.0.0:3008".parse().unwrap(), &[]);
        assert!(all.check(&request(&[("host", "10.0.0.1:3008")])).is_ok());
        assert!(all.check(&request(&[("host", "evil.example")])).is_err());
    }

    #[test]
    fn mcp_03_pages_of_other_sites_are_kept_out() {
        let origins = Origins::new(&["https://App.example".into()]).unwrap();
        let host = ("host", "127.0.0.1:3008");
        for (headers, allowed) in [
            (&[host][..], true),
            (&[host, ("origin", "https://app.example")], true),
            (&[host, ("origin", "http://127.0.0.1:3008")], true),
            (&[host, ("origin", "http://127.0.0.1:3009")], false),
            (&[host, ("origin", "http://app.example")], false),
            (&[host, ("origin", "https://app.example.evil")], false),
            (&[host, ("origin", "null")], false),
            (&[host, ("origin", "")], false),
            (&[host, ("origin", "https://app.example"), ("origin", "https://evil.example")], false),
            (&[host, ("sec-fetch-site", "none")], true),
            (&[host, ("sec-fetch-site", "cross-site")], false),
            (&[host, ("sec-fetch-site", "same-site")], false),
        ] {
            assert_eq!(origins.check(&request(headers)).is_ok(), allowed, "{headers:?}");
        }
        for bad in ["app.example", "https://", "https://a/b", "https://u@a", "null", "*"] {
            assert!(Origins::new(&[bad.into()]).is_err(), "{bad}");
        }
    }
}
