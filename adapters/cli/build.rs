//! Tells the binary which version of the engine it was built with.

use std::path::Path;

fn main() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let text = std::fs::read_to_string(&lock).unwrap_or_default();
    let version = text
        .split("[[package]]")
        .find(|package| package.contains("name = \"wasmtime\"\n"))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .unwrap_or("of an unknown version");
    println!("cargo::rustc-env=DORMOUSE_ENGINE=wasmtime {version}");
    println!("cargo::rerun-if-changed={}", lock.display());
}
