//! What `dormouse --version` says: the version of the program, its engine and its contract with guests, and those of each guest that it
//! uses. `-V` says the program's alone.

use std::sync::LazyLock;

use clap::Command;
use dormouse::wasm::{CONTRACT, Settings, WasmProvider};

/// Hexadecimal digits of a hash that people read.
const SHORT: usize = 12;

/// The long version of a command, as the parser shows it.
pub(super) fn shown(command: Command) -> Option<clap::Error> {
    static TEXT: LazyLock<String> = LazyLock::new(all);
    command.version(TEXT.as_str()).try_get_matches_from(["dormouse", "--version"]).err()
}

/// The text. What cannot be found out is left out: this never fails.
fn all() -> String {
    let (own, engine) = (env!("CARGO_PKG_VERSION"), env!("DORMOUSE_ENGINE"));
    let mut text = format!("{own} ({engine}, contract {CONTRACT})");
    let guests = Settings::new().and_then(WasmProvider::new).map(|provider| provider.builds());
    for build in guests.unwrap_or_default() {
        let sum = build.sha256.as_deref().map_or("-", |sum| sum.get(..SHORT).unwrap_or(sum));
        let origin = if build.is_installed { "installed" } else { "built" };
        let (guest, interpreter) = (build.guest.to_string(), &build.interpreter);
        text += &format!("\n{guest:12} {interpreter}, {sum}, {origin}: {}", build.folder.display());
    }
    text
}
