//! A package's files as they lie below the folder that holds `node_modules`.

use dormouse_core::packages::{Package, PackageFile};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use serde_json::Value as Json;

use super::document::Manifest;
use crate::archive::{self, Unpacked};
use crate::digest::hex;
use crate::source::Notes;

/// Unpacks an archive for each of its places.
pub(crate) fn lay_out(about: &Manifest, places: &[String], packed: &[u8], room: u64) -> Result<Vec<Package>> {
    let label = format!("{}-{}.tgz", about.name, about.version);
    let unpacked = archive::tarball(&label, packed, room)?;
    let own = unpacked.iter().find(|file| file.path == "package.json");
    let Some(own) = own.and_then(|file| serde_json::from_slice::<Json>(&file.bytes).ok()) else {
        return Err(Error::new(ErrorCode::PackageRefused, format!("`{label}` has no `package.json`"))
            .with_hint("nothing was installed; request another version"));
    };
    if own["gypfile"] == true || unpacked.iter().any(|file| file.path == "binding.gyp") {
        let message = format!("`{}` {} has native code, which must be compiled", about.name, about.version);
        return Err(Error::new(ErrorCode::CapabilityUnavailable, message)
            .with_hint("packages with native code need the Docker provider"));
    }
    let sha256 = hex(packed);
    let package = |path: &String| Package {
        name: about.name.clone(),
        version: about.version.to_string(),
        path: path.clone(),
        sha256: sha256.clone(),
        files: placed(path, &unpacked, &own),
    };
    Ok(places.iter().map(package).collect())
}

fn placed(path: &str, unpacked: &[Unpacked], own: &Json) -> Vec<PackageFile> {
    let file = |file: &Unpacked| PackageFile {
        path: format!("{path}/{}", file.path),
        bytes: file.bytes.clone(),
        executable: file.executable,
    };
    let mut files: Vec<PackageFile> = unpacked.iter().map(file).collect();
    // Programs of what lies deeper are nobody's to start.
    let Some(name) = path.strip_prefix("node_modules/").filter(|name| !name.contains("/node_modules/"))
    else {
        return files;
    };
    for (program, target) in programs(name, own) {
        let Some(target) = target_of(&target, unpacked) else { continue };
        let module = target.ends_with(".mjs") || (own["type"] == "module" && !target.ends_with(".cjs"));
        let call = if module { "import" } else { "require" };
        let quoted = Json::from(format!("../{name}/{target}"));
        let text = format!("#!/usr/bin/env node\n{call}({quoted});\n");
        let path = format!("node_modules/.bin/{program}");
        files.push(PackageFile { path, bytes: text.into_bytes(), executable: true });
    }
    files
}

/// The programs that a `package.json` names, with their files.
fn programs(name: &str, own: &Json) -> Vec<(String, String)> {
    let plain = |name: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && name.len() <= 128 && name.bytes().all(letters) && !name.starts_with('.')
    };
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let found: Vec<(String, String)> = match &own["bin"] {
        Json::String(target) => vec![(last(own["name"].as_str().unwrap_or(name)), target.clone())],
        Json::Object(named) => named
            .iter()
            .filter_map(|(name, target)| Some((last(name), target.as_str()?.to_owned())))
            .collect(),
        _ => Vec::new(),
    };
    found.into_iter().filter(|(name, _)| plain(name)).collect()
}

/// The file that a program is, if the package has it.
fn target_of(target: &str, files: &[Unpacked]) -> Option<String> {
    let target = target.trim_start_matches("./").trim_start_matches('/');
    GuestPath::parse(&format!("/{target}")).ok()?;
    let candidates = [target.to_owned(), format!("{target}.js"), format!("{target}/index.js")];
    candidates.into_iter().find(|name| files.iter().any(|file| file.path == *name))
}

/// Whether a package has scripts that npm would run.
pub(crate) fn has_scripts(packages: &[Package]) -> bool {
    packages.first().is_some_and(|package| {
        let path = format!("{}/package.json", package.path);
        let file = package.files.iter().find(|file| file.path == path);
        let own = file.and_then(|file| serde_json::from_slice::<Json>(&file.bytes).ok()).unwrap_or_default();
        ["preinstall", "install", "postinstall"].iter().any(|script| own["scripts"][script].is_string())
    })
}

/// Of two programs with one name the first stays.
pub(crate) fn one_program_a_name(packages: &mut [Package], notes: &Notes) {
    let mut seen = std::collections::BTreeSet::new();
    for package in packages {
        let name = package.name.clone();
        package.files.retain(|file| {
            let Some(program) = file.path.strip_prefix("node_modules/.bin/") else { return true };
            let first = seen.insert(program.to_owned());
            if !first {
                notes.add(&format!(
                    "the program `{program}` of `{name}` was left out: another package has one"
                ));
            }
            first
        });
    }
}
