//! `dormouse repl`: code line by line, in a sandbox whose variables stay.
//!
//! A snippet that the interpreter cannot read because it is not finished has done nothing yet, so more lines are asked
//! for and the whole is tried again: there is no second grammar here.

use std::fs;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse::sandbox::{Handle, Owner};
use dormouse::{
    Dormouse, Error, ErrorCode, EvalRequest, Language, Outcome, OutputSink, Result, Sandboxes, Status,
};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{Config, Editor};
use tokio::runtime::Runtime;
use tokio::signal::unix::SignalKind;
use tokio::sync::Mutex;

use super::once::{self, Form};
use super::sandbox;
use crate::args::{PlaceArgs, ReplArgs, SandboxCommand, StateArgs};
use crate::audit;
use crate::exit::{self, Failure};
use crate::print::{self, Lasting, View};
use crate::settings;
use crate::signals;
use crate::words;

/// The sandbox when none was named; its folder vanishes with it.
const PASSING: &str = "repl";

const HELP: &str = "\
.help                 this list
.language LANG        python, javascript, typescript or php; each keeps its own variables
.vars                 the variables
.files [PATH]         the files of the sandbox
.undo                 go back to before the last run
.checkpoint [LABEL]   save the state
.checkpoints          the saved states
.restore ID           go back to a saved state
.reset                fresh interpreters; files stay
.exit                 leave, as does the end of input
";

/// What comes of a line.
enum Next {
    Go,
    Leave,
}

struct Repl {
    runtime: Runtime,
    dormouse: Dormouse,
    name: String,
    language: Language,
    wall: Option<Duration>,
}

/// Reads and evaluates until the input ends; the exit status.
pub(crate) fn run(place: &PlaceArgs, arguments: ReplArgs) -> std::result::Result<u8, Failure> {
    let language = Language::parse(&arguments.language)?;
    let wall = arguments.timeout.map(|text| settings::duration("--timeout", &text)).transpose()?;
    let failed = |error| Error::internal("there is no folder for the sandbox", error);
    let passing = match arguments.name {
        None => Some(tempfile::tempdir().map_err(failed)?),
        Some(_) => None,
    };
    let state_dir = passing.as_ref().map(|folder| folder.path().to_owned()).or(arguments.state_dir);
    let asked = StateArgs { state_dir, docker: arguments.docker, ..StateArgs::default() };
    let dormouse = settings::kept(place, &asked)?;
    known(&dormouse, &language)?;
    audit::note("repl", &settings::exceptions::of_state(&asked, None))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Error::internal("the event loop cannot be started", error))?;
    let name = arguments.name.unwrap_or_else(|| PASSING.into());
    runtime.block_on(dormouse.sandbox(&name))?;
    let upkeep = runtime.block_on(async { Ok::<_, Error>(dormouse.sandboxes()?.keep_up()) })?;
    // At a terminal Ctrl-C gives up a run, and not the session.
    let at_terminal = [SignalKind::terminate(), SignalKind::hangup()];
    let kinds = if std::io::stdin().is_terminal() { &at_terminal[..] } else { &signals::ALL };
    signals::watch(runtime.handle(), kinds);
    let closing = Arc::new(Mutex::new(()));
    let folder = passing.as_ref().map(|folder| folder.path().to_owned());
    runtime.spawn(leave(dormouse.sandboxes()?.clone(), closing.clone(), name.clone(), folder));
    let mut repl = Repl { runtime, dormouse, name, language, wall };
    let read = repl.read();
    upkeep.abort();
    let closed = repl.runtime.block_on(async {
        let _closing = closing.lock().await;
        repl.dormouse.sandboxes()?.close().await
    });
    read?;
    closed?;
    Ok(0)
}

/// Refuses a language that no guest speaks before a line of it is typed.
///
/// # Errors
/// `unknown_language`.
fn known(dormouse: &Dormouse, language: &Language) -> Result<()> {
    let guests = dormouse.runtime().capabilities().guests;
    if guests.is_empty() || guests.iter().any(|guest| guest.language == *language) {
        return Ok(());
    }
    let names: Vec<_> = guests.iter().map(|guest| guest.language.as_str()).collect();
    Err(Error::new(ErrorCode::UnknownLanguage, format!("there is no guest for the language `{language}`"))
        .with_hint(format!("known languages: {}", names.join(", "))))
}

