//! What a registry says of a package: its versions, and what each needs.

use std::collections::BTreeMap;

use dormouse_core::packages::Described;
use dormouse_core::{Error, ErrorCode, Result};
use nodejs_semver::Version;
use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::spec::{Spec, Versions};
use crate::digest::Digest;

/// The systems that the sandbox passes for in `os` and in `cpu`.
const SYSTEMS: [&str; 2] = ["wasi", "linux"];
const PROCESSORS: [&str; 1] = ["wasm32"];
const MACHINE: [(&str, &[&str]); 2] = [("os", &SYSTEMS), ("cpu", &PROCESSORS)];

/// Most packages that one version needs, of all kinds together.
const MAX_NEEDS: usize = 2_000;

/// A package's document.
#[derive(Debug)]
pub(crate) struct Document {
    name: String,
    tags: BTreeMap<String, String>,
    versions: BTreeMap<Version, Json>,
    base: Url,
}

/// One version of a package.
#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: Version,
    pub(crate) dependencies: BTreeMap<String, String>,
    pub(crate) optional: BTreeMap<String, String>,
    /// What must lie beside it.
    pub(crate) peers: BTreeMap<String, String>,
    /// Where its archive lies, if the registry gives a hash that counts.
    pub(crate) archive: Option<(Url, Digest)>,
    pub(crate) scripts: bool,
    pub(crate) deprecated: Option<String>,
    /// Its hash as the registry writes it.
    pub(crate) integrity: Option<String>,
    /// All that the registry says of it.
    pub(crate) about: Json,
}

impl Document {
    /// Reads a document; none when it has another form.
    pub(crate) fn read(name: &str, text: &[u8], base: &Url) -> Option<Self> {
        let mut whole: Map<String, Json> = serde_json::from_slice(text).ok()?;
        let Some(Json::Object(versions)) = whole.remove("versions") else { return None };
        let versions =
            versions.into_iter().filter_map(|(version, about)| Some((Version::parse(version).ok()?, about)));
        Some(Self {
            name: name.to_owned(),
            tags: texts(whole.get("dist-tags").unwrap_or(&Json::Null)),
            versions: versions.collect(),
            base: base.clone(),
        })
    }

    /// The version that is taken: the one of the tag `latest` if it fits, else the newest, rather one that is not
    /// deprecated.
    ///
    /// # Errors
    /// `unsatisfiable` when none fits, `not_found` for an unknown tag, `capability_unavailable` for another system, `too_large`
    /// for one that needs more than 2,000 packages.
    pub(crate) fn pick(&self, spec: &Spec) -> Result<Manifest> {
        let manifest = self.chosen(spec)?;
        for (field, own) in MACHINE {
            if !runs(&manifest.about[field], own) {
                let machines: String = manifest.about[field].to_string().chars().take(100).collect();
                let message =
                    format!("`{}` {} is for other platforms: {machines}", self.name, manifest.version);
                return Err(Error::new(ErrorCode::CapabilityUnavailable, message)
                    .with_hint("packages with native code need the Docker provider"));
            }
        }
        Ok(manifest)
    }

    /// The same, also one for other machines.
    ///
    /// # Errors
    /// As [`Document::pick`].
    pub(crate) fn chosen(&self, spec: &Spec) -> Result<Manifest> {
        let tagged = |tag: &str| self.tags.get(tag).and_then(|version| Version::parse(version).ok());
        let latest = tagged("latest").filter(|version| self.versions.contains_key(version));
        let version = match &spec.versions {
            Versions::Tag(tag) => tagged(tag).ok_or_else(|| {
                Error::new(ErrorCode::NotFound, format!("`{}` has no version `{tag}`", self.name))
                    .with_hint(format!("its tags are {}", self.told_tags()))
            })?,
            Versions::Range(_) => match latest.filter(|latest| spec.takes(latest)) {
                Some(latest) => latest,
                None => self.newest(spec).ok_or_else(|| {
                    let message = format!("no version of `{}` fits `{}`", self.name, spec.text);
                    let newest = self.versions.keys().next_back();
                    let newest =
                        newest.map_or_else(String::new, |newest| format!("; the newest is {newest}"));
                    Error::new(ErrorCode::Unsatisfiable, message)
                        .with_hint(format!("ask for another range{newest}"))
                })?,
            },
        };
        let about = self.versions.get(&version).ok_or_else(|| {
            Error::new(ErrorCode::NotFound, format!("`{}` has no version {version}", self.name))
        })?;
        let needs = ["dependencies", "optionalDependencies", "peerDependencies"];
        if needs.iter().filter_map(|field| about[*field].as_object()).map(Map::len).sum::<usize>() > MAX_NEEDS
        {
            let message = format!("`{}` {version} needs more than {MAX_NEEDS} packages", self.name);
            return Err(Error::new(ErrorCode::TooLarge, message).with_hint("nothing was installed"));
        }
        Ok(self.manifest(version, about))
    }

    /// What it says of the version that [`Document::chosen`] takes. Where the archive lies is the operator's.
    ///
    /// # Errors
    /// As [`Document::chosen`].
    pub(crate) fn described(&self, spec: &Spec) -> Result<Described> {
        let Manifest { version, mut about, .. } = self.chosen(spec)?;
        if let Some(about) = about.as_object_mut() {
            about.insert("version".into(), version.to_string().into());
            if let Some(dist) = about.get_mut("dist").and_then(Json::as_object_mut) {
                dist.shift_remove("tarball");
            }
        }
        let versions = self.versions.keys().map(ToString::to_string).collect();
        Ok(Described { about, versions, tags: self.tags.clone() })
    }

