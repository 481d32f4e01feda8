//! Hosts: what is one, what is none, and agreement with the URL standard.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

fn read(text: &str) -> Option<String> {
    Host::parse(text).map(|host| host.to_string())
}

#[test]
fn a_host_has_one_form() {
    for (text, wanted) in [
        ("API.Example.com.", "api.example.com"),
        ("a_b.example", "a_b.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
        ("1e100.net", "1e100.net"),
        ("[::1]", "::1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("10.0.0.1", "10.0.0.1"),
    ] {
        assert_eq!(read(text).as_deref(), Some(wanted), "{text}");
    }
    let label = "a".repeat(63);
    assert!(Host::parse(&format!("{label}.example")).is_some());
    assert_eq!(Host::parse(&format!("a{label}.example")), None);
    let long = format!("{label}.{label}.{label}.{}", "b".repeat(61));
    assert!(Host::parse(&long).is_some() && Host::parse(&format!("{long}c")).is_none());
}

#[test]
fn net_03_what_some_take_for_an_address_is_no_host() {
    for text in [
        "2130706433",
        "0x7f.1",
        "0x7f000001",
        "0X7F.0.0.1",
        "0x",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "127.0.0.1.",
        "127.0.0.01",
        "127.0.0.256",
        "1.2.3.4.5",
        "[127.0.0.1]",
        "[::1",
        "::1]",
        "[::1]x",
        "fe80::1%eth0",
        "[fe80::1%25eth0]",
        "１２７.0.0.1",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "user@example.com",
        "example.com:80",
        "a/b",
        "a\\b",
        "a?b",
        "a#b",
        "a b",
        "a%00b",
        "a%2eb",
        "a\0b",
        "a\nb",
        "a\tb",
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a..",
        "-a.example",
        "a-.example",
        "*",
        "*.a",
        "a*b",
        "xn--a.example",
        "xn--zzzzzzz-.example",
        "a\u{200b}\u{0}b",
        "a!b",
        "a\"b",
        "é\u{ff0f}b",
    ] {
        assert_eq!(read(text), None, "{text:?}");
    }
    assert_eq!(Host::parse(&"a".repeat(64 << 10)), None);
    assert_eq!(Host::parse(&"a.".repeat(32 << 10)), None);
}

#[test]
fn patterns_are_for_what_they_say() {
    let pattern = |text| HostPattern::parse(text).unwrap();
    let host = |text| Host::parse(text).unwrap();
    for (text, fitting, other) in [
        ("api.example.com", "api.example.com", "x.api.example.com"),
        ("*.example.com", "a.b.example.com", "example.com"),
        ("*.example.com", "a.example.com", "badexample.com"),
        ("*", "anything.example", "1.1.1.1"),
        ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
    ] {
        assert!(pattern(text).fits(&host(fitting)), "{text} {fitting}");
        assert!(!pattern(text).fits(&host(other)), "{text} {other}");
    }
    for bad in ["", "**", "*.", "*.*.a", "a.*", "*a.example", "*.10.0.0.1", "*.1"] {
        assert_eq!(HostPattern::parse(bad), None, "{bad}");
    }
    for (wide, narrow, covers) in [
        ("*", "*.example.com", true),
        ("*.example.com", "a.example.com", true),
        ("*.example.com", "*.a.example.com", true),
        ("*.a.example.com", "*.example.com", false),
        ("a.example.com", "*.a.example.com", false),
        ("a.example.com", "*", false),
        ("*", "10.0.0.1", false),
    ] {
        assert_eq!(pattern(wide).covers(&pattern(narrow)), covers, "{wide} {narrow}");
    }
}

/// Pieces that are put together at random: most of what is between a name and an address.
const PIECES: [&str; 34] = [
    "a",
    "b1",
    "example",
    "com",
    "0",
    "1",
    "127",
    "255",
    "256",
    "0x7f",
    "0x",
    "0177",
    "08",
    ".",
    ".",
    ".",
    "。",
    "-",
    "_",
    "é",
    "ß",
    "１",
    "①",
    "xn--",
    "xn--bcher-kva",
    "[",
    "]",
    ":",
    "%",
    "@",
    " ",
    "\u{ad}",
    "\u{200d}",
    "A",
];

#[test]
fn net_03_the_url_standard_reads_every_accepted_host_in_the_same_way() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut accepted = 0;
    for _ in 0..200_000 {
        let count = 1 + random.next_u32() % 8;
        let text: String = (0..count).map(|_| PIECES[random.next_u32() as usize % PIECES.len()]).collect();
        let Some(host) = Host::parse(&text) else { continue };
        accepted += 1;
        // Read again it is the same, and no other.
        assert_eq!(Host::parse(&host.to_string()), Some(host.clone()), "{text:?}");
        let theirs = match url::Host::parse(&host.authority(1, 1)) {
            Ok(url::Host::Domain(name)) => Host::Name(name),
            Ok(url::Host::Ipv4(four)) => Host::Address(four.into()),
            Ok(url::Host::Ipv6(six)) => Host::Address(six.into()),
            Err(error) => panic!("{text:?}: {error}"),
        };
        assert_eq!(theirs, host, "{text:?}");
        // And what a client would make of the text itself.
        let written =
            if text.contains(':') && !text.starts_with('[') { format!("[{text}]") } else { text.clone() };
        if let Ok(theirs) = url::Host::parse(&written) {
            let theirs = theirs.to_string();
            let theirs = theirs.trim_matches(['[', ']']);
            assert_eq!(theirs.strip_suffix('.').unwrap_or(theirs), host.to_string(), "{text:?}");
        }
    }
    assert!(accepted > 5_000, "only {accepted} were hosts");
}
