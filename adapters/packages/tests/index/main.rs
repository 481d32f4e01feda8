//! Packages from indexes that behave, and from those that do not, against a real server.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod abuse;
mod build;
mod indexes;
mod install;
mod lists;
mod npm;
mod pip;
mod programs;
mod server;

use std::time::Duration;

use dormouse_core::packages::{Fetched, Package, PackageManager, PackageRequest, Packages as _, Present};
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, Result};
use dormouse_packages::{AllowList, Index, Indexes, Mode, Settings};

use self::server::Server;

/// Settings that allow all from a server.
fn settings(server: &Server) -> Settings {
    Settings {
        mode: Mode::On,
        pip: Some(Index::parse(&format!("{}/simple", server.url)).unwrap()),
        npm: Some(Index::parse(&format!("{}/npm", server.url)).unwrap()),
        allow: AllowList::parse(["*"]).unwrap(),
        ..Settings::default()
    }
}

fn request(manager: PackageManager, requirements: &[&str]) -> PackageRequest {
    PackageRequest {
        owner: Owner::local(),
        manager,
        requirements: requirements.iter().map(|&text| text.to_owned()).collect(),
        local: Vec::new(),
        constraints: Vec::new(),
        present: Vec::new(),
        locked: Vec::new(),
        project: None,
        upgrade: false,
        python: "3.14.0".into(),
        closed: false,
        is_guest: false,
    }
}

async fn fetch(settings: Settings, request: PackageRequest) -> Result<Fetched> {
    let indexes = Indexes::new(settings)?;
    let wait = Duration::from_secs(60);
    tokio::time::timeout(wait, indexes.fetch(&request, &|_| {})).await.expect("it ends")
}

async fn pip(server: &Server, requirements: &[&str]) -> Result<Fetched> {
    fetch(settings(server), request(PackageManager::Pip, requirements)).await
}

async fn npm(server: &Server, requirements: &[&str]) -> Result<Fetched> {
    fetch(settings(server), request(PackageManager::Npm, requirements)).await
}

/// `name version` of all that is to be written.
fn names(fetched: &Fetched) -> Vec<String> {
    fetched.packages.iter().map(|package| format!("{} {}", package.name, package.version)).collect()
}

/// `path version` of all that is to be written.
fn places(fetched: &Fetched) -> Vec<String> {
    fetched.packages.iter().map(|package| format!("{} {}", package.path, package.version)).collect()
}

fn text(package: &Package, path: &str) -> String {
    let file = package.files.iter().find(|file| file.path == path);
    let file = file.unwrap_or_else(|| {
        let paths: Vec<&str> = package.files.iter().map(|file| file.path.as_str()).collect();
        panic!("no {path}: {paths:?}")
    });
    String::from_utf8(file.bytes.clone()).unwrap()
}

fn present(name: &str, version: &str, path: &str, requires: &[&str]) -> Present {
    let requires = requires.iter().map(|&text| text.to_owned()).collect();
    let about = serde_json::Value::Null;
    Present { name: name.into(), version: version.into(), path: path.into(), requires, about }
}

/// What must stand in every error: a hint, and no secret.
fn told(error: &Error) -> String {
    assert!(error.hint().is_some(), "{error}");
    format!("{error} | {}", error.hint().unwrap_or_default())
}
