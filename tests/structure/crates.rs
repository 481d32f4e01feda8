//! Dependencies point one way (docs/ARCHITECTURE.md): core knows nothing above it, doors know no engine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use dormouse_tests::binary;
use serde_json::Value as Json;

use super::{name, read, root};

/// What each crate of ours may use of ours.
const OURS: [(&str, &[&str]); 35] = [
    ("dormouse-types", &[]),
    ("dormouse-files", &["dormouse-types"]),
    ("dormouse-core", &["dormouse-files", "dormouse-types"]),
    ("dormouse-store", &["dormouse-core"]),
    ("dormouse-wasm", &["dormouse-core", "dormouse-files"]),
    ("dormouse-sandbox", &["dormouse-core", "dormouse-store", "dormouse-wasm"]),
    ("dormouse-archives", &["dormouse-core"]),
    ("dormouse-tools", &["dormouse-archives", "dormouse-core"]),
    ("dormouse-mcp", &["dormouse-core", "dormouse-tools"]),
    ("dormouse-connect", &["dormouse-core", "dormouse-http", "dormouse-sources", "dormouse-tools"]),
    ("dormouse-containers", &["dormouse-core", "dormouse-files"]),
    ("dormouse-docker", &["dormouse-containers", "dormouse-core", "dormouse-files"]),
    ("dormouse-kubernetes", &["dormouse-containers", "dormouse-core"]),
    ("dormouse-egress", &["dormouse-core"]),
    ("dormouse-http", &["dormouse-core", "dormouse-egress"]),
    ("dormouse-git", &["dormouse-core", "dormouse-http"]),
    ("dormouse-models", &["dormouse-core", "dormouse-http"]),
    ("dormouse-packages", &["dormouse-archives", "dormouse-core", "dormouse-http"]),
    ("dormouse-rest", &["dormouse-core", "dormouse-tools"]),
    ("dormouse-scenario", &["dormouse-core", "dormouse-models", "dormouse-sources"]),
    ("dormouse-sources", &["dormouse-core", "dormouse-http", "dormouse-tools"]),
    ("dormouse-sdk", &["dormouse-sandbox", "dormouse-egress", "dormouse-tools"]),
    ("dormouse-python", &["dormouse-sandbox", "dormouse-sdk"]),
    ("dormouse-node", &["dormouse-sandbox", "dormouse-sdk"]),
    (
        "dormouse-cli",
        &[
            "dormouse-sandbox",
            "dormouse-connect",
            "dormouse-docker",
            "dormouse-egress",
            "dormouse-git",
            "dormouse-kubernetes",
            "dormouse-mcp",
            "dormouse-models",
            "dormouse-packages",
            "dormouse-rest",
            "dormouse-scenario",
            "dormouse-sources",
            "dormouse-tools",
        ],
    ),
    // `xtask` is compiled before anything else: it knows no engine.
    ("xtask", &["dormouse-chores", "dormouse-test-engine"]),
    ("dormouse-chores", &[]),
    ("dormouse-test-engine", &["dormouse-chores"]),
    ("dormouse-guests", &["dormouse-chores"]),
    ("dormouse-precompile", &["dormouse-wasm"]),
    ("dormouse-suites", &["dormouse-sandbox", "dormouse-chores", "dormouse-connect", "dormouse-guests"]),
    // Of `dormouse-core` the features (tests/Cargo.toml), and how tests wait.
    (
        "dormouse-tests",
        &[
            "dormouse-sandbox",
            "dormouse-core",
            "dormouse-docker",
            "dormouse-egress",
            "dormouse-git",
            "dormouse-kubernetes",
            "dormouse-models",
            "dormouse-rest",
            "dormouse-tools",
        ],
    ),
    (
        "dormouse-tests-fuzz",
        &[
            "dormouse-containers",
            "dormouse-core",
            "dormouse-egress",
            "dormouse-files",
            "dormouse-git",
            "dormouse-mcp",
            "dormouse-models",
            "dormouse-packages",
            "dormouse-rest",
            "dormouse-scenario",
            "dormouse-sources",
            "dormouse-store",
            "dormouse-tools",
            "dormouse-wasm",
        ],
    ),
    (
        "dormouse-benches",
        &["dormouse-sandbox", "dormouse-core", "dormouse-docker", "dormouse-egress", "dormouse-kubernetes"],
    ),
    ("dormouse-examples", &[]),
];

