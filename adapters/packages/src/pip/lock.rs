//! `pylock.toml` (PEP 751): the versions and hashes that somebody has chosen before.

use std::collections::HashMap;

use dormouse_core::{Error, Result};
use pep508_rs::MarkerTree;
use serde::Deserialize;

use super::requirement::Environment;

/// Characters shown of a name or a marker.
const SHOWN: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Lock {
    lock_version: String,
    requires_python: Option<String>,
    #[serde(default)]
    environments: Vec<String>,
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Package {
    name: String,
    version: Option<String>,
    marker: Option<String>,
    requires_python: Option<String>,
    #[serde(default)]
    wheels: Vec<File>,
    sdist: Option<File>,
}

#[derive(Deserialize)]
struct File {
    name: Option<String>,
    url: Option<String>,
    #[serde(default)]
    hashes: HashMap<String, String>,
}

impl File {
    /// Whether it is no wheel for one kind of machine.
    fn can_be_used(&self) -> bool {
        let name = self.name.as_deref().or(self.url.as_deref()).unwrap_or_default();
        !name.ends_with(".whl") || name.ends_with("-none-any.whl")
    }
}

/// Whether a file of this name is a lock file.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_prefix("pylock").is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".toml"))
}

/// Its packages as requirements of exactly these versions, with `--hash` options, for a Python of this version.
///
/// # Errors
/// `args_invalid` when it is no lock file of version 1, is for another Python or other systems, or names a package that comes from no
/// index, or a file without a SHA-256.
pub(crate) fn requirements(text: &str, python: &str) -> Result<Vec<String>> {
    let bad = |why: &str| {
        Error::args_invalid(format!("the lock file {why}"))
            .with_hint("write one with `uv export --format pylock.toml` or `pip lock`")
    };
    let lock: Lock =
        toml::from_str(text).map_err(|error| bad(&format!("cannot be read: {}", error.message())))?;
    if !lock.lock_version.starts_with("1.") {
        return Err(bad("is of another version than 1"));
    }
    let environment = Environment::new(python)?;
    let applies = |marker: &str| {
        let shown: String = marker.chars().take(SHOWN).collect();
        let marker = marker.parse::<MarkerTree>().map_err(|_| {
            bad(&format!("has the marker `{shown}`, which is not understood: extras and groups are not"))
        })?;
        Ok::<_, Error>(environment.applies(&marker, &[]))
    };
    if !environment.fits(lock.requires_python.as_deref()) {
        return Err(bad(&format!("is for Python {}", lock.requires_python.unwrap_or_default())));
    }
    let fitting: Vec<bool> = lock.environments.iter().map(|marker| applies(marker)).collect::<Result<_>>()?;
    if !fitting.is_empty() && !fitting.contains(&true) {
        return Err(bad("is for other systems than a sandbox"));
    }
    let mut all = Vec::new();
    for Package { name, version, marker, requires_python, wheels, sdist } in lock.packages {
        let name: String = name.escape_debug().take(SHOWN).collect();
        if !marker.as_deref().map_or(Ok(true), applies)? {
            continue;
        }
        if !environment.fits(requires_python.as_deref()) {
            return Err(bad(&format!("names `{name}` for Python {}", requires_python.unwrap_or_default())));
        }
        let files: Vec<&File> = wheels.iter().chain(&sdist).collect();
        let Some(version) = version.filter(|_| !files.is_empty()) else {
            return Err(bad(&format!(
                "names `{name}` from a repository, a folder or an address, and packages come from the operator's index"
            )));
        };
        let mut one = format!("{name}=={version}");
        // A package with native code has dozens of files, and none of those is taken.
        let usable: Vec<&File> = files.iter().copied().filter(|file| file.can_be_used()).collect();
        for file in if usable.is_empty() { files.into_iter().take(1).collect() } else { usable } {
            let Some(digest) = file.hashes.get("sha256") else {
                return Err(bad(&format!("has a file of `{name}` without a SHA-256")));
            };
            one.push_str(&format!(" --hash=sha256:{digest}"));
        }
        all.push(one);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_gives_versions_markers_and_hashes() {
        let text = "lock-version = '1.0'\nrequires-python = '>=3.9'\nenvironments = [\"sys_platform == 'wasi'\", \"sys_platform == 'win32'\"]\n\
                    [[packages]]\nname = 'attrs'\nversion = '25.1.0'\nmarker = \"python_version >= '3.8'\"\n\
                    wheels = [{name = 'a-1-cp314-cp314-win32.whl', hashes = {sha256 = 'dd'}}, {name = 'a-1-py3-none-any.whl', hashes = {sha256 = 'aa'}}]\nsdist = {name = 'a.tar.gz', hashes = {sha256 = 'bb'}}\n\
                    [[packages]]\nname = 'old'\nversion = '1'\nmarker = \"python_version < '3'\"\nwheels = [{hashes = {sha256 = 'cc'}}]\n";
        let read = |text: &str| requirements(text, "3.14.0");
        assert_eq!(read(text).unwrap(), ["attrs==25.1.0 --hash=sha256:aa --hash=sha256:bb"]);
        let one = |fields: &str| format!("lock-version = '1.0'\n[[packages]]\nname = 'own'\n{fields}");
        let files = "wheels = [{hashes = {sha256 = 'aa'}}]";
        for (bad, why) in [
            ("".to_owned(), "cannot be read"),
            ("lock-version = '2.0'".to_owned(), "another version"),
            ("lock-version = '1.0'\nrequires-python = '>=4'".to_owned(), "for Python >=4"),
            (
                "lock-version = '1.0'\nenvironments = [\"sys_platform == 'win32'\"]".to_owned(),
                "other systems",
            ),
            (one("vcs = {type = 'git'}"), "from a repository"),
            (one("version = '1'"), "from a repository"),
            (one("version = '1'\nwheels = [{hashes = {sha512 = 'aa'}}]"), "without a SHA-256"),
            (one(&format!("version = '1'\nrequires-python = '<3'\n{files}")), "for Python <3"),
            (
                one(&format!("version = '1'\nmarker = \"'dev' in dependency_groups\"\n{files}")),
                "not understood",
            ),
        ] {
            let error = read(&bad).unwrap_err();
            assert!(
                error.message().starts_with("the lock file") && error.message().contains(why),
                "{bad}: {error}"
            );
        }
        assert!(is_lock("/workspace/pylock.toml") && is_lock("pylock.dev.toml"));
        assert!(!is_lock("/pylock.toml/x") && !is_lock("poetry.lock") && !is_lock("pylocktoml"));
    }
}
