//! `run_tests`, `run_lint`, `run_typecheck`: whether what lies in a sandbox holds, as structured success and failure
//! (requirements S0-32).
//!
//! | step | module |
//! | --- | --- |
//! | which files there are, which language | [`find`] |
//! | who can check them | [`plan`] |
//! | what they found | [`report`] |
//!
//! A check is a constant program of ours that an interpreter of the sandbox reads from its standard input. What it is to do comes
//! as a file, and what it found goes into one: nothing that tests print can be taken for their result.

mod find;
mod plan;
mod report;

use std::time::Duration;

use dormouse_core::sandbox::{Owner, SandboxId};
use dormouse_core::sandboxes::CommandLine;
use dormouse_core::{Error, ErrorCode, GuestPath, Result};
use serde_json::json;

use self::find::Found;
pub(crate) use self::find::path;
use self::plan::{Checker, Work};
pub(crate) use self::report::Report;
pub(crate) use self::report::{OfFiles, OfTests};
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, by_id};
use crate::spec::{CHANGES, Order, Role, Table, Word as _, arguments, choice, integer, text, words};
use crate::verbs::{Run, Verb, exec};

/// Longest wall-clock limit that a call can ask for, and the usual one, in milliseconds.
const MAX_TIMEOUT: u64 = 600_000;
const USUAL_TIMEOUT: u64 = 120_000;
/// Largest result that is read, in bytes (1 MiB).
const MAX_RESULT: u64 = 1 << 20;
words! {
    /// The languages that can be named.
    pub(crate) enum LanguageWord {
        /// Python.
        Python = "python",
        /// JavaScript.
        JavaScript = "javascript",
        /// TypeScript.
        TypeScript = "typescript",
        /// PHP.
        Php = "php",
    }
}

arguments! {
    /// What every check is asked beside its sandbox.
    pub(crate) struct What {
        path: String =
            text(GuestPath::MAX_BYTES, "A file, or a folder with everything below it. Default `/workspace`.")
                .or(find::HOME),
        timeout_ms: u64 = integer(
            (100, MAX_TIMEOUT),
            "Wall-clock limit of the whole check, in milliseconds. Default 120000, at most 600000.",
        ).role(Role::TimeLimit).or(USUAL_TIMEOUT),
        language: Option<LanguageWord> = choice::<LanguageWord>(
            "Language to check: `python`, `javascript`, `typescript` or `php`. Default: the language of most files.",
        ).optional(),
    }
}

arguments! {
    /// What a check is asked over a sandbox that is named by each call.
    pub(crate) struct Named {
        target: Target = Target::table(),
        what: What = What::table(),
    }
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Whether the tests pass.
    Tests,
    /// Whether the files have mistakes that can be seen.
    Lint,
    /// Whether the types fit.
    Types,
}

impl Check {
    /// Its tool, with these arguments.
    pub(crate) fn verb<A, R>(self, arguments: Table<A>, run: Run<A, R>) -> Verb<A, R> {
        let (name, title, description) = match self {
            Self::Tests => (
                "run_tests",
                "Run the tests of a sandbox",
                "Runs the tests in a sandbox and reports which fail, where and why. Python: pytest where it is installed, else \
                 unittest, and plain `test_` functions with bare asserts as well. JavaScript: `node:test`, or what `scripts.test` \
                 of package.json says; PHP: phpunit where it is installed. The call is an error when a test fails or when there are \
                 none.",
            ),
            Self::Lint => (
                "run_lint",
                "Lint the files of a sandbox",
                "Looks for mistakes in the source files of a sandbox without running them. Python: pyflakes and pycodestyle if \
                    they are installed, otherwise syntax, undefined names and unused imports. JavaScript and PHP: the syntax. The \
                 call is an error if a problem is found.",
            ),
            Self::Types => (
                "run_typecheck",
                "Check the types in a sandbox",
                "Checks the types of the source files in a sandbox without running them. Python: mypy where it is installed; \
                 JavaScript and TypeScript: the TypeScript compiler where node_modules has it. Without a checker the answer is \
                 `capability_unavailable` and says what to install. The call is an error when types do not fit.",
            ),
        };
        Verb { name, title, description, arguments, annotations: CHANGES, order: Order::Works, run }
    }
}

