//! Which guests there are: those that `cargo xtask guests` has put into the cache folder, and those that a manifest names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, GuestInfo, GuestName, Language, Result};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::bindings::{CONTRACT, TYPESCRIPT_CONTRACT};
use crate::hex::hex;
use crate::processor::Architecture;
use crate::release::{self, GUESTS};

/// A guest on disk.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) language: GuestName,
    pub(crate) interpreter: String,
    pub(crate) wasm: PathBuf,
    /// SHA-256 of the file; none: not known before it is read.
    pub(crate) sha256: Option<String>,
    /// Whether it was installed with the program, which takes machine code along and no component.
    pub(crate) is_installed: bool,
}

/// The record that stands beside a built guest, and the form of a user's own manifest.
#[derive(Deserialize)]
struct Manifest {
    language: GuestName,
    interpreter: String,
    #[serde(default = "own_contract", alias = "package")]
    contract: String,
    /// In a user's manifest: the component, relative to the manifest.
    component: Option<PathBuf>,
    sha256: Option<String>,
}

/// The languages whose guests `cargo xtask guests` can build, for snippets.
fn own() -> [GuestName; 3] {
    [GuestName::python(), GuestName::javascript(), GuestName::php()]
}

fn own_contract() -> String {
    CONTRACT.to_owned()
}

impl Guest {
    /// The component's bytes and their SHA-256.
    ///
    /// # Errors
    /// `guest_missing` when the file is gone or is not what its record says.
    pub(crate) fn read(&self) -> Result<(Vec<u8>, String)> {
        let missing = |why: String| {
            Error::new(ErrorCode::GuestMissing, format!("the {} guest cannot be read: {why}", self.language))
                .with_hint(build_hint(&self.language))
        };
        self.check_component()?;
        let wasm = fs::read(&self.wasm).map_err(|error| missing(error.to_string()))?;
        let hash = hex(&Sha256::digest(&wasm));
        match &self.sha256 {
            Some(expected) if *expected != hash => Err(missing("it is not the file that was built".into())),
            _ => Ok((wasm, hash)),
        }
    }

    /// Whether there is a component.
    ///
    /// # Errors
    /// `guest_missing` when the guest was installed without one.
    pub(crate) fn check_component(&self) -> Result<()> {
        if !self.is_installed || self.wasm.exists() {
            return Ok(());
        }
        let language = &self.language;
        let version = release::VERSION;
        let message = format!(
            "the installed machine code of the {language} guest is missing, damaged or of another release than {version}"
        );
        Err(Error::new(ErrorCode::GuestMissing, message).with_hint(format!(
            "install the release again; a run with a limit of fuel needs the archive {}-fuel.tar.xz besides",
            Architecture::archives()
        )))
    }
}

/// Finds guests.
pub(crate) struct Guests {
    /// What was installed with the program, which is said, goes before what was built.
    places: Vec<(PathBuf, bool)>,
    /// The same of other releases, in which guests are looked for by hash alone.
    kept: Vec<PathBuf>,
    manifests: Vec<PathBuf>,
}

impl Guests {
    pub(crate) fn new(
        cache: &Path,
        installed: Option<&Path>,
        kept: &[PathBuf],
        manifests: Vec<PathBuf>,
    ) -> Self {
        let installed = installed.map(|place| (place.join(GUESTS), true));
        let places = installed.into_iter().chain([(cache.join(GUESTS), false)]).collect();
        Self { places, kept: kept.iter().map(|place| place.join(GUESTS)).collect(), manifests }
    }

    /// The folders in which manifests, and the components that they name, lie. What cannot be read is left out.
    pub(crate) fn folders(manifests: &[PathBuf]) -> Vec<PathBuf> {
        let components =
            manifests.iter().filter_map(|file| read_manifest(file).ok()).map(|(guest, _)| guest.wasm);
        let files = manifests.iter().cloned().chain(components);
        files.filter_map(|file| Some(file.canonicalize().ok()?.parent()?.to_owned())).collect()
    }

