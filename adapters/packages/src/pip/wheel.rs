//! The files of a project that this Python can use.

use std::collections::BTreeMap;

use pep440_rs::Version;
use pep508_rs::PackageName;
use reqwest::Url;

use super::page::File;
use super::requirement::Environment;
use super::sdist::Sdist;
use crate::digest::Digest;

/// How the names of source distributions end.
const SOURCES: [&str; 3] = [".tar.gz", ".zip", ".tar.bz2"];

/// A wheel that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Wheel {
    pub(crate) filename: String,
    pub(crate) url: Url,
    pub(crate) digest: Digest,
    /// Where its `METADATA` lies by itself, and with which hash.
    pub(crate) metadata: Option<(Url, Digest)>,
}

/// What a version of a project is had from.
#[derive(Clone, Debug)]
pub(crate) enum Candidate {
    Wheel(Wheel),
    /// It has no wheel that can be used.
    Sdist(Sdist),
    /// Its wheel was built from what lies in the sandbox.
    Built,
}

/// What an index has of a project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Project {
    pub(crate) candidates: BTreeMap<Version, Candidate>,
    /// The newest version that has no usable wheel, one of its files, and how many there are besides.
    pub(crate) others: Option<(Version, String, usize)>,
    /// Wheels were left out because they have another hash than was asked for.
    pub(crate) unpinned: bool,
    /// The index has no such project.
    pub(crate) missing: bool,
    /// Why it is not asked about.
    pub(crate) refused: Option<String>,
}

impl Project {
    pub(crate) fn new(
        name: &PackageName,
        files: Vec<File>,
        environment: &Environment,
        pins: Option<&[Digest]>,
        builds: bool,
    ) -> Self {
        let mut project = Self::default();
        let mut others: BTreeMap<Version, Vec<String>> = BTreeMap::new();
        for file in files {
            let wheel = Name::parse(&file.filename).filter(|parsed| parsed.project == *name);
            let source = || source_version(name, &file.filename);
            let Some(version) = wheel.as_ref().map(|wheel| wheel.version.clone()).or_else(source) else {
                continue;
            };
            if file.yanked {
                continue;
            }
            let can_be = wheel.as_ref().map_or(builds, |wheel| wheel.pure(environment.minor));
            let unusable = match &file.digest {
                _ if !can_be => String::new(),
                None => " (without a SHA-256)".into(),
                Some(digest) if pins.is_some_and(|pins| !pins.contains(digest)) => {
                    project.unpinned = true;
                    continue;
                }
                Some(_) if !environment.fits(file.requires_python.as_deref()) => {
                    let python = file.requires_python.unwrap_or_default();
                    format!(" (for Python {})", python.chars().take(40).collect::<String>())
                }
                Some(digest) => {
                    project.add(version, wheel.is_some(), digest.clone(), file);
                    continue;
                }
            };
            others.entry(version).or_default().push(format!("{}{unusable}", file.filename));
        }
        others.retain(|version, _| !project.candidates.contains_key(version));
        project.others = others.pop_last().map(|(version, mut files)| {
            files.sort_by_key(|name| !name.contains(".whl"));
            let more = files.len().saturating_sub(1);
            (version, files.into_iter().next().unwrap_or_default(), more)
        });
        project
    }

    /// Adds a file that can be used. A wheel takes the place of a source distribution, and of those a `.tar.gz` that of others.
    fn add(&mut self, version: Version, is_wheel: bool, digest: Digest, file: File) {
        let (filename, url) = (file.filename, file.url);
        if !is_wheel {
            let preferred = filename.ends_with(".tar.gz");
            let sdist = Candidate::Sdist(Sdist { filename, url, digest });
            match self.candidates.get(&version) {
                None => drop(self.candidates.insert(version, sdist)),
                Some(Candidate::Sdist(_)) if preferred => drop(self.candidates.insert(version, sdist)),
                Some(_) => {}
            }
            return;
        }
        let metadata = file.metadata.map(|digest| {
            let mut beside = url.clone();
            beside.set_path(&format!("{}.metadata", beside.path()));
            (beside, digest)
        });
        self.candidates.insert(version, Candidate::Wheel(Wheel { filename, url, digest, metadata }));
    }
}

/// The parts of a wheel's name.
struct Name {
    project: PackageName,
    version: Version,
    python: String,
    abi: String,
    platform: String,
}

impl Name {
    fn parse(filename: &str) -> Option<Self> {
        let parts: Vec<&str> = filename.strip_suffix(".whl")?.split('-').collect();
        let ([name, version, python, abi, platform] | [name, version, _, python, abi, platform]) = parts[..]
        else {
            return None;
        };
        Some(Self {
            project: name.parse().ok()?,
            version: version.replace('_', "-").parse().ok()?,
            python: python.into(),
            abi: abi.into(),
            platform: platform.into(),
        })
    }

    /// Whether it is for any machine, and for this Python.
    fn pure(&self, minor: u64) -> bool {
        let python = self.python.split('.').any(|tag| match tag.strip_prefix("py3") {
            Some("") => true,
            Some(older) => older.parse::<u64>().is_ok_and(|older| older <= minor),
            None => tag == format!("cp3{minor}"),
        });
        let any =
            self.abi.split('.').any(|tag| tag == "none") && self.platform.split('.').any(|tag| tag == "any");
        python && any
    }
}

/// The project and the version of a wheel that can be used here, by its name.
pub(crate) fn described(filename: &str, minor: u64) -> Option<(PackageName, Version)> {
    let name = Name::parse(filename).filter(|name| name.pure(minor))?;
    Some((name.project, name.version))
}

/// The version of a source distribution.
fn source_version(name: &PackageName, filename: &str) -> Option<Version> {
    let stem = SOURCES.iter().find_map(|end| filename.strip_suffix(end))?;
    let (found, version) = stem.rsplit_once('-')?;
    (found.parse::<PackageName>().ok()? == *name).then(|| version.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wheels_for_any_machine_are_pure() {
        let pure = |name: &str| Name::parse(name).is_some_and(|name| name.pure(14));
        for yes in [
            "a-1.0-py3-none-any.whl",
            "a_b-1.0-py2.py3-none-any.whl",
            "a-1.0-2-py3-none-any.whl",
            "a-1.0-py310-none-any.whl",
            "a-1.0-cp314-none-any.whl",
        ] {
            assert!(pure(yes), "{yes}");
        }
        for no in [
            "a-1.0-cp314-cp314-manylinux_2_17_x86_64.whl",
            "a-1.0-cp313-none-any.whl",
            "a-1.0-py2-none-any.whl",
            "a-1.0-py315-none-any.whl",
            "a-1.0-cp39-abi3-wasi.whl",
            "a-1.0-py3-none-macosx_11_0_arm64.whl",
            "a-1.0.tar.gz",
            "a.whl",
        ] {
            assert!(!pure(no), "{no}");
        }
        let name: PackageName = "a-b".parse().unwrap();
        assert_eq!(source_version(&name, "a_b-1.2.tar.gz").unwrap().to_string(), "1.2");
    }
}
