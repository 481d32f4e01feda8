//! Heads: where a request says that it goes, and what of it is not passed on.

use super::*;

fn target(text: &str) -> Target {
    Target::of(&text.parse().unwrap()).unwrap()
}

fn headers(all: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in all {
        map.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    map
}

#[test]
fn a_url_says_where_a_request_goes() {
    for (text, host, port, authority) in [
        ("https://API.example.com/a?b", "api.example.com", 443, "api.example.com"),
        ("http://a.test:8080/", "a.test", 8080, "a.test:8080"),
        ("https://a.test.:443", "a.test", 443, "a.test"),
        ("http://[::1]:80/", "::1", 80, "[::1]"),
        ("https://[::1]:80/", "::1", 80, "[::1]:80"),
    ] {
        let target = target(text);
        assert_eq!(
            (target.host.to_string().as_str(), target.port, target.authority().as_str()),
            (host, port, authority)
        );
    }
    for (text, reason) in [
        ("ftp://a.test/", Reason::Form),
        ("/path", Reason::Form),
        ("https://user@a.test/", Reason::UnknownName),
        ("https://user:pass@a.test/", Reason::UnknownName),
        ("https://127.1/", Reason::UnknownName),
        ("https://0x7f.0.0.1/", Reason::UnknownName),
        ("https://2130706433/", Reason::UnknownName),
        ("https://a.test:0/", Reason::UnknownName),
    ] {
        assert_eq!(Target::of(&text.parse().unwrap()).unwrap_err().reason, reason, "{text}");
    }
}

#[test]
fn net_07_a_request_is_for_where_it_is_sent_or_for_nobody() {
    let here = target("https://a.test/");
    let meant = |uri: &str, hosts: &[&str]| {
        let all: Vec<(&str, &str)> = hosts.iter().map(|host| ("host", *host)).collect();
        here.is_meant(&uri.parse().unwrap(), &headers(&all), true).is_ok()
    };
    for good in ["a.test", "A.TEST", "a.test:443", "a.test."] {
        assert!(meant("/", &[good]), "{good}");
    }
    assert!(meant("https://a.test/x", &["a.test"]) && meant("https://a.test:443/x", &["a.test"]));
    for (uri, hosts) in [
        ("/", &[][..]),
        ("/", &["b.test"]),
        ("/", &["a.test", "a.test"]),
        ("/", &["a.test", "b.test"]),
        ("/", &["a.test:80"]),
        ("/", &["a.test:"]),
        ("/", &["a.test:+443"]),
        ("/", &["user@a.test"]),
        ("/", &["a.test/x"]),
        ("/", &["a.test, b.test"]),
        ("/", &[""]),
        ("https://b.test/", &["a.test"]),
        ("http://a.test/", &["a.test"]),
        ("https://a.test:8443/", &["a.test"]),
        ("https://u@a.test/", &["a.test"]),
    ] {
        assert!(!meant(uri, hosts), "{uri} {hosts:?}");
    }
}

#[test]
fn net_28_what_a_neighbour_is_told_goes_no_further() {
    let mut all = headers(&[
        ("connection", "close, Authorization , X-Own"),
        ("connection", "te"),
        ("authorization", "a"),
        ("x-own", "b"),
        ("keep-alive", "c"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("proxy-authorization", "d"),
        ("te", "trailers"),
        ("expect", "100-continue"),
        ("x-forwarded-host", "e"),
    ]);
    strip(&mut all);
    assert_eq!(all.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-forwarded-host"]);
}

#[test]
fn net_08_a_request_has_one_length() {
    let checked = |all: &[(&str, &str)]| {
        let mut headers = headers(all);
        head(&"/".parse().unwrap(), &mut headers).map_err(|refusal| refusal.reason)
    };
    assert_eq!(checked(&[]), Ok(None));
    assert_eq!(checked(&[("content-length", "10")]), Ok(Some(10)));
    for bad in [
        &[("content-length", "10"), ("content-length", "10")][..],
        &[("content-length", "10"), ("transfer-encoding", "chunked")],
        &[("content-length", "+1")],
        &[("content-length", "1, 1")],
        &[("content-length", "0x1")],
        &[("content-length", "")],
        &[("content-length", "99999999999999999999999")],
    ] {
        assert_eq!(checked(bad), Err(Reason::Form), "{bad:?}");
    }
    assert_eq!(checked(&[("upgrade", "h2c")]), Ok(None));
}

#[test]
fn a_head_has_bounds() {
    let mut many = HeaderMap::new();
    for at in 0..=MAX_HEADERS {
        many.append("x", at.into());
    }
    assert!(head(&"/".parse().unwrap(), &mut many).is_err());
    many.remove("x");
    many.insert("x", "a".repeat(MAX_HEAD - 6).parse().unwrap());
    assert!(head(&"/".parse().unwrap(), &mut many).is_ok());
    assert!(head(&"/a".parse().unwrap(), &mut many).is_err());
    let path = |length: usize| format!("/{}", "a".repeat(length - 1)).parse::<Uri>().unwrap();
    assert!(head(&path(MAX_PATH), &mut HeaderMap::new()).is_ok());
    assert!(head(&path(MAX_PATH + 1), &mut HeaderMap::new()).is_err());
    assert!(head(&Uri::from_static("*"), &mut HeaderMap::new()).is_err());
}