/// The crates that are published: `dormouse-sandbox`, and what it uses.
const PUBLISHED: [&str; 6] = [
    "dormouse-core",
    "dormouse-files",
    "dormouse-sandbox",
    "dormouse-store",
    "dormouse-types",
    "dormouse-wasm",
];

/// The programs, and the crates of chores and tests: they have command lines, and their errors are for people to read.
const PROGRAMS: &[&str] = &[
    "dormouse-cli",
    "xtask",
    "dormouse-chores",
    "dormouse-test-engine",
    "dormouse-guests",
    "dormouse-precompile",
    "dormouse-suites",
    "dormouse-tests",
    "dormouse-tests-fuzz",
    "dormouse-benches",
];

/// Who may use a library that belongs to one crate.
const THEIRS: [(&str, &[&str]); 38] = [
    ("diffy", &["dormouse-guests"]),
    ("landlock", &["dormouse-cli"]),
    ("seccompiler", &["dormouse-cli"]),
    ("bollard", &["dormouse-docker"]),
    ("k8s-openapi", &["dormouse-kubernetes", "dormouse-benches"]),
    ("kube", &["dormouse-kubernetes", "dormouse-benches"]),
    ("jsonschema", &["dormouse-sources"]),
    ("maud", &["dormouse-scenario"]),
    ("quick-junit", &["dormouse-scenario"]),
    ("serde-saphyr", &["dormouse-connect", "dormouse-scenario"]),
    ("wasmtime-wizer", &["dormouse-precompile"]),
    ("wasmtime", &["dormouse-wasm", "dormouse-precompile"]),
    ("wasmtime-wasi", &["dormouse-wasm", "dormouse-precompile"]),
    ("wasmtime-wasi-http", &["dormouse-wasm"]),
    ("cap-std", &["dormouse-cli", "dormouse-tools", "dormouse-wasm"]),
    ("rusqlite", &["dormouse-connect", "dormouse-store"]),
    ("zstd", &["dormouse-store"]),
    // Untrusted archives are read in one place; the engine's own are tars as well.
    ("tar", &["dormouse-archives", "dormouse-containers", "dormouse-docker"]),
    ("flate2", &["dormouse-guests", "dormouse-archives"]),
    ("zip", &["dormouse-archives"]),
    (
        "reqwest",
        &[
            "dormouse-connect",
            "dormouse-git",
            "dormouse-http",
            "dormouse-models",
            "dormouse-packages",
            "dormouse-sources",
        ],
    ),
    ("rustls", &["dormouse-benches", "dormouse-egress", "dormouse-http", "dormouse-tests"]),
    // What sandboxes ask of the network is spoken here, over addresses that were checked.
    ("idna", &["dormouse-egress"]),
    ("linux-keyutils", &["dormouse-egress"]),
    ("rustls-native-certs", &["dormouse-egress"]),
    ("tokio-rustls", &["dormouse-benches", "dormouse-egress", "dormouse-tests"]),
    ("zeroize", &["dormouse-egress"]),
    ("nodejs-semver", &["dormouse-packages"]),
    ("pep508_rs", &["dormouse-packages"]),
    ("pubgrub", &["dormouse-packages"]),
    ("rmcp", &["dormouse-mcp", "dormouse-tests"]),
    ("axum", &["dormouse-mcp", "dormouse-rest", "dormouse-tests"]),
    ("hyper", &["dormouse-egress", "dormouse-rest", "dormouse-benches"]),
    ("clap", PROGRAMS),
    ("tracing-appender", &["dormouse-cli"]),
    ("tracing-subscriber", &["dormouse-cli"]),
    ("anyhow", PROGRAMS),
    ("libfuzzer-sys", &["dormouse-tests-fuzz"]),
];

/// Each crate of the workspace and what it uses, tests and build scripts left out.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    packages()
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
            let used = dependencies.filter(|dependency| dependency["kind"].is_null());
            let names = used.map(|dependency| dependency["name"].as_str().expect("a name").to_owned());
            (package["name"].as_str().expect("a name").to_owned(), names.collect())
        })
        .collect()
}

