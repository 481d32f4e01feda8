//! What goes on of a container's interpreters when they end: Python's variables, and that an answer says what is lost.
//!
//! Owns: when variables are taken and given back. Does not own: what is in them ([`crate::variables`]).

use dormouse_core::sandbox::Lost;
use dormouse_core::{GuestName, Language, Recovery};

use crate::lost::EARLIER;
use crate::machine::ContainerMachine;
use crate::variables::Variables;

impl ContainerMachine {
    /// Lets go of the interpreters that run, and notes that their variables are gone.
    pub(crate) fn lose_running(&mut self) {
        let awake: Vec<GuestName> = self.interpreters.awake().into_iter().map(GuestName::from).collect();
        self.interpreters.clear();
        self.lost.add(&awake);
        let python = GuestName::python();
        if awake.contains(&python) && self.variables.are_kept() {
            // It goes on from what was pickled last.
            self.lost.note(Lost { guest: python, recovery: Recovery::Earlier, reason: EARLIER.into() });
        }
    }

    /// Has Python's variables pickled, where the sandbox wants that and something ran since the last time. What goes wrong leaves
    /// none: then they end with the container, which the next run says.
    pub(crate) async fn keep_variables(&mut self) {
        let python = Language::python();
        if !self.spec.pickles || !self.variables.is_stale() || !self.interpreters.awake().contains(&python) {
            return;
        }
        match self.pickled(&python).await {
            Ok(kept) => self.variables = Variables::pickled(kept),
            Err(why) => {
                tracing::debug!(container = self.container.id(), why, "variables are not kept");
                self.variables = Variables::default();
            }
        }
    }

    /// What is to be said of an interpreter that began with kept variables: which of them are missing.
    pub(crate) fn say_missing(&mut self, missing: Option<String>) {
        let python = GuestName::python();
        let before = self.lost.of(&python);
        let Some(reason) = missing.or_else(|| before.as_ref().map(|lost| lost.reason.clone())) else {
            return;
        };
        self.lost.note(Lost { guest: python, recovery: Recovery::Earlier, reason });
    }
}
