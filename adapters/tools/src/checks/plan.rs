//! Who can check the files of a sandbox.

use std::cmp::Reverse;

use dormouse_core::sandbox::{Owner, SandboxId};
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use serde_json::Value as Json;

use super::find::{Found, is_test, language_of, nothing};
use super::{Check, not_installed};
use crate::services::{Services, by_id};

/// How the TypeScript compiler comes into the sandbox. Later releases are machine code.
const TYPESCRIPT: &str = "npm install typescript@5";
/// Largest package.json that is read, in bytes.
const MAX_PACKAGE: u64 = 1 << 20;
/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

/// Who checks.
pub(super) enum Checker {
    /// This work does.
    Runs(Work),
    /// Nobody needs to.
    Nothing { tool: &'static str, summary: String },
}

/// What is run.
pub(super) struct Work {
    /// The command line. With a program the path of its job is added.
    pub(super) text: String,
    /// The program on standard input; without one the exit status alone decides.
    pub(super) script: Option<&'static str>,
    /// What is run, until its result says it better.
    pub(super) tool: String,
    pub(super) folder: GuestPath,
    pub(super) files: Vec<String>,
    /// Whether the caller named one file.
    pub(super) chosen: bool,
    /// What the caller should know beside the result.
    pub(super) notes: Vec<String>,
}

/// Decides who checks these files.
///
/// # Errors
/// `capability_unavailable` for a checker that is not installed; `not_found` when there is nothing to check.
pub(super) async fn work(
    check: Check,
    services: &Services,
    owner: &Owner,
    id: &SandboxId,
    found: Found,
    asked: Option<&str>,
) -> Result<Checker> {
    let there = Sandbox { services, owner, id };
    let script = match check {
        Check::Tests => there.tests_of_package(&found).await?,
        _ => None,
    };
    let Some(language) = language(check, &found, asked, script.is_some()) else {
        return match check {
            Check::Tests => Ok(Checker::Nothing { tool: "none", summary: no_tests(&found, asked) }),
            _ => Err(nothing("source files", &found.folder)),
        };
    };
    let (mut files, mut others) = parted(check, &found, language);
    let mut notes = Vec::new();
    if check == Check::Lint && others.contains(&"typescript") {
        others.retain(|other| *other != "typescript");
        notes.push("TypeScript files are not checked".to_owned());
    }
    if !others.is_empty() && asked.is_none() {
        notes.push(format!("files in {} were left out: name the `language`", others.join(" and ")));
    }
    if found.cut {
        notes.push("there are more files than are checked".into());
    }
    let base = |text: &str, tool: &str, script| Work {
        text: text.into(),
        script,
        tool: tool.into(),
        folder: found.folder.clone(),
        files: Vec::new(),
        chosen: found.chosen,
        notes: notes.clone(),
    };
    let mut work = match (check, language) {
        (Check::Tests, "python") => base("python3 -", "unittest", Some(include_str!("tests.py"))),
        (Check::Tests, "php") => match there.phpunit(&found).await {
            Some(phpunit) => {
                let target = if found.chosen { files.first() } else { Some(&phpunit.target) };
                let text = [vec!["php", &phpunit.program], target.map(String::as_str).into_iter().collect()]
                    .concat();
                base(&quoted(&text)?, "phpunit", None)
            }
            None => {
                let summary = format!(
                    "{} files of tests cannot be run: phpunit is not installed; put vendor/bin/phpunit or phpunit.phar there",
                    files.len()
                );
                return Ok(Checker::Nothing { tool: "none", summary });
            }
        },
        (Check::Tests, "typescript") => {
            let summary =
                "tests in TypeScript are not run: nothing here strips their types; write them in JavaScript";
            return Ok(Checker::Nothing { tool: "none", summary: summary.into() });
        }
        (Check::Tests, _) => match script {
            Some(script) if !found.chosen => {
                let line = quoted(&["eval", script.as_str()])?;
                base(&format!("(PATH=\"$PWD/node_modules/.bin:$PATH\"; {line})"), "npm test", None)
            }
            _ => base("node -", "node:test", Some(include_str!("tests.js"))),
        },
        (Check::Lint, "python") => base("python3 -", "builtin", Some(include_str!("lint.py"))),
        (Check::Lint, "php") => base("php -", "php -l", Some(include_str!("lint.php"))),
        (Check::Lint, "javascript") => base("node -", "builtin", Some(include_str!("lint.js"))),
        (Check::Types, "python") => base("python3 -", "mypy", Some(include_str!("typecheck.py"))),
        (Check::Types, "javascript" | "typescript") => {
            if !there.has(&found.at("node_modules/typescript/lib/typescript.js")).await {
                return Err(not_installed("the TypeScript compiler", TYPESCRIPT));
            }
            base("node -", "tsc", Some(include_str!("typecheck.js")))
        }
        (_, other) => return Err(unchecked(other)),
    };
    work.files = std::mem::take(&mut files);
    Ok(Checker::Runs(work))
}

/// The language that most of the files are in, or the one that was asked for if it has any.
fn language(check: Check, found: &Found, asked: Option<&str>, has_script: bool) -> Option<&'static str> {
    let counted = |language: &'static str| {
        let one_of = |path: &&String| counts(check, found, path) && language_of(path) == Some(language);
        let script = usize::from(language == "javascript" && has_script);
        found.files.iter().filter(one_of).count() + script
    };
    let mut all: Vec<_> =
        ["python", "javascript", "typescript", "php"].iter().map(|name| (*name, counted(name))).collect();
    all.retain(|(name, count)| *count > 0 && asked.is_none_or(|asked| asked == *name));
    all.sort_by_key(|(_, count)| Reverse(*count));
    all.first().map(|(name, _)| *name)
}

