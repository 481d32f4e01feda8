//! What is in a release, as CycloneDX 1.6 has it: each crate of the program and of the guests, each C source and each
//! package of npm in a guest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use dormouse_chores::digest::{self, hex};
use dormouse_chores::process::plain_cargo;
use dormouse_chores::progress::complain;
use dormouse_chores::{program, python, workspace};
use serde_json::{Value as Json, json};

use super::{Machine, Made, Release, cargo_says};
use crate::tools;

/// The workspaces of the guests' crates.
const GUESTS: [&str; 3] = ["guests/Cargo", "guests/javascript/Cargo", "guests/typescript/Cargo"];

/// The crates of packages of PyPI that are in the Python guest. Those that are packages of it come from that index and lie beside the manifest only while
/// the guest is built, so cargo cannot read it here.
const PYTHON: &str = "guests/python/native/Cargo.lock";

/// The packages of npm of which files are in the JavaScript guest, and the data of its locales.
const NPM: &str = "guests/javascript/library/package-lock.json";
const LOCALES: &str = "guests/javascript/cldr/locales.txt";

/// The licences of what is no crate, or of the C sources in one, as their authors state them.
const LICENCES: [(&str, &str); 27] = [
    ("bzip2", "bzip2-1.0.6"),
    ("compu-brotli-sys", "BSL-1.0 AND MIT"),
    ("curl", "curl"),
    ("gmp", "LGPL-3.0-or-later OR GPL-2.0-or-later"),
    ("icu", "Unicode-3.0 AND BSD-3-Clause AND NAIST-2003"),
    ("jiter", "MIT"),
    ("libgit2-sys", "(MIT OR Apache-2.0) AND GPL-2.0-only WITH GCC-exception-2.0"),
    ("libjpeg-turbo", "IJG AND BSD-3-Clause AND Zlib"),
    ("libpng1.6", "libpng-2.0"),
    ("libsodium", "ISC"),
    ("libsqlite3-sys", "MIT AND blessing"),
    ("libxml2", "MIT"),
    ("libzip", "BSD-3-Clause"),
    ("libz-sys", "(MIT OR Apache-2.0) AND Zlib"),
    ("llvm-toolchain-22", "Apache-2.0 WITH LLVM-exception"),
    ("mbedtls", "Apache-2.0 OR GPL-2.0-or-later"),
    ("onig_sys", "MIT AND BSD-2-Clause"),
    ("php8.4", "PHP-3.01 AND Zend-2.0 AND BSD-2-Clause AND GD"),
    ("pydantic-core", "MIT"),
    ("python3.14", "Python-2.0.1"),
    ("regex", "Apache-2.0 AND CNRI-Python"),
    ("rpds-py", "MIT"),
    ("tzdata", "LicenseRef-public-domain"),
    ("wasi-libc", "(Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT) AND MIT"),
    ("xz-utils", "0BSD"),
    ("zlib", "Zlib"),
    ("zstd-sys", "(MIT OR Apache-2.0) AND BSD-3-Clause"),
];

/// What checks the bill: the schema of its authors is in it.
const CHECKER: &str = "cyclonedx-python-lib[json-validation]==11.12.0";
/// Prints what is wrong with the file that it is given.
const CHECK: &str = "import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()) or 'valid')";

