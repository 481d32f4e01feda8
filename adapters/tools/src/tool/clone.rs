//! A repository that a new sandbox begins with (requirements S0-22, S4-03).

use std::time::Duration;

use dormouse_core::sandbox::{Owner, ProviderName, Sandbox};
use dormouse_core::sandboxes::CommandLine;
use dormouse_core::{Error, ErrorCode, GuestPath, Result, Status};

use super::verb::{Kept, by_id};

/// Longest address or name of a branch, in bytes.
pub(crate) const MAX: usize = 4 << 10;
/// What a clone may take; the operator's bound of command lines holds as well.
const TIME: Duration = Duration::from_secs(300);
/// Bytes shown of what git said.
const SHOWN: usize = 2 << 10;
/// Where the repository goes.
const FOLDER: &str = "/workspace";

/// What is to be cloned.
pub(crate) struct Repository {
    pub(crate) address: String,
    pub(crate) branch: Option<String>,
}

impl Repository {
    /// Clones it into the sandbox's folder. When that fails the sandbox is destroyed.
    ///
    /// # Errors
    /// `args_invalid` with what git said; what keeps a command line from running.
    pub(crate) async fn into(self, kept: &Kept, owner: &Owner, sandbox: &Sandbox) -> Result<()> {
        let cloned = self.clone_into(kept, owner, sandbox).await;
        if cloned.is_err()
            && let Err(error) = kept.sandboxes.destroy(owner, &by_id(&sandbox.id)).await
        {
            tracing::warn!(%error, "a sandbox whose repository could not be cloned stays");
        }
        cloned
    }

    async fn clone_into(&self, kept: &Kept, owner: &Owner, sandbox: &Sandbox) -> Result<()> {
        let branch =
            self.branch.as_deref().map(|name| format!("--branch={} ", quoted(name))).unwrap_or_default();
        let mut line = CommandLine::new(format!("git clone -q {branch}-- {} .", quoted(&self.address)));
        line.directory = Some(GuestPath::parse(FOLDER)?);
        line.wall = TIME.min(kept.sandboxes.rules().command);
        // Containers have no network: the sandbox is wasm's, which has the operator's git, until it has its files.
        let (provider, memory) = (sandbox.spec.provider, sandbox.spec.memory);
        if provider != ProviderName::Wasm {
            let least = memory.min(kept.sandboxes.rules().defaults.memory);
            kept.sandboxes.move_to(owner, &by_id(&sandbox.id), ProviderName::Wasm, least).await?;
        }
        let (_, executed) = kept.sandboxes.exec(owner, &by_id(&sandbox.id), line).await?;
        if provider != ProviderName::Wasm {
            kept.sandboxes.move_to(owner, &by_id(&sandbox.id), provider, memory).await?;
        }
        let outcome = executed.outcome;
        if let Status::Stopped(error) = outcome.status {
            return Err(error);
        }
        if outcome.exit_code() == 0 {
            return Ok(());
        }
        let said = outcome.stderr.text;
        let said: String = said.trim().chars().take(SHOWN).collect();
        let unreachable = said.contains("--allow-git");
        let code = if unreachable { ErrorCode::CapabilityUnavailable } else { ErrorCode::ArgsInvalid };
        Err(Error::new(code, format!("the repository cannot be cloned: {said}")).with_hint(
            "no sandbox was left behind; check the address and the branch, and that the operator allows the address",
        ))
    }
}

/// A word of the command language.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