/// When the process is asked to end: saves, says what is kept, and ends it. Somebody else may be waiting for a line.
async fn leave(sandboxes: Sandboxes, closing: Arc<Mutex<()>>, name: String, passing: Option<PathBuf>) {
    signals::asked().await;
    let _closing = closing.lock().await;
    let closed = sandboxes.close().await;
    // Where the terminal has gone, nobody reads this.
    let _ = match (closed, passing) {
        (Err(error), _) => print::error(&error),
        (Ok(()), None) => print::note(&format!("the sandbox `{name}` is saved")),
        (Ok(()), Some(folder)) => {
            let _ = fs::remove_dir_all(folder);
            print::note("the sandbox had no name: its variables and files are gone")
        }
    };
    exit::end(signals::status(1))
}

impl Repl {
    fn read(&mut self) -> std::result::Result<(), Failure> {
        let terminal = std::io::stdin().is_terminal();
        let failed = |error| Failure::from(Error::internal("lines cannot be read", error));
        let mut editor: Editor<(), _> =
            Editor::with_history(Config::default(), MemHistory::new()).map_err(failed)?;
        if terminal {
            print::note("`.help` lists the commands; Ctrl-D leaves")?;
        }
        let mut code = String::new();
        loop {
            let prompt = match (terminal, code.is_empty()) {
                (false, _) => String::new(),
                (true, true) => format!("{}> ", self.language),
                (true, false) => format!("{:>1$} ", "...", self.language.as_str().len() + 1),
            };
            let line = match editor.readline(&prompt) {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => {
                    code.clear();
                    continue;
                }
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(failed(error)),
            };
            // A history without the line is no reason to stop.
            let _ = editor.add_history_entry(&line);
            if code.is_empty() && line.starts_with('.') {
                match self.command(&line) {
                    Ok(Next::Go) => {}
                    Ok(Next::Leave) => return Ok(()),
                    Err(Failure::Refused(error)) => print::error(&hinted(error))?,
                    Err(failure) => return Err(failure),
                }
                continue;
            }
            self.line(&mut code, &line)?;
        }
        // What was begun and never finished gets its error.
        if !code.is_empty() {
            self.eval(&code, true)?;
        }
        Ok(())
    }

    /// Takes one more line of code, and evaluates what is whole.
    fn line(&self, code: &mut String, line: &str) -> std::result::Result<(), Failure> {
        let ends = line.trim().is_empty();
        if !(ends && code.is_empty()) {
            code.push_str(line);
            code.push('\n');
        }
        if code.is_empty() || (!ends && opens_block(&self.language, code)) {
            return Ok(());
        }
        if self.eval(code, ends)? {
            code.clear();
        }
        Ok(())
    }

    /// Evaluates; false when it is not finished and `last` does not say that no more comes.
    fn eval(&self, code: &str, last: bool) -> std::result::Result<bool, Failure> {
        let form = Form::new(false, false);
        let live = form.live();
        let mut request = EvalRequest::new(self.language.clone(), code);
        if let Some(wall) = self.wall {
            request.context.limits.wall = wall;
        }
        request.context.output = live.clone().map(|live| live as Arc<dyn OutputSink>);
        let run = async {
            let (owner, handle) = (Owner::local(), Handle::IdOrName(&self.name));
            let run = self.dormouse.sandboxes()?.eval(&owner, &handle, request);
            let run = signals::unless_asked(run);
            tokio::select! {
                done = run => Ok(done?.1),
                _ = tokio::signal::ctrl_c() => Err(Error::new(ErrorCode::Cancelled, "the run was cancelled")),
            }
        };
        let outcome = self.runtime.block_on(once::watch(run, live.as_deref()));
        if !last && matches!(&outcome, Ok(Some(outcome)) if is_unfinished(outcome)) {
            return Ok(false);
        }
        let outcome = outcome.map(in_lines);
        let view = View { lasting: Some(Lasting::Interpreter), ..View::new("<snippet>", code) };
        match once::show(outcome, form, live.as_deref(), view) {
            Err(Failure::Refused(error)) => print::error(&hinted(error))?,
            shown => drop(shown?),
        }
        Ok(true)
    }