/// The list, as text. `libraries`: the folders with the records of the guests.
pub(super) fn bill(release: &Release, libraries: &[PathBuf]) -> Result<String> {
    let mut components = BTreeMap::new();
    for (name, version) in of_program(release.machine)? {
        components.insert(crate_of(&name, &version), krate(&name, &version, "dormouse"));
    }
    let files: Vec<String> = GUESTS.iter().map(|file| format!("{file}.lock")).collect();
    for file in files.iter().map(String::as_str).chain([PYTHON]) {
        for (name, version) in locked(file)?.into_keys() {
            let component = || krate(&name, &version, "guests");
            components.entry(crate_of(&name, &version)).or_insert_with(component);
        }
    }
    let pins = pins()?;
    let (purl, component) = locales()?;
    components.insert(purl, component);
    for (source, guests) in sources(libraries)? {
        let (purl, mut component) = match source.strip_prefix("npm:") {
            Some(package) => of_npm(package)?,
            None => source_of(&source, &pins)?,
        };
        component["properties"] = part(&guests.into_iter().collect::<Vec<_>>().join(", "));
        components.insert(purl, component);
    }
    let python = tempfile::tempdir()?;
    let python = manifest_of(PYTHON, python.path())?;
    let manifests = [&["Cargo"][..], &GUESTS, &["guests/sources/Cargo"]].concat();
    let manifests =
        manifests.iter().map(|file| (format!("{file}.lock"), workspace().join(format!("{file}.toml"))));
    for (lock, manifest) in manifests.chain([(PYTHON.to_owned(), python)]) {
        for ((name, version), sum) in locked(&lock)? {
            if let Some(component) = components.get_mut(&crate_of(&name, &version)) {
                component["hashes"] = sha256(&sum);
            }
        }
        for (purl, licence) in licences(&manifest)? {
            if let Some(component) = components.get_mut(&purl) {
                let known = LICENCES.iter().find(|(name, _)| component["name"] == *name);
                let licence = known.map_or(licence.as_str(), |(_, licence)| licence);
                component["licenses"] = json!([{"expression": licence}]);
            }
        }
    }
    let bill = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {
            "type": "application", "name": "dormouse-sandbox", "version": release.version,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "properties": [{"name": "dormouse:architecture", "value": release.machine.architecture()}],
        }},
        "components": components.into_values().collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn crate_of(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{version}")
}

fn part(name: &str) -> Json {
    json!([{"name": "dormouse:part", "value": name}])
}

fn sha256(sum: &str) -> Json {
    json!([{"alg": "SHA-256", "content": sum}])
}

fn krate(name: &str, version: &str, of: &str) -> Json {
    // A `+` is a blank in an address.
    let purl = crate_of(name, version).replace('+', "%2B");
    json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "properties": part(of)})
}

/// Names and versions of the crates in the program, its own ones included.
fn of_program(machine: Machine) -> Result<BTreeSet<(String, String)>> {
    let words = ["tree", "--package", "dormouse-cli", "--edges", "normal", "--prefix", "none", "--locked"];
    let said = cargo_says(&[&words[..], &["--target", &machine.triple(), "--format", "{p}"]].concat())?;
    let crates = said.lines().filter_map(|line| {
        let mut words = line.split(' ');
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    });
    Ok(crates.collect())
}

/// The crates of a lock file with their checksums.
fn locked(file: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = fs::read_to_string(workspace().join(file)).context(file.to_owned())?.parse()?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    Ok(packages
        .filter_map(|package| {
            let name = (text(package, "name")?, text(package, "version")?);
            Some((name, text(package, "checksum")?))
        })
        .collect())
}

/// A manifest that asks for exactly the crates of a lock file which a registry has.
fn manifest_of(lock: &str, folder: &Path) -> Result<PathBuf> {
    let mut text = "[package]\nname = \"locked\"\nversion = \"0.0.0\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n[dependencies]\n".to_owned();
    for (at, (name, version)) in locked(lock)?.into_keys().enumerate() {
        text.push_str(&format!(
            "d{at} = {{ package = \"{name}\", version = \"={version}\", default-features = false }}\n"
        ));
    }
    fs::write(folder.join("lib.rs"), "")?;
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, text)?;
    Ok(manifest)
}

/// The licences of the crates of a workspace, as their authors state them; those who put `/` meant `OR`.
fn licences(manifest: &Path) -> Result<BTreeMap<String, String>> {
    let mut cargo = plain_cargo();
    cargo.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest);
    if manifest.starts_with(workspace()) {
        cargo.arg("--locked");
    }
    let said = cargo.output()?;
    ensure!(said.status.success(), "{}: {}", manifest.display(), String::from_utf8_lossy(&said.stderr));
    let metadata: Json = serde_json::from_slice(&said.stdout)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let of = |package: &Json| {
        let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
        let parts: Vec<&str> = package["license"].as_str()?.split('/').map(str::trim).collect();
        Some((crate_of(name, version), parts.join(" OR ")))
    };
    Ok(packages.filter_map(of).collect())
}