    /// The guest of a language.
    ///
    /// # Errors
    /// `unknown_language`, `guest_missing` or `guest_mismatch`, each with what to do.
    pub(crate) fn find(&self, language: &GuestName) -> Result<Guest> {
        for file in &self.manifests {
            let (guest, contract) = read_manifest(file)?;
            if guest.language == *language {
                return check_contract(guest, &contract);
            }
        }
        if let Some((guest, contract)) = self.built(language) {
            return check_contract(guest, &contract);
        }
        // Looking takes no descriptor, reading does.
        let is_there = |(place, _): &(PathBuf, bool)| {
            fs::metadata(place.join(language.as_str()).join("current")).is_ok()
        };
        if self.places.iter().any(is_there) {
            let message = format!("the {language} guest is there and cannot be read");
            return Err(Error::new(ErrorCode::StateUnavailable, message)
                .with_hint("try again; look whether the process has descriptors left (`ulimit -n`), or build the guest anew"));
        }
        let helpers = [GuestName::Shell, GuestName::Git, GuestName::typescript()];
        if own().contains(language) || helpers.contains(language) {
            // What was installed goes before what was built.
            let is_installed = self.places.iter().any(|(_, is_installed)| *is_installed);
            if let Some(mixed) = (!is_installed).then(release::mixed).flatten() {
                return Err(mixed);
            }
            return Err(Error::new(
                ErrorCode::GuestMissing,
                format!("there is no {language} guest on this machine"),
            )
            .with_hint(build_hint(language)));
        }
        let known = self.info().iter().map(|info| info.language.to_string()).collect::<Vec<_>>().join(", ");
        Err(Error::new(
            ErrorCode::UnknownLanguage,
            format!("there is no guest for the language `{language}`"),
        )
        .with_hint(format!("known languages: {known}")))
    }

    /// The guests of a language with this SHA-256, whatever release they came with, those with a component first.
    pub(crate) fn of_hash(&self, language: &GuestName, hash: &str) -> Vec<(Guest, String)> {
        let places = self.places.iter().map(|(place, is_installed)| (place, *is_installed));
        let mut found = Vec::new();
        for (place, is_installed) in places.chain(self.kept.iter().map(|place| (place, true))) {
            let folder = place.join(language.as_str());
            let entries = folder.read_dir().into_iter().flatten().flatten();
            let keys = entries.filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                Some(name.strip_suffix(".json")?.to_owned())
            });
            for (guest, contract) in keys.filter_map(|key| Self::of_key(&folder, &key)) {
                if guest.language == *language && guest.sha256.as_deref() == Some(hash) {
                    found.push((Guest { is_installed, ..guest }, contract));
                }
            }
        }
        let manifests = self.manifests.iter().filter_map(|file| read_manifest(file).ok());
        found.extend(manifests.filter(|(guest, _)| {
            guest.language == *language && guest.read().is_ok_and(|(_, own)| own == hash)
        }));
        found.sort_by_key(|(guest, _)| !guest.wasm.exists());
        found
    }

    /// The guests that new interpreters and programs get, the helpers among them, sorted. What cannot be had is left out. Reads records
    /// only.
    pub(crate) fn current(&self) -> Vec<Guest> {
        let helpers = [GuestName::Shell, GuestName::Git, GuestName::typescript()];
        let mut names: Vec<GuestName> = self.all().into_keys().chain(helpers).collect();
        names.sort();
        names.iter().filter_map(|name| self.find(name).ok()).collect()
    }

    /// What is known of every language, sorted. Reads records only.
    pub(crate) fn info(&self) -> Vec<GuestInfo> {
        let mut list: Vec<GuestInfo> = self
            .all()
            .into_iter()
            .filter_map(|(guest, found)| Some(info(guest.language()?.clone(), found)))
            .collect();
        if let Some(javascript) = list.iter().find(|info| info.language == Language::javascript()).cloned() {
            list.push(self.typescript(javascript));
        }
        list.sort_by(|a, b| a.language.cmp(&b.language));
        list
    }

    /// TypeScript takes two guests: one that makes JavaScript of it, and JavaScript's own.
    fn typescript(&self, javascript: GuestInfo) -> GuestInfo {
        let language = Language::typescript();
        let own = info(language.clone(), self.built(&GuestName::typescript()));
        let lacks = own.note.or(javascript.note);
        let note = lacks.unwrap_or_else(|| format!("{} makes JavaScript of it", own.interpreter));
        let available = own.available && javascript.available;
        GuestInfo { language, interpreter: javascript.interpreter, available, note: Some(note) }
    }

    fn all(&self) -> BTreeMap<GuestName, Option<(Guest, String)>> {
        let mut all = BTreeMap::new();
        for language in own() {
            let built = self.built(&language);
            all.insert(language, built);
        }
        for file in &self.manifests {
            if let Ok((guest, contract)) = read_manifest(file) {
                all.insert(guest.language.clone(), Some((guest, contract)));
            }
        }
        all
    }

    fn built(&self, language: &GuestName) -> Option<(Guest, String)> {
        let in_place = |(place, is_installed): &(PathBuf, bool)| {
            let (guest, contract) = Self::in_folder(&place.join(language.as_str()))?;
            Some((Guest { is_installed: *is_installed, ..guest }, contract))
        };
        self.places.iter().find_map(in_place)
    }

    fn in_folder(folder: &Path) -> Option<(Guest, String)> {
        let key = fs::read_to_string(folder.join("current")).ok()?;
        Self::of_key(folder, key.trim())
    }

    fn of_key(folder: &Path, key: &str) -> Option<(Guest, String)> {
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let text = fs::read_to_string(folder.join(format!("{key}.json"))).ok()?;
        let manifest: Manifest = serde_json::from_str(&text).ok()?;
        let wasm = folder.join(format!("{key}.wasm"));
        let Manifest { language, interpreter, contract, sha256, .. } = manifest;
        Some((Guest { language, interpreter, wasm, sha256, is_installed: false }, contract))
    }
}

