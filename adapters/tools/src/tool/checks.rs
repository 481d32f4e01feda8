//! `run_tests`, `run_lint`, `run_typecheck`: whether what lies in a sandbox holds, as structured success and failure
//! (requirements S0-32).
//!
//! | step | room |
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
use self::report::Report;
use super::exec;
use super::verb::{Answer, CHANGES, Caller, Kept, Run, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::field::{Absent, Field, Kind};
use crate::schema::{self, Object};

/// Longest wall-clock limit that a call can ask for, and the usual one, in milliseconds.
const MAX_TIMEOUT: u64 = 600_000;
const USUAL_TIMEOUT: u64 = 120_000;
/// Largest result that is read, in bytes (1 MiB).
const MAX_RESULT: u64 = 1 << 20;
/// The languages that can be named.
const LANGUAGES: &[&str] = &["python", "javascript", "typescript", "php"];

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
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Tests, Self::Lint, Self::Types];

    /// Its tool over a sandbox that is named by each call.
    pub(crate) fn verb(self) -> Verb {
        let run: Run = match self {
            Self::Tests => |kept, arguments, caller| Box::pin(named(Self::Tests, kept, arguments, caller)),
            Self::Lint => |kept, arguments, caller| Box::pin(named(Self::Lint, kept, arguments, caller)),
            Self::Types => |kept, arguments, caller| Box::pin(named(Self::Types, kept, arguments, caller)),
        };
        self.verb_with(naming(fields()), run)
    }

    /// Its tool with other arguments than those of [`Check::verb`].
    pub(crate) fn verb_with(self, fields: Vec<Field>, run: Run) -> Verb {
        let (name, title, description) = match self {
            Self::Tests => (
                "run_tests",
                "Run the tests of a sandbox",
                "Runs the tests that lie in a sandbox and says which fail, where and why. Python: pytest where it is installed, else \
                 unittest, and plain `test_` functions with bare asserts as well. JavaScript: `node:test`, or what `scripts.test` \
                 of package.json says; PHP: phpunit where it is installed. The call is an error when a test fails or when there are \
                 none.",
            ),
            Self::Lint => (
                "run_lint",
                "Lint the files of a sandbox",
                "Looks for mistakes in the source files of a sandbox without running them. Python: pyflakes and pycodestyle where \
                 they are installed, else syntax, undefined names and unused imports. JavaScript and PHP: the syntax. The call is an \
                 error when something is found.",
            ),
            Self::Types => (
                "run_typecheck",
                "Check the types in a sandbox",
                "Checks the types of the source files in a sandbox without running them. Python: mypy where it is installed; \
                 JavaScript and TypeScript: the TypeScript compiler where node_modules has it. Without a checker the answer is \
                 `capability_unavailable` and says what to install. The call is an error when types do not fit.",
            ),
        };
        Verb { name, title, description, fields, output: report::fields(self), annotations: CHANGES, run }
    }
}

/// The arguments beside the sandbox.
pub(crate) fn fields() -> Vec<Field> {
    vec![
        Field::text(
            "path",
            GuestPath::MAX_BYTES,
            Absent::Default(find::HOME),
            "A file, or a folder with all below it. Default `/workspace`.",
        ),
        Field::integer(
            "timeout_ms",
            (100, MAX_TIMEOUT),
            Absent::Default(USUAL_TIMEOUT),
            "Wall-clock limit of the whole check, in milliseconds. Default 120000, at most 600000.",
        ),
        Field::new(
            "language",
            Kind::Choice { of: LANGUAGES, absent: Absent::None },
            "Whose files: `python`, `javascript`, `typescript` or `php`. Default: the language that most of them are in.",
        ),
    ]
}

async fn named(check: Check, kept: &Kept, mut arguments: Arguments, caller: &Caller) -> Result<Answer> {
    let id = kept.there(&mut arguments, &caller.owner)?;
    kept.sandboxes.at_one_turn(run(check, kept, arguments, caller, &id)).await
}

/// Runs a check in this sandbox.
pub(crate) async fn run(
    check: Check,
    kept: &Kept,
    mut arguments: Arguments,
    caller: &Caller,
    id: &SandboxId,
) -> Result<Answer> {
    let path = path(&arguments.take_text("path").unwrap_or_default())?;
    let wall = Duration::from_millis(arguments.integer("timeout_ms").unwrap_or(USUAL_TIMEOUT));
    let language = arguments.take_text("language");
    let found = Found::below(kept, &caller.owner, id, path).await?;
    let work = match plan::work(check, kept, &caller.owner, id, found, language.as_deref()).await? {
        Checker::Runs(work) => work,
        Checker::Nothing { tool, summary } => return Ok(Report::nothing(id, tool, summary).answer(check)),
    };
    let job = Job::new(exec::serial())?;
    let mut line = CommandLine::new(job.begin(kept, &caller.owner, id, &work).await?);
    line.directory = Some(work.folder.clone());
    line.wall = wall.min(kept.sandboxes.rules().command);
    line.sink = caller.output.clone();
    let shown = exec::run_line(kept, &caller.owner, id, line).await;
    let result = job.take(kept, &caller.owner, id).await?;
    let report = Report::new(check, id, &work, &shown?, result.as_deref());
    if let Some(why) = report.missing() {
        return Err(not_installed(&format!("mypy ({why})"), "pip install 'mypy<1.19'"));
    }
    Ok(report.answer(check))
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
    async fn begin(&self, kept: &Kept, owner: &Owner, id: &SandboxId, work: &Work) -> Result<String> {
        let Some(script) = work.script else { return Ok(work.text.clone()) };
        let Work { folder, files, chosen, .. } = work;
        let result = self.result.as_str();
        let asked = json!({"folder": folder.as_str(), "files": files, "chosen": chosen, "result": result});
        for (path, bytes) in
            [(&self.script, script.as_bytes().to_vec()), (&self.asked, asked.to_string().into_bytes())]
        {
            kept.sandboxes.write(owner, &by_id(id), path.clone(), bytes).await?;
        }
        Ok(format!("{} {} < {}", work.text, self.asked, self.script))
    }

    /// The result, if there is one. All files are gone then.
    async fn take(&self, kept: &Kept, owner: &Owner, id: &SandboxId) -> Result<Option<Vec<u8>>> {
        let (sandboxes, handle) = (&kept.sandboxes, by_id(id));
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

/// One failure of a check.
fn failure_schema() -> serde_json::Value {
    Object::new()
        .description("One failure. Untrusted text.")
        .required("name", schema::text("The test, or what was checked."))
        .required("file", schema::text_or_null("Where it is."))
        .required("line", schema::number_or_null("The line, from 1."))
        .required("message", schema::text("What is wrong."))
        .build()
}
