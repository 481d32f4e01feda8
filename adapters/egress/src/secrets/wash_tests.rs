//! Washing, over every cut.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

fn forms(texts: &[&str]) -> Arc<Forms> {
    let all: Vec<_> = texts.iter().map(|text| Zeroizing::new(text.as_bytes().to_vec())).collect();
    Arc::new(Forms::new(&all))
}

/// What the straightforward way makes of it: every byte of every occurrence.
fn plainly(texts: &[&str], text: &[u8]) -> Vec<u8> {
    let mut washed = text.to_vec();
    for form in texts {
        for at in 0..text.len() {
            if text[at..].starts_with(form.as_bytes()) {
                washed[at..at + form.len()].fill(b'*');
            }
        }
    }
    washed
}

fn washed(forms: &Arc<Forms>, pieces: &[&[u8]]) -> (Vec<u8>, u64) {
    let mut washer = Washer::new(forms.clone());
    let mut out: Vec<u8> = pieces.iter().flat_map(|piece| washer.push(piece)).collect();
    out.extend(washer.end());
    (out, washer.found)
}

#[test]
fn net_14_a_value_is_found_over_every_cut() {
    let texts = ["s3cr3t-value", "zzz", "value-s3", "3t-value-s3cr3t"];
    let all = forms(&texts);
    let text = b"aaa-s3cr3t-value-s3cr3t-values3cr3t-zzzz s3cr3t-valu".repeat(2);
    let wanted = plainly(&texts, &text);
    for first in 0..text.len() {
        for second in first..text.len() {
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            assert_eq!(washed(&all, &pieces).0, wanted, "{first} {second}");
        }
    }
    for size in 1..text.len() {
        assert_eq!(washed(&all, &text.chunks(size).collect::<Vec<_>>()).0, wanted, "{size}");
    }
    assert_eq!(washed(&forms(&["s3cr3t-value"]), &[&text]).1, 4);
}

#[test]
fn net_14_any_text_and_any_forms_are_washed_as_the_plain_way_does() {
    let mut random = ChaCha8Rng::seed_from_u64(14);
    for _ in 0..20_000 {
        let mut word = |most: u32| -> String {
            let length = 1 + random.next_u32() % most;
            (0..length).map(|_| if random.next_u32() % 2 == 0 { 'a' } else { 'b' }).collect()
        };
        let texts: Vec<String> = (0..3).map(|_| word(6)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let text = word(40).into_bytes();
        let all = forms(&texts);
        let mut pieces = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let (piece, other) = rest.split_at(1 + random.next_u32() as usize % rest.len());
            pieces.push(piece);
            rest = other;
        }
        assert_eq!(
            washed(&all, &pieces).0,
            plainly(&texts, &text),
            "{texts:?} in {}",
            String::from_utf8_lossy(&text)
        );
        assert_eq!(all.are_in(&text), texts.iter().any(|form| String::from_utf8_lossy(&text).contains(form)));
    }
}

#[test]
fn nothing_is_late_that_cannot_be_a_value() {
    let mut washer = Washer::new(forms(&["s3cr3t-value"]));
    assert_eq!(washer.push(b"data: 1\n\n"), b"data: 1\n\n");
    assert_eq!(washer.push(b"data: s3"), b"data: ");
    assert_eq!(washer.push(b" x"), b"s3 x");
    assert_eq!(washer.push(b"s3cr3t-valu"), b"");
    assert_eq!(washer.push(b"e\n"), b"************\n");
}

#[test]
fn net_16_what_nearly_is_a_value_hides_none() {
    let value = "k".repeat(8 << 10);
    let all = forms(&[&value, "s3cr3t-value"]);
    let mut text = b"s3cr3t-valu ".repeat(10_000);
    text.extend_from_slice(b"s3cr3t-value");
    text.extend_from_slice(&"k".repeat((8 << 10) - 1).into_bytes());
    text.extend_from_slice(b" ");
    text.extend_from_slice(&"k".repeat((8 << 10) + 5).into_bytes());
    let (out, found) = washed(&all, &text.chunks(4_096).collect::<Vec<_>>());
    assert_eq!((out.len(), found), (text.len(), 2));
    assert!(out.ends_with(&b"*".repeat((8 << 10) + 5)) && !all.are_in(&out));
    assert_eq!(out.iter().filter(|byte| **byte == b'*').count(), 12 + (8 << 10) + 5);
}

#[test]
fn without_forms_everything_passes() {
    let (out, found) = washed(&forms(&[]), &[b"anything", b" at all"]);
    assert_eq!((out.as_slice(), found), (&b"anything at all"[..], 0));
}

#[test]
fn net_14_a_value_is_found_with_any_of_its_characters_escaped() {
    let value = "p<a>s&s'w\"ord+9/8=x%4\\1é";
    let forms = forms(&[value]);
    let mut random = ChaCha8Rng::seed_from_u64(41);
    let mut escaped = |character: char| -> String {
        let number = u32::from(character);
        let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        match random.next_u32() % 8 {
            0 => percent(&character.to_string()),
            1 => percent(&character.to_string()).to_uppercase(),
            2 => format!("\\u{number:04x}"),
            3 => format!("\\u{number:04X}"),
            4 => format!("&#{number:03};"),
            5 => format!("&#x{number:X};"),
            6 => format!("\\x{number:02x}"),
            _ => match character {
                '&' => "&amp;".into(),
                '<' => "&lt;".into(),
                '>' => "&gt;".into(),
                '"' | '\\' | '/' => format!("\\{character}"),
                '\'' => "&apos;".into(),
                '%' => "%25".into(),
                plain => plain.into(),
            },
        }
    };
    for _ in 0..500 {
        let middle: String = value.chars().map(&mut escaped).collect();
        let text = format!("a %zz \\u00 {middle}&am");
        let wanted = format!("a %zz \\u00 {}&am", "*".repeat(middle.len()));
        assert!(forms.are_in(text.as_bytes()), "{text}");
        for cut in 0..text.len() {
            let (washed, found) = washed(&forms, &[&text.as_bytes()[..cut], &text.as_bytes()[cut..]]);
            assert_eq!((String::from_utf8(washed).unwrap(), found), (wanted.clone(), 1), "{text} {cut}");
        }
    }
    // What has an escape's beginning alone is as it came.
    let odd = "%%4%41%\\\\u004\\u00g1&#;&#x;&#xg;&#99999999999;&&amp&lt;\\ud800 %";
    for cut in 0..odd.len() {
        assert_eq!(
            washed(&forms, &[&odd.as_bytes()[..cut], &odd.as_bytes()[cut..]]).0,
            odd.as_bytes(),
            "{cut}"
        );
    }
}
