//! `--write-out`: what is told of a transfer when it is over.

use std::fmt::Write as _;
use std::time::Duration;

use dormouse_contract::net::Header;
use serde_json::{Map, Value, json};

use super::super::web::headers;

/// What is known of a transfer.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// As it was asked for, and its number among the addresses.
    pub(super) address: String,
    pub(super) number: u64,
    /// The address that answered.
    pub(super) effective: String,
    pub(super) scheme: Option<&'static str>,
    pub(super) method: String,
    pub(super) status: u16,
    /// Those of the last answer.
    pub(super) headers: Vec<Header>,
    pub(super) redirects: u64,
    /// Where the last answer would have led to.
    pub(super) redirect: Option<String>,
    pub(super) referer: Option<String>,
    pub(super) file: Option<String>,
    pub(super) connections: u64,
    /// Bytes.
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) heads_received: u64,
    pub(super) heads_sent: u64,
    /// From the beginning.
    pub(super) redirected: Duration,
    pub(super) answered: Duration,
    pub(super) total: Duration,
    pub(super) exit: i32,
    pub(super) error: Option<String>,
}

/// Where a piece of text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// The text, in pieces for the two streams.
pub(super) fn pieces(format: &str, report: &Report) -> Vec<(Stream, String)> {
    let mut pieces = vec![(Stream::Output, String::new())];
    let mut rest = format;
    while let Some(place) = rest.find(['%', '\\']) {
        add(&mut pieces, &rest[..place]);
        rest = &rest[place..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            rest = escape(escaped, &mut pieces);
        } else if let Some(more) = rest.strip_prefix("%%") {
            add(&mut pieces, "%");
            rest = more;
        } else if let Some((name, more)) = braced(rest, "%header{") {
            add(&mut pieces, &headers::text(&report.headers, name).unwrap_or_default());
            rest = more;
        } else if let Some((name, more)) = braced(rest, "%{") {
            rest = more;
            match name {
                "stdout" => pieces.push((Stream::Output, String::new())),
                "stderr" => pieces.push((Stream::Errors, String::new())),
                "onerror" if report.exit == 0 => return pieces,
                "onerror" => {}
                name => match value(name, report) {
                    Some(text) => add(&mut pieces, &text),
                    None => unknown(name, &mut pieces),
                },
            }
        } else {
            add(&mut pieces, "%");
            rest = &rest[1..];
        }
    }
    add(&mut pieces, rest);
    pieces
}

/// Says that there is no such variable, and goes on where it was.
fn unknown(name: &str, pieces: &mut Vec<(Stream, String)>) {
    let stream = pieces.last().map_or(Stream::Output, |(stream, _)| *stream);
    pieces.push((Stream::Errors, format!("curl: unknown --write-out variable: '{name}'\n")));
    pieces.push((stream, String::new()));
}

fn add(pieces: &mut [(Stream, String)], text: &str) {
    if let Some((_, last)) = pieces.last_mut() {
        last.push_str(text);
    }
}

/// What stands in braces behind a beginning, and the rest.
fn braced<'a>(text: &'a str, begin: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(begin)?.split_once('}')
}

/// Adds what a backslash before a text stands for, and gives the rest of the text.
fn escape<'a>(text: &'a str, pieces: &mut [(Stream, String)]) -> &'a str {
    let known = [('n', "\n"), ('r', "\r"), ('t', "\t")];
    for (letter, meaning) in known {
        if let Some(rest) = text.strip_prefix(letter) {
            add(pieces, meaning);
            return rest;
        }
    }
    add(pieces, "\\");
    text
}

/// The variables of the JSON, in its order.
const NAMES: [&str; 37] = [
    "certs",
    "content_type",
    "errormsg",
    "exitcode",
    "filename_effective",
    "ftp_entry_path",
    "http_code",
    "http_connect",
    "http_version",
    "local_ip",
    "local_port",
    "method",
    "num_certs",
    "num_connects",
    "num_headers",
    "num_redirects",
    "proxy_ssl_verify_result",
    "redirect_url",
    "referer",
    "remote_ip",
    "remote_port",
    "response_code",
    "scheme",
    "size_download",
    "size_header",
    "size_request",
    "size_upload",
    "speed_download",
    "speed_upload",
    "ssl_verify_result",
    "time_appconnect",
    "time_connect",
    "time_namelookup",
    "time_pretransfer",
    "time_redirect",
    "time_starttransfer",
    "time_total",
];

/// A variable as text; none: there is none of this name.
fn value(name: &str, report: &Report) -> Option<String> {
    match name {
        "json" => return Some(whole(report)),
        "header_json" => return Some(of_headers(&report.headers)),
        "http_code" | "response_code" => return Some(format!("{:03}", report.status)),
        name if name.starts_with("time_") => {
            return time(name, report).map(|time| format!("{:.6}", time.as_secs_f64()));
        }
        _ => {}
    }
    Some(match variable(name, report)? {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    })
}

