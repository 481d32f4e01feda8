//! A repository that a new sandbox begins with (requirements S0-22, S4-03).

use std::time::Duration;

use dormouse_core::sandbox::{Executed, must_be_seen};
use dormouse_core::sandboxes::{Beginning, CommandLine};
use dormouse_core::{Error, ErrorCode, GuestPath, Result, Status};

use crate::call::Caller;
use crate::services::Services;

/// Longest address or name of a branch, in bytes.
pub(crate) const MAX: usize = 4 << 10;
/// What a clone may take; the operator's bound of command lines holds as well.
const TIME: Duration = Duration::from_secs(300);
/// Characters shown of what git said.
const SHOWN: usize = 2 << 10;
/// Where the repository goes.
const FOLDER: &str = "/workspace";

/// What is to be cloned.
pub(crate) struct Repository {
    pub(crate) address: String,
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// Clones it into the folder of a new sandbox; the caller is told what has been received.
    ///
    /// # Errors
    /// What keeps the command line from being written. The beginning's own: `args_invalid` with what git said.
    pub(crate) fn beginning(self, services: &Services, caller: &Caller) -> Result<Beginning> {
        if is_of_the_sandbox(&self.address) {
            let shown: String = self.address.escape_debug().take(200).collect();
            return Err(Error::args_invalid(format!("the field `repo` is `{shown}`, a folder of the new sandbox, which is empty"))
                .with_hint("give the address of a repository, such as https://HOST/PATH, or the path of a mounted folder"));
        }
        let branch =
            self.branch.as_deref().map(|name| format!("--branch={} ", quoted(name))).unwrap_or_default();
        // A clone goes into an empty folder, so that for artifacts makes way for it, and comes back where it can.
        let mut line = CommandLine::new(format!(
            "rmdir outputs; git clone -q {branch}-- {} . && {{ mkdir -p outputs 2>/dev/null || true; }}",
            quoted(&self.address)
        ));
        line.directory = Some(GuestPath::parse(FOLDER)?);
        line.sink = caller.output.clone();
        line.wall = TIME.min(services.sandboxes.rules().command);
        Ok(Beginning { line, judge })
    }
}

/// Whether an address is the path of a folder that the sandbox has for its own files: a relative one, or one below these folders.
fn is_of_the_sandbox(address: &str) -> bool {
    let path = address.strip_prefix("file://").unwrap_or(address);
    match GuestPath::parse(path) {
        Ok(path) => must_be_seen(&path, &[]).is_ok(),
        Err(_) => !address.contains(':') && !address.starts_with('/'),
    }
}

/// Whether it has been cloned.
fn judge(executed: Executed) -> Result<()> {
    let outcome = executed.outcome;
    if let Status::Stopped(error) = outcome.status {
        return Err(error);
    }
    if outcome.exit_code() == 0 {
        return Ok(());
    }
    let said = readable(&outcome.stderr.text);
    let unreachable = said.contains("--allow-git");
    let code = if unreachable { ErrorCode::CapabilityUnavailable } else { ErrorCode::ArgsInvalid };
    Err(Error::new(code, format!("the repository cannot be cloned: {said}")).with_hint(
        "no sandbox was left behind; check the address and the branch, and that the operator allows the address",
    ))
}

/// The beginning of what git said, which has the request's own text in it: what nobody sees and what a terminal obeys is escaped.
fn readable(said: &str) -> String {
    let shown = |c: char| -> String {
        if matches!(c, '\n' | '\'' | '"' | '\\') { c.into() } else { c.escape_debug().collect() }
    };
    said.trim().chars().take(SHOWN).map(shown).collect()
}

/// A word of the command language.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_new_sandbox_is_no_repository() {
        for own in [".", "a/b", "..", "/workspace", "/workspace/a", "/tmp/x", "file:///workspace", ""] {
            assert!(is_of_the_sandbox(own), "{own}");
        }
        for other in
            ["https://host/a.git", "host:a/b", "git@host:a", "/project", "file:///project/a", "/workspaces"]
        {
            assert!(!is_of_the_sandbox(other), "{other}");
        }
    }

    #[test]
    fn what_git_said_of_a_hostile_address_is_shown_without_what_a_terminal_obeys() {
        let said = "fatal: repository '\u{1b}]0;title\u{7}\u{9b}2J\r\u{202e}ä' does not exist\nhint: none\n";
        let shown =
            "fatal: repository '\\u{1b}]0;title\\u{7}\\u{9b}2J\\r\\u{202e}ä' does not exist\nhint: none";
        assert_eq!(readable(said), shown);
    }
}
