//! What came of a command line, short enough for every client: the middle of long output goes, the whole of it is in a file.

use dormouse_core::sandbox::{Executed, SandboxId};
use dormouse_core::sandboxes::{Outputs, Whole};
use dormouse_core::{Captured, Error, ErrorCode, Status};
use serde_json::{Map, Value as Json, json};

use crate::encode;
use crate::schema::{self, Object};
use crate::tool::eval::CLOSED_FILES;
use crate::tool::{error_schema, warning_schema};

/// Bytes of each stream that are shown whole (16 KiB).
pub(super) const WHOLE: usize = 16 << 10;
/// Bytes of the beginning, and again of the end, that are shown of a longer one (6 KiB).
const PART: usize = 6 << 10;

/// What an answer holds.
pub(crate) fn fields() -> Object {
    Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("stdout", schema::text("Standard output; beginning and end of it when it is long."))
        .optional("stderr", schema::text("Standard error; beginning and end of it when it is long."))
        .optional(
            "exit_code",
            schema::integer(0, "Exit status; 124 after the time limit, 137 after another."),
        )
        .optional("duration_ms", schema::number("Wall-clock time in milliseconds."))
        .optional("timed_out", schema::flag("Whether the time limit ended it."))
        .optional("stdout_bytes", schema::integer(0, "Bytes written to standard output."))
        .optional("stderr_bytes", schema::integer(0, "Bytes written to standard error."))
        .optional(
            "stdout_file",
            schema::text(
                "Where the whole of standard output is; only when it was cut. The last 8 such files are kept.",
            ),
        )
        .optional("stderr_file", schema::text("Where the whole of standard error is; only when it was cut."))
        .optional(
            "stdout_lost",
            schema::text("Why the whole of standard output could not be kept; only when it could not."),
        )
        .optional(
            "stderr_lost",
            schema::text("Why the whole of standard error could not be kept; only when it could not."),
        )
        .optional(
            "missing",
            schema::list(
                &schema::text("Its name."),
                "Commands that it called and that are not here; only when there are any.",
            ),
        )
        .optional(
            "provider",
            schema::text("Who ran it: wasm or docker; docker also when it ran a part of it."),
        )
        .optional("fallback_from", schema::text("Who could not run all of it; only when somebody else did."))
        .optional(
            "elsewhere",
            schema::list(
                &schema::text("Its name."),
                "Commands that another provider ran, on a copy of the files; only when there are any.",
            ),
        )
        .optional(
            "unavailable",
            error_schema("What would have the missing commands; only when there are any."),
        )
        .optional(
            "recovery",
            schema::text("What the shell is now, after it was stopped or something of it was lost."),
        )
        .optional("recovery_reason", crate::tool::lost::reason())
        .optional("warning", warning_schema())
        .optional("closed_files", schema::list(&schema::text("Its path."), CLOSED_FILES))
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

/// What would have the commands that it called and that are not here; none when there are none.
pub(crate) fn missing(executed: &Executed) -> Option<Error> {
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

    /// The answer's fields.
    pub(crate) fn fields(&self, id: &SandboxId) -> Json {
        let mut fields = executed(&self.executed);
        fields.insert("sandbox_id".into(), id.as_str().into());
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            fields.insert(name.into(), stream.text.as_str().into());
            fields.insert(format!("{name}_bytes"), stream.total.into());
            if let Some(file) = &stream.file {
                fields.insert(format!("{name}_file"), file.as_str().into());
            }
            if let Some(why) = &stream.lost {
                fields.insert(format!("{name}_lost"), why.as_str().into());
            }
        }
        Json::Object(fields)
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

/// The fields of a command line that has ended, without its output.
pub(crate) fn executed(executed: &Executed) -> Map<String, Json> {
    let outcome = &executed.outcome;
    let mut fields = Map::new();
    fields.insert("exit_code".into(), outcome.exit_code().into());
    fields.insert("duration_ms".into(), encode::milliseconds(outcome.usage.wall).into());
    fields.insert("timed_out".into(), outcome.timed_out().into());
    if let Some(error) = missing(executed) {
        fields.insert("missing".into(), executed.missing.clone().into());
        fields.insert("unavailable".into(), encode::error(&error));
    }
    fields.insert("provider".into(), outcome.provider.into());
    if let Some(wanted) = outcome.fallback_from {
        fields.insert("fallback_from".into(), wanted.into());
    }
    if !executed.elsewhere.is_empty() {
        let names: Vec<&str> = executed.elsewhere.iter().map(|(name, _)| name.as_str()).collect();
        fields.insert("elsewhere".into(), names.into());
    }
    if let Some(recovery) = outcome.recovery {
        fields.insert("recovery".into(), recovery.as_str().into());
    }
    if let Some(warning) = &outcome.warning {
        fields.insert("warning".into(), encode::error(warning));
    }
    if !outcome.closed_files.is_empty() {
        fields.insert("closed_files".into(), outcome.closed_files.clone().into());
    }
    if let Some(reason) = &outcome.recovery_reason {
        fields.insert("recovery_reason".into(), reason.as_str().into());
    }
    fields.insert(
        "error".into(),
        match &outcome.status {
            Status::Stopped(error) => encode::error(error),
            _ => json!(null),
        },
    );
    fields
}

/// What would have commands that were called and are not there: `missing`, which are not none.
fn unavailable(missing: &[String], fallback_from: Option<&str>) -> Error {
    let names = missing.join("`, `");
    let error = Error::new(
        ErrorCode::CapabilityUnavailable,
        format!("there is no command `{names}` in this sandbox"),
    );
    if fallback_from == Some("docker") {
        return error.with_hint(
            "its container cannot be had just now, and wasm has its place: sandbox_capabilities says why",
        );
    }
    error
        .with_hint("`compgen -c` lists the commands that there are; a container has more, where the operator allows one (sandbox_create with \
             `provider`: `docker`)")
}
