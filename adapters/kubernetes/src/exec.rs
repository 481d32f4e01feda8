//! Programs in a pod, started by `pods/exec` ([`crate::stream`]).
//!
//! The program, its arguments and its environment are sent by standard input, to a small shell program that starts it: in the
//! address of the request they would be in the API server's audit log, and an address is at most 64 KiB long. A pod's program cannot
//! be given an environment or a folder otherwise.
//!
//! In version 4 of the protocol the end of an input cannot be said. A program that has one gets it from a feeder there, which is told
//! how long each piece is.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use dormouse_containers::program::{Exec, Input, KILLED, NOT_STARTED, Output, Program};
use dormouse_core::{Error, ErrorCode, Result, Stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::api::AttachParams;
use kube::core::Request;
use tokio::sync::{mpsc, oneshot};

use crate::cluster::Cluster;
use crate::fault::{shown, unavailable};
use crate::helper;
use crate::kinds::Kind;
use crate::stream::{self, Open, Opened, Pipe};

/// Reads words, which are lines, until a line `.`, and runs what they say: the folder, whether there is an input, then the program.
/// A word begins with `=`, its further lines with `+`; one of very many lines is a single one with escapes, and begins with `%`.
///
/// Only builtins until the program itself, and no process but for that last kind: one that is started takes longer than all the rest,
/// and cannot be where the processes of a pod are as many as they may. A shell reads a line from a pipe byte by byte, so that what follows is the program's.
const BEGIN: &str = r#"set --
word= begun=
while IFS= read -r part && [ "$part" != . ]; do
  case $part in
  =*) [ -z "$begun" ] || set -- "$@" "$word"; word=${part#=} begun=1 ;;
  %*) set -- "$@" "$word"; word=$(printf '%b.' "${part#%}"); word=${word%.} ;;
  *) word="$word
${part#+}" ;;
  esac
done
set -- "$@" "$word"
folder=$1 input=$2
shift 2
[ -z "$folder" ] || cd -- "$folder" || exit 1
case $input in
none) exec </dev/null ;;
counted)
  exec 3>&2 2>/dev/null
  sh -c 'echo $$
if dd count=0 iflag=fullblock </dev/null; then piece() { dd bs="$1" count=1 iflag=fullblock; }
else piece() { dd bs=1 count="$1"; }; fi
while read -r bytes && [ "$bytes" != 0 ]; do piece "$bytes" || break; done
exec cat >/dev/null' 3>&- | {
    read -r feeder
    (exec "$@") 2>&3 3>&-
    code=$?
    kill -9 "$feeder"
    exit "$code"
  }
  exit ;;
esac
exec "$@""#;

/// What a program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// Nothing.
    None,
    /// What follows its words, to the end of the stream.
    All,
    /// The same, in pieces that say how long they are.
    Counted,
}

/// Lines of a word that a shell puts together one by one.
const FEW: usize = 500;

/// A word as lines that [`BEGIN`] reads.
fn line(word: &str) -> String {
    match word.bytes().filter(|byte| *byte == b'\n').count() {
        0..=FEW => format!("={}\n", word.replace('\n', "\n+")),
        _ => format!("%{}\n", word.replace('\\', r"\\").replace('\n', r"\n")),
    }
}