/// What the host does is no part of any time that is known here.
fn time(name: &str, report: &Report) -> Option<Duration> {
    Some(match name {
        "time_appconnect" | "time_connect" | "time_namelookup" | "time_pretransfer" => Duration::ZERO,
        "time_redirect" => report.redirected,
        "time_starttransfer" => report.answered,
        "time_total" => report.total,
        _ => return None,
    })
}

fn variable(name: &str, report: &Report) -> Option<Value> {
    let speed = |bytes: u64| {
        let microseconds = report.total.as_micros().max(1);
        u64::try_from(u128::from(bytes) * 1_000_000 / microseconds).unwrap_or(u64::MAX)
    };
    let of_header = |name| headers::text(&report.headers, name);
    if let Some(time) = time(name, report) {
        return Some(json!(time.as_secs_f64()));
    }
    Some(match name {
        "content_type" => json!(of_header("content-type")),
        "errormsg" => json!(report.error),
        "exitcode" => json!(report.exit),
        "filename_effective" => json!(report.file),
        "ftp_entry_path" => Value::Null,
        "http_code" | "response_code" => json!(report.status),
        "http_version" => json!(if report.status == 0 { "0" } else { "1.1" }),
        "certs" | "local_ip" | "remote_ip" => json!(""),
        "http_connect"
        | "local_port"
        | "num_certs"
        | "proxy_ssl_verify_result"
        | "remote_port"
        | "ssl_verify_result" => json!(0),
        "method" => json!(report.method),
        "num_connects" => json!(report.connections),
        "num_headers" => json!(report.headers.len()),
        "num_redirects" => json!(report.redirects),
        "redirect_url" => json!(report.redirect),
        "referer" => json!(report.referer),
        "scheme" => json!(report.scheme),
        "size_download" => json!(report.received),
        "size_header" => json!(report.heads_received),
        "size_request" => json!(report.heads_sent),
        "size_upload" => json!(report.sent),
        "speed_download" => json!(speed(report.received)),
        "speed_upload" => json!(speed(report.sent)),
        "url" => json!(report.address),
        "url_effective" => json!(report.effective),
        "urlnum" => json!(report.number),
        _ => return None,
    })
}

/// All variables as JSON.
fn whole(report: &Report) -> String {
    let mut text = String::from("{");
    for name in NAMES.iter().chain(&["url", "url_effective", "urlnum"]) {
        let value = variable(name, report).unwrap_or_default();
        match time(name, report) {
            Some(time) => drop(write!(text, "\"{name}\":{:.6},", time.as_secs_f64())),
            None => drop(write!(text, "\"{name}\":{value},")),
        }
    }
    text + "\"curl_version\":\"dormouse\"}"
}

/// The headers as JSON: each name once, with all its values.
fn of_headers(headers: &[Header]) -> String {
    let mut all: Map<String, Value> = Map::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value).into_owned();
        if let Some(Value::Array(values)) = Some(all.entry(name.clone()).or_insert_with(|| json!([]))) {
            values.push(value.into());
        }
    }
    let lines: Vec<String> =
        all.iter().map(|(name, values)| format!("{}:{values}", Value::from(name.as_str()))).collect();
    format!("{{{}\n}}", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            effective: "http://x/".into(),
            status: 404,
            headers: vec![
                ("a".into(), b"1".to_vec()),
                ("b".into(), b"2".to_vec()),
                ("a".into(), b"3".to_vec()),
            ],
            total: Duration::from_millis(1500),
            received: 3,
            ..Report::default()
        }
    }

    fn text(format: &str, report: &Report) -> String {
        pieces(format, report).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn variables_and_escapes_become_text() {
        for (format, written) in [
            ("%{http_code} %{response_code}\\n", "404 404\n"),
            ("%{url_effective}|%{time_total}|%{size_download}|%{speed_download}", "http://x/|1.500000|3|2"),
            ("100%% %d \\x\\t%{redirect_url}.", "100% %d \\x\t."),
            ("%header{A}%header{c}", "1"),
            ("a%{onerror}b", "a"),
            ("%", "%"),
            ("%{open", "%{open"),
            ("\\", "\\"),
            ("%{header_json}", "{\"a\":[\"1\",\"3\"],\n\"b\":[\"2\"]\n}"),
        ] {
            assert_eq!(text(format, &report()), written, "{format}");
        }
        let failed = Report { exit: 6, error: Some("why".into()), ..report() };
        assert_eq!(text("a%{onerror}%{errormsg}", &failed), "awhy");
        let streams = pieces("a%{stderr}b%{stdout}c%{odd}d", &failed);
        let errors: String = streams
            .iter()
            .filter(|(stream, _)| *stream == Stream::Errors)
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(errors, "bcurl: unknown --write-out variable: 'odd'\n");
    }

    #[test]
    fn the_json_is_json() {
        let read: Value = serde_json::from_str(&text("%{json}", &report())).unwrap();
        assert_eq!((&read["http_code"], &read["url_effective"]), (&json!(404), &json!("http://x/")));
    }
}
