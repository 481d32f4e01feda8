//! The packages of PyPI that the guest's Python has of its own, because they are native code: `guests/python/native`.

use dormouse_core::packages::Present;
use serde_json::Value as Json;

/// Names, versions and requirements, as `tools/guests/src/guests/python/native.rs` links them.
const ALL: [(&str, &str, &[&str]); 4] = [
    ("jiter", "0.19.0", &[]),
    ("pydantic-core", "2.50.5", &["typing-extensions>=4.16.0"]),
    ("regex", "2026.11.19", &[]),
    ("rpds-py", "2026.9.1", &[]),
];

/// All of them, as if they lay in the tree.
pub(crate) fn all() -> Vec<Present> {
    let of = |(name, version, requires): (&str, &str, &[&str])| Present {
        name: name.to_owned(),
        version: version.to_owned(),
        path: String::new(),
        requires: requires.iter().map(|&one| one.to_owned()).collect(),
        about: Json::Null,
    };
    ALL.into_iter().map(of).collect()
}
