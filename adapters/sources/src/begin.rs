//! What a sandbox is to begin with, checked before there is one: a run is refused at its start, and not in its middle.

use std::collections::BTreeSet;

use dormouse_core::sandboxes::Rules;
use dormouse_core::{Access, Error, ErrorCode, GuestPath, Limits, Mount, Result};
use serde_json::{Map, Value as Json};

use crate::repository::MayClone;

/// The two limits.
pub(crate) const MEMORY: &str = "memory_bytes";
pub(crate) const DISK: &str = "disk_bytes";
/// The least disk, in bytes.
const LEAST_DISK: u64 = 1 << 20;
/// Folders that every sandbox has.
const OWN: [&str; 4] = ["/", "/tmp", "/workspace", "/workspace/outputs"];

/// Refuses limits that are not the operator's.
///
/// # Errors
/// `args_invalid`.
pub(crate) fn limits(asked: &Map<String, Json>, rules: &Rules) -> Result<()> {
    let memory = rules.most_memory(rules.defaults.provider);
    let bounds = [
        (MEMORY, Limits::MIN_MEMORY.min(memory), memory),
        (DISK, LEAST_DISK.min(rules.ceiling.disk), rules.ceiling.disk),
    ];
    for (name, least, most) in bounds {
        let Some(number) = asked.get(name).and_then(Json::as_u64) else { continue };
        if !(least..=most).contains(&number) {
            let message = format!("the argument `limits.{name}` is {number}, outside {least} to {most}");
            let hint = match name {
                MEMORY => "ask for less, or have the operator allow more (--memory-max)",
                _ => "ask for a number within the operator's bounds",
            };
            return Err(Error::args_invalid(message).with_hint(hint));
        }
    }
    Ok(())
}

/// Refuses a repository that cannot be cloned: one that nobody may, and what is neither an address nor a folder that is mounted.
///
/// # Errors
/// `args_invalid`, and what the operator's rule says.
pub(crate) fn repository(repo: &str, may: Option<&MayClone>, mounts: &[Mount]) -> Result<()> {
    if repo.starts_with("https://") || repo.starts_with("http://") {
        return may.map_or(Ok(()), |may| may(repo));
    }
    let folder = repo.strip_prefix("file://").unwrap_or(repo);
    if mounts.iter().any(|mount| is_at_or_below(folder, mount.target.as_str())) {
        return Ok(());
    }
    let shown: String = repo.escape_debug().take(200).collect();
    let message =
        format!("the argument `repo` is `{shown}`, no address of a repository and no folder that is mounted");
    Err(Error::args_invalid(message).with_hint("write `https://HOST/PATH`, or a folder that `mounts` shows"))
}

/// Refuses files that have no place: where a folder is, below another file, or where nothing can be written.
///
/// # Errors
/// `args_invalid`, `write_denied`.
pub(crate) fn files<'a>(files: impl Iterator<Item = &'a GuestPath>, mounts: &[Mount]) -> Result<()> {
    let files: BTreeSet<&str> = files.map(GuestPath::as_str).collect();
    for file in &files {
        let mut above = file.match_indices('/').map(|(at, _)| &file[..at]);
        if let Some(other) = above.find(|above| files.contains(above)) {
            return Err(Error::args_invalid(format!(
                "the argument `files` has `{file}` below the file `{other}`"
            )));
        }
        let holds_mount = |mount: &&Mount| is_at_or_below(mount.target.as_str(), file);
        if OWN.contains(file) || mounts.iter().any(|mount| holds_mount(&mount)) {
            return Err(Error::args_invalid(format!("the argument `files` has `{file}`, which is a folder")));
        }
        let over = |mount: &&Mount| is_at_or_below(file, mount.target.as_str());
        let nearest = mounts.iter().filter(over).max_by_key(|mount| mount.target.as_str().len());
        if let Some(mount) = nearest.filter(|mount| mount.access == Access::ReadOnly) {
            let message =
                format!("the argument `files` has `{file}`, and `{}` is mounted read-only", mount.target);
            return Err(Error::new(ErrorCode::WriteDenied, message)
                .with_hint("put it in a place of the sandbox's own, such as below `/workspace`"));
        }
    }
    Ok(())
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(text: &str) -> GuestPath {
        GuestPath::parse(text).unwrap()
    }

    fn mounts() -> [Mount; 2] {
        let mount = |target: &str, access| Mount { source: "/x".into(), target: path(target), access };
        [mount("/data/in", Access::ReadOnly), mount("/data/out", Access::ReadWrite)]
    }

    #[test]
    fn limits_are_those_of_the_operator() {
        let rules = Rules::default();
        let asked = |name: &str, number: u64| Map::from_iter([(name.to_owned(), json!(number))]);
        for (name, number) in [(MEMORY, 99_999_999_999), (MEMORY, 1), (DISK, 1), (DISK, 4 << 30)] {
            let error = limits(&asked(name, number), &rules).unwrap_err();
            assert!(
                error.message().starts_with(&format!("the argument `limits.{name}` is {number}, outside ")),
                "{error}"
            );
        }
        for (name, number) in [(MEMORY, 64 << 20), (DISK, 1 << 20)] {
            limits(&asked(name, number), &rules).unwrap();
        }
    }

    #[test]
    fn a_repository_is_an_address_or_a_folder_that_is_mounted() {
        for good in ["https://git.example/r.git", "/data/in", "/data/in/r", "file:///data/out/r.git"] {
            repository(good, None, &mounts()).unwrap();
        }
        for bad in
            ["not a url", "git@git.example:r", "ssh://git.example/r", "r", "/workspace/r", "/data/input"]
        {
            let error = repository(bad, None, &mounts()).unwrap_err();
            assert!(error.message().contains(&format!("`{bad}`")) && error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn files_that_have_no_place_are_refused() {
        for good in [&["/a", "/b/c"][..], &["/data/out/f"], &["/data/f", "/workspace/f"]] {
            let good: Vec<GuestPath> = good.iter().map(|text| path(text)).collect();
            files(good.iter(), &mounts()).unwrap();
        }
        for (bad, wanted) in [
            (&["/"][..], "which is a folder"),
            (&["/workspace"], "which is a folder"),
            (&["/data"], "which is a folder"),
            (&["/data/out"], "which is a folder"),
            (&["/a/b/c", "/a"], "`/a/b/c` below the file `/a`"),
            (&["/data/in/f"], "`/data/in` is mounted read-only"),
        ] {
            let bad: Vec<GuestPath> = bad.iter().map(|text| path(text)).collect();
            let error = files(bad.iter(), &mounts()).unwrap_err();
            assert!(error.message().contains(wanted), "{error}");
        }
    }
}
