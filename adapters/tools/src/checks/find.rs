//! Which files there are to check.

use dormouse_core::sandbox::{EntryKind, Owner, SandboxId};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};

use crate::services::{Services, by_id};

/// Where work lies.
pub(crate) const HOME: &str = "/workspace";
/// Folders that are looked into, and files that are kept.
const MAX_FOLDERS: usize = 1_000;
const MAX_FILES: usize = 2_000;
/// Entries of one folder.
const MAX_ENTRIES: usize = 10_000;
/// Folders whose content is others' work.
const OTHERS: [&str; 4] = ["node_modules", "vendor", "__pycache__", "site-packages"];
/// The place of the skills, which are others' as well.
const SKILLS: &str = "/workspace/skills";

/// A path as callers write it: absolute, or below [`HOME`].
///
/// # Errors
/// `args_invalid`.
pub(crate) fn path(text: &str) -> Result<GuestPath> {
    let text = text.strip_prefix("./").unwrap_or(text);
    match text {
        "" | "." => GuestPath::parse(HOME),
        absolute if absolute.starts_with('/') => GuestPath::parse(absolute),
        relative => GuestPath::parse(&format!("{HOME}/{relative}")),
    }
}

/// Source files, and the folder in which they are checked.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) folder: GuestPath,
    /// Their absolute paths, sorted.
    pub(super) files: Vec<String>,
    /// Whether the caller named one file.
    pub(super) chosen: bool,
    /// Whether there are more than are looked at.
    pub(super) cut: bool,
}

impl Found {
    /// Looks at a file, or at all that lies below a folder and is the sandbox's own work.
    ///
    /// # Errors
    /// `not_found`; of [`Sandboxes::list_files`](dormouse_core::Sandboxes::list_files).
    pub(super) async fn below(
        services: &Services,
        owner: &Owner,
        id: &SandboxId,
        path: GuestPath,
    ) -> Result<Self> {
        if services.sandboxes.read(owner, &by_id(id), path.clone(), 0, 1).await.is_ok() {
            // A file is checked as a part of what lies around it.
            let within = path.as_str().strip_prefix(HOME).is_some_and(|rest| rest.starts_with('/'));
            let parent = path.as_str().rsplit_once('/').map_or("/", |(parent, _)| parent);
            let folder = if within {
                HOME
            } else if parent.is_empty() {
                "/"
            } else {
                parent
            };
            let files = vec![path.as_str().to_owned()];
            return Ok(Self { folder: GuestPath::parse(folder)?, files, chosen: true, cut: false });
        }
        let mut found = Self { folder: path.clone(), files: Vec::new(), chosen: false, cut: false };
        let (mut folders, mut looked) = (vec![path], 0);
        while let Some(folder) = folders.pop() {
            looked += 1;
            let listed =
                services.sandboxes.list_files(owner, &by_id(id), folder.clone(), false, MAX_ENTRIES).await;
            let (entries, total) = match listed {
                // What vanished meanwhile is not there.
                Err(error) if looked > 1 && error.code() == ErrorCode::NotFound => continue,
                listed => listed?,
            };
            found.cut |= total > entries.len() as u64;
            for entry in entries {
                let path = format!("{}/{}", folder.as_str().trim_end_matches('/'), entry.path);
                match entry.kind {
                    EntryKind::Folder if !is_others(&entry.path, &path) => {
                        folders.extend(GuestPath::parse(&path));
                    }
                    EntryKind::File if is_source(&entry.path) => found.files.push(path),
                    _ => {}
                }
            }
            if looked >= MAX_FOLDERS || found.files.len() > MAX_FILES {
                found.cut = true;
                break;
            }
        }
        found.files.sort();
        found.files.truncate(MAX_FILES);
        Ok(found)
    }

    /// Whether a file with that name lies in the folder itself.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains(&self.at(name))
    }

    /// A path in the folder.
    pub(super) fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.folder.as_str().trim_end_matches('/'))
    }
}

fn is_others(name: &str, path: &str) -> bool {
    name.starts_with('.') || OTHERS.contains(&name) || path == SKILLS
}

fn is_source(name: &str) -> bool {
    language_of(name).is_some() || name == "package.json"
}

/// The language of a file by the end of its name.
pub(super) fn language_of(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "py" => Some("python"),
        "js" | "mjs" | "cjs" => Some("javascript"),
        "ts" | "mts" | "cts" => Some("typescript"),
        "php" => Some("php"),
        _ => None,
    }
}

/// Whether a file holds tests, by its name, as the runners of its language see it.
pub(super) fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match language_of(name) {
        Some("python") => stem.starts_with("test") || stem.ends_with("_test"),
        Some("javascript") => {
            stem == "test"
                || stem.starts_with("test-")
                || [".test", "-test", "_test"].iter().any(|end| stem.ends_with(end))
                || path.contains("/test/")
        }
        Some("php") => stem.ends_with("Test"),
        _ => false,
    }
}

/// The error of a language that has nothing to check.
pub(super) fn nothing(what: &str, folder: &GuestPath) -> Error {
    Error::new(ErrorCode::NotFound, format!("there are no {what} below `{folder}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_names() {
        for path in
            ["/w/test_a.py", "/w/a_test.py", "/w/tests.py", "/w/a.test.mjs", "/w/test/a.js", "/w/ATest.php"]
        {
            assert!(is_test(path), "{path}");
        }
        for path in ["/w/a.py", "/w/latest.js", "/w/a.test.ts", "/w/test.txt", "/w/contest.php"] {
            assert!(!is_test(path), "{path}");
        }
    }

    #[test]
    fn a_relative_path_begins_in_the_workspace() {
        for (text, meant) in
            [("a/b.py", "/workspace/a/b.py"), ("./a", "/workspace/a"), (".", "/workspace"), ("/x", "/x")]
        {
            assert_eq!(path(text).unwrap().as_str(), meant);
        }
        assert!(path("../x").is_err());
    }
}
