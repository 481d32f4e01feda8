//! What package indexes send, and what users write for them.
//!
//! The first line of an input says what follows it.

use std::collections::BTreeSet;

use dormouse_core::packages::LockRequest;
use dormouse_packages::fuzz;
use serde_json::Value as Json;

use super::{assert_below, assert_no_file_is_a_folder, headed};
use crate::Target;

/// Bytes that an archive may unpack to.
const ROOM: u64 = 4 << 20;

pub(crate) const TARGET: Target = Target {
    words: &[
        "wheel\n",
        "tarball\n",
        "page text/html\n",
        "page application/json\n",
        "metadata\n",
        "document ^1\n",
        "lock\n",
        "manifest\n",
        "spec\n",
        "requirement\n",
        "PK\u{1}\u{2}",
        "<a href=\"name-1.0-py3-none-any.whl#sha256=",
        "<base href=",
        "data-yanked",
        "\"files\":[",
        "Requires-Dist: ",
        "Requires-Python: ",
        "; python_version < '3'",
        " and ",
        " or ",
        "extra == 'x'",
        ">=1,<2",
        "||",
        "npm:",
        "@scope/",
        "node_modules/",
        "\"packages\":{",
        "\"dependencies\":{",
        "\"version\":\"1.0.0\"",
        "\"dist\":{",
        "\"os\":[\"!",
        "\"peerDependencies\":{",
        "\"bundleDependencies\":true",
    ],
    ..Target::new("package", "archives, pages and descriptions of packages (adapters/packages)", run)
};

fn run(input: &[u8]) {
    let (head, rest) = headed(input);
    let (kind, argument) = head.split_once(' ').unwrap_or((head, ""));
    let text = std::str::from_utf8(rest);
    match (kind, text) {
        ("wheel", _) => wheel(rest),
        ("tarball", _) => files(fuzz::tarball(rest, ROOM).ok()),
        ("page", _) => page(rest, argument),
        ("metadata", _) => {
            for requirement in fuzz::metadata(rest).into_iter().flatten() {
                written_anew(&requirement);
            }
        }
        ("document", _) => {
            let _picked = fuzz::document(rest, &format!("name@{argument}"));
        }
        ("lock", Ok(text)) => lock(text),
        ("manifest", Ok(text)) => manifest(text),
        ("spec", Ok(text)) => text.lines().for_each(spec),
        ("requirement", Ok(text)) => text.lines().for_each(requirement),
        _ => {}
    }
}

fn wheel(packed: &[u8]) {
    let unpacked = fuzz::wheel(packed, ROOM).ok();
    let metadata = fuzz::wheel_file(packed, ".dist-info/METADATA", ROOM);
    if let (Some(unpacked), Ok(metadata)) = (&unpacked, metadata) {
        assert!(
            unpacked.iter().any(|(path, bytes)| path.ends_with(".dist-info/METADATA") && *bytes == metadata)
        );
    }
    files(unpacked);
}

fn files(unpacked: Option<Vec<fuzz::File>>) {
    let Some(unpacked) = unpacked else { return };
    assert!(unpacked.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>() <= ROOM);
    let names: Vec<&str> = unpacked.iter().map(|(path, _)| path.as_str()).collect();
    names.iter().for_each(|name| assert_below(name));
    let folded: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(folded.len(), names.len(), "names differ in more than case");
    assert_no_file_is_a_folder(names.iter().copied(), &names);
}

fn page(body: &[u8], kind: &str) {
    for (version, filename) in fuzz::page(body, kind).into_iter().flatten() {
        assert!(filename.len() <= 255 && !filename.contains(['/', '\0', '\n']), "{version}: {filename:?}");
    }
}

fn lock(text: &str) {
    for path in fuzz::lock(text, &[]).into_iter().flatten() {
        assert!(path.starts_with("node_modules/"), "{path}");
        assert_below(&path);
    }
}

fn manifest(text: &str) {
    let asked = |before: Option<String>| {
        let (folder, manifest) = ("project".into(), text.to_owned());
        fuzz::lock_file(&LockRequest { folder, manifest, before, placed: Vec::new() })
    };
    let Some(first) = asked(None).ok().and_then(|lock| lock.text) else { return };
    let read: Json = serde_json::from_str(&first).expect("a lock file is JSON");
    assert_eq!(read["lockfileVersion"], 3);
    let again = asked(Some(first.clone())).ok().and_then(|lock| lock.text);
    assert_eq!(again.as_ref(), Some(&first), "a lock file is written again as it was");
}

fn spec(text: &str) {
    let Ok((name, package, versions)) = fuzz::spec(text) else { return };
    assert_below(&name);
    assert_below(&package);
    assert!(versions.len() <= 512 && !versions.contains("://"), "{versions}");
}

fn requirement(text: &str) {
    if let Ok((written, _)) = fuzz::requirement(text) {
        written_anew(&written);
    }
}

/// What is written anew may be read, and is then the same.
fn written_anew(requirement: &str) {
    if let Ok((again, _)) = fuzz::requirement(requirement) {
        assert_eq!(again, requirement);
    }
}
