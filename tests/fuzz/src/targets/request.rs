//! Requests over HTTP, without the parsing of HTTP itself: who is called, the query, the body.
//!
//! The first line of an input is the target, the next ones are headers, and after an empty line comes the body.

use std::collections::BTreeSet;

use dormouse_rest::door::{Hosts, Origins};
use dormouse_rest::fuzz;
use serde_json::{Map, Value as Json};

use crate::Target;

/// Lines before the body that are read.
const MOST: usize = 33;

pub(crate) const TARGET: Target = Target {
    words: &[
        "host: localhost:3008\n",
        "host: [::1]\n",
        "host: 127.0.0.1\n",
        "origin: https://app.example\n",
        "origin: null\n",
        "sec-fetch-site: cross-site\n",
        "http://evil.example/",
        "/api/sandboxes?limit=",
        "&path=%2Fworkspace",
        "%ff",
        "@",
        "xn--",
        "\n\n",
        "\"code\":",
        "\\ud800",
        "1e999",
    ],
    ..Target::new("request", "names, queries and bodies of requests (adapters/rest)", run)
};

fn run(input: &[u8]) {
    let end = input.windows(2).position(|two| two == b"\n\n");
    let (head, rest) = end.map_or((input, &[][..]), |at| (&input[..at], &input[at + 2..]));
    let mut lines = head.split(|byte| *byte == b'\n').take(MOST);
    let target = lines.next().and_then(|line| std::str::from_utf8(line).ok()).unwrap_or_default();
    let mut headers = Vec::new();
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        if let Ok(name) = std::str::from_utf8(&line[..colon]) {
            headers.push((name, line.get(colon + 1..).unwrap_or_default().trim_ascii()));
        }
    }
    body(rest);
    let Some(request) = fuzz::request(target, &headers) else { return };
    let listening = "127.0.0.1:3008".parse().expect("an address");
    let hosts = Hosts::new(listening, &["box.example".to_owned()]);
    let origins = Origins::new(&["https://app.example".to_owned()]).expect("an origin");
    if fuzz::guard(&request, &hosts, &origins).is_ok() {
        let (host, authority) = fuzz::called(&request);
        let host = host
            .and_then(|host| std::str::from_utf8(host).ok())
            .expect("a request without a name is refused");
        [Some(host), authority].into_iter().flatten().for_each(assert_own);
    }
    if let Ok(pairs) = fuzz::query(request) {
        assert!(pairs.len() <= 64);
        let names: BTreeSet<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), pairs.len(), "no field is there twice");
        for (kind, (_, text)) in ["integer", "number", "boolean", "string"].into_iter().cycle().zip(pairs) {
            let typed = fuzz::typed(kind, text.clone());
            assert!(!typed.is_string() || typed == text.as_str());
        }
    }
}

/// A name of this server, with or without a port.
fn assert_own(name: &str) {
    let lower = name.to_ascii_lowercase();
    let port = |rest: &str| {
        rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
    };
    let own = ["localhost", "127.0.0.1", "[::1]", "box.example"];
    assert!(
        own.iter().any(|own| lower.strip_prefix(own).is_some_and(port)),
        "`{name}` is no name of this server"
    );
}

fn body(text: &[u8]) {
    let plain = serde_json::from_slice::<Map<String, Json>>(text);
    match fuzz::body(text) {
        Ok(fields) => assert_eq!(plain.ok(), Some(fields)),
        Err(error) => {
            let twice = error.message().contains("twice");
            assert!(plain.is_err() || twice, "{error}");
            assert!(error.hint().is_some());
        }
    }
}
