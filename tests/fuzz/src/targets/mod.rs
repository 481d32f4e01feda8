//! The targets, one file each.

mod address;
mod archive;
mod arguments;
mod chunk;
mod container;
mod egress;
mod file_tree;
mod guest_value;
mod json_rpc;
mod package;
mod request;
mod scenario;
#[cfg(feature = "wasm")]
mod snapshot;

use crate::Target;

/// All of them.
pub const TARGETS: &[Target] = &[
    address::TARGET,
    archive::TARGET,
    arguments::TARGET,
    chunk::TARGET,
    container::TARGET,
    egress::TARGET,
    file_tree::TARGET,
    guest_value::TARGET,
    json_rpc::TARGET,
    package::TARGET,
    request::TARGET,
    scenario::TARGET,
    #[cfg(feature = "wasm")]
    snapshot::TARGET,
];

/// An input's first line and what follows it.
fn headed(input: &[u8]) -> (&str, &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (head, rest) = input.split_at(end);
    (std::str::from_utf8(head).unwrap_or_default(), rest.get(1..).unwrap_or_default())
}

/// Panics for what is no path of a file that lies below the folder it is unpacked into.
fn assert_below(path: &str) {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    assert!(path.split('/').all(plain), "`{}` is no plain relative path", path.escape_debug());
}

/// Panics when one of these names lies below another, which is a file.
fn assert_no_file_is_a_folder<'a>(files: impl Iterator<Item = &'a str>, names: &[&str]) {
    for file in files {
        let below =
            names.iter().find(|name| name.strip_prefix(file).is_some_and(|rest| rest.starts_with('/')));
        assert_eq!(below, None, "`{file}` is a file");
    }
}
