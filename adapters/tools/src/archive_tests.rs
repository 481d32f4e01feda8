//! Archives that are well meant, and those that are not.

use std::io::{Cursor, Write as _};

use dormouse_core::ErrorCode;
use zip::write::SimpleFileOptions;

use super::*;

fn target() -> GuestPath {
    GuestPath::parse("/workspace").unwrap()
}

fn zipped(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        if name.ends_with('/') {
            writer.add_directory(*name, SimpleFileOptions::default()).unwrap();
        } else {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
    }
    writer.finish().unwrap().into_inner()
}

/// A tar whose names are written as they are: the library's own checks are for those who mean well.
fn tarred(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        if matches!(kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn code(packed: &[u8]) -> ErrorCode {
    let error = unpack(packed, &target()).unwrap_err();
    assert!(error.message().len() < 1_000);
    error.code()
}

#[test]
fn files_and_folders_come_out_below_the_target() {
    use tar::EntryType::{Directory, Regular};
    let tar = tarred(&[("./", Directory, b""), ("./d/", Directory, b""), ("./d/a.txt", Regular, b"one")]);
    let zip = zipped(&[("d/", b""), ("d/a.txt", b"one")]);
    for packed in [&zip, &tar, &gzipped(&tar)] {
        let unpacked = unpack(packed, &target()).unwrap();
        let names: Vec<&str> = unpacked.folders.iter().map(GuestPath::as_str).collect();
        assert_eq!(names, ["/workspace/d"]);
        let (path, bytes) = &unpacked.files[0];
        assert_eq!((path.as_str(), bytes.as_slice()), ("/workspace/d/a.txt", &b"one"[..]));
    }
    assert_eq!(unpack(&zipped(&[]), &target()).unwrap().files.len(), 0);
}

#[test]
fn fs_09_one_bad_entry_refuses_the_whole() {
    use tar::EntryType::{Block, Char, Directory, Fifo, GNUSparse, Link, Regular, Symlink};
    for name in ["../x", "/abs", "a/../../x", "a//b", "a/./b", "..", "a\\..\\b"] {
        let tar = tarred(&[("ok", Regular, b"1"), (name, Regular, b"1")]);
        assert_eq!(code(&tar), ErrorCode::PathDenied, "{name}");
        assert_eq!(code(&gzipped(&tar)), ErrorCode::PathDenied, "{name}");
        assert_eq!(code(&zipped(&[("ok", b"1"), (name, b"1")])), ErrorCode::PathDenied, "{name}");
    }
    for kind in [Symlink, Link, Char, Block, Fifo, GNUSparse] {
        assert_eq!(code(&tarred(&[("ok", Regular, b"1"), ("x", kind, b"")])), ErrorCode::ArgsInvalid);
    }
    for twice in [
        tarred(&[("a", Regular, b"1"), ("a", Regular, b"2")]),
        tarred(&[("a", Regular, b"1"), ("a/b", Regular, b"2")]),
        tarred(&[("a/b", Regular, b"1"), ("a", Regular, b"2")]),
        tarred(&[("a", Directory, b""), ("./a", Regular, b"2")]),
    ] {
        assert_eq!(code(&twice), ErrorCode::ArgsInvalid);
    }
    // Who writes a zip takes a name once, and who reads one the last of it.
    let mut twice = zipped(&[("name-1", b"1"), ("name-2", b"2")]);
    while let Some(at) = twice.windows(6).position(|window| window == b"name-2") {
        twice[at + 5] = b'1';
    }
    assert_eq!(code(&twice), ErrorCode::ArgsInvalid);
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("x", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    assert_eq!(code(&writer.finish().unwrap().into_inner()), ErrorCode::ArgsInvalid);
}

#[test]
fn fs_09_bombs_are_refused_before_they_fill_memory() {
    let zeroes = vec![0; 32 << 20];
    assert_eq!(code(&zipped(&[("big", &zeroes)])), ErrorCode::TooLarge);
    assert_eq!(code(&gzipped(&tarred(&[("big", tar::EntryType::Regular, &zeroes)]))), ErrorCode::TooLarge);
    let names: Vec<String> = (0..=MAX_ENTRIES).map(|number| number.to_string()).collect();
    let many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert_eq!(code(&zipped(&many)), ErrorCode::TooLarge);
    assert_eq!(unpack(&zipped(&many[1..]), &target()).unwrap().files.len(), MAX_ENTRIES);
    // A size that is only claimed.
    let mut claims = tarred(&[("a", tar::EntryType::Regular, b"1")]);
    claims[124..135].copy_from_slice(b"77777777777");
    let sum: u32 = claims[..512]
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) })
        .sum();
    claims[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    assert_eq!(code(&claims), ErrorCode::TooLarge);
}

#[test]
fn fs_09_what_is_cut_or_changed_is_refused() {
    let whole = zipped(&[("a.txt", &b"hello hello hello".repeat(100))]);
    assert_eq!(code(&whole[..whole.len() / 2]), ErrorCode::ArgsInvalid);
    let mut changed = whole.clone();
    changed[45] ^= 0xff;
    assert_eq!(code(&changed), ErrorCode::ArgsInvalid);
    let tar = tarred(&[("a", tar::EntryType::Regular, &[7; 3000])]);
    assert_eq!(code(&tar[..1024]), ErrorCode::ArgsInvalid);
    assert_eq!(code(&gzipped(&tar)[..40]), ErrorCode::ArgsInvalid);
    assert_eq!(code(b"hello"), ErrorCode::ArgsInvalid);
}

#[test]
fn an_archive_that_is_cut_off_is_refused_with_a_hint() {
    let tar = tarred(&[("a", tar::EntryType::Regular, &[1; 2_000])]);
    for cut in [&tar[..600], &zipped(&[("a", b"1")])[..20]] {
        let error = unpack(cut, &target()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("nothing was unpacked")), "{error}");
    }
}