    /// Goes back to before the last run; the first line of what that ran.
    async fn undo(&self) -> Result<String> {
        let (sandboxes, owner, handle) =
            (self.dormouse.sandboxes()?, Owner::local(), Handle::IdOrName(&self.name));
        let steps = sandboxes.history(&owner, &handle).await?;
        let last = steps.last().ok_or_else(|| {
            Error::new(ErrorCode::NotFound, "there is no run to undo")
                .with_hint("runs can be undone until the sandbox is suspended")
        })?;
        sandboxes.go_back(&owner, &handle, &last.id).await?;
        Ok(last.code.lines().next().unwrap_or_default().to_owned())
    }

    fn command(&mut self, line: &str) -> std::result::Result<Next, Failure> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let (name, told) = (self.name.clone(), (!rest.is_empty()).then(|| rest.to_owned()));
        let command = match word {
            ".exit" | ".quit" => return Ok(Next::Leave),
            ".help" => {
                print::out(HELP)?;
                return Ok(Next::Go);
            }
            ".language" => {
                let language = Language::parse(rest)?;
                known(&self.dormouse, &language)?;
                self.language = language;
                return Ok(Next::Go);
            }
            ".vars" => SandboxCommand::Vars { name, language: self.language.as_str().into() },
            ".files" => {
                let path = told.unwrap_or_else(|| "/workspace".into());
                SandboxCommand::Files { name, path, recursive: false }
            }
            ".checkpoint" => SandboxCommand::Checkpoint { name, label: told, note: None },
            ".checkpoints" => SandboxCommand::Checkpoints { name },
            ".restore" => SandboxCommand::Restore { name, checkpoint: rest.into() },
            ".reset" => SandboxCommand::Reset { name },
            ".undo" => {
                let undone = self.runtime.block_on(self.undo())?;
                print::out(&format!("undone: {undone}\n"))?;
                return Ok(Next::Go);
            }
            _ => {
                let shown: String = word.escape_debug().take(64).collect();
                return Err(Error::args_invalid(format!("there is no command `{shown}`"))
                    .with_hint("`.help` lists them")
                    .into());
            }
        };
        sandbox::call(&self.dormouse, command, None, false)?.tell()?;
        Ok(Next::Go)
    }
}

/// An error with its hint in the words of the commands of this one.
fn hinted(error: Error) -> Error {
    match error.hint().map(words::in_lines) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// The outcome with its hint in the words of the commands of this one.
fn in_lines(outcome: Option<Outcome>) -> Option<Outcome> {
    let mut outcome = outcome?;
    if let Status::Raised(exception) = &mut outcome.status {
        exception.hint = exception.hint.as_deref().map(words::in_lines);
    }
    Some(outcome)
}

/// Whether an empty line is needed to end what has been written: Python's blocks.
fn opens_block(language: &Language, code: &str) -> bool {
    let last = code.lines().next_back().unwrap_or_default();
    *language == Language::python() && (last.trim_end().ends_with(':') || last.starts_with([' ', '\t', '@']))
}

/// Whether the interpreter could not read the snippet only because it ends too early.
fn is_unfinished(outcome: &Outcome) -> bool {
    const PARTS: [&str; 8] = [
        // Python
        "was never closed",
        "unterminated triple-quoted",
        "expected an indented block",
        // JavaScript
        "unexpected token in expression: ''",
        "unexpected end of",
        // PHP
        "Unclosed '",
        "unexpected end of file",
        "Unterminated comment",
    ];
    let Status::Raised(exception) = &outcome.status else { return false };
    let grammar = matches!(exception.class.as_str(), "SyntaxError" | "IndentationError" | "ParseError");
    grammar && PARTS.iter().any(|part| exception.message.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_of_python_ends_with_an_empty_line() {
        let python = Language::python();
        for open in ["if x:\n", "def f():\n    return 1\n", "@cache\n", "for a in b:   \n"] {
            assert!(opens_block(&python, open), "{open}");
        }
        for whole in ["x = 1\n", "f(1,\n", "{1: 2}\n"] {
            assert!(!opens_block(&python, whole), "{whole}");
        }
        assert!(!opens_block(&Language::javascript(), "a:\n"));
    }
}
