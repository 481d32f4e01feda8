//! The bundle that clients of MCP install (MCPB), and what its registry is told of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use dormouse_chores::digest::sha256;
use dormouse_chores::workspace;
use serde_json::{Value as Json, json};

use super::{Release, done};

/// What the server is called where names are reversed domains.
pub(super) const NAME: &str = "io.github.dormouse-sandbox/dormouse";
/// Where a release will lie. Nothing is published yet.
const RELEASES: &str = "https://dormouse.invalid/releases";

/// Packs it, and writes `server.json` beside it. `prefix`: a staged installation; `root`: a folder for its files.
pub(super) fn pack(release: &Release, prefix: &Path, root: &Path, into: &Path) -> Result<[PathBuf; 2]> {
    fs::create_dir_all(root.join("server"))?;
    let parts = ["bin", "lib"].map(|part| prefix.join(part));
    done(Command::new("cp").args(["--archive", "--link"]).args(parts).arg(root.join("server")))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(workspace().join(file), root.join(file))?;
    }
    fs::write(root.join("manifest.json"), format!("{:#}\n", manifest(&release.version)))?;
    super::pack::open_to_all(root)?;
    let bundle = into.join(format!("{}.mcpb", release.name()));
    if bundle.exists() {
        fs::remove_file(&bundle)?;
    }
    // Times are a part of a zip, and so is the order of names.
    let script = r#"find . -exec touch --no-dereference --date="@$1" {} + && find . -type f | LC_ALL=C sort | zip -q -X -D "-$2" "$3" -@"#;
    let level = if release.quick { "1" } else { "9" };
    let mut zip = Command::new("sh");
    zip.args(["-c", script, "zip", &release.time, level]).arg(&bundle).current_dir(root).env("TZ", "UTC");
    done(&mut zip)?;
    let server = into.join("server.json");
    let text = server_json(release, &bundle, &sha256(&fs::read(&bundle)?));
    fs::write(&server, format!("{text:#}\n"))?;
    Ok([bundle, server])
}

/// What a client is told: the program, and that the user may name a folder of state.
///
/// Source: the MCPB manifest specification 0.4.
fn manifest(version: &str) -> Json {
    json!({
        "manifest_version": "0.4",
        "name": "dormouse",
        "display_name": "Dormouse",
        "version": version,
        "description": "Runs Python, JavaScript, TypeScript, PHP and shell lines in sandboxes on this machine.",
        "author": {"name": "The Dormouse developers"},
        "license": "MIT OR Apache-2.0",
        "server": {
            "type": "binary",
            "entry_point": "server/bin/dormouse",
            "mcp_config": {
                "command": "${__dirname}/server/bin/dormouse",
                "args": ["mcp", "--state-dir", "${user_config.state}"],
                "env": {},
            },
        },
        "tools_generated": true,
        "compatibility": {"platforms": ["linux"]},
        "user_config": {"state": {
            "type": "directory",
            "title": "Folder of sandboxes",
            "description": "Where persistent sandboxes keep their variables and files.",
            "required": false,
            "default": "${HOME}/.local/share/dormouse",
        }},
    })
}

/// What the registry of MCP servers is told.
///
/// Source: its schema `server.json` of 2025-12-11.
fn server_json(release: &Release, bundle: &Path, sum: &str) -> Json {
    let file = bundle.file_name().unwrap_or_default().to_string_lossy().into_owned();
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": NAME,
        "title": "Dormouse",
        "description": "Runs Python, JavaScript, PHP and shell lines in sandboxes on this machine.",
        "version": release.version,
        "packages": [{
            "registryType": "mcpb",
            "identifier": format!("{RELEASES}/{}/{file}", release.version),
            "version": release.version,
            "fileSha256": sum,
            "transport": {"type": "stdio"},
        }],
    })
}
