//! What comes out of archives, and what does not. Whole readers, with their words, are tested by those who use this crate.

use std::io::{Cursor, Write as _};

use dormouse_core::ErrorCode;
use zip::write::SimpleFileOptions;

use super::*;

/// Words of these tests.
struct Plain {
    contiguous: bool,
}

impl Rules for Plain {
    fn refused(&self, name: &str, why: &str) -> Error {
        Error::args_invalid(format!("{name} {why}"))
    }

    fn damaged(&self, _: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::args_invalid("damaged")
    }

    fn too_many(&self) -> Error {
        Error::new(ErrorCode::TooLarge, "too many")
    }

    fn too_large(&self, most: u64) -> Error {
        Error::new(ErrorCode::TooLarge, format!("more than {most}"))
    }

    fn takes_contiguous(&self) -> bool {
        self.contiguous
    }
}

const PLAIN: Plain = Plain { contiguous: false };

fn zipped(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode, bytes) in entries {
        let options = SimpleFileOptions::default().unix_permissions(*mode);
        match name.strip_suffix('/') {
            Some(name) => writer.add_directory(name, options).unwrap(),
            None => {
                writer.start_file(*name, options).unwrap();
                writer.write_all(bytes).unwrap();
            }
        }
    }
    writer.finish().unwrap().into_inner()
}

fn tarred(entries: &[(&str, tar::EntryType, u32, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, mode, bytes) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        header.set_mode(*mode);
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

type Found = (String, Kind, bool, Vec<u8>);

/// Collects entries whose files may have so many bytes each.
fn collect(most: u64, found: &mut Vec<Found>) -> impl FnMut(&mut Entry<'_>) -> Result<()> {
    move |entry| {
        let bytes = if entry.kind == Kind::File { entry.read(most)? } else { Vec::new() };
        found.push((entry.name.clone(), entry.kind, entry.executable, bytes));
        Ok(())
    }
}

fn of_zip(packed: &[u8], most: u64) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    Zip::open(packed, &PLAIN)?.each(collect(most, &mut found))?;
    Ok(found)
}

fn of_tar(plain: &[u8], most: u64, rules: &Plain) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    tar(plain, rules, collect(most, &mut found))?;
    Ok(found)
}

#[test]
fn files_and_folders_come_out_in_their_order_with_their_modes() {
    use tar::EntryType::{Directory, Regular};
    let wanted = [
        ("d/".to_owned(), Kind::Folder, true, Vec::new()),
        ("d/run".to_owned(), Kind::File, true, b"one".to_vec()),
        ("a".to_owned(), Kind::File, false, b"two".to_vec()),
    ];
    let packed = zipped(&[("d/", 0o755, b""), ("d/run", 0o755, b"one"), ("a", 0o644, b"two")]);
    assert_eq!(of_zip(&packed, 3).unwrap(), wanted);
    let plain = tarred(&[
        ("d/", Directory, 0o755, b""),
        ("d/run", Regular, 0o755, b"one"),
        ("a", Regular, 0o644, b"two"),
    ]);
    assert_eq!(of_tar(&plain, 3, &PLAIN).unwrap(), wanted);
    let packed = gzipped(&plain);
    assert_eq!(gunzip(&packed, plain.len() as u64, "x", &PLAIN).unwrap(), plain);
    let mut found = Vec::new();
    tar(gunzipped(&packed, plain.len() as u64), &PLAIN, collect(3, &mut found)).unwrap();
    assert_eq!(found, wanted);
}

#[test]
fn a_stream_ends_at_its_bound() {
    assert_eq!(of_zip(&zipped(&[("a", 0o644, b"four")]), 3).unwrap_err().message(), "more than 3");
    let plain = tarred(&[("a", tar::EntryType::Regular, 0o644, b"four")]);
    assert_eq!(of_tar(&plain, 3, &PLAIN).unwrap_err().message(), "more than 3");
    let packed = gzipped(&plain);
    assert_eq!(gunzip(&packed, 3, "x", &PLAIN).unwrap_err().message(), "more than 3");
    let mut bytes = Vec::new();
    gunzipped(&packed, 3).read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 4);
    assert_eq!(
        gunzip(&packed[..packed.len() - 9], 1 << 20, "x", &PLAIN).unwrap_err().message(),
        "x is damaged"
    );
}

#[test]
fn what_is_no_file_and_no_folder_is_refused_by_name() {
    use tar::EntryType::{Block, Char, Continuous, Fifo, Link, Symlink};
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer.add_symlink("l", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    let packed = writer.finish().unwrap().into_inner();
    assert_eq!(of_zip(&packed, 99).unwrap_err().message(), "l is a link or a device");
    for kind in [Block, Char, Continuous, Fifo, Link, Symlink] {
        let error = of_tar(&tarred(&[("l", kind, 0o644, b"")]), 99, &PLAIN).unwrap_err();
        assert!(error.message().starts_with("l is a link, a device or"), "{kind:?}: {error}");
    }
    let contiguous = tarred(&[("c", Continuous, 0o644, b"x")]);
    assert_eq!(of_tar(&contiguous, 99, &Plain { contiguous: true }).unwrap()[0].3, b"x");
}

#[test]
fn more_entries_than_the_bound_are_refused_before_the_table_is_read() {
    let packed = b"PK\x01\x02".repeat(MAX_ENTRIES + 1);
    assert_eq!(Zip::open(&packed, &PLAIN).err().unwrap().message(), "too many");
    assert_eq!(Zip::open(&packed[4..], &PLAIN).err().unwrap().message(), "damaged");
}

#[test]
fn a_name_that_stands_twice_in_the_table_is_seen() {
    let mut packed = zipped(&[("name-1", 0o644, b"1"), ("name-2", 0o644, b"2")]);
    assert!(!Zip::open(&packed, &PLAIN).unwrap().hides_entries());
    let second = |packed: &[u8]| packed.windows(6).position(|window| window == b"name-2");
    while let Some(at) = second(&packed) {
        packed[at + 5] = b'1';
    }
    assert!(Zip::open(&packed, &PLAIN).unwrap().hides_entries());
}

#[test]
fn one_file_is_found_by_its_name() {
    let packed = zipped(&[("a", 0o644, b"1"), ("d/b", 0o644, b"22")]);
    let one = |most, name: &str| Zip::open(&packed, &PLAIN).unwrap().one("x", most, |path| path == name);
    assert_eq!(one(2, "d/b").unwrap().unwrap(), b"22");
    assert_eq!(one(1, "d/b").unwrap_err().message(), "more than 1");
    assert!(one(9, "b").unwrap().is_none());
}

#[test]
fn a_file_above_another_is_found() {
    let names = BTreeSet::from(["a", "a/b/c", "d"]);
    assert_eq!(file_above(names.iter().copied(), &BTreeSet::from(["a", "a/b/c"])), Some("a"));
    assert_eq!(file_above(names.iter().copied(), &BTreeSet::from(["a/b/c", "d"])), None);
}
