//! How a machine becomes what a state says: its files always, of its interpreters those whose guests are here.
//!
//! Memory goes on with the guest that it was saved with, the current one or one of another release ([`crate::kept`]). Memory of a
//! guest that cannot be had is kept as it is: the interpreter of its language begins fresh, or from the memory that an earlier run
//! has left with a guest that is here, and says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::connections::Taint;
use dormouse_core::{Error, ErrorCode, GuestName, Result};

use super::interpreter::Interpreter;
use super::{WasmMachine, quota};
use crate::engine::Metering;
use crate::loader::Loader;
use crate::snapshot::{StoredInterpreter, WasmSnapshot};

/// Interpreters by language.
pub(super) type Interpreters = BTreeMap<GuestName, Interpreter>;

impl WasmMachine {
    /// The interpreters of a state, asleep. None: it says nothing about them.
    ///
    /// # Errors
    /// What keeps a guest from being found, but that it is not here.
    pub(super) fn woken(loader: &Loader, state: &WasmSnapshot) -> Result<Option<Interpreters>> {
        let Some(latest) = &state.interpreters else { return Ok(None) };
        let mut of: BTreeMap<GuestName, Vec<Arc<StoredInterpreter>>> = BTreeMap::new();
        for stored in latest.values().chain(&state.older) {
            of.entry(stored.language().clone()).or_default().push(stored.clone());
        }
        let mut interpreters = Interpreters::new();
        for (language, memories) in of {
            let guest = Self::first_here(loader, &language, &memories)?;
            interpreters.insert(language, Interpreter::of_builds(memories, guest.as_deref()));
        }
        for lost in &state.parts.lost {
            interpreters.entry(lost.guest.clone()).or_default().note(Some(lost.clone()));
        }
        Ok(Some(interpreters))
    }

    /// The guest of the first of these memories whose guest can be had.
    fn first_here(
        loader: &Loader,
        language: &GuestName,
        memories: &[Arc<StoredInterpreter>],
    ) -> Result<Option<String>> {
        for stored in memories {
            match loader.wake(language, stored.guest()) {
                Ok(_) => return Ok(Some(stored.guest().to_owned())),
                Err(error) if is_elsewhere(error.code()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Loads the guest that the interpreter of a language goes on with, or begins with. Compiling it is not a run's own work.
    ///
    /// # Errors
    /// What keeps it from being loaded.
    pub(super) async fn prepare(&mut self, language: &GuestName) -> Result<()> {
        let stored = self.interpreters.get(language).and_then(Interpreter::stored);
        let hash = stored.filter(|_| self.spec.keeps_memory).map(|stored| stored.guest().to_owned());
        match hash {
            Some(hash) => self.loader.ready_of(language, &hash).await.map(drop),
            None => self.loader.ready(language, Metering::Epoch).await.map(drop),
        }
    }

    /// Becomes what a state says; what it does not include stays.
    pub(super) async fn enter(
        &mut self,
        state: &WasmSnapshot,
        interpreters: Option<Interpreters>,
    ) -> Result<()> {
        if state.tree.is_some() && interpreters.is_none() {
            // Interpreters that stay begin anew from their state: an instance cannot let go of its folders.
            self.settle().await?;
            for interpreter in self.interpreters.values_mut() {
                interpreter.sleep();
                interpreter.leave_files();
            }
        }
        if state.tree.is_some() && interpreters.is_some() {
            self.taint = Taint::default();
        }
        if state.parts.tainted {
            self.taint.set();
        }
        if let Some(tree) = &state.tree {
            self.files.0.restore(tree.clone().with_quota(quota(&self.spec)));
        }
        if let Some(mut interpreters) = interpreters {
            for interpreter in interpreters.values_mut() {
                match &state.tree {
                    Some(_) => interpreter.hold_files(&self.files.0),
                    None => interpreter.leave_files(),
                }
            }
            self.interpreters = interpreters;
            self.clock.reach(state.parts.clock);
            self.shown = self.shown.max(state.parts.clock);
        }
        self.files.0.forget_unheld();
        Ok(())
    }
}

/// Whether the guest that is meant is not here, which keeps nobody from the files.
pub(super) fn is_elsewhere(code: ErrorCode) -> bool {
    use ErrorCode::{BadComponent, GuestMismatch, GuestMissing, UnknownLanguage, VersionMismatch};
    matches!(code, BadComponent | GuestMismatch | GuestMissing | UnknownLanguage | VersionMismatch)
}

/// Refuses memory that is all that a state has and belongs to other guests, while there is something to stay with; else the
/// memories that are to be read before that is left.
///
/// # Errors
/// `guest_mismatch`.
pub(super) fn check(
    state: &WasmSnapshot,
    interpreters: &Option<Interpreters>,
) -> Result<Vec<Arc<StoredInterpreter>>> {
    let Some(interpreters) = interpreters else { return Ok(Vec::new()) };
    let memories: Vec<_> = interpreters.values().filter_map(Interpreter::stored).cloned().collect();
    let other = interpreters.iter().find(|(_, one)| !one.older().is_empty());
    let (true, true, Some((language, _))) = (state.tree.is_none(), memories.is_empty(), other) else {
        return Ok(memories);
    };
    Err(Error::new(
        ErrorCode::GuestMismatch,
        format!("the state holds memory alone, which belongs to another build of the {language} guest"),
    )
    .with_hint("it can be restored where that build is; a checkpoint with `include: both` or `files` can be restored with any"))
}