pub(crate) fn tests() -> Verb<Named, OfTests> {
    Check::Tests.verb(Named::table(), |services, caller, asked| {
        Box::pin(named(Check::Tests, services, caller, asked))
    })
}

pub(crate) fn lint() -> Verb<Named, OfFiles> {
    Check::Lint
        .verb(Named::table(), |services, caller, asked| Box::pin(named(Check::Lint, services, caller, asked)))
}

pub(crate) fn types() -> Verb<Named, OfFiles> {
    Check::Types.verb(Named::table(), |services, caller, asked| {
        Box::pin(named(Check::Types, services, caller, asked))
    })
}

async fn named<R: From<Report>>(
    check: Check,
    services: &Services,
    caller: &Caller,
    asked: Named,
) -> Result<Answer<R>> {
    let sandbox = services.there(&asked.target, &caller.owner)?;
    services.sandboxes.at_one_turn(run(check, services, caller, asked.what, &sandbox.id)).await
}

/// Runs a check in this sandbox.
pub(crate) async fn run<R: From<Report>>(
    check: Check,
    services: &Services,
    caller: &Caller,
    asked: What,
    id: &SandboxId,
) -> Result<Answer<R>> {
    let What { path: asked_path, timeout_ms, language } = asked;
    let path = path(&asked_path)?;
    let owner = &caller.owner;
    let found = Found::below(services, owner, id, path).await?;
    let language = language.map(LanguageWord::word);
    let work = match plan::work(check, services, owner, id, found, language).await? {
        Checker::Runs(work) => work,
        Checker::Nothing { tool, summary } => return Ok(Report::nothing(id, tool, summary).answer()),
    };
    let job = Job::new(exec::serial())?;
    let mut line = CommandLine::new(job.begin(services, owner, id, &work).await?);
    line.directory = Some(work.folder.clone());
    line.wall = Duration::from_millis(timeout_ms).min(services.sandboxes.rules().command);
    line.sink = caller.output.clone();
    let shown = exec::run_line(services, owner, id, line).await;
    let result = job.take(services, owner, id).await?;
    let report = Report::new(check, id, &work, &shown?, result.as_deref());
    if let Some(why) = report.missing() {
        return Err(not_installed(&format!("mypy ({why})"), "pip install 'mypy<1.19'"));
    }
    Ok(report.answer())
}

/// The files of one check: the program, what is asked of it, and what came of it.
struct Job {
    script: GuestPath,
    asked: GuestPath,
    result: GuestPath,
}

impl Job {
    fn new(serial: u128) -> Result<Self> {
        let path = |what| GuestPath::parse(&format!("/tmp/.check-{serial}.{what}"));
        Ok(Self { script: path("script")?, asked: path("job")?, result: path("result")? })
    }

    /// Writes the files of a check; its command line.
    async fn begin(&self, services: &Services, owner: &Owner, id: &SandboxId, work: &Work) -> Result<String> {
        let Some(script) = work.script else { return Ok(work.text.clone()) };
        let Work { folder, files, chosen, .. } = work;
        let result = self.result.as_str();
        let asked = json!({"folder": folder.as_str(), "files": files, "chosen": chosen, "result": result});
        for (path, bytes) in
            [(&self.script, script.as_bytes().to_vec()), (&self.asked, asked.to_string().into_bytes())]
        {
            services.sandboxes.write(owner, &by_id(id), path.clone(), bytes).await?;
        }
        Ok(format!("{} {} < {}", work.text, self.asked, self.script))
    }

    /// The result, if there is one. All files are gone then.
    async fn take(&self, services: &Services, owner: &Owner, id: &SandboxId) -> Result<Option<Vec<u8>>> {
        let (sandboxes, handle) = (&services.sandboxes, by_id(id));
        let read = sandboxes.read(owner, &handle, self.result.clone(), 0, MAX_RESULT).await;
        for path in [&self.script, &self.asked, &self.result] {
            match sandboxes.remove_file(owner, &handle, path.clone(), true).await {
                Err(error) if error.code() != ErrorCode::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(read.ok().map(|piece| piece.bytes))
    }
}

/// The error of a checker that is not there.
fn not_installed(what: &str, how: &str) -> Error {
    Error::new(ErrorCode::CapabilityUnavailable, format!("{what} is not installed in this sandbox"))
        .with_hint(format!(
            "install it with `{how}`; without packages, have the operator turn them on with `--packages`"
        ))
}
