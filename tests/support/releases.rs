//! A cache folder as a later release finds it: new guests are the current ones, and those of the release before lie beside them.
//!
//! The new guest is the old one with a note at its end. That has another hash and the same machine code, which is copied under the new
//! name, so nothing is compiled.

use std::fs;
use std::path::{Path, PathBuf};

use dormouse::wasm::Settings;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

/// A section of a component that no engine looks at.
const NOTE: &[u8] = b"\0\x05\x04note";
/// Digits of a hash in the name of machine code.
const NAMED: usize = 24;

/// The cache folder of a later release.
pub struct Later(tempfile::TempDir);

impl Later {
    /// With new guests of these languages, and no others.
    ///
    /// # Panics
    /// When a guest has not been built.
    #[must_use]
    pub fn of(languages: &[&str]) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        for language in languages {
            add(place.path(), language);
        }
        Self(place)
    }

    /// With the old guest of a language alone, in the form of contract 0.3.0: without the doors of programs that wait. It has to be
    /// compiled. [`Later::renew`] gives the folder the new guest.
    ///
    /// # Panics
    /// When the guest has not been built.
    #[must_use]
    pub fn of_contract_0_3_0(language: &str) -> Self {
        let place = tempfile::tempdir().expect("a temporary folder");
        let into = place.path().join("guests").join(language);
        fs::create_dir_all(&into).expect("a folder can be made");
        let mut component = fs::read(component(language)).expect("the guest has been built");
        // Names of the same length, so that every size in the component stays right.
        replace(&mut component, b"dormouse:sandbox/waiting@0.3.2", b"dormouse:sandbox/no-wait@0.3.0");
        for name in ["host", "interpreter", "net", "programs", "state"] {
            let name = |version: &str| format!("dormouse:sandbox/{name}@{version}").into_bytes();
            replace(&mut component, &name("0.3.2"), &name("0.3.0"));
        }
        let mut record = record(language);
        record["package"] = Json::from("dormouse:sandbox@0.3.0");
        write(&into, "1", &component, record);
        Self(place)
    }

    /// Makes the guest that is current in the user's cache folder the current one here.
    ///
    /// # Panics
    /// When a file cannot be written.
    pub fn renew(&self, language: &str) {
        let into = self.path().join("guests").join(language);
        let component = fs::read(component(language)).expect("the guest has been built");
        write(&into, "2", &component, record(language));
        let artifacts = self.path().join("artifacts");
        let from = Settings::default_cache().expect("a cache").join("artifacts");
        for file in fs::read_dir(from).expect("guests have been compiled").flatten() {
            let name = file.file_name();
            if name.to_string_lossy().starts_with(&sum(&record(language))[..NAMED]) {
                let into = artifacts.join(name);
                fs::hard_link(file.path(), &into)
                    .or_else(|_| fs::copy(file.path(), &into).map(drop))
                    .expect("a file can be copied");
            }
        }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes the component, the record or the machine code of the old guest of a language: what ends so.
    ///
    /// # Panics
    /// When a file cannot be removed.
    pub fn lose(&self, language: &str, ending: &str) {
        for file in self.old(language, ending) {
            fs::remove_file(file).expect("a file can be removed");
        }
    }

    /// The old guest of a language alone, moved into a folder that is laid out as the cache folder, as another release's installation
    /// beside this one is.
    ///
    /// # Panics
    /// When a file cannot be moved.
    #[must_use]
    pub fn beside(&self, language: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary folder");
        for ending in ["wasm", "json", "cwasm", "sum"] {
            for file in self.old(language, ending) {
                let into = place.path().join(file.strip_prefix(self.path()).expect("it lies there"));
                fs::create_dir_all(into.parent().expect("a folder")).expect("a folder can be made");
                fs::copy(&file, into).expect("a file can be copied");
                fs::remove_file(file).expect("a file can be removed");
            }
        }
        place
    }

    fn old(&self, language: &str, ending: &str) -> Vec<PathBuf> {
        let (folder, begins) = match ending {
            "cwasm" | "sum" => (self.path().join("artifacts"), sum(&record(language))[..NAMED].to_owned()),
            _ => (self.path().join("guests").join(language), key(language)),
        };
        let files = fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path());
        let is_meant = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with(&begins) && name.ends_with(&format!(".{ending}"))
        };
        files.filter(is_meant).collect()
    }
}

/// The key of the guest that is current in the user's cache folder.
fn key(language: &str) -> String {
    let folder = Settings::default_cache().expect("a cache").join("guests").join(language);
    fs::read_to_string(folder.join("current")).expect("the guest has been built").trim().to_owned()
}

fn component(language: &str) -> PathBuf {
    let folder = Settings::default_cache().expect("a cache").join("guests").join(language);
    folder.join(key(language)).with_extension("wasm")
}

/// Writes a guest, which is the current one from here on.
fn write(folder: &Path, key: &str, component: &[u8], mut record: Json) {
    let sum: String = Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect();
    record["sha256"] = Json::from(sum);
    fs::write(folder.join(key).with_extension("wasm"), component).expect("a file can be written");
    fs::write(folder.join(key).with_extension("json"), record.to_string()).expect("a file can be written");
    fs::write(folder.join("current"), key).expect("a file can be written");
}

fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    assert_eq!(old.len(), new.len());
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(old.len()).position(|window| window == old) {
        bytes[at + found..at + found + old.len()].copy_from_slice(new);
        at += found + old.len();
    }
}

fn record(language: &str) -> Json {
    let folder = Settings::default_cache().expect("a cache").join("guests").join(language);
    let text = fs::read(folder.join(key(language)).with_extension("json")).expect("the guest has been built");
    serde_json::from_slice(&text).expect("the record is JSON")
}

fn sum(record: &Json) -> String {
    record["sha256"].as_str().expect("a record names its hash").to_owned()
}

fn add(place: &Path, language: &str) {
    let cache = Settings::default_cache().expect("a cache");
    let (key, mut record) = (key(language), record(language));
    let (from, into) = (cache.join("guests").join(language), place.join("guests").join(language));
    fs::create_dir_all(&into).expect("a folder can be made");
    let component = fs::read(from.join(&key).with_extension("wasm")).expect("the guest has been built");
    fs::write(into.join(&key).with_extension("wasm"), &component).expect("a file can be written");
    fs::write(into.join(&key).with_extension("json"), record.to_string()).expect("a file can be written");
    let old = sum(&record);
    let component = [component.as_slice(), NOTE].concat();
    let new: String = Sha256::digest(&component).iter().map(|byte| format!("{byte:02x}")).collect();
    record["sha256"] = Json::from(new.clone());
    fs::write(into.join("0.wasm"), component).expect("a file can be written");
    fs::write(into.join("0.json"), record.to_string()).expect("a file can be written");
    fs::write(into.join("current"), "0").expect("a file can be written");
    let artifacts = place.join("artifacts");
    fs::create_dir_all(&artifacts).expect("a folder can be made");
    for file in fs::read_dir(cache.join("artifacts")).expect("guests have been compiled").flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(&old[..NAMED]) else { continue };
        for name in [name.clone(), format!("{}{rest}", &new[..NAMED])] {
            fs::copy(file.path(), artifacts.join(name)).expect("a file can be copied");
        }
    }
}