fn read_manifest(file: &Path) -> Result<(Guest, String)> {
    let bad = |why: String| {
        Error::args_invalid(format!("`{}` is not a guest manifest: {why}", file.display()))
            .with_hint("docs/guests.md shows the form")
    };
    let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let Manifest { language, interpreter, contract, component, sha256 } =
        serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
    let component = component.ok_or_else(|| bad("it names no `component`".into()))?;
    let wasm = file.parent().unwrap_or(Path::new(".")).join(component);
    Ok((Guest { language, interpreter, wasm, sha256, is_installed: false }, contract))
}

/// The contract that this host has with the guest of a language.
fn contract_with(language: &GuestName) -> &'static str {
    if *language == GuestName::typescript() { TYPESCRIPT_CONTRACT } else { CONTRACT }
}

pub(crate) fn check_contract(guest: Guest, contract: &str) -> Result<Guest> {
    if fits(&guest.language, contract) {
        return Ok(guest);
    }
    Err(mismatch(&guest.language, contract))
}

/// Whether this host speaks the contract of a guest, or a later one of the same first two numbers, which only adds to it.
fn fits(language: &GuestName, contract: &str) -> bool {
    let parts = |text: &str| {
        let (package, version) = text.split_once('@')?;
        let (line, patch) = version.rsplit_once('.')?;
        Some((format!("{package}@{line}"), patch.parse::<u32>().ok()?))
    };
    let (Some((own, latest)), Some((found, patch))) = (parts(contract_with(language)), parts(contract))
    else {
        return false;
    };
    own == found && patch <= latest
}

/// The error for a guest of another contract.
pub(crate) fn mismatch(language: &GuestName, found: &str) -> Error {
    Error::new(
        ErrorCode::GuestMismatch,
        format!("the {language} guest speaks `{found}`, this host speaks `{}`", contract_with(language)),
    )
    .with_hint(build_hint(language))
}

fn build_hint(language: &GuestName) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "install release {version}, which has it (a Rust program names its folder, such as `/usr/lib/dormouse/{version}`, with `Builder::installed`), or build it with `dormouse guests build {language}` in a source checkout"
    )
}

fn info(language: Language, found: Option<(Guest, String)>) -> GuestInfo {
    let name = GuestName::from(&language);
    let Some((guest, contract)) = found else {
        let note = Some(format!("not built; {}", build_hint(&name)));
        return GuestInfo { language, interpreter: "-".into(), available: false, note };
    };
    let note = (!fits(&name, &contract)).then(|| format!("it speaks `{contract}`; {}", build_hint(&name)));
    GuestInfo { language, interpreter: guest.interpreter, available: note.is_none(), note }
}
