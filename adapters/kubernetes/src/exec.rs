//! Programs in a pod: the exchange with the API server, by its WebSocket protocol for `pods/exec`.
//!
//! The program, its arguments and its environment are sent by standard input, to a small shell program that starts it: in the
//! address of the request they would be in the API server's audit log, and an address is at most 64 KiB long. A pod's program cannot
//! be given an environment or a folder otherwise.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use dormouse_containers::program::{Exec, Input, KILLED, NOT_STARTED, Output, Program};
use dormouse_core::{Error, ErrorCode, Result, Stream};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Api;
use kube::api::{AttachParams, AttachedProcess};
use tokio::io::AsyncWriteExt as _;
use tokio_util::io::ReaderStream;

use crate::cluster::Cluster;
use crate::fault::{shown, unavailable};

/// Bytes on their way in each direction.
const UNDER_WAY: usize = 256 << 10;
/// Reads words, one a line, until a line `.`, and runs what they say: the folder, whether there is an input, then the program.
///
/// Only builtins until the program itself. A shell reads a line from a pipe byte by byte, so that what follows is the program's.
const BEGIN: &str = r#"set --
while IFS= read -r word && [ "$word" != . ]; do
  word=$(printf '%b.' "${word#=}")
  set -- "$@" "${word%.}"
done
folder=$1 input=$2
shift 2
[ -z "$folder" ] || cd -- "$folder" || exit 1
[ "$input" = none ] && exec </dev/null
exec "$@""#;

/// A word as a line that [`BEGIN`] reads.
fn line(word: &str) -> String {
    format!("={}\n", word.replace('\\', r"\\").replace('\n', r"\n"))
}

/// What is sent before a program's own input.
///
/// # Errors
/// `args_invalid` for a variable that the program `env` would take for an option.
fn head(exec: &Exec, input: bool) -> Result<String> {
    let mut text = line(exec.directory.as_deref().unwrap_or_default());
    text += &line(if input { "some" } else { "none" });
    if !exec.environment.is_empty() {
        text += &line("env");
    }
    for variable in &exec.environment {
        if variable.starts_with('-') || !variable.contains('=') {
            return Err(Error::args_invalid("the name of an environment variable begins with `-`"));
        }
        text += &line(variable);
    }
    for word in &exec.argv {
        if word.contains('\0') {
            return Err(Error::args_invalid("an argument holds a NUL byte"));
        }
        text += &line(word);
    }
    text.push_str(".\n");
    Ok(text)
}

/// Starts a program in a container of a pod, and attaches to it.
///
/// # Errors
/// `provider_unavailable`; `args_invalid`.
pub(crate) async fn program(
    cluster: &Cluster,
    (pod, container): (&str, Option<&str>),
    exec: &Exec,
    input: bool,
) -> Result<Program> {
    let what = "start a program in a pod";
    let head = head(exec, input)?;
    let pods: Api<Pod> = cluster.pods().await?;
    let options = AttachParams {
        container: container.map(str::to_owned),
        stdin: true,
        stdout: true,
        stderr: true,
        max_stdin_buf_size: Some(UNDER_WAY),
        max_stdout_buf_size: Some(UNDER_WAY),
        max_stderr_buf_size: Some(UNDER_WAY),
        ..AttachParams::default()
    };
    let opened = pods.exec(pod, ["sh", "-c", BEGIN], &options);
    let mut process = cluster.ask(what, opened).await?;
    let (stdin, stdout, stderr, status) =
        (process.stdin(), process.stdout(), process.stderr(), process.take_status());
    let (Some(mut stdin), Some(stdout), Some(stderr), Some(status)) = (stdin, stdout, stderr, status) else {
        return Err(unavailable("the API server did not attach to a program"));
    };
    // One that ends at once reads nothing; its status says why.
    let _sent = stdin.write_all(head.as_bytes()).await;
    let piece = |stream| {
        move |piece: std::io::Result<Bytes>| {
            piece
                .map(|piece| (stream, piece))
                .map_err(|error| unavailable("could not follow a program in a pod").with_source(error))
        }
    };
    let stdout = ReaderStream::with_capacity(stdout, UNDER_WAY).map(piece(Stream::Stdout));
    let stderr = ReaderStream::with_capacity(stderr, UNDER_WAY).map(piece(Stream::Stderr));
    let status = status.boxed().shared();
    let output = Box::pin(futures::stream::select(stdout, stderr));
    // A program without an input has nothing of it from here, so nothing more is sent: what reaches a server that has ended its side
    // already makes it take back what it said last, the status.
    let (input, kept): (Input, Option<Input>) =
        if input { (Box::pin(stdin), None) } else { (Box::pin(tokio::io::sink()), Some(Box::pin(stdin))) };
    let output = Held { output, ended: Some(status.clone()), _input: kept, _process: process };
    let status = async move { status.await.map_or_else(|| Err(broken_off()), |status| code(&status)) };
    Ok(Program { output: Box::pin(output), input, status: Box::pin(status) })
}

fn broken_off() -> Error {
    unavailable("the stream to a program in a pod broke off before it said how it ended")
}

