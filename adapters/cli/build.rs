//! Tells the binary which version of the engine it was built with.

/// Seen from the folder of this package, where build scripts run.
const LOCK: &str = "../../Cargo.lock";

fn main() {
    let text = std::fs::read_to_string(LOCK).unwrap_or_default();
    let version = text
        .split("[[package]]")
        .find(|package| package.contains("name = \"wasmtime\"\n"))
        .and_then(|package| package.split("version = \"").nth(1)?.split('"').next())
        .unwrap_or("of an unknown version");
    println!("cargo::rustc-env=DORMOUSE_ENGINE=wasmtime {version}");
    println!("cargo::rerun-if-changed={LOCK}");
}
