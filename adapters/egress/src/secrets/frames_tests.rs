//! Frames: washed over every cut, as long as they were, and nothing that cannot be looked into.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::*;
use crate::secrets::wash::Forms;

const VALUE: &str = "s3cr3t-value";
const STARS: &str = "************";

fn frames() -> Frames {
    let forms = Forms::new(&[Zeroizing::new(VALUE.as_bytes().to_vec())]);
    Frames::new(Washer::new(Arc::new(forms)))
}

/// A frame of a server.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u16::try_from(payload.len()) {
        Ok(short @ ..126) => bytes.push(u8::try_from(short).unwrap()),
        Ok(middle) => bytes.extend([&[126][..], &middle.to_be_bytes()].concat()),
        Err(_) => bytes.extend([&[127][..], &(payload.len() as u64).to_be_bytes()].concat()),
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// What is passed on of these pieces, and how often a value was found.
fn washed(pieces: &[&[u8]]) -> Result<(Vec<u8>, u64), Refusal> {
    let mut frames = frames();
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(frames.push(piece)?);
    }
    out.extend(frames.end());
    Ok((out, frames.found()))
}

/// Messages of all kinds, with a value or with what stands in its place.
fn conversation(value: &str) -> Vec<u8> {
    let (one, two) = value.split_at(5);
    let (two, three) = two.split_at(2);
    let large = format!("{}{value}{}", "a".repeat(200), "b".repeat(70_000));
    [
        frame(0x81, format!("<{value}>").as_bytes()),
        frame(0x82, &[0, 1, 2, 255]),
        // Cut by frames, with frames of control in between.
        frame(0x01, format!("x{one}").as_bytes()),
        frame(0x89, b"ping"),
        frame(0x00, two.as_bytes()),
        frame(0x00, b""),
        frame(0x8a, b""),
        frame(0x80, format!("{three}y").as_bytes()),
        frame(0x81, large.as_bytes()),
        frame(0x89, value.as_bytes()),
        // What begins a value and is none.
        frame(0x01, b"s3cr"),
        frame(0x80, b"3"),
        frame(0x81, b""),
        frame(0x88, format!("\x03\u{0}{value}").as_bytes()),
    ]
    .concat()
}

#[test]
fn net_14_a_value_in_frames_is_masked_over_every_cut_and_frames_stay_as_they_are() {
    let (text, wanted) = (conversation(VALUE), conversation(STARS));
    assert_eq!(washed(&[&text]).unwrap(), (wanted.clone(), 5));
    let interesting = text.len() - 70_000 + 200;
    for at in (0..200).chain(text.len() - 200..text.len()).chain([interesting]) {
        let (one, two) = text.split_at(at);
        assert_eq!(washed(&[one, two]).unwrap().0, wanted, "{at}");
    }
    for size in [1, 2, 3, 5, 7, 16, 4_096] {
        assert_eq!(washed(&text.chunks(size).collect::<Vec<_>>()).unwrap().0, wanted, "{size}");
    }
}

#[test]
fn frames_that_cannot_be_a_value_are_not_late() {
    let mut frames = frames();
    let hello = frame(0x81, b"hello");
    assert_eq!(frames.push(&hello).unwrap(), hello);
    // A message's end is no beginning of a value.
    let near = frame(0x81, b"s3cr3t-");
    assert_eq!(frames.push(&near).unwrap(), near);
    let begun = frame(0x01, b"a s3");
    assert_eq!(frames.push(&begun).unwrap(), &begun[..begun.len() - 2]);
    let ping = frame(0x89, b"p");
    assert_eq!(frames.push(&ping).unwrap(), b"");
    let rest = frame(0x80, b"!");
    assert_eq!(frames.push(&rest).unwrap(), [b"s3", &ping[..], &rest].concat());
}

#[test]
fn net_14_frames_that_cannot_be_looked_into_end_the_connection() {
    let masked = [0x81, 0x85, 1, 2, 3, 4, 5];
    for (bytes, wanted) in [
        (masked.to_vec(), "masked"),
        (frame(0xc1, b"deflated"), "extension"),
        (frame(0xa1, b"x"), "extension"),
        (frame(0x83, b"x"), "kind"),
        (frame(0x8b, b"x"), "kind"),
        (frame(0x09, b"x"), "kind"),
        (frame(0x89, &[b'x'; 126]), "kind"),
        (frame(0x80, b"x"), "beginning"),
        ([frame(0x01, b"x"), frame(0x81, b"x")].concat(), "within another"),
        ([vec![0x82, 127], u64::MAX.to_be_bytes().to_vec()].concat(), "longer"),
    ] {
        let refusal = washed(&[&bytes]).unwrap_err();
        assert!(refusal.reason == Reason::Encoding && refusal.message.contains(wanted), "{refusal}");
    }
}

#[test]
fn net_21_what_waits_for_the_rest_of_a_value_has_a_bound() {
    let mut frames = frames();
    frames.push(&frame(0x01, b"s3cr3t")).unwrap();
    let ping = frame(0x89, b"p");
    let ended = (0..10_000).find_map(|_| frames.push(&ping).err());
    assert!(ended.unwrap().message.contains("too many frames"));
    let waiting: usize = frames.waiting.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(waiting <= MAX_WAITING && frames.washer.kept() == 6);
    // Empty ones that go on count as well.
    let mut frames = self::frames();
    frames.push(&frame(0x01, b"s3cr3t")).unwrap();
    assert!((0..10_000).any(|_| frames.push(&frame(0x00, b"")).is_err()));
}
