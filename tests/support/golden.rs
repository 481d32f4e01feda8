//! Cases as folders: `in.py` or `in.js`, `call.json` with what else the call says, `files/` for its mount, and `out.json`,
//! the whole answer without times and sizes. `BLESS=1` rewrites the answers; review them as a diff.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dormouse::grants::WallClock;
use dormouse::{Access, Bounds, Callback, EvalRequest, GuestPath, Mount};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::sandbox;

/// Fields of an answer that differ from run to run.
const VARYING: [&str; 2] = ["duration_ms", "memory_peak_bytes"];

/// `call.json`. All of it may be left out.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Call {
    language: Option<String>,
    name: Option<String>,
    timeout_ms: Option<u64>,
    memory_bytes: Option<u64>,
    output_bytes: Option<u64>,
    seed: Option<u64>,
    /// Seconds since 1970 that the wall clock shows.
    clock: Option<u64>,
    stdin: Option<String>,
    env: BTreeMap<String, String>,
    args: Vec<String>,
    directory: Option<String>,
    /// Where `files/` is mounted, and whether it may be written.
    mount: Option<Folder>,
    bounds: Option<Bounds>,
    /// Offers the functions of [`offer_tools`].
    tools: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Folder {
    target: String,
    access: Access,
}

/// The answer as it is compared: without what differs from run to run.
pub fn steady(mut answer: Json) -> Json {
    if let Some(fields) = answer.as_object_mut() {
        for name in VARYING {
            fields.shift_remove(name);
        }
    }
    answer
}

/// Runs every case of a language.
///
/// # Panics
/// When an answer is not the recorded one; all of them are shown.
pub fn check(language: &str, extension: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(language);
    let mut cases: Vec<PathBuf> = fs::read_dir(&folder)
        .expect("the golden cases are there")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "no case in {}", folder.display());
    let wrong: Vec<String> = cases.iter().filter_map(|case| differs(case, language, extension)).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn differs(case: &Path, language: &str, extension: &str) -> Option<String> {
    let code = fs::read_to_string(case.join(format!("in.{extension}"))).expect("a case has a source");
    let call = match fs::read_to_string(case.join("call.json")) {
        Ok(text) => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", case.display())),
        Err(_) => Call::default(),
    };
    let copy = tempfile::tempdir().expect("a temporary folder");
    if let Ok(entries) = fs::read_dir(case.join("files")) {
        for entry in entries.flatten() {
            fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a file can be copied");
        }
    }
    let outcome = sandbox::run_request(call.request(language, code, copy.path()));
    let found = format!("{:#}\n", steady(dormouse_tools::encode::outcome(&outcome)));
    let record = case.join("out.json");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&record, &found).expect("the answer can be recorded");
    }
    let wanted = fs::read_to_string(&record).unwrap_or_default();
    let name = case.file_name().unwrap_or_default().to_string_lossy();
    (wanted != found).then(|| format!("--- {name}, recorded:\n{wanted}--- {name}, found:\n{found}"))
}

impl Call {
    fn request(self, language: &str, code: String, files: &Path) -> EvalRequest {
        let mut request = sandbox::request(self.language.as_deref().unwrap_or(language), code);
        if let Some(name) = self.name {
            request.name = name;
        }
        let limits = &mut request.context.limits;
        limits.wall = self.timeout_ms.map_or(limits.wall, Duration::from_millis);
        limits.memory = self.memory_bytes.unwrap_or(limits.memory);
        limits.output = self.output_bytes.unwrap_or(limits.output);
        request.context.bounds = self.bounds.unwrap_or_default();
        let grants = &mut request.context.grants;
        grants.seed = self.seed;
        if let Some(seconds) = self.clock {
            grants.clock = WallClock::Fixed(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        }
        grants.stdin = self.stdin.unwrap_or_default().into_bytes();
        grants.environment = self.env.into_iter().collect();
        grants.arguments = self.args;
        grants.directory = self.directory.map(|path| GuestPath::parse(&path).expect("a sandbox path"));
        if let Some(folder) = self.mount {
            let target = GuestPath::parse(&folder.target).expect("a sandbox path");
            grants.mounts.push(Mount { source: files.into(), target, access: folder.access });
        }
        if self.tools {
            offer_tools(&mut request);
        }
        request
    }
}

/// Offers `echo`, which gives its arguments back, and `fail`, which fails with their `why`.
pub fn offer_tools(request: &mut EvalRequest) {
    let any = json!({"type": "object"});
    let echo =
        Callback::new("Gives its arguments back.", any.clone(), |arguments| async move { Ok(arguments) });
    let fail = Callback::new("Fails.", any, |arguments| async move {
        Err(arguments["why"].as_str().unwrap_or("no reason").to_owned())
    });
    request.context.callbacks.insert("echo", echo).expect("a name");
    request.context.callbacks.insert("fail", fail).expect("a name");
}
