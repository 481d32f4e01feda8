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
    Asked::of("GET", &Target::of(&uri).unwrap(), &uri, &HeaderMap::new(), washer, None)
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
}

fn begun(path: &Path, asks: &str) -> (Cassette, Tape) {
    let cassette = Cassette::record(path).unwrap();
    let Ok(Met::Recorded(tape)) = cassette.meet(&asked(asks), b"body") else { panic!("it is recorded") };
    (cassette, tape)
}

#[test]
fn net_33_what_was_recorded_before_is_there_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let part = folder.path().join("tape.part");
    recorded(&path);
    let before = std::fs::read(&path).unwrap();
    // Nothing was asked.
    drop(Cassette::record(&path).unwrap());
    assert!(std::fs::read(&path).unwrap() == before && !part.exists());
    // It goes on, and nobody else records there.
    let (cassette, mut tape) = begun(&path, "/new");
    let error = Cassette::record(&path).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Conflict);
    assert!(error.message().contains("another process"), "{error}");
    tape.head(StatusCode::OK, &HeaderMap::new());
    tape.end();
    assert_eq!(std::fs::read(&path).unwrap(), before);
    cassette.finish().unwrap();
    cassette.finish().unwrap();
    assert!(replayed(&Cassette::replay(&path).unwrap(), "/new").is_some() && !part.exists());
    // A link is none to be replaced.
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    recorded(&link);
    assert!(link.is_symlink() && std::fs::read(&path).unwrap() == before);
    // The folder is gone.
    let gone = folder.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let (cassette, _tape) = begun(&gone.join("tape"), "/");
    std::fs::remove_dir_all(&gone).unwrap();
    assert!(cassette.finish().unwrap_err().message().contains("is not whole"));
}

#[test]
fn net_33_a_process_that_may_move_no_file_finishes_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let part = folder.path().join("tape.part");
    for there in [false, true] {
        assert_eq!(path.exists(), there);
        let mut cassette = Cassette::record(&path).unwrap();
        cassette.before_the_wall().unwrap();
        drop(cassette.meet(&asked("/"), b"body"));
        // In place of a wall: what is written cannot be moved, for it has another name.
        std::fs::rename(&part, folder.path().join("elsewhere")).unwrap();
        let _ = cassette.finish();
        assert!(Cassette::replay(&path).is_ok());
    }
}

#[test]
fn net_33_what_was_whole_when_its_process_was_killed_is_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tape");
    let (cassette, mut tape) = begun(&path, "/1");
    tape.head(StatusCode::OK, &HeaderMap::new());
    tape.piece(b"one");
    let part = || std::fs::read(folder.path().join("tape.part")).unwrap();
    let killed = folder.path().join("killed");
    std::fs::write(&killed, part()).unwrap();
    let refused = Cassette::replay(&killed).unwrap_err();
    assert!(refused.message().contains("no answer in it is whole"), "{refused}");
    assert!(Cassette::replay(&path).unwrap_err().hint().unwrap().contains("tape.part"));
    tape.end();
    let Ok(Met::Recorded(other)) = cassette.meet(&asked("/2"), b"body") else { panic!("it is recorded") };
    other.head(StatusCode::OK, &HeaderMap::new());
    let Ok(Met::Recorded(mut third)) = cassette.meet(&asked("/3"), b"body") else { panic!("it is recorded") };
    third.head(StatusCode::OK, &HeaderMap::new());
    third.end();
    let whole = part();
    for cut in [&whole[..], &[&whole[..], b"{\"piece\":{\"num"].concat()] {
        std::fs::write(&killed, cut).unwrap();
        let played = Cassette::replay(&killed).unwrap();
        assert_eq!(replayed(&played, "/1"), Some((200, vec![Bytes::from("one")])));
        assert_eq!((replayed(&played, "/2"), replayed(&played, "/3")), (None, Some((200, vec![]))));
    }
    // Not if it was changed, or a line within it.
    for (from, to) in [("one", "two"), ("\"/3\"", "\"/4\""), ("\"end\"", "\"emd\"")] {
        let other = String::from_utf8(whole.clone()).unwrap().replacen(from, to, 1);
        std::fs::write(&killed, &other).unwrap();
        assert_eq!(Cassette::replay(&killed).is_err(), other.as_bytes() != whole, "{from}");
    }
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
    let ends = |bytes: &[u8]| {
        bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\"kept\"")).count()
    };
    for length in 0..whole.len() {
        // The first stands behind the first line; the last line may not be whole.
        let at_line = whole[..length].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        match ends(&whole[..at_line]) {
            0 | 1 => drop(refused(&whole[..length], &format!("cut at {length}"))),
            all => {
                std::fs::write(&path, &whole[..length]).unwrap();
                let played = Cassette::replay(&path).unwrap();
                let is_there = |at: usize| replayed(&played, &format!("/{at}")).is_some();
                assert_eq!((is_there(0), is_there(1)), (all > 1, all > 2), "cut at {length}");
            }
        }
    }
    for at in 0..whole.len() - 1 {
        let mut other = whole.clone();
        other[at] ^= 1;
        refused(&other, &format!("changed at {at}"));
    }
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    for at in 0..lines.len() - 1 {
        let mut fewer = lines.clone();
        fewer.remove(at);
        refused(&fewer.concat(), &format!("without line {at}"));
        let mut more = lines.clone();
        more.insert(at, lines[at]);
        refused(&more.concat(), &format!("line {at} twice"));
    }
    assert!(refused(&[&whole[..], b"\n"].concat(), "more").contains("behind its end"));
    let version = String::from_utf8(whole.clone()).unwrap().replacen("\"version\":2", "\"version\":3", 1);
    assert!(refused(version.as_bytes(), "version").contains("a version from 1 to 2"));
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
    // Beside it lies something else.
    let beside = folder.path().join("other");
    std::fs::write(folder.path().join("other.part"), "important").unwrap();
    assert_eq!(Cassette::record(&beside).unwrap_err().code(), ErrorCode::Conflict);
    assert_eq!(Cassette::replay(&folder.path().join("none")).unwrap_err().code(), ErrorCode::NotFound);
    assert_eq!(
        Cassette::record(&folder.path().join("none/tape")).unwrap_err().code(),
        ErrorCode::StateUnavailable
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they need")]
fn net_33_what_is_no_file_is_refused_at_once() {
    use std::os::unix::net::UnixListener;
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    let mut odd = vec![folder.path().to_owned(), socket, "/dev/null".into(), "/dev/full".into(), "/".into()];
    odd.extend(made.is_ok_and(|status| status.success()).then_some(pipe));
    for path in odd {
        let recorded = Cassette::record(&path).unwrap_err();
        assert_eq!(recorded.code(), ErrorCode::Conflict, "{recorded}");
        assert!(recorded.message().contains("no regular file"), "{recorded}");
        Cassette::replay(&path).unwrap_err();
    }
}
