//! What came of a command line, short enough for every client: the middle of long output goes, the whole of it is in a file.

use dormouse_core::sandbox::{Executed, SandboxId};
use dormouse_core::sandboxes::{Outputs, Whole};
use dormouse_core::{Captured, Error, ErrorCode};
use serde_json::Value as Json;

use crate::call::encode;
use crate::network::{self, UsedShown};
use crate::spec::outcome::{CLOSED_FILES, RECOVERY_REASON, warning};
use crate::spec::{Answered as _, ErrorFields, Flat, Inline, Nested, OrNull, answer, list_of};

/// Bytes of each stream that are shown whole (16 KiB).
pub(super) const WHOLE: usize = 16 << 10;
/// Bytes of the beginning, and again of the end, that are shown of a longer one (6 KiB).
const PART: usize = 6 << 10;

/// What `missing` of an answer is.
pub(crate) const MISSING: &str = "Commands that it called and that are not here; only if there are any.";
/// What `elsewhere` of an answer is; of a job, whose files are the sandbox's, less is to be said.
pub(crate) const ELSEWHERE: &str = "Commands that another provider ran; only if there are any.";

answer! {
    /// What came of a command line.
    pub(crate) struct Line {
        stdout: String = "Standard output; beginning and end of it when it is long.",
        stderr: String = "Standard error; beginning and end of it when it is long.",
        exit_code: i32 = "Exit status; 124 after the time limit, 137 after another.",
        duration_ms: f64 = "Wall-clock time in milliseconds.",
        timed_out: bool = "Whether the time limit ended it.",
        stdout_bytes: u64 = "Bytes written to standard output.",
        stderr_bytes: u64 = "Bytes written to standard error.",
        stdout_file: Option<String> =
            "Where the whole of standard output is; only when it was cut. The last 8 such files are kept.",
        stderr_file: Option<String> = "Where the whole of standard error is; only when it was cut.",
        stdout_lost: Option<String> =
            "Why the whole of standard output could not be kept; only when it could not.",
        stderr_lost: Option<String> =
            "Why the whole of standard error could not be kept; only when it could not.",
        missing: Option<Vec<String>> = list_of("Its name.", MISSING),
        provider: &'static str = "Who ran it: wasm, docker or kubernetes; docker also when it ran a part of it.",
        fallback_from: Option<&'static str> = "The provider that could not run all of it; only if another one did.",
        elsewhere: Option<Vec<String>> = list_of(
            "Its name.",
            "Commands that another provider ran, on a copy of the files; only if there are any.",
        ),
        unavailable: Option<ErrorFields> =
            "What would provide the missing commands; only if there are any.",
        recovery: Option<&'static str> =
            "What the shell is now, after it was stopped or something of it was lost.",
        recovery_reason: Option<String> = RECOVERY_REASON,
        warning: Option<ErrorFields> = warning(),
        closed_files: Option<Vec<String>> = list_of("Its path.", CLOSED_FILES),
        network: Option<Nested<UsedShown>> = "What the commands did with the network; only if they have one.",
    }
}

answer! {
    /// The same with all of its output and its sandbox, as the command line prints it.
    struct Printed {
        line: Flat<Line> = Inline,
        sandbox_id: SandboxId = "The sandbox.",
        error: OrNull<ErrorFields> = "What ended it, if a limit did.",
    }
}

/// What came of a command line, as it is shown.
pub(crate) struct Shown {
    executed: Executed,
    stdout: Stream,
    stderr: Stream,
}

struct Stream {
    text: String,
    total: u64,
    file: Option<String>,
    /// Why there is no file, where there should be one.
    lost: Option<String>,
}

/// Cuts what is long, and says where the whole of it is.
pub(super) fn shorten(executed: Executed, outputs: &Outputs) -> Shown {
    let stdout = cut(&executed.outcome.stdout, &outputs.stdout);
    let stderr = cut(&executed.outcome.stderr, &outputs.stderr);
    Shown { executed, stdout, stderr }
}

/// The same with nothing cut.
pub(crate) fn whole(executed: Executed) -> Shown {
    shorten(executed, &Outputs::default())
}

/// What could provide a command line's missing commands; none when there are none.
pub fn missing(executed: &Executed) -> Option<Error> {
    let missing = &executed.missing;
    (!missing.is_empty()).then(|| unavailable(missing, executed.outcome.fallback_from))
}

