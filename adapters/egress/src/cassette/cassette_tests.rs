//! The file: what is none, was changed or cut, or is past its bounds.

use bytes::Bytes;
use dormouse_core::ErrorCode;
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};

use super::*;
use crate::message::Target;
use crate::secrets::{Washer, forms_of};

fn asked(path: &str) -> Asked {
    let uri = format!("https://a.test{path}").parse().unwrap();
    let washer = Washer::new(std::sync::Arc::new(forms_of(&["a-placeholder".into()])));
    Asked::of("GET", &Target::of(&uri).unwrap(), &uri, &HeaderMap::new(), washer)
}

/// A recording of two requests.
fn recorded(path: &Path) {
    let cassette = Cassette::record(path).unwrap();
    for at in 0..2 {
        let Ok(Met::Recorded(mut tape)) = cassette.meet(&asked(&format!("/{at}")), b"body") else {
            panic!("it is recorded")
        };
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("x-own"), "\u{e9}".parse().unwrap());
        tape.head(StatusCode::OK, &headers);
        tape.piece(b"text \"quoted\"\n");
        tape.piece(&[255, 0]);
        tape.end();
    }
    cassette.finish().unwrap();
}

fn replayed(cassette: &Cassette, path: &str) -> Option<(u16, Vec<Bytes>)> {
    let Ok(Met::Replayed(mut answer)) = cassette.meet(&asked(path), b"body") else { return None };
    let mut pieces = Vec::new();
    while let Some(piece) = answer.pieces.take() {
        pieces.push(piece.unwrap());
    }
    Some((answer.status.as_u16(), pieces))
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    recorded(&path);
    let cassette = Cassette::replay(&path).unwrap();
    let body = vec![Bytes::from("text \"quoted\"\n"), Bytes::from_static(&[255, 0])];
    assert_eq!(replayed(&cassette, "/1"), Some((200, body)));
    assert_eq!(replayed(&cassette, "/2"), None);
    // Recorded anew, what was there before is gone.
    drop(Cassette::record(&path).unwrap());
    assert_eq!(replayed(&Cassette::replay(&path).unwrap(), "/1"), None);
}

#[test]
fn net_33_a_recording_that_was_changed_or_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    recorded(&path);
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8], told: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = Cassette::replay(&path).expect_err(told);
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{told}");
        error.message().to_owned()
    };
    for length in 0..whole.len() {
        refused(&whole[..length], &format!("cut at {length}"));
    }
    for at in 0..whole.len() {
        let mut other = whole.clone();
        other[at] ^= 1;
        refused(&other, &format!("changed at {at}"));
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for at in 0..lines.len() {
        let mut fewer = lines.clone();
        fewer.remove(at);
        refused(&fewer.concat(), &format!("without line {at}"));
        let mut more = lines.clone();
        more.insert(at, lines[at]);
        refused(&more.concat(), &format!("line {at} twice"));
    }
    assert!(refused(&[&whole[..], b"\n"].concat(), "more").contains("behind its end"));
    let version = String::from_utf8(whole.clone()).unwrap().replacen("\"version\":1", "\"version\":2", 1);
    assert!(refused(version.as_bytes(), "version").contains("this version, which is 1"));
}

/// A file whose hash is right.
fn sealed(lines: &[String]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let requests = lines.iter().filter(|line| line.contains("\"request\"")).count();
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("{text}{{\"whole\":{{\"requests\":{requests},\"blake3\":\"{hash}\"}}}}\n")
}

#[test]
fn net_33_a_recording_that_says_what_none_says_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let first = "{\"cassette\":{\"version\":1}}".to_owned();
    let request = |number: u64| {
        format!(
            "{{\"request\":{{\"number\":{number},\"asked\":{{\"method\":\"GET\",\"url\":\"https://a.test/\",\"body\":\"\"}}}}}}"
        )
    };
    let answer = "{\"answer\":{\"number\":1,\"status\":200,\"headers\":[]}}".to_owned();
    let piece = "{\"piece\":{\"number\":1,\"bytes\":\"x\"}}".to_owned();
    let end = "{\"end\":{\"number\":1}}".to_owned();
    let read = |lines: &[&String]| {
        let lines: Vec<String> = std::iter::once(&first).chain(lines.iter().copied()).cloned().collect();
        std::fs::write(&path, sealed(&lines)).unwrap();
        Cassette::replay(&path).map_err(|error| error.message().to_owned())
    };
    assert!(read(&[]).is_ok());
    assert!(read(&[&request(1), &answer, &piece, &end]).is_ok());
    // Without an end it broke off.
    assert!(read(&[&request(1), &answer, &piece]).is_ok() && read(&[&request(1)]).is_ok());
    let odd = |line: &str| line.to_owned();
    for (lines, wanted) in [
        (vec![&request(2)], "out of order"),
        (vec![&request(1), &request(1)], "out of order"),
        (vec![&answer], "answer"),
        (vec![&request(1), &answer, &answer], "answer"),
        (vec![&request(1), &piece], "piece"),
        (vec![&request(1), &answer, &end, &piece], "piece"),
        (vec![&request(1), &answer, &end, &end], "end"),
        (vec![&first], "version"),
        (vec![&request(1), &odd("{\"answer\":{\"number\":1,\"status\":99,\"headers\":[]}}")], "status"),
        (
            vec![
                &request(1),
                &odd("{\"answer\":{\"number\":1,\"status\":200,\"headers\":[[\"a b\",\"c\"]]}}"),
            ],
            "headers",
        ),
        (
            vec![
                &request(1),
                &odd("{\"answer\":{\"number\":1,\"status\":200,\"headers\":[[\"a\",\"c\\r\\nd: e\"]]}}"),
            ],
            "headers",
        ),
        (
            vec![&request(1), &answer, &odd("{\"piece\":{\"number\":1,\"bytes\":{\"base64\":\"?\"}}}")],
            "base64",
        ),
        (
            vec![&request(1), &odd("{\"failed\":{\"number\":1,\"reason\":\"host\",\"message\":\"\"}}")],
            "reason",
        ),
        (vec![&request(1), &odd("{\"failed\":{\"number\":0,\"reason\":\"reset\",\"message\":\"\"}}")], "end"),
        (vec![&request(1), &odd("{\"other\":{\"number\":1}}")], "no line"),
        (vec![&odd("")], "no line"),
    ] {
        let told = read(&lines).expect_err(wanted);
        assert!(told.contains(wanted), "{told}");
    }
    // 10⁵ requests, and one more.
    let many: Vec<String> = (1..=100_001).map(request).collect();
    let many: Vec<&String> = many.iter().collect();
    assert!(read(&many[..100_000]).is_ok());
    assert!(read(&many).unwrap_err().contains("too many requests"));
}

#[test]
fn net_33_a_recording_replaces_no_other_file_and_ends_at_its_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    for other in ["important", "{\"json\":true}\n", "\n"] {
        std::fs::write(&path, other).unwrap();
        assert_eq!(Cassette::record(&path).unwrap_err().code(), ErrorCode::Conflict);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
    }
    assert_eq!(Cassette::record(folder.path()).unwrap_err().code(), ErrorCode::StateUnavailable);
    assert_eq!(Cassette::replay(&folder.path().join("none")).unwrap_err().code(), ErrorCode::NotFound);
    // A full disk.
    let Ok(cassette) = Cassette::record(Path::new("/dev/full")) else { return };
    for at in 0..1_000 {
        let _ = cassette.meet(&asked(&format!("/{at}")), b"");
    }
    assert!(cassette.finish().unwrap_err().message().contains("not whole"));
}
