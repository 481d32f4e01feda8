//! What is learned allows what was seen, and next to nothing else.

use std::path::Path as FilePath;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value as Json, json};

use super::*;
use crate::file::{self, Settings};
use crate::policy::Asked;

/// A line of an audit.
fn line(event: &str, method: &str, url: &str) -> Json {
    let (protocol, rest) = url.split_once("://").unwrap();
    let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let usual = if protocol == "http" { 80 } else { 443 };
    let (host, port) =
        authority.rsplit_once(':').map_or((authority, usual), |(host, port)| (host, port.parse().unwrap()));
    json!({
        "event": event, "owner": "ann", "run": "r1", "method": method, "protocol": protocol, "host": host,
        "port": port, "path": path, "bytes_out": 0,
    })
}

fn with(mut line: Json, field: &str, value: Json) -> Json {
    line[field] = value;
    line
}

fn learned(lines: &[Json], filter: &Filter) -> Learned {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Learned::read(text.as_bytes(), filter).unwrap()
}

fn written(lines: &[Json]) -> String {
    learned(lines, &Filter::default()).written("default").unwrap()
}

fn parsed(text: &str) -> Settings {
    file::parse(text, FilePath::new("net.toml")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn what_went_nowhere_needs_no_rule() {
    let nowhere = |url: &str, reason: &str| {
        [line("sent", "GET", url), with(line("ended", "GET", url), "reason", json!(reason))]
    };
    let lines = [
        nowhere("https://inner.example/x", "address").to_vec(),
        nowhere("https://none.example/x", "unknown_name").to_vec(),
        nowhere("https://a.example/v1/x", "reset").to_vec(),
        nowhere("https://a.example/v1/y", "address").to_vec(),
    ]
    .concat();
    let learned = learned(&lines, &Filter::default());
    assert_eq!(learned.requests(), 1);
    let text = learned.written("default").unwrap();
    let rules: String = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(rules.contains("/v1/x") && !rules.contains("/v1/y") && !rules.contains("inner"), "{text}");
    assert!(text.contains("inner.example") && text.contains("none.example"), "told: {text}");
}

#[test]
fn an_audit_becomes_a_file_of_rules() {
    let mut lines = vec![
        line("sent", "GET", "https://api.example.com/v1/items/1"),
        with(line("ended", "GET", "https://api.example.com/v1/items/1"), "status", json!(200)),
        line("sent", "GET", "https://api.example.com/v1/items/2"),
        line("sent", "DELETE", "https://api.example.com/v1/items/3"),
        with(line("sent", "POST", "https://api.example.com/v1/chat"), "secrets", json!(["KEY"])),
        line("sent", "GET", "https://api.example.com/v1/chat"),
        line("sent", "GET", "https://api.example.com/stream"),
        with(line("ended", "GET", "https://api.example.com/stream"), "status", json!(101)),
        line("sent", "GET", "http://inner.example:8080/"),
        with(line("ended", "GET", "http://inner.example:8080/"), "address", json!("10.0.0.7")),
        with(line("ended", "GET", "https://api.example.com/v1/chat"), "address", json!("1.1.1.1")),
        line("sent", "", "tcp://db.example:5432"),
        // Dialled for a greeting; nothing was asked.
        line("sent", "", "https://api.example.com"),
        line("sent", "", "https://idle.example"),
        with(line("refused", "GET", "https://other.example/x"), "reason", json!("host")),
        with(line("refused", "get", "https://other.example/y"), "reason", json!("host")),
    ];
    let wanted = r#"# What an audit holds, as rules: 8 requests to 3 places. Read them before you use them: a segment of a path that
# looked like an id, or had many values, is `*` here.

# 2 requests
[[profile.default.allow]]
host = "api.example.com"
methods = ["DELETE", "GET"]
paths = ["/v1/items/*"]

# 1 request
[[profile.default.allow]]
host = "api.example.com"
methods = ["GET"]
paths = ["/stream"]
websocket = true

# 1 stream
[[profile.default.allow]]
host = "db.example"
protocol = "tcp"
port = 5432
"#;
    let text = written(&lines);
    let settings = parsed(&text);
    assert_eq!(settings.profile("default").unwrap().rules.len(), 5, "{text}");
    for part in wanted.split("\n\n").skip(2) {
        assert!(text.contains(part.trim()), "{part}\n{text}");
    }
    for part in [
        "addresses = [\"10.0.0.7/32\"]",
        "# [secret.KEY]\n# hosts = [\"api.example.com\"]\n",
        "# Refused then, and now:\n# other.example:443 (host), 2 times\n",
        "methods = [\"GET\", \"POST\"]\npaths = [\"/v1/chat\"]",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("idle.example") && !text.contains("1.1.1.1"));
    // The same in another order.
    lines.reverse();
    assert_eq!(written(&lines), text);
}

#[test]
fn lines_of_one_sandbox_count_alone_and_what_is_no_line_is_counted() {
    let lines = [
        with(line("sent", "GET", "https://a.test/"), "sandbox", json!("one")),
        with(line("sent", "GET", "https://b.test/"), "sandbox", json!("two")),
        with(with(line("sent", "GET", "https://c.test/"), "run", json!("r2")), "owner", json!("bob")),
    ];
    let hosts = |filter: Filter| {
        let all = learned(&lines, &filter);
        all.places.keys().map(|(host, ..)| host.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(hosts(Filter::default()), "a.test b.test c.test");
    assert_eq!(hosts(Filter { sandbox: Some("two".into()), ..Filter::default() }), "b.test");
    assert_eq!(hosts(Filter { run: Some("r2".into()), ..Filter::default() }), "c.test");
    assert_eq!(hosts(Filter { owner: Some("ann".into()), ..Filter::default() }), "a.test b.test");
    let bad = [
        "not json".to_owned(),
        "{}".to_owned(),
        line("sent", "GET /\n[secret]", "https://a.test/").to_string(),
        line("sent", "GET", "https://127.1/").to_string(),
        line("invented", "GET", "https://a.test/").to_string(),
        with(line("sent", "GET", "https://a.test/"), "secrets", json!(["K]\nhost = 1"])).to_string(),
        with(line("sent", "GET", "https://a.test/"), "port", json!(0)).to_string(),
        with(line("sent", "GET", "https://a.test/"), "protocol", json!("ftp")).to_string(),
        "x".repeat(200_000),
        line("sent", "GET", "https://good.test/").to_string(),
        // Cut off while it was written.
        "{\"event\":\"sent\",\"owner\":\"a".to_owned(),
    ];
    let all = Learned::read(format!("\n{}", bad.join("\n")).as_bytes(), &Filter::default()).unwrap();
    assert_eq!((all.unread(), all.requests()), (10, 1));
    let text = all.written("default").unwrap();
    assert_eq!(parsed(&text).profile("default").unwrap().rules.len(), 1);
    for bad in ["", "a b", "a.b", "x]"] {
        assert!(all.written(bad).is_err(), "{bad}");
    }
    let none = Learned::default().written("own").unwrap();
    assert!(parsed(&none).profile("own").unwrap().rules.is_empty());
}

#[test]
fn what_a_guest_made_of_paths_cannot_write_rules() {
    for path in [
        "/\"]\n[[profile.default.allow]]\nhost = \"*\"",
        "/a\"b",
        "/a'b",
        "/\u{202e}x",
        "/a#b",
        "/\\u0022",
        "/%0a[x]",
    ] {
        let text = written(&[with(line("sent", "GET", "https://a.test/"), "path", json!(path))]);
        let settings = parsed(&text);
        let rules = &settings.profile("default").unwrap().rules;
        assert_eq!((rules.len(), rules[0].host.to_string().as_str()), (1, "a.test"), "{text}");
    }
}

#[test]
fn net_31_an_audit_has_bounds_too() {
    let many: Vec<Json> = (0..1_001).map(|at| line("sent", "GET", &format!("https://h{at}.test/"))).collect();
    let text: String = many.iter().map(|line| format!("{line}\n")).collect();
    let error = Learned::read(text.as_bytes(), &Filter::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge);
    assert_eq!(parsed(&written(&many[..1_000])).profile("default").unwrap().rules.len(), 1_000);
    let refused: Vec<Json> =
        (0..10_000).map(|at| line("refused", "GET", &format!("https://h{at}.test/"))).collect();
    assert_eq!(learned(&refused, &Filter::default()).refused.len(), MAX_REFUSED);
}

/// A word of few, so that many are the same.
fn word(random: &mut ChaCha8Rng) -> String {
    let at = random.next_u32() % 40;
    match at {
        0..6 => format!("{}", random.next_u32()),
        6..9 => format!("{:08x}{:08x}", random.next_u32(), random.next_u32()),
        9 => "a.b".into(),
        10 => "%41".into(),
        11 => "x*y".into(),
        12 => "a;b".into(),
        13 => "..".into(),
        14 => "**".into(),
        15 => "\"".into(),
        16 => String::new(),
        _ => format!("w{}", at % 14),
    }
}

#[test]
fn net_31_what_is_learned_allows_every_request_that_left_and_no_other_host_or_method() {
    let mut random = ChaCha8Rng::seed_from_u64(31);
    for round in 0..200 {
        let mut lines = Vec::new();
        for _ in 0..1 + random.next_u32() % 60 {
            let one = |random: &mut ChaCha8Rng, all: &[&str]| {
                all[random.next_u32() as usize % all.len()].to_owned()
            };
            let method = one(&mut random, &["GET", "POST", "PUT", "M-SEARCH"]);
            let place = one(
                &mut random,
                &[
                    "https://a.test",
                    "https://b.a.test",
                    "http://a.test",
                    "https://a.test:8443",
                    "https://10.0.0.1",
                ],
            );
            let path: String =
                (0..1 + random.next_u32() % 4).map(|_| format!("/{}", word(&mut random))).collect();
            let left = line("sent", &method, &format!("{place}{path}"));
            if random.next_u32().is_multiple_of(8) && method == "GET" {
                lines.push(with(with(left.clone(), "event", json!("ended")), "status", json!(101)));
            }
            lines.push(left);
        }
        let text = written(&lines);
        let settings = parsed(&text);
        let profile = settings.profile("default").unwrap();
        let allows = |line: &Json, method: &str, host: &str, port: u16, protocol: Protocol| {
            let host = Host::parse(host).unwrap();
            let path = line["path"].as_str().unwrap();
            let websocket = line["status"] == 101;
            profile.decide(&Asked { protocol, host: &host, port, method, path, websocket }).is_ok()
        };
        for line in &lines {
            let (method, host) = (line["method"].as_str().unwrap(), line["host"].as_str().unwrap());
            let port = u16::try_from(line["port"].as_u64().unwrap()).unwrap();
            let protocol: Protocol = serde_json::from_value(line["protocol"].clone()).unwrap();
            assert!(allows(line, method, host, port, protocol), "{round}: {line}\n{text}");
            for (method, host, port) in [("PATCH", host, port), (method, "c.test", port), (method, host, 1)] {
                assert!(!allows(line, method, host, port, protocol), "{round}: {line}\n{text}");
            }
            let is_known = |method: &str| {
                lines.iter().any(|other| {
                    other["method"] == method
                        && ["host", "port", "protocol"].iter().all(|field| other[field] == line[field])
                })
            };
            assert!(is_known("PUT") || !allows(line, "PUT", host, port, protocol), "{round}: {line}\n{text}");
        }
        // A rule is there for a reason.
        for rule in &profile.rules {
            let count = text.matches("\n# 0 request").count();
            assert!(count == 0 && !rule.methods.is_empty(), "{text}");
        }
    }
}