    fn newest(&self, spec: &Spec) -> Option<Version> {
        let fitting = || self.versions.iter().rev().filter(|(version, _)| spec.takes(version));
        let best = fitting().find(|(_, about)| !about["deprecated"].is_string()).or_else(|| fitting().next());
        best.map(|(version, _)| version.clone())
    }

    fn told_tags(&self) -> String {
        let tags: Vec<String> = self
            .tags
            .keys()
            .take(10)
            .map(|tag| format!("`{}`", tag.chars().take(50).collect::<String>()))
            .collect();
        if tags.is_empty() { "none".into() } else { tags.join(", ") }
    }

    fn manifest(&self, version: Version, about: &Json) -> Manifest {
        let mut dependencies = texts(&about["dependencies"]);
        let mut optional = texts(&about["optionalDependencies"]);
        let mut peers = texts(&about["peerDependencies"]);
        peers.retain(|name, _| about["peerDependenciesMeta"][name]["optional"] != true);
        // What lies in the archive itself is not fetched.
        let bundled = [&about["bundleDependencies"], &about["bundledDependencies"]];
        for bundled in bundled {
            let holds = |name: &str| match bundled {
                Json::Bool(all) => *all,
                Json::Array(names) => names.iter().any(|bundled| bundled == name),
                _ => false,
            };
            dependencies.retain(|name, _| !holds(name));
            optional.retain(|name, _| !holds(name));
        }
        // An optional one is named in both places.
        dependencies.retain(|name, _| !optional.contains_key(name));
        peers.retain(|name, _| !dependencies.contains_key(name));
        let dist = &about["dist"];
        let digest = dist["integrity"].as_str().and_then(Digest::integrity);
        let url = dist["tarball"].as_str().and_then(|url| self.base.join(url).ok());
        let scripts = ["preinstall", "install", "postinstall"];
        Manifest {
            name: self.name.clone(),
            archive: url.zip(digest),
            scripts: about["hasInstallScript"] == true
                || scripts.iter().any(|script| about["scripts"][script].is_string()),
            deprecated: about["deprecated"].as_str().map(str::to_owned),
            integrity: dist["integrity"]
                .as_str()
                .filter(|text| Digest::is_integrity(text))
                .map(str::to_owned),
            about: about.clone(),
            version,
            dependencies,
            optional,
            peers,
        }
    }
}

/// Whether what a `package.json` or a lock file says of machines takes this one.
pub(crate) fn is_for_this_machine(about: &Json) -> bool {
    MACHINE.iter().all(|(field, own)| runs(&about[*field], own))
}

/// The texts of an object; of anything else none.
pub(crate) fn texts(value: &Json) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned()))).collect()
}

/// Whether a list such as `["linux", "darwin"]` or `["!win32"]` takes this machine.
fn runs(list: &Json, own: &[&str]) -> bool {
    let names: Vec<&str> = match list {
        Json::String(name) => vec![name.as_str()],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ => return true,
    };
    let (not, only): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| name.starts_with('!'));
    let refused = own.iter().all(|own| not.iter().any(|name| name[1..] == **own));
    let taken = only.is_empty() || only.iter().any(|name| *name == "any" || own.contains(name));
    taken && !refused
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn machines_are_compared() {
        for (list, taken) in [
            (json!(null), true),
            (json!(["linux", "darwin"]), true),
            (json!(["!win32"]), true),
            (json!(["darwin"]), false),
            (json!(["!linux"]), true),
            (json!(["!linux", "!wasi"]), false),
            (json!([]), true),
        ] {
            assert_eq!(runs(&list, &SYSTEMS), taken, "{list}");
        }
        assert!(!runs(&json!(["x64"]), &PROCESSORS) && runs(&json!(["wasm32"]), &PROCESSORS));
    }

    #[test]
    fn versions_are_picked_as_npm_picks_them() {
        let about = |text: &str| json!({"dist": {}, "deprecated": if text == "1.3.0" { json!("bad") } else { json!(null) }});
        let versions: Map<String, Json> = ["1.0.0", "1.2.0", "1.3.0", "2.0.0", "3.0.0-rc.1"]
            .into_iter()
            .map(|text| (text.to_owned(), about(text)))
            .collect();
        let text = json!({"name": "x", "dist-tags": {"latest": "1.2.0", "next": "3.0.0-rc.1"}, "versions": versions});
        let document =
            Document::read("x", text.to_string().as_bytes(), &Url::parse("http://h/x").unwrap()).unwrap();
        let pick =
            |spec: &str| document.pick(&Spec::parse(spec).unwrap()).map(|found| found.version.to_string());
        assert_eq!(pick("x").unwrap(), "1.2.0");
        assert_eq!(pick("x@>=1.2").unwrap(), "1.2.0");
        assert_eq!(pick("x@2").unwrap(), "2.0.0");
        assert_eq!(pick("x@>1.2.0 <2").unwrap(), "1.3.0");
        assert_eq!(pick("x@next").unwrap(), "3.0.0-rc.1");
        assert_eq!(pick("x@9").unwrap_err().code(), ErrorCode::Unsatisfiable);
        assert_eq!(pick("x@none").unwrap_err().code(), ErrorCode::NotFound);
    }
}
