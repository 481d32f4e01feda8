//! `dormouse guests`: which interpreters there are, where they lie, and how they are built.

use std::path::{Path, PathBuf};

use dormouse::wasm::WasmProvider;
use dormouse::{Error, ErrorCode, GuestInfo, GuestName};
use serde_json::json;

use crate::args::{GuestsCommand, PlaceArgs};
use crate::exit::Failure;
use crate::print::{self, Row};
use crate::settings;

/// Lists, locates or builds.
pub(crate) fn run(place: &PlaceArgs, command: &GuestsCommand) -> Result<u8, Failure> {
    match command {
        GuestsCommand::List { json } => list(place, *json),
        GuestsCommand::Path { language } => path(place, language),
        GuestsCommand::Build { languages, source } => build(place, languages, source.as_deref()),
    }
}

fn list(place: &PlaceArgs, as_json: bool) -> Result<u8, Failure> {
    let guests = settings::builder(place)?.build()?.runtime().capabilities().guests;
    if as_json {
        print::out(&format!("{}\n", json!({ "guests": guests })))?;
        return Ok(0);
    }
    let row = |guest: GuestInfo| {
        let name = guest.language.to_string();
        let (good, GuestInfo { interpreter, note, .. }) = (Some(guest.available), guest);
        match good {
            Some(true) => {
                let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
                Row { good, name, found: interpreter + &note, hint: None }
            }
            _ => Row { good, name, found: note.unwrap_or_default(), hint: None },
        }
    };
    print::out(&print::table(&guests.into_iter().map(row).collect::<Vec<_>>()))?;
    Ok(0)
}

fn path(place: &PlaceArgs, language: &str) -> Result<u8, Failure> {
    let provider = WasmProvider::new(settings::provider(place)?)?;
    let component = provider.component(&GuestName::parse(language)?)?;
    print::out(&format!("{}\n", component.display()))?;
    Ok(0)
}

/// The guests that one takes: its own, and for TypeScript the one that runs what was made of it.
pub(super) fn needed(guest: &GuestName) -> Vec<GuestName> {
    let mut guests = vec![guest.clone(), guest.runs_as()];
    guests.dedup();
    guests
}

/// Hands over to `cargo xtask guests` in a source checkout.
#[expect(clippy::disallowed_methods, reason = "building guests is the work of another program")]
fn build(place: &PlaceArgs, languages: &[String], source: Option<&Path>) -> Result<u8, Failure> {
    let mut wanted: Vec<GuestName> = Vec::new();
    for name in languages {
        for guest in needed(&GuestName::parse(name)?) {
            if !wanted.contains(&guest) {
                wanted.push(guest);
            }
        }
    }
    let checkout = checkout(source)?;
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["xtask", "guests"]).args(wanted.iter().map(GuestName::as_str)).current_dir(&checkout);
    cargo.env("DORMOUSE_CACHE_DIR", settings::provider(place)?.cache);
    let status = cargo.status().map_err(|error| {
        Error::new(ErrorCode::CapabilityUnavailable, "`cargo` cannot be started")
            .with_hint("guests are built from source: install Rust, see docs/guests.md")
            .with_source(error)
    })?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// The checkout that was named, else the nearest one around the current folder.
fn checkout(source: Option<&Path>) -> dormouse::Result<PathBuf> {
    let is_checkout = |folder: &&Path| folder.join("guests").is_dir() && folder.join("xtask").is_dir();
    let missing = |message: String| {
        Error::new(ErrorCode::CapabilityUnavailable, message).with_hint(
            "guests are built from source: run this in a checkout of Dormouse, or name one with --source",
        )
    };
    if let Some(folder) = source {
        return match is_checkout(&folder) {
            true => Ok(folder.to_path_buf()),
            false => Err(missing(format!("`{}` is no source checkout", folder.display()))),
        };
    }
    let here =
        std::env::current_dir().map_err(|error| Error::internal("there is no current folder", error))?;
    let found = here.ancestors().find(is_checkout);
    found
        .map(Path::to_path_buf)
        .ok_or_else(|| missing("there is no source checkout around the current folder".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_has_guests_and_chores() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(checkout(Some(folder.path())).unwrap_err().code(), ErrorCode::CapabilityUnavailable);
        for name in ["guests", "xtask"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(checkout(Some(folder.path())).unwrap(), folder.path());
    }
}
