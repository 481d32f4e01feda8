//! `package-lock.json`, in the forms of npm 5 and later: which version lies where.

use dormouse_core::packages::Locked;
use dormouse_core::{Error, ErrorCode, Result};
use nodejs_semver::Version;
use serde_json::{Map, Value as Json};

use super::document::texts;
use super::spec::{Spec, Versions};
use crate::digest::Digest;

/// Deepest `node_modules` in another's.
const MAX_DEPTH: usize = 32;
/// Most differences that an error names.
const SHOWN: usize = 5;

/// What a lock file names, for these requirements of a `package.json`; without what only developers need, if so asked.
///
/// # Errors
/// `args_invalid` when it is no lock file, names a path that is none of `node_modules`, or does not have what the
/// requirements ask for; `capability_unavailable` for packages that come from elsewhere than a registry.
pub(crate) fn read(text: &str, wanted: &[String], production: bool) -> Result<Vec<Locked>> {
    let found = Found::of(text)?;
    found.agrees(wanted)?;
    let entries = found.0.into_iter().filter(|entry| !(production && entry.about["dev"] == true));
    Ok(entries.map(|entry| entry.locked).collect())
}

/// All that a lock file names, whatever a `package.json` asks for.
///
/// # Errors
/// As [`read`].
pub(crate) fn entries(text: &str) -> Result<Vec<Entry>> {
    Ok(Found::of(text)?.0)
}

/// A package that a lock file names.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) locked: Locked,
    /// Its version, as it compares.
    pub(crate) version: Version,
    /// What the file says of it.
    pub(crate) about: Json,
}

/// Why one package needs another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    Required,
    Optional,
    Peer,
    OptionalPeer,
}

/// What a package needs, as its `package.json` or a lock file says it.
pub(crate) fn ties(about: &Json) -> Vec<(Tie, String, String)> {
    let mut found = std::collections::BTreeMap::new();
    for (name, range) in texts(&about["peerDependencies"]) {
        let optional = about["peerDependenciesMeta"][&name]["optional"] == true;
        found.insert(name, (if optional { Tie::OptionalPeer } else { Tie::Peer }, range));
    }
    // The older form has them as `requires`, and packages as `dependencies`.
    for field in ["requires", "dependencies"] {
        let named = texts(&about[field]).into_iter();
        found.extend(named.map(|(name, range)| (name, (Tie::Required, range))));
    }
    let optional = texts(&about["optionalDependencies"]).into_iter();
    found.extend(optional.map(|(name, range)| (name, (Tie::Optional, range))));
    found.into_iter().map(|(name, (tie, range))| (tie, name, range)).collect()
}

/// What was read so far.
struct Found(Vec<Entry>);

