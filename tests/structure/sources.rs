//! Rules for every source file.

use super::{files, name, read};

/// The files of guests with unsafe code: the border to C, macros for it, libgit2's settings, and TypeScript's own border.
const UNSAFE_IN_GUESTS: [&str; 15] = [
    "guests/contract/src/abi.rs",
    "guests/contract/src/git.rs",
    "guests/contract/src/heap.rs",
    "guests/contract/src/net/border.rs",
    "guests/contract/src/programs.rs",
    "guests/contract/src/shell.rs",
    "guests/contract/src/system.rs",
    "guests/git/src/library.rs",
    "guests/javascript/native/border.rs",
    "guests/javascript/native/cipher.rs",
    "guests/javascript/native/digest.rs",
    "guests/javascript/native/encodings.rs",
    "guests/javascript/native/intl/mod.rs",
    "guests/javascript/native/pairs.rs",
    "guests/typescript/src/entry.rs",
];
/// The only other files with unsafe code.
const UNSAFE: [&str; 4] = [
    "runtime/wasm/src/artifact.rs",
    "runtime/wasm/src/doors.rs",
    "runtime/wasm/src/engine.rs",
    "runtime/wasm/src/trim.rs",
];
/// Longest file, in lines.
const LONGEST: usize = 500;

#[test]
fn unsafe_code_stands_in_few_files_with_its_reason() {
    let word = "unsafe";
    let (mut found, mut in_guests) = (Vec::new(), Vec::new());
    for file in files(&["rs"]) {
        let text = read(&file);
        let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let blocks = code
            .filter(|line| {
                [" {", " fn ", " impl ", " extern ", " trait ", "("]
                    .iter()
                    .any(|after| line.contains(&format!("{word}{after}")))
            })
            .count();
        if blocks > 0 {
            // What a guest does with its own memory is behind the wall; it needs its reason all the same.
            if name(&file).starts_with("guests/") {
                in_guests.push(name(&file));
            } else {
                found.push(name(&file));
                assert_eq!(blocks, 1, "{}: one block a file", name(&file));
            }
            assert!(text.contains("// SAFETY:"), "{}: the reason is missing", name(&file));
        } else {
            let allowed = format!("({word}_code");
            assert!(!text.contains(&allowed), "{} lifts the lint", name(&file));
        }
    }
    assert_eq!(found, UNSAFE);
    assert_eq!(in_guests, UNSAFE_IN_GUESTS);
}

#[test]
fn no_file_is_longer_than_a_reader_bears() {
    let long: Vec<String> = files(&["rs", "c", "h", "js", "mjs", "py", "wit", "sh", "md", "toml"])
        .iter()
        .map(|file| (name(file), read(file)))
        // What is made from tables is as long as they are.
        .filter(|(_, text)| !text.contains("Made from how the tools are listed"))
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST)
        .map(|(name, lines)| format!("{name}: {lines}"))
        .collect();
    assert!(long.is_empty(), "longer than {LONGEST} lines: {long:?}");
}

#[test]
fn a_rust_file_begins_by_saying_what_it_owns() {
    for file in files(&["rs"]) {
        let text = read(&file);
        let first = text.lines().next().unwrap_or_default();
        assert!(
            first.starts_with("//! ") || first.starts_with("#!["),
            "{} begins with `{first}`",
            name(&file)
        );
    }
}

#[test]
fn nothing_is_left_to_do() {
    // What tests give to programs as input says what it likes.
    let input = |file: &std::path::PathBuf| name(file).starts_with("tests/shell/files/");
    for file in files(&["rs", "c", "h", "js", "py", "wit"]).into_iter().filter(|file| !input(file)) {
        for word in ["TO\u{44}O", "FIX\u{4d}E", "X\u{58}X:"] {
            assert!(!read(&file).contains(word), "{} holds a {word}", name(&file));
        }
    }
}