/// What a program writes, with the connection: dropped, it is closed.
///
/// When the connection breaks off the library ends its task, but not the streams that it fed: that there will be no status is how that
/// is seen.
struct Held {
    output: Output,
    /// What it said at its end; none: that is known.
    ended: Option<Shared<BoxFuture<'static, Option<Status>>>>,
    /// An input that stays open, because the program does not read it.
    _input: Option<Input>,
    _process: AttachedProcess,
}

impl futures::Stream for Held {
    type Item = Result<(Stream, Bytes)>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(piece) = self.output.as_mut().poll_next(context) {
            return Poll::Ready(piece);
        }
        let Some(Poll::Ready(ended)) = self.ended.as_mut().map(|ended| ended.poll_unpin(context)) else {
            return Poll::Pending;
        };
        self.ended = None;
        match ended {
            // What it wrote before that is on its way.
            Some(_) => self.output.as_mut().poll_next(context),
            None => Poll::Ready(Some(Err(broken_off()))),
        }
    }
}

/// The exit status in what the API server says at the end.
fn code(status: &Status) -> Result<i64> {
    if status.status.as_deref() == Some("Success") {
        return Ok(0);
    }
    let causes = status.details.as_ref().and_then(|details| details.causes.as_ref());
    let exit = causes.into_iter().flatten().find(|cause| cause.reason.as_deref() == Some("ExitCode"));
    if let Some(code) = exit.and_then(|cause| cause.message.as_deref()?.parse().ok()) {
        return Ok(code);
    }
    let said = shown(status.message.as_deref().unwrap_or_default());
    // The runtime could not start it: there is no such program, or no room for it.
    if said.contains("exec failed") || said.contains("not found in $PATH") || said.contains("no such file") {
        return Ok(NOT_STARTED);
    }
    if said.contains("signal") && said.contains("kill") {
        return Ok(KILLED);
    }
    Err(Error::new(ErrorCode::ProviderUnavailable, format!("a program in a pod did not run: {said}"))
        .with_hint(
            "call again: a sandbox whose pod has ended goes on in another one from what was saved last",
        ))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the shell is what is tested")]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use serde_json::json;

    use super::*;

    fn run(exec: &Exec, input: Option<&[u8]>) -> (String, Option<i32>) {
        let mut child = Command::new("sh")
            .args(["-c", BEGIN])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(head(exec, input.is_some()).unwrap().as_bytes()).unwrap();
        stdin.write_all(input.unwrap_or_default()).unwrap();
        drop(stdin);
        let ended = child.wait_with_output().unwrap();
        (String::from_utf8(ended.stdout).unwrap(), ended.status.code())
    }

    /// KUB-03: words that a shell, or the address of a request, would take for more.
    #[test]
    fn kub_03_every_word_arrives_as_it_is_and_none_is_run_by_a_shell() {
        let odd = [
            "",
            " ",
            "a\nb",
            "\\",
            "\\n",
            "\\c",
            "%s",
            "$(id)",
            "'\"`",
            ".",
            "=",
            "-n",
            "ä\u{1f}",
            "a\n\n",
            "&?#/..%00",
        ];
        let argv: Vec<String> = ["sh", "-c", r#"for w; do printf '%s|' "$w"; done"#, "x"]
            .iter()
            .chain(&odd)
            .map(|word| (*word).to_owned())
            .collect();
        let (said, code) = run(&Exec { argv, ..Exec::default() }, None);
        assert_eq!((said, code), (odd.iter().map(|word| format!("{word}|")).collect(), Some(0)));
    }

    #[test]
    fn folder_environment_and_input_are_the_programs_own() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let exec = Exec {
            argv: words(&["sh", "-c", "pwd; echo \"$A\"; cat"]),
            environment: words(&["A=x y\n$z"]),
            directory: Some("/usr".into()),
            ..Exec::default()
        };
        assert_eq!(run(&exec, Some(b".\n=rest")).0, "/usr\nx y\n$z\n.\n=rest");
        assert_eq!(run(&exec, None).0, "/usr\nx y\n$z\n");
        let missing = Exec { argv: words(&["/no/such/program"]), ..Exec::default() };
        assert_eq!(run(&missing, None).1, Some(127));
        let large = Exec { argv: words(&["printf", "%s", &"x\n".repeat(60_000)]), ..Exec::default() };
        assert_eq!(run(&large, None).0.len(), 120_000);
        assert!(head(&Exec { environment: words(&["-i=x"]), ..Exec::default() }, false).is_err());
    }

    #[test]
    fn an_exit_status_is_read_from_what_the_server_says() {
        let said = |status| code(&serde_json::from_value(status).unwrap());
        assert_eq!(said(json!({"status": "Success"})).unwrap(), 0);
        let ended = json!({"status": "Failure", "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}});
        assert_eq!(said(ended).unwrap(), 3);
        let started = json!({"status": "Failure", "reason": "InternalError",
            "message": "error executing command in container: OCI runtime exec failed: exec: \"sh\": not found"});
        assert_eq!(said(started).unwrap(), NOT_STARTED);
        let gone = json!({"status": "Failure", "message": "container not found (\"sandbox\")"});
        assert_eq!(said(gone).unwrap_err().code(), ErrorCode::ProviderUnavailable);
    }
}