impl Found {
    fn of(text: &str) -> Result<Self> {
        let parsed: Json = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| bad(&format!("is not JSON: line {}", error.line())))?;
        let mut found = Self(Vec::new());
        match (&parsed["packages"], &parsed["dependencies"]) {
            (Json::Object(packages), _) => {
                for (path, about) in packages {
                    // The root and the folders of a workspace are no packages; the links to those are refused.
                    if path.starts_with("node_modules/") && about["inBundle"] != true {
                        found.take(path, about, about["name"].as_str(), &about["version"])?;
                    }
                }
            }
            (_, Json::Object(nested)) => found.nested("", nested, 1)?,
            (Json::Null, Json::Null) if parsed["lockfileVersion"].is_number() => {}
            _ => return Err(bad("has another form than npm's of version 5 and later")),
        }
        Ok(found)
    }

    /// The older form: packages within those that hold their `node_modules`.
    fn nested(&mut self, above: &str, packages: &Map<String, Json>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(bad("nests packages too deeply"));
        }
        for (name, about) in packages.iter().filter(|(_, about)| about["bundled"] != true) {
            let path = format!("{above}node_modules/{name}");
            let alias = about["version"].as_str().and_then(|version| version.strip_prefix("npm:"));
            match alias.and_then(|alias| alias.rsplit_once('@')) {
                Some((package, version)) => self.take(&path, about, Some(package), &version.into())?,
                None => self.take(&path, about, None, &about["version"])?,
            }
            if let Json::Object(inner) = &about["dependencies"] {
                self.nested(&format!("{path}/"), inner, depth + 1)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &str, about: &Json, package: Option<&str>, version: &Json) -> Result<()> {
        let mut names = path.split("/node_modules/").enumerate();
        let is_name = |name: &str| Spec::parse(name).is_ok_and(|spec| spec.name == name);
        let plain = path.matches("node_modules/").count() <= MAX_DEPTH
            && names.all(|(at, name)| match at {
                0 => name.strip_prefix("node_modules/").is_some_and(is_name),
                _ => is_name(name),
            });
        let shown: String = path.escape_debug().take(128).collect();
        if !plain {
            return Err(bad(&format!("names `{shown}`, which is not a path of a package")));
        }
        let resolved = about["resolved"].as_str().unwrap_or("https:");
        if about["link"] == true || !["https:", "http:"].iter().any(|scheme| resolved.starts_with(scheme)) {
            let message = format!("`package-lock.json` takes `{shown}` from elsewhere than a registry");
            return Err(Error::new(ErrorCode::CapabilityUnavailable, message)
                .with_hint("packages come from the operator's registry"));
        }
        let Some(version) = version.as_str().and_then(|text| Version::parse(text).ok()) else {
            return Err(bad(&format!("has no version of `{shown}`")));
        };
        let name = path.rsplit("node_modules/").next().unwrap_or_default();
        let package = package.unwrap_or(name);
        if !is_name(package) {
            return Err(bad(&format!("has no name of a package for `{shown}`")));
        }
        let integrity = &about["integrity"];
        if !integrity.is_null() && !integrity.as_str().is_some_and(Digest::is_integrity) {
            return Err(bad(&format!("has an integrity of `{shown}` that is not a hash"))
                .with_hint("regenerate the lock file"));
        }
        let locked = Locked {
            path: path.to_owned(),
            package: package.to_owned(),
            version: version.to_string(),
            integrity: about["integrity"].as_str().map(str::to_owned),
            optional: about["optional"] == true || about["devOptional"] == true,
        };
        self.0.push(Entry { locked, version, about: about.clone() });
        Ok(())
    }

    /// Whether it has what a `package.json` asks for.
    fn agrees(&self, wanted: &[String]) -> Result<()> {
        let mut differences = Vec::new();
        for text in wanted {
            let spec = Spec::parse(text)?;
            let path = format!("node_modules/{}", spec.name);
            match self.0.iter().find(|entry| entry.locked.path == path) {
                None => differences.push(format!("`{text}` is missing in it")),
                Some(Entry { version, .. })
                    if matches!(spec.versions, Versions::Range(_)) && !spec.takes(version) =>
                {
                    differences
                        .push(format!("its `{}` {version} does not satisfy `{}`", spec.name, spec.text));
                }
                Some(_) => {}
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        let more = differences.len().saturating_sub(SHOWN);
        differences.truncate(SHOWN);
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let message = format!(
            "`package-lock.json` and `package.json` are not in sync: {}{more}",
            differences.join("; ")
        );
        Err(Error::args_invalid(message)
            .with_hint("regenerate the lock file, or use `npm install`, which resolves the versions"))
    }
}

fn bad(why: &str) -> Error {
    Error::args_invalid(format!("`package-lock.json` {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn places(lock: &Json, wanted: &[&str], production: bool) -> Result<Vec<String>> {
        let wanted: Vec<String> = wanted.iter().map(|&text| text.to_owned()).collect();
        let found = read(&lock.to_string(), &wanted, production)?;
        Ok(found.into_iter().map(|one| format!("{} {} {}", one.path, one.package, one.version)).collect())
    }

    #[test]
    fn both_forms_say_the_same() {
        let new = json!({"lockfileVersion": 3, "packages": {
            "": {"dependencies": {"app": "^1"}},
            "node_modules/app": {"version": "1.0.0"},
            "node_modules/app/node_modules/ms": {"version": "2.0.0", "resolved": "https://h/ms.tgz"},
            "node_modules/app/node_modules/inner": {"version": "1.0.0", "inBundle": true},
            "node_modules/old": {"name": "@a/b", "version": "0.9.0", "dev": true},
        }});
        let old = json!({"lockfileVersion": 1, "dependencies": {
            "app": {"version": "1.0.0", "dependencies": {
                "ms": {"version": "2.0.0", "resolved": "https://h/ms.tgz"},
                "inner": {"version": "1.0.0", "bundled": true},
            }},
            "old": {"version": "npm:@a/b@0.9.0", "dev": true},
        }});
        let all = [
            "node_modules/app app 1.0.0",
            "node_modules/app/node_modules/ms ms 2.0.0",
            "node_modules/old @a/b 0.9.0",
        ];
        for lock in [&new, &old] {
            let mut found = places(lock, &["app@^1"], false).unwrap();
            found.sort();
            assert_eq!(found, all);
            assert_eq!(places(lock, &["app@^1"], true).unwrap().len(), 2);
            let error = places(lock, &["app@2", "gone@1"], false).unwrap_err();
            assert_eq!(
                error.message(),
                "`package-lock.json` and `package.json` are not in sync: its `app` 1.0.0 does not satisfy `2`; `gone@1` is \
                 missing in it"
            );
        }
    }

    #[test]
    fn an_integrity_that_is_no_hash_is_refused() {
        let found = |integrity: &Json| {
            let about = json!({"version": "1.0.0", "integrity": integrity});
            places(&json!({"packages": {"node_modules/a": about}}), &[], false)
        };
        let (old, new) = (format!("sha1-{}=", "A".repeat(27)), format!("sha512-{}==", "A".repeat(86)));
        for integrity in [json!(null), json!(new), json!(old), json!(format!("{old} {new}?x"))] {
            assert!(found(&integrity).is_ok(), "{integrity}");
        }
        let broken = [
            String::new(),
            " ".into(),
            "x".into(),
            "sha512-AAAA".into(),
            format!("{old} sha512-AAAA"),
            new.replace('A', "!"),
            new.trim_end_matches('=').into(),
        ];
        for integrity in broken.map(Json::from).into_iter().chain([json!(1), json!([new])]) {
            assert_eq!(found(&integrity).unwrap_err().code(), ErrorCode::ArgsInvalid, "{integrity}");
        }
    }

    #[test]
    fn what_lies_or_comes_from_elsewhere_is_refused() {
        let about = json!({"version": "1.0.0"});
        for path in [
            "node_modules/../x",
            "node_modules/a/../../x",
            "node_modules/a/src",
            "node_modules/",
            "node_modules/.bin",
        ] {
            let error = places(&json!({"packages": {path: about}}), &[], false).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ArgsInvalid, "{path}");
        }
        for about in [
            json!({"link": true, "resolved": "packages/a"}),
            json!({"version": "1.0.0", "resolved": "git+ssh://git@h/a.git#1"}),
            json!({"version": "file:../a", "resolved": "file:../a"}),
        ] {
            let error = places(&json!({"packages": {"node_modules/a": about}}), &[], false).unwrap_err();
            assert_eq!(error.code(), ErrorCode::CapabilityUnavailable, "{about}");
        }
        for text in [json!([]), json!({"packages": {"node_modules/a": {}}}), json!({"packages": 1})] {
            assert_eq!(places(&text, &[], false).unwrap_err().code(), ErrorCode::ArgsInvalid, "{text}");
        }
    }
}
