//! A case in a fresh sandbox, by the tools that every client has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::cases::Case;
use super::client::Client;
use super::outcome::{Entry, Outcome};

const WORKSPACE: &str = "/workspace";
/// What a case may take.
const TIMEOUT_MS: u64 = 20_000;
/// Bytes of a file that one call reads.
const PART: usize = 64 << 10;

/// Runs a case; `inputs` is the folder that its files are taken from.
pub(crate) fn run(client: &mut Client, case: &Case, inputs: &Path) -> Result<Outcome> {
    let made = client.call("sandbox_create", &json!({}))?;
    let id = made["id"].as_str().context("a sandbox without an id")?.to_owned();
    let outcome = ran(client, &id, case, inputs);
    client.call("sandbox_destroy", &json!({"sandbox": id}))?;
    outcome
}

fn ran(client: &mut Client, id: &str, case: &Case, inputs: &Path) -> Result<Outcome> {
    for file in &case.files {
        let bytes = fs::read(inputs.join(file)).with_context(|| format!("`{}`: `{file}`", case.name))?;
        let content = String::from_utf8(bytes)?;
        let path = format!("{WORKSPACE}/{file}");
        client.call("sandbox_write", &json!({"sandbox": id, "path": path, "content": content}))?;
    }
    let command = json!({"sandbox": id, "command": case.script, "timeout_ms": TIMEOUT_MS});
    let said = client.call("sandbox_exec", &command)?;
    let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    Ok(Outcome {
        stdout: text("stdout"),
        stderr: text("stderr"),
        exit_code: said["exit_code"].as_i64().context("`sandbox_exec` told no exit status")?,
        files: tree(client, id)?,
    })
}

pub(crate) fn tree(client: &mut Client, id: &str) -> Result<BTreeMap<String, Entry>> {
    let listed = client.call("sandbox_files", &json!({"sandbox": id, "recursive": true}))?;
    ensure!(listed["truncated"] != true, "more files than one list shows");
    let mut found = BTreeMap::new();
    for entry in listed["entries"].as_array().into_iter().flatten() {
        let path = entry["path"].as_str().unwrap_or_default().to_owned();
        let held = match entry["kind"].as_str() {
            Some("folder") => Entry::Folder,
            Some("link") => Entry::Link,
            _ => Entry::File(content(client, id, &path)?),
        };
        found.insert(path, held);
    }
    Ok(found)
}

fn content(client: &mut Client, id: &str, path: &str) -> Result<Vec<u8>> {
    let (mut bytes, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let asked = json!({"sandbox": id, "path": format!("{WORKSPACE}/{path}"), "offset": from,
            "max_bytes": PART, "encoding": "base64"});
        let part = client.call("sandbox_read", &asked)?;
        bytes.extend(STANDARD.decode(part["content"].as_str().unwrap_or_default())?);
        offset = part.get("next_offset").and_then(Json::as_u64);
    }
    Ok(bytes)
}
