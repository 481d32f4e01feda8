//! The shell that lasts: its working folder, variables and functions go on from call to call; options, traps and jobs
//! are each call's own.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use bashkit::{Bash, Error, ExecOptions, ExecutionLimits, MemoryLimits, PosixFs, SessionLimits, StreamData};
use tokio::runtime::{Builder, Runtime};

use crate::files::OwnFiles;
use crate::npm::{Npm, Npx};
use crate::own;
use crate::programs::{NAMES, Others, Program};
use crate::timeout::Timeout;

/// Where a session starts, and its `HOME`.
const HOME: &str = "/workspace";
/// Where commands are looked for besides those that the shell brings.
const PATH: &str = "/workspace/.local/bin:/workspace/node_modules/.bin:/usr/local/bin:/usr/bin:/bin";
/// The exit status of a command line that cannot be parsed.
const SYNTAX: i32 = 2;
/// The exit status after one of the shell's own limits, as after SIGKILL.
const LIMIT: i32 = 137;
/// Levels of functions, sourced files and subshells; the stack has room for them.
const DEPTH: usize = 200;
/// Longer than any call may take. bashkit's own longest time is the end of what the clock can show, and adding the rounding
/// of a timer to it overflows in the last millisecond of the clock's first second.
const TIME: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The session.
pub(crate) struct Session {
    pub(crate) bash: Bash,
    /// Variables that were there before the user's first.
    own: BTreeSet<String>,
}

/// What a call begins with.
pub(crate) struct Begin<'a> {
    /// The folder it runs in, for this call alone; none: where the last one ended.
    pub(crate) directory: Option<&'a str>,
    /// The environment differs from the one that was seen last.
    pub(crate) refresh_environment: bool,
}

impl Session {
    pub(crate) fn new() -> Self {
        let mut builder = Bash::builder()
            .fs(Arc::new(PosixFs::new(OwnFiles::default())))
            .cwd(HOME)
            .username("sandbox")
            .hostname("dormouse")
            .limits(limits())
            .session_limits(SessionLimits::unlimited())
            .memory_limits(MemoryLimits::unlimited())
            .command_resolver(Arc::new(Others));
        for (name, value) in [("HOME", HOME), ("PATH", PATH), ("LANG", "C.UTF-8"), ("TMPDIR", "/tmp")] {
            builder = builder.env(name, value);
        }
        for name in NAMES {
            builder = builder.builtin(name, Box::new(Program(name.to_owned())));
        }
        let builder = own::register(builder)
            .builtin("npm", Box::new(Npm))
            .builtin("npx", Box::new(Npx))
            .builtin("timeout", Box::new(Timeout));
        let bash = builder.build();
        let own = bash.shell_state_view().variables.keys().cloned().collect();
        Self { bash, own }
    }

    /// Whether a variable was there before the user's first.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.own.contains(name)
    }

    /// Runs a command line with the instance's standard streams; the answer is its exit status.
    pub(crate) fn run(&mut self, source: &str, begin: &Begin<'_>) -> i32 {
        if begin.refresh_environment {
            for (name, value) in std::env::vars() {
                self.bash.set_env(&name, &value);
                self.own.insert(name);
            }
        }
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else { return LIMIT };
        match begin.directory {
            None => self.execute(&runtime, source, ExecOptions::new().stdin(input())),
            Some(directory) => self.execute_in(&runtime, source, directory),
        }
    }

    /// The same in a folder, for this call alone.
    fn execute_in(&mut self, runtime: &Runtime, source: &str, directory: &str) -> i32 {
        let before = self.bash.shell_state_view().cwd.to_string_lossy().into_owned();
        let change = |to: &str| ("cd -- \"$1\"", ExecOptions::new().positional([to]));
        let (line, options) = change(directory);
        let entered = self.execute(runtime, line, options);
        if entered != 0 {
            return entered;
        }
        let status = self.execute(runtime, source, ExecOptions::new().stdin(input()));
        let (line, options) = change(&before);
        self.execute(runtime, line, options);
        status
    }

    fn execute(&mut self, runtime: &Runtime, source: &str, options: ExecOptions) -> i32 {
        // Its output is written to the instance's streams by the recipe's mend of bashkit's pipes.
        let execution = self.bash.execute(source).options(options);
        let ended = runtime.block_on(async { execution.await });
        let status = match ended {
            Ok(result) => result.exit_code,
            Err(error) => refused(&error),
        };
        let _ = std::io::stdout().flush();
        status
    }
}

/// Says why a command line came to no end of its own.
fn refused(error: &Error) -> i32 {
    eprintln!("bash: {error}");
    match error {
        Error::Parse { .. } => SYNTAX,
        Error::ResourceLimit(_) | Error::Cancelled => LIMIT,
        _ => 1,
    }
}

/// All of standard input.
fn input() -> StreamData {
    let mut bytes = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut bytes);
    bytes.into()
}

/// What only the instance's limits should bound is unbounded; what guards the stack is not.
pub(crate) fn limits() -> ExecutionLimits {
    ExecutionLimits {
        timeout: TIME,
        max_work_units: u64::MAX,
        max_aggregate_input_bytes: u64::MAX,
        max_live_intermediate_bytes: u64::MAX,
        max_stdout_bytes: usize::MAX / 4,
        max_stderr_bytes: usize::MAX / 4,
        max_function_depth: DEPTH,
        max_word_split_fields: usize::MAX,
        max_word_split_bytes: usize::MAX,
        max_parser_operations: 10_000_000,
        ..ExecutionLimits::cli()
    }
}
