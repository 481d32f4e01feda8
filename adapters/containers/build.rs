//! Compiles the program by which a container without a network is reached, and reaches the gate ([`relay/main.rs`](relay/main.rs)): linked without
//! shared libraries, because the images that it runs in are others' own.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    reason = "a build script runs the compiler, and ends where that fails"
)]

use std::path::Path;
use std::process::Command;

const SOURCE: &str = "relay/main.rs";
const FOLDER: &str = "relay";

fn main() {
    println!("cargo::rerun-if-changed={FOLDER}");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let program = Path::new(&variable("OUT_DIR")).join("relay");
    // Elsewhere there is none, and containers are not reached without a network.
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        if let Err(error) = std::fs::write(program, []) {
            panic!("the relay's place cannot be written: {error}");
        }
        return;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-name", "relay", "--target", &variable("TARGET")]);
    let options = ["target-feature=+crt-static", "panic=abort", "opt-level=s", "strip=symbols", "lto=fat"];
    rustc.args(options.iter().flat_map(|option| ["-C", option])).arg("-o").arg(program).arg(SOURCE);
    // Set where cargo was told of one, as for another architecture.
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    if let Some(linker) = std::env::var_os("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={}", linker.display()));
    }
    let compiled = rustc.status();
    if !compiled.as_ref().is_ok_and(|status| status.success()) {
        panic!(
            "the relay does not compile ({compiled:?}): it needs the C library's archive (Debian: libc6-dev)"
        );
    }
}
