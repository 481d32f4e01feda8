//! Runs one test in the PHP guest and reads its verdict.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dormouse::wasm::{Settings, WasmProvider};
use dormouse::{
    Access, EvalRequest, Exception, Grants, GuestPath, Language, Limits, Mount, Outcome, OutputSink,
    RunContext, Status, Stream,
};
use dormouse_chores::workspace;

use super::compare::difference;
use super::pattern::{Wanted, plain, trimmed};
use super::sections::{Sections, words};
use super::tree::Tree;
use crate::sandbox::brief;

/// What one test may use. The time is many times what the slowest test takes, so that a busy machine changes nothing.
const LIMITS: Limits = Limits {
    wall: Duration::from_secs(30),
    fuel: None,
    memory: 256 << 20,
    output: 8 << 20,
    disk: 1 << 30,
    files: 100_000,
};

/// Where the guest sees PHP's sources.
const MOUNT: &str = "/php-src";

/// What a test came to.
pub(super) enum Finding {
    Passed,
    Failed(String),
    /// Not run to its end, with the cause.
    Skipped(String),
}

/// A test that can be run.
pub(super) struct Case {
    /// The path below PHP's sources.
    pub(super) name: String,
    pub(super) sections: Sections,
    pub(super) program: Vec<u8>,
    pub(super) wanted: Wanted,
}

/// The guest, with what runs before and after each test.
pub(super) struct Engine {
    provider: WasmProvider,
    before: String,
    after: String,
}

/// One instance for one program.
struct Run<'a> {
    engine: &'a Engine,
    output: Arc<Output>,
    grants: Grants,
    /// What the program is called inside.
    name: String,
}

impl Engine {
    pub(super) fn new() -> Result<Self> {
        let home = workspace().join("tests/conformance/phpt");
        let read =
            |name: &str| fs::read_to_string(home.join(name)).with_context(|| format!("cannot read `{name}`"));
        let (before, after) = (read("before.php")?, read("after.php")?);
        Ok(Self { provider: WasmProvider::new(Settings::new()?)?, before, after })
    }

    /// The extensions that the guest has, in lower case.
    pub(super) async fn extensions(&self) -> Result<BTreeSet<String>> {
        let mut session = self.provider.session(&Language::php()).await?;
        let code = "return strtolower(implode(',', get_loaded_extensions()));";
        let request = EvalRequest::new(Language::php(), code);
        let outcome = self.provider.continue_session(&mut session, &request).await?;
        let Status::Returned(value) = &outcome.status else { anyhow::bail!("the guest does not answer") };
        let list = value.as_str().context("the guest does not answer with a string")?;
        Ok(list.split(',').map(str::to_owned).collect())
    }

    /// Runs the test with the files of `tree`.
    pub(super) async fn test(&self, case: &Case, tree: &mut Tree) -> Result<Finding> {
        let path = Path::new(&case.name).with_extension("php");
        let folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let finding = self.judged(case, tree, &path, &folder).await;
        tree.restore(&folder)?;
        finding
    }

    async fn judged(&self, case: &Case, tree: &Tree, path: &Path, folder: &Path) -> Result<Finding> {
        let sections = &case.sections;
        let place = format!("{MOUNT}/{}", folder.display());
        let settings = sections.text("INI").replace("{PWD}", &place).replace("{TMP}", "/tmp");
        let grants = grants(sections, tree, &place)?;
        if let Some(check) = sections.get("SKIPIF") {
            let mut grants = grants.clone();
            for name in ["SKIP_SLOW_TESTS", "SKIP_ONLINE_TESTS"] {
                grants.environment.push((name.to_owned(), "1".to_owned()));
            }
            let path = path.with_extension("skip.php");
            let run = self.program(tree, &path, check, grants)?;
            let _ = run.whole(&settings, check).await?;
            let said = run.output.take(&[Stream::Stdout, Stream::Stderr]);
            let said = String::from_utf8_lossy(trimmed(&said)).into_owned();
            if let Some(cause) = skip_cause(&said) {
                return Ok(Finding::Skipped(cause));
            }
        }
        let run = self.program(tree, path, &case.program, grants)?;
        let outcome = match run.whole(&settings, &case.program).await? {
            Ok(outcome) => outcome,
            Err(refused) => {
                return Ok(Finding::Skipped(format!("PHP cannot change the setting {refused} once it runs")));
            }
        };
        let streams = match sections.text("CAPTURE_STDIO") {
            text if text.is_empty() => vec![Stream::Stdout, Stream::Stderr],
            text => [(Stream::Stdout, "STDOUT"), (Stream::Stderr, "STDERR")]
                .into_iter()
                .filter(|(_, name)| text.contains(name))
                .map(|(stream, _)| stream)
                .collect(),
        };
        let mut output = run.output.take(&streams);
        match &outcome.status {
            Status::Stopped(error) => {
                return Ok(Finding::Failed(format!("stopped: {}: {}", error.code(), brief(error.message()))));
            }
            Status::Raised(exception) => output.extend_from_slice(report(exception).as_bytes()),
            Status::Returned(_) | Status::Exited(_) => {}
        }
        let output = plain(&output);
        Ok(match case.wanted.matches(&output) {
            Some(true) => Finding::Passed,
            Some(false) if sections.get("XFAIL").is_some() => Finding::Skipped(format!(
                "expected to fail by the test itself: {}",
                brief(&sections.text("XFAIL"))
            )),
            Some(false) => Finding::Failed(difference(&case.wanted, &output)),
            None => Finding::Skipped(
                "the pattern of what it prints is of a kind that the runner cannot read".to_owned(),
            ),
        })
    }

