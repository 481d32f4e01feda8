//! Commands that the host runs: interpreters and tools that are guests of their own, and whatever the shell does not know.

use std::borrow::Cow;
use std::sync::Arc;

use bashkit::{Builtin, BuiltinContext, CommandResolver, ExecResult, Result, Route, async_trait};
use dormouse_contract::programs::{Call, Destination};

use crate::timeout;

/// The commands that are known to be the host's, so that `type` and `command -v` find them. How much room there is only the
/// host can say.
pub(crate) const NAMES: [&str; 9] = ["python", "python3", "node", "js", "php", "pip", "pip3", "git", "df"];

/// The exit status of a program that was to be given more than it can take.
const TOO_LARGE: i32 = 126;

/// One of them.
pub(crate) struct Program(pub(crate) String);

#[async_trait]
impl Builtin for Program {
    fn writes_to_routes(&self) -> bool {
        true
    }

    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let directory = context.cwd.to_string_lossy().into_owned();
        let arguments = named(&self.0, context.args);
        let [output, errors] = context.routes();
        let call = Call {
            program: &self.0,
            arguments: &arguments,
            environment: timeout::exported(context.env),
            directory: &directory,
            input: context.stdin.map(|input| input.as_bytes()).unwrap_or_default(),
            milliseconds: timeout::left(context.env),
            output: destination(&output),
            errors: destination(&errors),
        };
        if let Some(refusal) = call.refusal() {
            return Ok(ExecResult::err(format!("{}: {refusal}\n", self.0), TOO_LARGE));
        }
        Ok(match call.run() {
            Some(answer) => ExecResult {
                stdout: answer.output.into(),
                stderr: answer.errors.into(),
                exit_code: answer.status.into(),
                ..ExecResult::default()
            },
            None => ExecResult::err(format!("bash: {}: command not found\n", self.0), 127),
        })
    }
}

fn destination(route: &Route) -> Destination<'_> {
    match route {
        Route::Result => Destination::Answer,
        Route::Stdout => Destination::Output,
        Route::Stderr => Destination::Errors,
        Route::File(path) => path.to_str().map_or(Destination::Answer, Destination::File),
    }
}

/// An interpreter's arguments, with `-` for a script that is standard input by its name as a file, which no program has.
fn named<'a>(program: &str, arguments: &'a [String]) -> Cow<'a, [String]> {
    let interpreter = matches!(program, "python" | "python3" | "node" | "js" | "php");
    // Behind `-c`, `-m`, `-e`, `-p` and `-r` there is no script.
    let before =
        arguments.iter().take_while(|word| !matches!(word.as_str(), "-c" | "-m" | "-e" | "-p" | "-r"));
    let script = before.enumerate().find(|(_, word)| !word.starts_with('-'));
    let input = script.filter(|(_, word)| matches!(word.as_str(), "/dev/stdin" | "/dev/fd/0"));
    match input.filter(|_| interpreter) {
        None => Cow::Borrowed(arguments),
        Some((at, _)) => {
            let mut arguments = arguments.to_vec();
            arguments[at] = "-".to_owned();
            Cow::Owned(arguments)
        }
    }
}

/// Every other name: the host may know it.
pub(crate) struct Others;

impl CommandResolver for Others {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        Some(Arc::new(Program(name.to_owned())))
    }
}
