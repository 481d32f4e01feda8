//! A checkpoint that was cut, changed or made by another guest is refused, and nothing is restored.

use std::fs;

use dormouse::ErrorCode;
use dormouse::wasm::{SavedInterpreter, Settings, WasmProvider};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};
use serde_json::Value as Json;

use crate::Kept;

fn saved(language: &str) -> Vec<u8> {
    let mut kept = Kept::new(language);
    kept.call("x = 1");
    kept.checkpoint().to_bytes()
}

/// The checkpoint's own form: eight bytes, then the language and the guest, each with its length before it.
fn guest_at(bytes: &[u8]) -> usize {
    8 + 1 + usize::from(bytes[8]) + 1
}

/// The same, with the other guests as they are.
pub(crate) fn another_build_among_others(language: &str) -> tempfile::TempDir {
    let folder = another_build(language);
    let own = Settings::default_cache().expect("a cache");
    let guests = fs::read_dir(own.join("guests")).expect("guests have been built").flatten();
    let others = guests.map(|entry| entry.file_name()).filter(|name| name.to_str() != Some(language));
    let others = others.map(|name| std::path::Path::new("guests").join(name));
    for part in others.chain([std::path::PathBuf::from("artifacts")]) {
        let Ok(files) = fs::read_dir(own.join(&part)) else { continue };
        fs::create_dir_all(folder.path().join(&part)).expect("a folder can be made");
        for file in files.flatten().filter(|file| file.path().is_file()) {
            let copy = folder.path().join(&part).join(file.file_name());
            // A link where that is possible: a copy of all of it takes gigabytes for each test. Nobody writes into a file that
            // is there. Somebody else's draft may be gone again.
            let _ = fs::hard_link(file.path(), &copy).or_else(|_| fs::copy(file.path(), copy).map(drop));
        }
    }
    folder
}

/// A cache in which the guest is another build: the same interpreter with a note at its end.
pub(crate) fn another_build(language: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = Settings::default_cache().expect("a cache").join("guests").join(language);
    let key = fs::read_to_string(own.join("current")).expect("the guest has been built");
    let wasm = fs::read(own.join(key.trim()).with_extension("wasm")).expect("the guest has been built");
    let record = fs::read(own.join(key.trim()).with_extension("json")).expect("the guest has been built");
    let mut record: Json = serde_json::from_slice(&record).expect("the record is JSON");
    record.as_object_mut().expect("an object").remove("sha256");
    let copy = folder.path().join("guests").join(language);
    fs::create_dir_all(&copy).expect("a folder can be made");
    fs::write(copy.join("current"), "0").expect("a file can be written");
    fs::write(copy.join("0.wasm"), [wasm.as_slice(), b"\0\x05\x04note"].concat())
        .expect("a file can be written");
    fs::write(copy.join("0.json"), record.to_string()).expect("a file can be written");
    folder
}

#[test]
fn the_checkpoint_of_another_build_is_refused() {
    let cache = another_build(JAVASCRIPT);
    let settings = Settings { cache: cache.path().into(), ..Settings::new().expect("settings") };
    let other = WasmProvider::new(settings).expect("a provider");
    let checkpoint = SavedInterpreter::from_bytes(&saved(JAVASCRIPT)).expect("it is whole");
    let error = sandbox::wait(other.restore(&checkpoint)).err().expect("it belongs to another build");
    assert_eq!(error.code(), ErrorCode::GuestMismatch);
    assert!(error.message().contains("another build") && error.hint().is_some(), "{error}");
    assert!(Kept::restored(&checkpoint).is_ok(), "its own guest takes it");
}

#[test]
fn a_cut_checkpoint_is_refused_wherever_it_was_cut() {
    for language in [PYTHON, JAVASCRIPT] {
        let bytes = saved(language);
        let steps = (0..200).chain((200..bytes.len()).step_by(bytes.len() / 200)).chain([bytes.len() - 1]);
        for end in steps {
            let error = SavedInterpreter::from_bytes(&bytes[..end])
                .err()
                .unwrap_or_else(|| panic!("cut at {end}: taken"));
            assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        }
        let longer = [bytes.as_slice(), b"\0"].concat();
        assert!(SavedInterpreter::from_bytes(&longer).is_err(), "one byte more");
    }
}

#[test]
fn a_changed_checkpoint_is_refused_at_any_bit() {
    for language in [PYTHON, JAVASCRIPT] {
        let bytes = saved(language);
        let places = (0..200).chain((200..bytes.len()).step_by(bytes.len() / 300)).chain([bytes.len() - 1]);
        for at in places {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let refused = SavedInterpreter::from_bytes(&changed).is_err();
            assert!(refused, "{language}: bit {} of byte {at} of {} was changed", at % 8, bytes.len());
        }
    }
}

#[test]
fn what_is_no_checkpoint_is_refused_and_claims_cost_nothing() {
    for bytes in [&b""[..], b"x", b"DMOUSE", b"\0\0\0\0\0\0\0\0", &[0xff; 4096]] {
        let error = SavedInterpreter::from_bytes(bytes).expect_err("no checkpoint");
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.hint().is_some(), "{error}");
    }
    // A header that claims a terabyte of memory in a few bytes.
    let mut claim = saved(PYTHON)[..200].to_vec();
    let at = guest_at(&claim) + 64;
    claim[at + 4..at + 20].fill(0xff);
    assert!(SavedInterpreter::from_bytes(&claim).is_err());
}