/// What is sent before a program's own input.
///
/// # Errors
/// `args_invalid` for a variable that the program `env` would take for an option.
fn head(exec: &Exec, reads: Reads) -> Result<String> {
    let mut text = line(exec.directory.as_deref().unwrap_or_default());
    text += &line(match reads {
        Reads::None => "none",
        Reads::All => "all",
        Reads::Counted => "counted",
    });
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

/// Starts a program in a container of a pod, by its own shell or the helper's, and attaches to it.
///
/// # Errors
/// `provider_unavailable`; `args_invalid`.
pub(crate) async fn program(
    cluster: &Cluster,
    (pod, container, helped): (&str, Option<&str>, bool),
    exec: &Exec,
    input: bool,
) -> Result<Program> {
    let what = "start a program in a pod";
    // What cannot be said is refused before anything is asked.
    head(exec, Reads::None)?;
    let (client, namespace) = cluster.client().await?;
    let options = AttachParams {
        container: container.map(str::to_owned),
        stdin: true,
        stdout: true,
        stderr: true,
        ..AttachParams::default()
    };
    let pods = Request::new(Kind::Pod.api(&client, &namespace).resource_url());
    let asked = pods.exec(pod, helper::shell(helped, BEGIN), &options);
    let asked = asked.map_err(|error| Error::internal("a request for a program cannot be written", error))?;
    let connection = cluster.ask(what, client.connect(asked)).await?;
    let reads = match (input, connection.supports_stream_close()) {
        (false, _) => Reads::None,
        (true, true) => Reads::All,
        (true, false) => Reads::Counted,
    };
    let head = head(exec, reads)?.into_bytes();
    let Opened { output, input: pipe, status, open } =
        stream::speak(connection, head, reads == Reads::Counted, cluster.patience().answer_within / 2);
    // A program without an input has nothing of it from here, so nothing more is sent: what reaches a server that has ended its side
    // already makes it take back what it said last, the status.
    let (input, kept): (Input, Option<Pipe>) =
        if input { (Box::pin(pipe), None) } else { (Box::pin(tokio::io::sink()), Some(pipe)) };
    let (said, status) = Ending::new(status);
    let output: Output = Box::pin(Held { output, ending: Some(said), _kept: kept, _open: open });
    let status = async move { status.await.map_or_else(|_| Err(broken_off()), |status| code(&status)) };
    Ok(Program { output, input, status: Box::pin(status) })
}

fn broken_off() -> Error {
    unavailable("the stream to a program in a pod broke off before it said how it ended")
}

/// What a server says at the end, on its way to who asks for it.
struct Ending {
    told: oneshot::Receiver<Status>,
    further: oneshot::Sender<Status>,
}

impl Ending {
    fn new(told: oneshot::Receiver<Status>) -> (Self, oneshot::Receiver<Status>) {
        let (further, status) = oneshot::channel();
        (Self { told, further }, status)
    }

    /// Passes it on; whether there was something. The stream has ended: it is there already, or never will be.
    fn pass(mut self) -> bool {
        let Ok(status) = self.told.try_recv() else { return false };
        // Nobody may want it.
        let _passed = self.further.send(status);
        true
    }
}

/// What a program writes, with the connection: dropped, it is closed. One that breaks off ends with an error.
struct Held {
    output: mpsc::Receiver<(Stream, Bytes)>,
    /// None: its end was told.
    ending: Option<Ending>,
    /// An input that stays open, because the program does not read it.
    _kept: Option<Pipe>,
    _open: Open,
}

impl futures::Stream for Held {
    type Item = Result<(Stream, Bytes)>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.output.poll_recv(context) {
            Poll::Ready(None) => {
                let told = self.ending.take().is_none_or(Ending::pass);
                Poll::Ready((!told).then(|| Err(broken_off())))
            }
            piece => piece.map(|piece| piece.map(Ok)),
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
        let reads = if input.is_some() { Reads::All } else { Reads::None };
        with(&["sh"], exec, reads, input.unwrap_or_default())
    }

    /// Input in pieces of this length, as version 4 has them.
    fn counted(input: &[u8], length: usize) -> Vec<u8> {
        let pieces =
            input.chunks(length).flat_map(|piece| [format!("{}\n", piece.len()).as_bytes(), piece].concat());
        pieces.chain(*b"0\n").collect()
    }

    fn with(shell: &[&str], exec: &Exec, reads: Reads, input: &[u8]) -> (String, Option<i32>) {
        let mut child = Command::new(shell[0])
            .args(&shell[1..])
            .args(["-c", BEGIN])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("a pipe");
        let all = [head(exec, reads).unwrap().as_bytes(), input].concat();
        // A counted input ends although the stream does not.
        let fed = std::thread::spawn(move || {
            // A program that ends reads no more.
            let _written = stdin.write_all(&all);
            (reads == Reads::Counted).then_some(stdin)
        });
        let ended = child.wait_with_output().unwrap();
        drop(fed.join().unwrap());
        (String::from_utf8(ended.stdout).unwrap(), ended.status.code())
    }

    /// The shells of this machine.
    fn shells() -> Vec<Vec<&'static str>> {
        let all = [vec!["sh"], vec!["bash"], vec!["busybox", "sh"]];
        all.into_iter()
            .filter(|shell| Command::new(shell[0]).args(&shell[1..]).args(["-c", "exit"]).output().is_ok())
            .collect()
    }

    /// Version 4 of the protocol, in which the stream of the input never ends.
    #[test]
    fn a_counted_input_ends_where_it_ends_and_so_does_a_program_that_does_not_read_it() {
        let exec = |script: &str| {
            let argv = ["sh", "-c", script].map(str::to_owned).into();
            Exec {
                argv,
                environment: vec!["A=x y".into()],
                directory: Some("/usr".into()),
                ..Exec::default()
            }
        };
        let input: Vec<u8> = (0..=255_u8).cycle().take(200_000).collect();
        for shell in shells() {
            let ask = |script: &str, input: &[u8]| with(&shell, &exec(script), Reads::Counted, input);
            let sum = "pwd; echo \"$A\"; cksum; exit 3";
            let known = with(&shell, &exec(sum), Reads::All, &input);
            for length in [1_000, 32 << 10, 200_000] {
                assert_eq!(ask(sum, &counted(&input, length)), known, "{shell:?} {length}");
            }
            assert_eq!(ask("cat", b"0\n"), (String::new(), Some(0)), "{shell:?}");
            // The input goes on: nobody says that it has ended.
            let begun = std::time::Instant::now();
            assert_eq!(ask("echo done; exit 4", b"5\nhello"), ("done\n".into(), Some(4)), "{shell:?}");
            assert_eq!(
                ask("read -r a; echo $a; kill -9 $$", b"6\nhello\n"),
                ("hello\n".into(), Some(137)),
                "{shell:?}"
            );
            assert_eq!(ask("exec /no/such/program", b"").1, Some(127), "{shell:?}");
            assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{shell:?}");
        }
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
        assert!(head(&Exec { environment: words(&["-i=x"]), ..Exec::default() }, Reads::None).is_err());
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
