//! Which guests there are: those that `cargo xtask guests` has put into the cache folder, and those that a manifest names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, GuestInfo, GuestName, Language, Result};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::bindings::{CONTRACT, TYPESCRIPT_CONTRACT};
use crate::hex::hex;

/// The folder of guests in the cache folder, and in what was installed with the program.
pub(crate) const GUESTS: &str = "guests";

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
        let message = format!(
            "the machine code of the {language} guest that was installed with this program is missing or damaged"
        );
        let version = env!("CARGO_PKG_VERSION");
        Err(Error::new(ErrorCode::GuestMissing, message).with_hint(format!(
            "install the release again; a run with a limit of fuel needs the archive dormouse-{version}-x86_64-linux-fuel.tar.zst besides"
        )))
    }
}

/// Finds guests.
pub(crate) struct Guests {
    /// What was installed with the program, which is said, goes before what was built.
    places: Vec<(PathBuf, bool)>,
    manifests: Vec<PathBuf>,
}

impl Guests {
    pub(crate) fn new(cache: &Path, installed: Option<&Path>, manifests: Vec<PathBuf>) -> Self {
        let installed = installed.map(|place| (place.join(GUESTS), true));
        let places = installed.into_iter().chain([(cache.join(GUESTS), false)]).collect();
        Self { places, manifests }
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
            return Err(Error::new(
                ErrorCode::GuestMissing,
                format!("the {language} guest has not been built on this machine"),
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
        let key = key.trim();
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

fn check_contract(guest: Guest, contract: &str) -> Result<Guest> {
    if contract == contract_with(&guest.language) {
        return Ok(guest);
    }
    Err(mismatch(&guest.language, contract))
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
    format!(
        "build it with `dormouse guests build {language}` in a source checkout, or install a release, which has it"
    )
}

fn info(language: Language, found: Option<(Guest, String)>) -> GuestInfo {
    let name = GuestName::from(&language);
    let Some((guest, contract)) = found else {
        let note = Some(format!("not built; {}", build_hint(&name)));
        return GuestInfo { language, interpreter: "-".into(), available: false, note };
    };
    let note =
        (contract != contract_with(&name)).then(|| format!("it speaks `{contract}`; {}", build_hint(&name)));
    GuestInfo { language, interpreter: guest.interpreter, available: note.is_none(), note }
}