fn cut(stream: &Captured, whole: &Whole) -> Stream {
    let (text, total) = (&stream.text, stream.total_bytes);
    let (file, lost, place) = match whole {
        Whole::Here => return Stream { text: text.clone(), total, file: None, lost: None },
        Whole::File(path) if stream.is_truncated() => {
            (Some(path.to_string()), None, format!("the first {} bytes are in {path}", text.len()))
        }
        Whole::File(path) => (Some(path.to_string()), None, format!("all of it is in {path}")),
        Whole::Lost(error) => {
            (None, Some(error.to_string()), format!("it could not be kept in the sandbox: {error}"))
        }
    };
    let head = &text[..text.floor_char_boundary(PART.min(text.len()))];
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(PART)).max(head.len())..];
    let left_out = total.saturating_sub((head.len() + tail.len()) as u64);
    let text = format!("{head}\n[... {left_out} bytes left out; {place} ...]\n{tail}");
    Stream { text, total, file, lost }
}

/// A number that no other output of this process has.
pub(crate) fn serial() -> u128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since.as_micros()
}

impl Shown {
    /// Its exit status.
    pub(crate) fn exit_code(&self) -> i32 {
        self.executed.outcome.exit_code()
    }

    /// Standard output as it is shown.
    pub(crate) fn stdout(&self) -> &str {
        &self.stdout.text
    }

    /// Standard error as it is shown.
    pub(crate) fn stderr(&self) -> &str {
        &self.stderr.text
    }

    /// Wall-clock time, in milliseconds.
    pub(crate) fn milliseconds(&self) -> f64 {
        encode::milliseconds(self.executed.outcome.usage.wall)
    }

    /// The same in whole ones.
    pub(crate) fn whole_milliseconds(&self) -> u64 {
        u64::try_from(self.executed.outcome.usage.wall.as_millis()).unwrap_or(u64::MAX)
    }

    /// The limit or crash that ended it, if one did.
    pub(crate) fn stopped(&self) -> Option<&Error> {
        self.executed.outcome.stopped()
    }

    /// Who could not run all of it, where somebody else did.
    pub(crate) fn fallback_from(&self) -> Option<&'static str> {
        self.executed.outcome.fallback_from
    }

    /// The same as answers tell it.
    pub(crate) fn error(&self) -> Option<ErrorFields> {
        self.stopped().map(ErrorFields::of)
    }

    /// What an answer holds.
    pub(crate) fn into_line(self) -> Line {
        let Self { executed, stdout, stderr } = self;
        let missing = missing(&executed);
        let Executed { outcome, missing: names, elsewhere, .. } = executed;
        let elsewhere: Vec<String> = elsewhere.into_iter().map(|(name, _)| name).collect();
        Line {
            exit_code: outcome.exit_code(),
            duration_ms: encode::milliseconds(outcome.usage.wall),
            timed_out: outcome.timed_out(),
            stdout: stdout.text,
            stderr: stderr.text,
            stdout_bytes: stdout.total,
            stderr_bytes: stderr.total,
            stdout_file: stdout.file,
            stderr_file: stderr.file,
            stdout_lost: stdout.lost,
            stderr_lost: stderr.lost,
            missing: Some(names).filter(|names| !names.is_empty()),
            provider: outcome.provider,
            fallback_from: outcome.fallback_from,
            elsewhere: Some(elsewhere).filter(|names| !names.is_empty()),
            unavailable: missing.as_ref().map(ErrorFields::of),
            recovery: outcome.recovery.map(|recovery| recovery.as_str()),
            recovery_reason: outcome.recovery_reason,
            warning: outcome.warning.as_ref().map(ErrorFields::of),
            closed_files: Some(outcome.closed_files).filter(|files| !files.is_empty()),
            network: network::used(outcome.network.as_ref()),
        }
    }

    /// As the command line prints it.
    pub(crate) fn structured(self, sandbox_id: &SandboxId) -> Json {
        let error = OrNull(self.error());
        let printed = Printed { line: Flat(self.into_line()), sandbox_id: sandbox_id.clone(), error };
        Json::Object(printed.into_fields())
    }

    /// What is said of one that was stopped: why, and the output until then.
    pub(crate) fn stopped_text(&self) -> Option<String> {
        let mut text = encode::error_text(self.stopped()?);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.text.is_empty() {
                text.push_str(&format!("\n{name}: {}", Json::from(stream.text.as_str())));
            }
        }
        Some(text)
    }
}

/// What would have commands that were called and are not there: `missing`, which are not none.
fn unavailable(missing: &[String], fallback_from: Option<&str>) -> Error {
    let names = missing.join("`, `");
    let error = Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("there is no command `{names}` in this sandbox"),
    );
    if matches!(fallback_from, Some("docker" | "kubernetes")) {
        return error.with_hint(
            "its container is unavailable at the moment, and wasm runs it instead: sandbox_capabilities says why",
        );
    }
    error
        .with_hint("`compgen -c` lists the available commands; a container has more, if the operator allows one (sandbox_create with \
             `provider`: `docker`)")
}
