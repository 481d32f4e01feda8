//! Errors of the sandbox itself. What a snippet raises is an outcome, not one of these.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of everything that can fail in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $exit:literal;)*) => {
        /// Stable names of failures. They appear in JSON, in logs and in documentation, and never change meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$name,)*];

            /// The code as it appears on every wire.
            pub fn as_str(self) -> &'static str {
                match self { $(ErrorCode::$name => $text,)* }
            }

            /// The exit status of the command line for this failure: 124 after a time limit, 137 when another
            /// limit ended the run, 2 for bad usage, else 1.
            pub fn exit_status(self) -> u8 {
                match self { $(ErrorCode::$name => $exit,)* }
            }
        }
    };
}

codes! {
    /// An argument is unknown, missing, of the wrong type or out of range.
    ArgsInvalid = "args_invalid", 2;
    /// An input is larger than the surface takes.
    TooLarge = "too_large", 2;
    /// The language is not one that this installation has.
    UnknownLanguage = "unknown_language", 2;
    /// There is no guest of the language here, or its file is gone.
    GuestMissing = "guest_missing", 1;
    /// The guest speaks another version of the contract than this host.
    GuestMismatch = "guest_mismatch", 1;
    /// Parts of different releases were put together: a program, a package, and what is installed with it.
    VersionMismatch = "version_mismatch", 1;
    /// A component is not valid, or wants what is not granted to it.
    BadComponent = "bad_component", 1;
    /// The wall-clock limit ended the run.
    LimitTime = "limit_time", 124;
    /// The fuel ran out.
    LimitFuel = "limit_fuel", 137;
    /// The memory limit ended the run.
    LimitMemory = "limit_memory", 137;
    /// The stack limit ended the run.
    LimitStack = "limit_stack", 137;
    /// A host-side cap (handles, bytes of one host call) ended the run.
    LimitHost = "limit_host", 137;
    /// The guest crashed: a trap that no limit explains.
    GuestTrap = "guest_trap", 1;
    /// The project could not be opened: its bootstrap file ended the program or was stopped.
    ProjectFailed = "project_failed", 1;
    /// Network access that was not granted.
    NetworkDenied = "network_denied", 1;
    /// A write that was not granted.
    WriteDenied = "write_denied", 1;
    /// A path that is outside what the operator allows.
    PathDenied = "path_denied", 1;
    /// Nothing here can do what was asked; the hint names what could.
    CapabilityUnavailable = "capability_unavailable", 1;
    /// The provider cannot be reached, or broke down.
    ProviderUnavailable = "provider_unavailable", 1;
    /// A source that nobody has registered.
    UnknownSource = "unknown_source", 2;
    /// A template names a variable that there is not.
    TemplateMissingKey = "template_missing_key", 2;
    /// What was started did not come up in time.
    HealthTimeout = "health_timeout", 1;
    /// All places are taken.
    Busy = "busy", 1;
    /// The caller gave up, or the server ends.
    Cancelled = "cancelled", 130;
    /// A tool or another named thing does not exist.
    NotFound = "not_found", 1;
    /// There is no such sandbox, or it is another owner's, or it is destroyed.
    UnknownSandbox = "unknown_sandbox", 1;
    /// There is no such checkpoint, or it is another owner's.
    UnknownCheckpoint = "unknown_checkpoint", 1;
    /// The checkpoint belongs to another sandbox.
    CheckpointOfOtherSandbox = "checkpoint_of_other_sandbox", 1;
    /// The owner has a sandbox of that name already.
    NameTaken = "name_taken", 1;
    /// What was asked does not go with the state a thing is in.
    InvalidState = "invalid_state", 1;
    /// The owner, or the installation, has as much as it may have.
    QuotaExceeded = "quota_exceeded", 1;
    /// The sandbox's files take as much room as they may.
    LimitDisk = "limit_disk", 1;
    /// Somebody else changed it at the same time.
    Conflict = "conflict", 1;
    /// Saved state is missing, cut or changed.
    StateDamaged = "state_damaged", 1;
    /// Saved state cannot be written or read: the disk is full, read-only, or of another version.
    StateUnavailable = "state_unavailable", 1;
    /// No language model can be reached, or it gave no answer that can be used.
    ModelUnavailable = "model_unavailable", 1;
    /// The language model takes no more calls for now.
    ModelRateLimited = "model_rate_limited", 1;
    /// What may be spent on a language model is used up.
    BudgetExhausted = "budget_exhausted", 1;
    /// A package index cannot be reached, or gave no answer that can be used.
    IndexUnavailable = "index_unavailable", 1;
    /// No versions of the packages satisfy all requirements.
    Unsatisfiable = "unsatisfiable", 1;
    /// A package does not have the hash that the index states, or its archive holds what is not taken.
    PackageRefused = "package_refused", 1;
    /// The caller did not say who they are, or cannot be who they say.
    Unauthorized = "unauthorized", 1;
    /// The request came by a way that the operator does not allow: a foreign host name, or another site's page.
    Forbidden = "forbidden", 1;
    /// A fault of Dormouse.
    Internal = "internal", 1;
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failure: a stable code, one lower-case sentence, and a hint that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    code: ErrorCode,
    message: String,
    hint: Option<String>,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, source: None }
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Keeps the cause for logs; it is not repeated in the message.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// An argument that cannot be accepted.
    pub fn args_invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ArgsInvalid, message)
    }

    /// A fault of ours. The cause goes to the log, not to the caller.
    pub fn internal(
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(ErrorCode::Internal, message).with_source(source)
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The sentence, without the hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do about it, if it says more than its code does ([`ErrorCode::advice`]).
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// As `{"code", "message", "hint"}`, with the advice of its code where it has no hint of its own; the cause stays inside.
impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut fields = serializer.serialize_struct("Error", 3)?;
        fields.serialize_field("code", self.code.as_str())?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("hint", self.hint().unwrap_or_else(|| self.code.advice()))?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_reads_the_same_as_text_and_as_json() {
        for code in ErrorCode::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn an_error_shows_code_message_and_hint_but_not_its_cause() {
        let error = Error::internal("no luck", std::io::Error::other("secret")).with_hint("try again");
        let json = serde_json::to_string(&error).unwrap();
        assert_eq!(json, r#"{"code":"internal","message":"no luck","hint":"try again"}"#);
    }
}
