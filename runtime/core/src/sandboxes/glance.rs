//! A look at a sandbox's files that is no call: nothing wakes, nobody waits, and no time begins anew.
//!
//! Owns: where they are looked at. That is the sandbox itself, when it is awake here and no call is in it; else what was last saved.

use super::Sandboxes;
use crate::sandbox::{Entry, ProviderName, Sandbox};
use crate::{ErrorCode, GuestPath, Result};

impl Sandboxes {
    /// The entries below a folder and its folders, by path, at most `most`; none where there is no such folder. While a call runs,
    /// and of a sandbox that another process has, it is what was saved last. A container that is not running is not looked into.
    ///
    /// # Errors
    /// What keeps its state from being read.
    pub async fn glance(&self, sandbox: &Sandbox, path: &GuestPath, most: usize) -> Result<Vec<Entry>> {
        let resident = self.inner.residents().get(&sandbox.id).cloned();
        let mut asleep = None;
        if let Some(mut live) = resident.as_ref().and_then(|resident| resident.live.try_lock().ok())
            && live.generation == sandbox.generation
        {
            asleep = live.asleep.clone();
            if let Some(machine) = live.machine.as_mut().filter(|machine| !machine.is_gone()) {
                return or_none(machine.files().list(path, true, most).await);
            }
        }
        if sandbox.spec.provider != ProviderName::Wasm {
            return Ok(Vec::new());
        }
        let state = match (asleep, sandbox.state) {
            (Some(state), _) => state,
            (None, Some(saved)) => self.inner.clone().loaded(saved).await?,
            (None, None) => return Ok(Vec::new()),
        };
        let mut machine = self.inner.provider.machine(&sandbox.spec, Some(state)).await?;
        or_none(machine.files().list(path, true, most).await)
    }
}

fn or_none(listed: Result<(Vec<Entry>, u64)>) -> Result<Vec<Entry>> {
    match listed {
        Err(error) if error.code() == ErrorCode::NotFound => Ok(Vec::new()),
        listed => listed.map(|(entries, _)| entries),
    }
}
