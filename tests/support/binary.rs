//! The real binary `dormouse`, as a user starts it.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Variables of the host that the binary needs.
const KEPT: [&str; 6] = ["HOME", "PATH", "TMPDIR", "DORMOUSE_CACHE_DIR", "XDG_CACHE_HOME", "LANG"];
/// How long any one process may take: longer than every limit that a test sets.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where the binary lies: beside this program, or beside the folder of the test programs.
///
/// # Panics
/// When it has not been built.
pub fn path() -> PathBuf {
    let own = std::env::current_exe().expect("a test knows its own file");
    let found =
        own.ancestors().skip(1).take(2).map(|folder| folder.join("dormouse")).find(|path| path.is_file());
    found.expect("`dormouse` has not been built: run `cargo build --release --workspace --bins` first")
}

/// What a process came to.
#[derive(Debug)]
pub struct Ran {
    /// Exit status; none: a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The command with nothing of the host's environment but what it needs.
pub fn command(arguments: &[&str]) -> Command {
    started(&path(), arguments)
}

/// Any other program in the same surroundings.
#[expect(clippy::disallowed_methods, reason = "tests start the programs that they are about")]
pub fn started(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    // What tests allow is nobody's business: it is not to stand in the user's own record.
    command.env("DORMOUSE_AUDIT_FILE", "/dev/null");
    for name in KEPT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Where a program of the system is, by the search path. None: it is not installed, and this says which part of the tests is
/// left out.
///
/// # Panics
/// When it has to be there: `cargo xtask test` says so with `DORMOUSE_REQUIRE_PROGRAMS=1` where it has seen to it.
#[allow(clippy::print_stderr, reason = "what is left out is said")]
pub fn installed(program: &str, part: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let required = std::env::var_os("DORMOUSE_REQUIRE_PROGRAMS").is_some_and(|value| value == "1");
        assert!(!required, "{part}: `{program}` is not installed, and is required");
        eprintln!("left out: {part}: `{program}` is not installed");
    }
    found
}

/// Runs `dormouse` with these arguments and this standard input.
pub fn dormouse(arguments: &[&str], stdin: &[u8]) -> Ran {
    finish(command(arguments), stdin)
}

/// Runs a command to its end.
///
/// # Panics
/// When it does not end in two minutes.
pub fn finish(mut command: Command, stdin: &[u8]) -> Ran {
    let mut child = command.spawn().expect("the program can be started");
    let (stdout, stderr) = (drain(child.stdout.take()), drain(child.stderr.take()));
    let input = child.stdin.take();
    let bytes = stdin.to_vec();
    let writer = std::thread::spawn(move || {
        // A program that does not want its input closes it.
        input.map(|mut input| input.write_all(&bytes))
    });
    let status = wait(&mut child, PATIENCE);
    let _ = writer.join();
    let read = |thread: JoinHandle<Vec<u8>>| thread.join().expect("a reader does not panic");
    Ran { status, stdout: read(stdout), stderr: read(stderr) }
}

/// Waits for a process; kills it when it does not end.
///
/// # Panics
/// When it had to be killed.
pub fn wait(child: &mut Child, patience: Duration) -> Option<i32> {
    let end = Instant::now() + patience;
    // No `wait_until`: a child that does not end is killed before the test fails.
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code();
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the process did not end within {patience:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Reads a stream to its end, on a thread.
pub fn drain<R: Read + Send + 'static>(stream: Option<R>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read before an error is what there is.
            let _ = stream.read_to_end(&mut bytes);
        }
        bytes
    })
}
