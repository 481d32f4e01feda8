//! `pylock.toml` (PEP 751): the versions and hashes that somebody has chosen before.

use std::collections::HashMap;

use dormouse_core::{Error, Result};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Lock {
    lock_version: String,
    #[serde(default)]
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: Option<String>,
    marker: Option<String>,
    #[serde(default)]
    wheels: Vec<File>,
    sdist: Option<File>,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    hashes: HashMap<String, String>,
}

/// Whether a file of this name is a lock file.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_prefix("pylock").is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".toml"))
}

/// Its packages as requirements of exactly these versions, with `--hash` options.
///
/// # Errors
/// `args_invalid` when it is no lock file of version 1, or names a package that comes from no index.
pub(crate) fn requirements(text: &str) -> Result<Vec<String>> {
    let bad = |why: &str| {
        Error::args_invalid(format!("the lock file {why}"))
            .with_hint("write one with `uv export --format pylock.toml` or `pip lock`")
    };
    let lock: Lock =
        toml::from_str(text).map_err(|error| bad(&format!("cannot be read: {}", error.message())))?;
    if !lock.lock_version.starts_with("1.") {
        return Err(bad("is of another version than 1"));
    }
    let all = lock.packages.into_iter().map(|package| {
        let Package { name, version, marker, wheels, sdist } = package;
        let Some(version) = version else {
            return Err(bad(&format!("names `{}` without a version", name.escape_debug())));
        };
        let marker = marker.map(|marker| format!("; {marker}")).unwrap_or_default();
        let digests = wheels.iter().chain(&sdist).filter_map(|file| file.hashes.get("sha256"));
        let hashes: String = digests.map(|digest| format!(" --hash=sha256:{digest}")).collect();
        Ok(format!("{name}=={version}{marker}{hashes}"))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_gives_versions_markers_and_hashes() {
        let text = "lock-version = '1.0'\n[[packages]]\nname = 'attrs'\nversion = '25.1.0'\nmarker = \"python_version >= '3.8'\"\n\
                    wheels = [{name = 'a.whl', hashes = {sha256 = 'aa'}}]\nsdist = {name = 'a.tar.gz', hashes = {sha256 = 'bb'}}\n";
        let wanted = "attrs==25.1.0; python_version >= '3.8' --hash=sha256:aa --hash=sha256:bb";
        assert_eq!(requirements(text).unwrap(), [wanted]);
        for bad in ["", "lock-version = '2.0'", "lock-version = '1.0'\n[[packages]]\nname = 'own'\n"] {
            assert!(requirements(bad).unwrap_err().message().starts_with("the lock file"), "{bad}");
        }
        assert!(is_lock("/workspace/pylock.toml") && is_lock("pylock.dev.toml"));
        assert!(!is_lock("/pylock.toml/x") && !is_lock("poetry.lock") && !is_lock("pylocktoml"));
    }
}
