//! Another process: this test binary again, with a task in its environment.
//!
//! It speaks in lines that begin with `@`, because the test harness writes to the same stream.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use dormouse_core::sandbox::{Created, Ledger as _, SandboxId};
use dormouse_store::{Settings, Store};

use crate::support::{MANY, keyed, sandbox};

const TASK: &str = "DORMOUSE_STORE_TASK";
const FOLDER: &str = "DORMOUSE_STORE_FOLDER";
const WORD: &str = "DORMOUSE_STORE_WORD";
/// The name of [`other_process`].
const NAME: &str = "other::other_process";

/// A process that is at work.
pub(crate) struct Other {
    pub(crate) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What starts this binary with a task.
#[expect(clippy::disallowed_methods, reason = "several processes are what is tested")]
pub(crate) fn command(program: &Path, before: &[&str], task: &str, folder: &Path, word: &str) -> Command {
    let mut command = match before.split_first() {
        Some((first, rest)) => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
        None => Command::new(program),
    };
    command.args(["--exact", NAME, "--nocapture", "--test-threads=1"]);
    command.env(TASK, task).env(FOLDER, folder).env(WORD, word);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

pub(crate) fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

impl Other {
    pub(crate) fn start(task: &str, folder: &Path, word: &str) -> Self {
        Self::of(&mut command(&program(), &[], task, folder, word))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output }
    }

    /// Its next line. None: it has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The harness writes `test … ` before the first of our lines, without a new line.
            if let Some((_, ours)) = line.trim_end_matches('\n').split_once('@') {
                // A line that was cut by the end of the process says nothing.
                return line.ends_with('\n').then(|| ours.into());
            }
        }
    }

    pub(crate) fn say(&mut self, word: &str) {
        writeln!(self.input, "{word}").unwrap();
        self.input.flush().unwrap();
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// All its other lines, then its end.
    pub(crate) fn rest(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
        }
        self.child.wait().unwrap();
        lines
    }
}

/// Waits for a word of the parent.
pub(crate) fn told() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    line
}

/// No test of its own: what the other process does.
#[test]
fn other_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let word = std::env::var(WORD).unwrap();
    match task.as_str() {
        "open" => match Store::open(&folder, &Settings::default()) {
            Ok(_) => println!("@opened"),
            Err(error) => println!("@{}|{error}|{}", error.code(), error.hint().unwrap_or_default()),
        },
        "same-key" => create(&folder, &word, 25, |_, word| word.into()),
        "own-keys" => create(&folder, &word, 25, |number, word| format!("{word} {number}")),
        "lease" => {
            let store = crate::support::store(&folder);
            let _lease = store.lease(&SandboxId::parse(&word).unwrap()).unwrap();
            println!("@{}", _lease.is_some());
            told();
        }
        "creating" => {
            let store = crate::support::store(&folder);
            let new = dormouse_core::sandbox::Sandbox {
                phase: dormouse_core::sandbox::Phase::Creating,
                ..sandbox(7)
            };
            let _lease = store.lease(&new.id).unwrap().unwrap();
            crate::support::created(&store, &new);
            println!("@{}", new.id);
            told();
        }
        "write" => crate::kill::write(&folder, word.parse().unwrap()),
        other => panic!("no task {other}"),
    }
}

/// Makes that many sandboxes, each in a thread of its own, when the parent says so.
fn create(folder: &Path, word: &str, count: u64, key: impl Fn(u64, &str) -> String + Sync) {
    let store = crate::support::store(folder);
    let quota = dormouse_core::sandbox::Quota { per_owner: 10, ..MANY };
    println!("@ready");
    told();
    let start = std::sync::Barrier::new(usize::try_from(count).unwrap());
    std::thread::scope(|scope| {
        for number in 0..count {
            let (store, key, start) = (&store, &key, &start);
            scope.spawn(move || {
                let mut new = keyed(number, &key(number, word));
                new.name = dormouse_core::sandbox::Name::parse(&new.id.as_str()[3..]).unwrap();
                start.wait();
                match store.create(&new, &quota) {
                    Ok(Created::New(sandbox)) => println!("@new {}", sandbox.id),
                    Ok(Created::Existing(sandbox)) => println!("@existing {}", sandbox.id),
                    Err(error) => println!("@{}", error.code()),
                }
            });
        }
    });
}