/// Whether a file is one for this check.
fn counts(check: Check, found: &Found, path: &str) -> bool {
    match check {
        Check::Tests => is_test(path) || found.chosen,
        // Types are taken off when a snippet runs; nothing parses files of TypeScript in the sandbox.
        Check::Lint => language_of(path).is_some_and(|language| language != "typescript"),
        Check::Types => matches!(language_of(path), Some("python" | "javascript" | "typescript")),
    }
}

/// The files of a language, and the names of the other languages that have some.
fn parted(check: Check, found: &Found, language: &str) -> (Vec<String>, Vec<&'static str>) {
    let is_own = |other: &str| {
        other == language || (check == Check::Types && language != "python" && other != "python")
    };
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for path in &found.files {
        let Some(of) = language_of(path) else { continue };
        let unchecked = check == Check::Lint && of == "typescript";
        if !counts(check, found, path) && !unchecked {
            continue;
        }
        if is_own(of) {
            own.push(path.clone());
        } else if !others.contains(&of) {
            others.push(of);
        }
    }
    (own, others)
}

fn unchecked(language: &str) -> Error {
    Error::new(ErrorCode::CapabilityUnavailable, format!("there is no checker for {language} here"))
        .with_hint("run_lint checks its syntax, and run_tests its behaviour")
}

fn no_tests(found: &Found, asked: Option<&str>) -> String {
    let of = asked.map(|language| format!(" in {language}")).unwrap_or_default();
    format!(
        "no tests found{of} below {}: Python's are in test_*.py or *_test.py, JavaScript's in *.test.js or test/, PHP's in *Test.php",
        found.folder
    )
}

/// Words of a command line, each as the shell must see it.
fn quoted(words: &[&str]) -> Result<String> {
    shlex::try_join(words.iter().copied()).map_err(|_| Error::args_invalid("a path holds a NUL byte"))
}

struct Phpunit {
    program: String,
    target: String,
}

struct Sandbox<'a> {
    services: &'a Services,
    owner: &'a Owner,
    id: &'a SandboxId,
}

impl Sandbox<'_> {
    async fn has(&self, path: &str) -> bool {
        let Ok(path) = GuestPath::parse(path) else { return false };
        self.services.sandboxes.read(self.owner, &by_id(self.id), path, 0, 1).await.is_ok()
    }

    async fn phpunit(&self, found: &Found) -> Option<Phpunit> {
        for name in ["vendor/bin/phpunit", "phpunit.phar", "tools/phpunit.phar"] {
            let program = found.at(name);
            if self.has(&program).await {
                return Some(Phpunit { program, target: found.folder.to_string() });
            }
        }
        None
    }

    /// What package.json runs as its tests, if that is something else than `node --test`.
    async fn tests_of_package(&self, found: &Found) -> Result<Option<String>> {
        if !found.has("package.json") {
            return Ok(None);
        }
        let path = GuestPath::parse(&found.at("package.json"))?;
        let bytes =
            self.services.sandboxes.read(self.owner, &by_id(self.id), path, 0, MAX_PACKAGE).await?.bytes;
        let package: Json = serde_json::from_slice(&bytes).unwrap_or_default();
        let script = package["scripts"]["test"].as_str().map(str::trim).unwrap_or_default();
        let words = shlex::split(script).unwrap_or_default();
        let ours = matches!(words.as_slice(), [node, test] if node == "node" && test == "--test");
        Ok((!script.is_empty() && !ours && !script.contains(NO_TESTS)).then(|| script.to_owned()))
    }
}