/// The packages of the workspace, as cargo tells them.
fn packages() -> Vec<Json> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command =
        binary::started(Path::new(&cargo), &["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    command.current_dir(root());
    for name in ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let ran = binary::finish(command, b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    let metadata: Json = serde_json::from_slice(&ran.stdout).expect("cargo speaks JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// What is published can be had without the rest, and says what it is. The trial of `cargo xtask test dist` packs it.
#[test]
fn what_an_embedding_program_needs_is_published_and_nothing_else() {
    let graph = graph();
    let mut needed: BTreeSet<&str> = BTreeSet::new();
    let mut next = vec!["dormouse-sandbox"];
    while let Some(name) = next.pop() {
        if graph.contains_key(name) && needed.insert(name) {
            next.extend(graph[name].iter().map(String::as_str));
        }
    }
    assert_eq!(needed.into_iter().collect::<Vec<_>>(), PUBLISHED);
    for package in packages() {
        let name = package["name"].as_str().expect("a name");
        let is_listed = PUBLISHED.contains(&name);
        // null: to any registry; an empty list: to none.
        assert_eq!(package["publish"].is_null(), is_listed, "{name}: `publish` in its Cargo.toml");
        if !is_listed {
            continue;
        }
        for field in ["description", "license", "repository", "readme"] {
            assert!(package[field].is_string(), "{name} has no {field}");
        }
        // Its tests cannot use what is not published either. All are of one release.
        let ours = package["dependencies"].as_array().expect("dependencies").iter();
        for used in ours.filter(|used| used["path"].is_string()) {
            assert!(
                PUBLISHED.contains(&used["name"].as_str().expect("a name")),
                "{name} uses {}",
                used["name"]
            );
            assert_eq!(
                used["req"],
                format!("={}", env!("CARGO_PKG_VERSION")),
                "{name} uses {}",
                used["name"]
            );
        }
    }
}

#[test]
fn our_crates_depend_in_one_direction() {
    let graph = graph();
    let ours: BTreeSet<&str> = graph.keys().map(String::as_str).collect();
    let listed: BTreeSet<&str> = OURS.iter().map(|(name, _)| *name).collect();
    assert_eq!(ours, listed, "the crates of the workspace are those of this list");
    for (name, allowed) in OURS {
        for used in graph[name].iter().filter(|used| ours.contains(used.as_str())) {
            assert!(allowed.contains(&used.as_str()), "{name} must not depend on {used}");
        }
    }
}

#[test]
fn a_library_is_used_in_its_own_crate_only() {
    let graph = graph();
    for (library, allowed) in THEIRS {
        let users: Vec<&str> =
            graph.iter().filter(|(_, used)| used.contains(library)).map(|(name, _)| name.as_str()).collect();
        assert!(!users.is_empty(), "nobody uses {library}: take it off the list");
        for user in users {
            assert!(allowed.contains(&user), "{user} must not use {library}");
        }
    }
}

/// `cargo xtask` speaks at once: nothing that it is made of is compiled for minutes.
#[test]
fn what_xtask_is_made_of_is_small() {
    let graph = graph();
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut next = vec!["xtask"];
    while let Some(name) = next.pop() {
        if found.insert(name) {
            next.extend(graph.get(name).into_iter().flatten().map(String::as_str));
        }
    }
    for large in ["wasmtime", "wit-component", "wit-parser", "tokio", "regex", "dormouse-wasm"] {
        assert!(!found.contains(large), "xtask is compiled with {large}");
    }
}

/// A package of a registry holds what lies in the folder of its crate alone. So contracts and licences are there twice.
#[test]
fn the_copies_in_published_crates_are_those_of_the_project() {
    let same = |copy: &Path, original: &Path| {
        assert_eq!(read(copy), read(original), "{} differs from {}", name(copy), name(original));
    };
    for (copy, original) in
        [("runtime/wasm/wit/guest", "wit"), ("runtime/wasm/wit/typescript", "guests/typescript/wit")]
    {
        let (copy, original) = (root().join(copy), root().join(original));
        let listed = |folder: &Path| {
            let mut names: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(listed(&copy), listed(&original), "{}", name(&copy));
        for file in listed(&original) {
            same(&copy.join(&file), &original.join(&file));
        }
    }
    for published in ["core", "dormouse", "files", "store", "types", "wasm"] {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            same(&root().join("runtime").join(published).join(licence), &root().join(licence));
        }
    }
}
