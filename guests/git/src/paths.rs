//! Names of files as git shows them.

use std::path::Path;

/// A name in quotes if it has bytes that a line should not have; else as it is. `spaces`: those are reason enough.
pub(crate) fn quoted(name: &[u8], spaces: bool) -> String {
    let odd = |byte: &u8| *byte < 0x20 || *byte >= 0x7f || matches!(byte, b'"' | b'\\');
    let plain = !name.iter().any(odd);
    if plain && !(spaces && name.contains(&b' ')) {
        return String::from_utf8_lossy(name).into_owned();
    }
    let mut text = String::from("\"");
    for byte in name {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'\r' => text.push_str("\\r"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            0x0b => text.push_str("\\v"),
            0x0c => text.push_str("\\f"),
            byte if odd(byte) => text.push_str(&format!("\\{byte:03o}")),
            byte => text.push(char::from(*byte)),
        }
    }
    text.push('"');
    text
}

/// A path below the root as seen from a folder below the root.
pub(crate) fn seen_from(folder: &Path, path: &str) -> String {
    let (from, to): (Vec<_>, Vec<_>) =
        (folder.iter().map(|part| part.to_string_lossy()).collect(), path.split('/').collect());
    let shared = from.iter().zip(&to).take_while(|(a, b)| a.as_ref() == **b).count();
    // A folder's name ends with a slash, of which something must be left.
    let shared = shared.min(to.len().saturating_sub(1));
    let up = "../".repeat(from.len() - shared);
    let seen = format!("{up}{}", to[shared..].join("/"));
    if seen.is_empty() { "./".to_owned() } else { seen }
}