/// The sources that the records of guests name, and for each the guests that are made of it.
fn sources(libraries: &[PathBuf]) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for library in libraries {
        for folder in fs::read_dir(library.join("guests"))? {
            for file in fs::read_dir(folder?.path())? {
                let file = file?.path();
                if file.extension().is_none_or(|end| end != "json") {
                    continue;
                }
                let record: Json = serde_json::from_str(&fs::read_to_string(&file)?)?;
                let language = record["language"].as_str().unwrap_or_default();
                let sources = record["sources"].as_array().into_iter().flatten().filter_map(Json::as_str);
                // The C library is part of each guest; the compiler is not.
                let tools = record["tools"].as_str().unwrap_or_default().split("; ");
                for source in sources.chain(tools.filter(|tool| tool.starts_with("wasi-libc"))) {
                    all.entry(source.to_owned()).or_default().insert(language.to_owned());
                }
            }
        }
    }
    Ok(all)
}

/// A source that a recipe of a guest pins: its package, its file, and its SHA-256.
type Pin = [String; 3];

fn pins() -> Result<Vec<Pin>> {
    let said = tools::GUESTS.command()?.arg("sources").output()?;
    ensure!(said.status.success(), "the sources of guests: {}", String::from_utf8_lossy(&said.stderr));
    let words = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>().try_into().ok();
    Ok(String::from_utf8(said.stdout)?.lines().filter_map(words).collect())
}

/// What a source is called among packages, and what is known of it. It is a file of Debian's archive, which is pinned, or a crate,
/// `NAME-VERSION`.
fn source_of(source: &str, pins: &[Pin]) -> Result<(String, Json)> {
    let bare = |file: &str| file.trim_end_matches(".deb").to_owned();
    if let Some([package, file, sum]) = pins.iter().find(|[_, file, _]| bare(file) == bare(source)) {
        return Ok(match package.strip_prefix("pypi:") {
            Some(project) => of_pypi(project, file, sum),
            None => debian(package, file, sum),
        });
    }
    let mut places = source.match_indices('-').map(|(at, _)| source.split_at(at));
    let parted = places.find(|(_, rest)| rest[1..].starts_with(|first: char| first.is_ascii_digit()));
    let (name, version) = parted.with_context(|| format!("`{source}` has no version"))?;
    Ok((crate_of(name, &version[1..]), krate(name, &version[1..], "guests")))
}

/// A source distribution of PyPI.
fn of_pypi(project: &str, file: &str, sum: &str) -> (String, Json) {
    let version = file.trim_end_matches(".tar.gz").rsplit('-').next().unwrap_or_default();
    let purl = format!("pkg:pypi/{project}@{version}");
    let known = LICENCES.iter().find(|(name, _)| project == *name);
    let licences = known.map_or(json!([]), |(_, licence)| json!([{"expression": licence}]));
    let component = json!({
        "type": "library", "bom-ref": purl, "name": project, "version": version, "purl": purl,
        "hashes": sha256(sum), "licenses": licences,
    });
    (purl, component)
}

/// A package of npm, `NAME@VERSION`, with the checksum and the licence that the lock file has.
fn of_npm(package: &str) -> Result<(String, Json)> {
    let lock: Json = serde_json::from_str(&fs::read_to_string(workspace().join(NPM))?)?;
    let (name, version) = package.rsplit_once('@').with_context(|| format!("`{package}` has no version"))?;
    let entry = &lock["packages"][format!("node_modules/{name}")];
    let sum = entry["integrity"].as_str().and_then(|sum| sum.strip_prefix("sha512-")).unwrap_or_default();
    let sum = hex(&BASE64_STANDARD.decode(sum).with_context(|| format!("the checksum of `{name}`"))?);
    let purl = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
    let component = json!({
        "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "hashes": [{"alg": "SHA-512", "content": sum}], "licenses": [{"expression": entry["license"]}],
    });
    Ok((purl, component))
}

