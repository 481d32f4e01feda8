//! What can be saved of a sandbox at any moment, also while one of its calls runs: the tree is shared, and interpreters have their
//! last states.

use std::collections::BTreeMap;
use std::sync::Arc;

use dormouse_core::connections::Taint;
use dormouse_core::sandbox::{Beside, Include, Snapshot};
use dormouse_core::{GuestName, Result};
use dormouse_files::{Files, Held};

use super::WasmMachine;
use super::interpreter::Interpreter;
use crate::snapshot::{Parts, StoredInterpreter, WasmSnapshot};

/// The files, and the interpreters as they were when it was made.
pub(super) struct AsBefore {
    files: Files,
    /// What interpreters had open then.
    held: Vec<Held>,
    interpreters: BTreeMap<GuestName, Arc<StoredInterpreter>>,
    older: Vec<Arc<StoredInterpreter>>,
    parts: Parts,
    taint: Taint,
}

impl WasmMachine {
    /// Interpreters as their last states have them, and the files.
    pub(super) fn as_before(&self) -> AsBefore {
        let (mut interpreters, mut older) = (BTreeMap::new(), Vec::new());
        for (language, interpreter) in &self.interpreters {
            let mut memories = interpreter.memories().into_iter();
            if let Some(first) = memories.next() {
                interpreters.insert(language.clone(), first);
            }
            older.extend(memories);
        }
        let lost = self.interpreters.iter().filter_map(|(language, one)| one.lost(language)).collect();
        let held = self.interpreters.values().flat_map(Interpreter::held).collect();
        let parts = Parts { lost, clock: self.shown, ..Parts::default() };
        let (files, taint) = (self.files.0.clone(), self.taint.clone());
        AsBefore { files, held, interpreters, older, parts, taint }
    }
}

impl AsBefore {
    /// The state at this moment.
    pub(super) fn state(&self, include: Include) -> WasmSnapshot {
        let tainted = self.taint.is_set();
        if include == Include::Files {
            let parts = Parts { tainted, ..Parts::default() };
            let (tree, older) = (Some(self.files.snapshot()), Vec::new());
            return WasmSnapshot { interpreters: None, tree, older, parts };
        }
        let tree = (include != Include::Memory).then(|| self.files.snapshot_with(&self.held));
        let (interpreters, older) = (Some(self.interpreters.clone()), self.older.clone());
        WasmSnapshot { interpreters, tree, older, parts: Parts { tainted, ..self.parts.clone() } }
    }
}

impl Beside for AsBefore {
    fn snapshot(&self, include: Include) -> Result<Arc<dyn Snapshot>> {
        Ok(Arc::new(self.state(include)))
    }
}
