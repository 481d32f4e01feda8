//! What is in a release, as CycloneDX 1.6 has it: each crate of the program and of the guests, and each C source of the guests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use dormouse_chores::workspace;
use serde_json::{Value as Json, json};

use super::{ARCHITECTURE, Release, cargo_says};

/// The lock files of the guests' workspaces.
const GUESTS: [&str; 2] = ["guests/Cargo.lock", "guests/typescript/Cargo.lock"];

/// The list, as text. `libraries`: the folders with the records of the guests.
pub(super) fn bill(release: &Release, libraries: &[PathBuf]) -> Result<String> {
    let mut components = BTreeMap::new();
    for (name, version) in of_program()? {
        components.insert(format!("pkg:cargo/{name}@{version}"), krate(&name, &version, "dormouse"));
    }
    let sums = [&["Cargo.lock"][..], &GUESTS].concat();
    let sums: BTreeMap<_, _> =
        sums.into_iter().map(locked).collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    for file in GUESTS {
        for (name, version) in locked(file)?.into_keys() {
            let component = || krate(&name, &version, "guests");
            components.entry(format!("pkg:cargo/{name}@{version}")).or_insert_with(component);
        }
    }
    for ((name, version), sum) in &sums {
        if let Some(component) = components.get_mut(&format!("pkg:cargo/{name}@{version}")) {
            component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
        }
    }
    for (source, guests) in sources(libraries)? {
        let guests: Vec<String> = guests.into_iter().collect();
        components.insert(
            format!("source:{source}"),
            json!({
                "type": "library", "name": source,
                "properties": [{"name": "dormouse:part", "value": guests.join(", ")}],
            }),
        );
    }
    let bill = json!({
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {
            "type": "application", "name": "dormouse-sandbox", "version": release.version,
            "properties": [{"name": "dormouse:architecture", "value": ARCHITECTURE}],
        }},
        "components": components.into_values().collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn krate(name: &str, version: &str, part: &str) -> Json {
    let purl = format!("pkg:cargo/{name}@{version}");
    json!({"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
        "properties": [{"name": "dormouse:part", "value": part}]})
}

/// Names and versions of the crates in the program, its own ones included.
fn of_program() -> Result<BTreeSet<(String, String)>> {
    let words = ["tree", "--package", "dormouse-cli", "--edges", "normal", "--prefix", "none", "--locked"];
    let said =
        cargo_says(&[&words[..], &["--target", "x86_64-unknown-linux-gnu", "--format", "{p}"]].concat())?;
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