/// The data of locales, which was made of CLDR's.
fn locales() -> Result<(String, Json)> {
    let made_of: Json =
        serde_json::from_str(&fs::read_to_string(workspace().join(LOCALES).with_file_name("package.json"))?)?;
    let version = made_of["dependencies"]["cldr-core"].as_str().unwrap_or_default();
    let purl = format!("pkg:npm/cldr-core@{version}");
    let sum = digest::sha256(&fs::read(workspace().join(LOCALES))?);
    let component = json!({
        "type": "data", "bom-ref": purl, "name": "cldr-core", "version": version, "purl": purl, "properties": part("javascript"),
        "hashes": sha256(&sum), "licenses": [{"expression": "Unicode-3.0"}],
    });
    Ok((purl, component))
}

/// A file of Debian's archive: `NAME_VERSION.orig.tar.xz`, `NAME_VERSION_all.deb`.
fn debian(package: &str, file: &str, sum: &str) -> (String, Json) {
    let (name, rest) = file.split_once('_').unwrap_or((file, ""));
    let (version, architecture) = match rest.split_once(".orig.tar") {
        Some((version, _)) => (version, "source"),
        None => (rest.strip_suffix("_all.deb").unwrap_or(rest), "all"),
    };
    let purl = format!("pkg:deb/debian/{name}@{}?arch={architecture}", version.replace('+', "%2B"));
    let mut component = json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": sha256(sum)});
    if let Some((_, licence)) = LICENCES.iter().find(|(known, _)| *known == package) {
        component["licenses"] = json!([{"expression": licence}]);
    }
    (purl, component)
}

/// The bill of a release, as the authors of the format check it; and each part that is not our own has its checksum and its
/// licence.
pub(super) fn trial(made: &Made) -> Result<()> {
    let bill: Json = serde_json::from_str(&fs::read_to_string(made.bill())?)?;
    let components: Vec<&Json> = bill["components"].as_array().into_iter().flatten().collect();
    for wanted in [
        "wasmtime",
        "libsqlite3-sys",
        "rquickjs-sys",
        "readable-stream",
        "cldr-core",
        "pydantic-core",
        "python3.14",
        "php8.4",
        "libxml2",
        "wasi-libc",
    ] {
        ensure!(components.iter().any(|one| one["name"] == wanted), "the bill of materials lacks {wanted}");
    }
    for one in components {
        let ours = one["name"].as_str().is_some_and(|name| name.starts_with("dormouse-"));
        ensure!(ours || one["hashes"].is_array(), "{} has no checksum", one["name"]);
        ensure!(one["licenses"].is_array(), "{} has no licence", one["name"]);
    }
    let checker = match python::environment("bill", CHECKER) {
        Ok(folder) => folder.join("bin/python"),
        Err(error) => {
            complain(&format!(
                "left out: the schema of the bill of materials: {CHECKER} cannot be had: {error:#}"
            ));
            return Ok(());
        }
    };
    ensure!(check(&checker, &made.bill())? == "valid", "{}", check(&checker, &made.bill())?);
    // The checker itself is not one that lets everything pass.
    let place = tempfile::tempdir()?;
    let spoiled = place.path().join("spoiled.cdx.json");
    fs::write(&spoiled, fs::read_to_string(made.bill())?.replace("\"SHA-256\"", "\"SHA-257\""))?;
    ensure!(check(&checker, &spoiled)? != "valid", "an unknown kind of checksum is taken");
    Ok(())
}

fn check(checker: &Path, bill: &Path) -> Result<String> {
    let mut command = Command::new(checker);
    let said = program::run(command.args(["-c", CHECK]).arg(bill), Duration::from_secs(120))?;
    ensure!(said.succeeded(), "{}", said.stderr);
    Ok(said.stdout.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_debian_says_name_and_version() {
        let of = |file| {
            let (purl, component) = debian("zlib", file, "0");
            (purl, component["version"].as_str().unwrap_or_default().to_owned())
        };
        assert_eq!(
            of("zlib_1.3.dfsg+really1.3.1.orig.tar.gz"),
            ("pkg:deb/debian/zlib@1.3.dfsg%2Breally1.3.1?arch=source".into(), "1.3.dfsg+really1.3.1".into())
        );
        assert_eq!(
            of("tzdata-legacy_2026f-1_all.deb"),
            ("pkg:deb/debian/tzdata-legacy@2026f-1?arch=all".into(), "2026f-1".into())
        );
    }
}
