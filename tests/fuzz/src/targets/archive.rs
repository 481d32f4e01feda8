//! Archives that are uploaded: everything stays below the folder, within the bounds, or nothing is unpacked.

use std::collections::BTreeSet;

use dormouse_core::{ErrorCode, GuestPath};
use dormouse_tools::fuzz::{most, unpack};

use super::{assert_below, assert_no_file_is_a_folder};
use crate::Target;

pub(crate) const TARGET: Target = Target {
    words: &[
        "PK\u{1}\u{2}",
        "PK\u{3}\u{4}",
        "PK\u{5}\u{6}",
        "ustar",
        "../",
        "/",
        "\\",
        "././@LongLink",
        "path=",
        "GNU.sparse.",
    ],
    // The unpacked bytes may be 200 times as many, and a copy of them is made.
    memory: 128 << 20,
    ..Target::new("archive", "uploaded zip, tar and tar.gz (adapters/tools)", run)
};

fn run(input: &[u8]) {
    let target = GuestPath::parse("/workspace/in").expect("a path");
    let (folders, files) = match unpack(input, &target) {
        Ok(unpacked) => unpacked,
        Err(error) => {
            let known = [ErrorCode::ArgsInvalid, ErrorCode::PathDenied, ErrorCode::TooLarge];
            return assert!(known.contains(&error.code()) && error.hint().is_some(), "{error}");
        }
    };
    let size: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert!(size <= most(input.len()));
    let file_names = || files.iter().map(|(path, _)| path.as_str());
    let names: Vec<&str> = file_names().chain(folders.iter().map(GuestPath::as_str)).collect();
    for name in &names {
        assert_below(name.strip_prefix("/workspace/in/").expect("all lies below the folder"));
    }
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no name is there twice");
    assert_no_file_is_a_folder(file_names(), &names);
}
