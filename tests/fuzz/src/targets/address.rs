//! Addresses and paths: what is taken is what it looks like, and leads where it may.
//!
//! Each line of an input is one.

use std::net::IpAddr;

use dormouse_core::sandbox::Owner;
use dormouse_core::{GuestPath, Mount};
use dormouse_git::Allowed;
use dormouse_models::{Api, Endpoint};
use dormouse_packages::{AllowList, Index};

use crate::Target;

/// Longest line that is read, in bytes.
const LONGEST: usize = 6_000;
/// Below this one repositories are allowed.
const REPOSITORIES: &str = "https://git.example/team";

pub(crate) const TARGET: Target = Target {
    words: &[
        "https://git.example/team/",
        "https://",
        "http://",
        "file:///",
        "dormouse://sandbox/",
        "/files/",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "0x7f.1",
        ".localhost",
        "xn--",
        "user:word@",
        ":443",
        "%2e%2e",
        "%2f",
        "%00",
        "/../",
        "//",
        "\\",
        "?a",
        "#a",
        "\t",
        "\u{3002}",
        "\u{ff0f}",
        ":rw",
        "npm:",
    ],
    ..Target::new("address", "addresses and paths (core, git, models, packages, sources, tools)", run)
};

fn run(input: &[u8]) {
    let allowed = Allowed::new(REPOSITORIES).expect("an address");
    let index = Index::parse("https://index.example/simple").expect("an address");
    for line in input.split(|byte| *byte == b'\n').filter(|line| line.len() <= LONGEST) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        repository(text, &allowed);
        led(text, &index);
        resource(text);
        path(text);
        if let Ok(address) = dormouse_sources::fuzz::address(text) {
            assert!(address.starts_with("http://") || address.starts_with("https://"), "{address}");
            assert_eq!(dormouse_sources::fuzz::address(&address).ok(), Some(address));
        }
        for api in [Api::OpenAi, Api::Anthropic] {
            let _endpoint = Endpoint::new(text, api, "model");
        }
        if let Err(error) = Index::parse(text) {
            assert!(!error.to_string().contains("word@"), "an error does not repeat a password");
        }
        let _read = (Mount::parse(text), AllowList::parse([text]), Owner::parse(text));
    }
}

fn repository(text: &str, allowed: &Allowed) {
    let Some(covered) = dormouse_git::fuzz::covered(text, allowed) else { return };
    let below = covered.strip_prefix(REPOSITORIES).expect("it begins as what is allowed");
    assert!(below.is_empty() || below.starts_with('/'), "{covered}");
    let lower = below.to_ascii_lowercase();
    assert!(lower.split('/').all(|part| part != ".."), "{covered}");
    for hidden in ["%2e", "%2f", "%5c", "%00", "\\", "//", "?", "#"] {
        assert!(!lower.contains(hidden), "{covered}");
    }
}

fn led(text: &str, index: &Index) {
    let Ok(target) = dormouse_packages::fuzz::led(index, "https://index.example/simple/", text) else {
        return;
    };
    let rest = target.strip_prefix("https://").expect("not less protected than before");
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = place.rsplit('@').next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    assert!(host.contains('.') && !host.ends_with(".localhost"), "{target}");
    assert!(host.trim_matches(['[', ']']).parse::<IpAddr>().is_err(), "{target}");
}

fn resource(text: &str) {
    if let Some((_, path)) = dormouse_tools::fuzz::resource(text) {
        assert_eq!(GuestPath::parse(path.as_str()).ok(), Some(path));
    }
}

fn path(text: &str) {
    let Ok(path) = GuestPath::parse(text) else { return };
    assert_eq!(path.as_str(), text);
    assert!(text.len() <= GuestPath::MAX_BYTES && text.starts_with('/') && !text.contains('\0'));
    let parts = text[1..].split('/');
    assert!(
        text == "/" || parts.into_iter().all(|part| !matches!(part, "" | "." | "..") && part.len() <= 255)
    );
}