    /// Puts the program where the guest sees it.
    fn program(&self, tree: &Tree, path: &Path, program: &[u8], grants: Grants) -> Result<Run<'_>> {
        fs::write(tree.root().join(path), program)?;
        let name = format!("{MOUNT}/{}", path.display());
        Ok(Run { engine: self, output: Arc::default(), grants, name })
    }
}

impl Run<'_> {
    /// Runs the program between what comes before and after it. The inner error names settings that PHP refuses.
    async fn whole(&self, settings: &str, program: &[u8]) -> Result<Result<Outcome, String>> {
        let provider = &self.engine.provider;
        let mut session = provider.session(&Language::php()).await?;
        let before = self.engine.before.replace("@SETTINGS@", &base64(settings.as_bytes()));
        let outcome = provider.continue_session(&mut session, &self.request("before.php", before)).await?;
        match &outcome.status {
            Status::Returned(value) if value.as_str() == Some("") => {}
            Status::Returned(value) => return Ok(Err(value.as_str().unwrap_or_default().to_owned())),
            _ => return Ok(Ok(outcome)),
        }
        let code = match std::str::from_utf8(program) {
            Ok(text) if text.trim_start().starts_with('<') || text.starts_with("#!") => text.to_owned(),
            // What is not UTF-8, or begins with plain text, cannot be a snippet.
            _ => format!("<?php require '{}';", self.name),
        };
        let outcome = provider.continue_session(&mut session, &self.request(&self.name, code)).await?;
        if matches!(outcome.status, Status::Returned(_) | Status::Exited(_)) {
            let after = self.request("after.php", self.engine.after.clone());
            let last = provider.continue_session(&mut session, &after).await?;
            if let Status::Raised(_) | Status::Stopped(_) = last.status {
                return Ok(Ok(last));
            }
        }
        Ok(Ok(outcome))
    }

    fn request(&self, name: &str, code: String) -> EvalRequest {
        EvalRequest {
            name: name.to_owned(),
            context: RunContext {
                limits: LIMITS,
                grants: self.grants.clone(),
                output: Some(self.output.clone()),
                ..RunContext::default()
            },
            ..EvalRequest::new(Language::php(), code)
        }
    }
}

fn grants(sections: &Sections, tree: &Tree, place: &str) -> Result<Grants> {
    let target = GuestPath::parse(MOUNT)?;
    let mount =
        Mount { source: tree.root().to_path_buf(), target: target.clone(), access: Access::ReadWrite };
    let lines = sections.text("ENV").replace("{PWD}", place);
    let environment =
        lines.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| !name.trim().is_empty());
    Ok(Grants {
        mounts: vec![mount],
        environment: environment
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect(),
        arguments: words(&sections.text("ARGS")),
        directory: Some(target),
        stdin: sections.get("STDIN").unwrap_or_default().to_vec(),
        ..Grants::default()
    })
}

/// What a test's check says when the test is not for this PHP.
fn skip_cause(said: &str) -> Option<String> {
    let lower = said.to_ascii_lowercase();
    let rest = ["skip", "xfail"].into_iter().find(|word| lower.starts_with(word))?;
    let cause = brief(said[rest.len()..].trim_start_matches([':', '-', ' ', ',', '.']));
    Some(format!("the test's own check: {}", if cause.is_empty() { "it skips" } else { &cause }))
}

/// The guest tells fatal errors as the outcome of a call; this is PHP's text of them.
fn report(exception: &Exception) -> String {
    let file = exception.file.as_deref().unwrap_or("Unknown");
    let line = exception.line.unwrap_or_default();
    let message = match exception.class.as_str() {
        "FatalError" | "CompileError" | "OutOfMemoryError" => format!("Fatal error: {}", exception.message),
        "ParseError" => format!("Parse error: {}", exception.message),
        _ => {
            let text = exception.traceback.as_deref().unwrap_or(&exception.message);
            format!("Fatal error: Uncaught {text}\n  thrown")
        }
    };
    format!("\n{message} in {file} on line {line}\n")
}

/// Both streams, in the order in which they were written.
#[derive(Default)]
struct Output(Mutex<Vec<(Stream, Vec<u8>)>>);

impl Output {
    fn take(&self, streams: &[Stream]) -> Vec<u8> {
        let held = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        held.into_iter().filter(|(stream, _)| streams.contains(stream)).flat_map(|(_, bytes)| bytes).collect()
    }
}

impl OutputSink for Output {
    fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match held.last_mut() {
            Some((last, text)) if *last == stream => text.extend_from_slice(bytes),
            _ => held.push((stream, bytes.to_vec())),
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let bits = part
            .iter()
            .chain([0, 0].iter())
            .take(3)
            .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for at in 0..4 {
            let letter = LETTERS[bits >> (18 - 6 * at) & 63];
            text.push(if at <= part.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
