//! What containers send: marks in a stream of errors, listings, messages of interpreters, archives.
//!
//! The first line of an input says what follows it.

use dormouse_containers::fuzz::{interpreter, listing, marks, receive};
use dormouse_core::GuestPath;
use dormouse_files::{Files, Quota, Tree, fuzz};

use super::headed;
use crate::Target;

/// Small, so that inputs can pass it.
const QUOTA: Quota = Quota { bytes: 1 << 20, files: 200, depth: 16, name_bytes: 100 };
/// Largest message of an interpreter.
const MESSAGE: usize = 1_000;

pub(crate) const TARGET: Target = Target {
    words: &[
        "marks\n",
        "listing\n",
        "kernel\n",
        "archive\n",
        "\u{1e}abc begin 42 0\n",
        "\u{1e}abc end 3 1\n",
        "\u{1e}abc ",
        "names fine\n",
        "names plain\n",
        "at 1700000010.500000000\n",
        "works 0\n",
        "map 77\n",
        "M 81a4 5 1700000000 1700000001 7 1 /workspace/a\n",
        "f 644 1 1700000000.0 1700000000.0 9 1\0/workspace/a\0\0",
        "\0\0\0\u{5}\u{3}",
        "{\"exit\":0}",
        "{\"signal\":9}",
        "ustar",
        "workspace/",
        "../",
    ],
    ..Target::new(
        "container",
        "marks, listings, messages and archives of containers (adapters/containers)",
        run,
    )
};

fn run(input: &[u8]) {
    match headed(input) {
        ("marks", rest) => stream(rest),
        ("listing", rest) => listed(rest),
        ("kernel", rest) => {
            let (parts, bytes) = interpreter(rest, MESSAGE);
            assert!(bytes <= rest.len() && parts.len() <= rest.len() + 1);
        }
        ("archive", rest) => archive(rest),
        _ => {}
    }
}

fn stream(said: &[u8]) {
    let whole = marks(&[said], "abc");
    assert!(whole.0.len() <= said.len());
    assert_eq!(
        marks(&said.chunks(1).collect::<Vec<_>>(), "abc"),
        whole,
        "marks are found wherever the stream is cut"
    );
    let cut = said.len() / 2;
    assert_eq!(marks(&[&said[..cut], &said[cut..]], "abc"), whole);
    if !said.contains(&0x1e) {
        assert_eq!(whole.0, said, "without marks nothing is taken out");
    }
}

fn listed(said: &[u8]) {
    let Some((names, _)) = listing(said, "M", &["workspace/skills".to_owned()]) else { return };
    for name in names {
        assert!(GuestPath::parse(&format!("/{name}")).is_ok() && name.contains('/'), "{name}");
        assert!(name != "workspace/skills" && !name.starts_with("workspace/skills/"));
    }
}

fn archive(tar: &[u8]) {
    let files = Files::new(Tree::new(QUOTA));
    let path = |text: &str| GuestPath::parse(text).expect("a path");
    let made = files.make_folder(&path("/workspace")).and_then(|()| files.write(&path("/kept"), b"kept"));
    made.expect("there is room");
    let _received = receive(tar, "/workspace", &files);
    let tree = files.snapshot();
    fuzz::audit(&tree).expect("whatever comes, it is a tree");
    let usage = tree.usage();
    assert!(usage.bytes <= QUOTA.bytes && usage.files <= QUOTA.files);
    assert_eq!(
        files.read(&path("/kept"), 0, 10).ok().as_deref(),
        Some(&b"kept"[..]),
        "what lies elsewhere is kept"
    );
    let listed = files.list(&path("/"), 99, 1_000).expect("the root can be listed").entries;
    for one in listed {
        assert!(one.path == "kept" || one.path.split('/').next() == Some("workspace"), "{}", one.path);
    }
}
