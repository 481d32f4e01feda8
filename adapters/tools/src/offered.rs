//! What programs can call besides their own sandbox: the language model, and tools of other servers.

use std::sync::Arc;

use dormouse_core::connections::{Caller, Taint};
use dormouse_core::sandbox::Owner;
use dormouse_core::sandboxes::RunTools;
use dormouse_core::{
    Approver, Callbacks, Connections, Language, MeteredModel, ModelUsage, Programs, Result, RunContext,
};

use crate::call::CallContext;
use crate::models::{self, Models};

/// What the operator offers.
#[derive(Clone, Default)]
pub(crate) struct Offered {
    pub(crate) models: Models,
    pub(crate) connections: Option<Arc<dyn Connections>>,
}

impl Offered {
    /// Lets a call's program ask the model, where there is one, and call the tools that are connected.
    ///
    /// # Errors
    /// None that a caller could cause.
    pub(crate) fn offer(
        &self,
        context: &CallContext,
        language: Option<&Language>,
        run: &mut RunContext,
    ) -> Result<()> {
        let caller = caller(&context.owner, language, context.approver.as_ref(), &run.taint);
        self.give(&caller, self.models.of_call(context), &mut run.callbacks)
    }

    fn give(&self, caller: &Caller, model: Option<MeteredModel>, callbacks: &mut Callbacks) -> Result<()> {
        if let Some(model) = model {
            models::offer(Some(model), callbacks)?;
        }
        if let Some(connections) = &self.connections {
            callbacks.set_catalog(connections.catalog(caller));
        }
        Ok(())
    }

    /// What a command line can start to call tools, where servers are connected.
    pub(crate) fn programs(
        &self,
        owner: &Owner,
        approver: Option<&Arc<dyn Approver>>,
        taint: &Taint,
    ) -> Option<Arc<dyn Programs>> {
        let connections = self.connections.as_ref()?;
        Some(connections.programs(&caller(owner, None, approver, taint)))
    }
}

/// For whom tools are offered.
pub(crate) fn caller(
    owner: &Owner,
    language: Option<&Language>,
    approver: Option<&Arc<dyn Approver>>,
    taint: &Taint,
) -> Caller {
    let (owner, language, approver) = (owner.clone(), language.cloned(), approver.cloned());
    Caller { owner, language, approver, taint: taint.clone() }
}

impl RunTools for Offered {
    fn servers(&self) -> Vec<String> {
        let servers = self.connections.as_ref().map(|connections| connections.servers());
        servers.unwrap_or_default().into_iter().map(|server| server.name).collect()
    }

    fn callbacks(&self, caller: &Caller, spent: ModelUsage) -> (Callbacks, Option<MeteredModel>) {
        let mut callbacks = Callbacks::default();
        let model = self.models.of_call(&CallContext::of(caller.owner.clone()));
        let model = model.map(|model| model.having_spent(spent));
        if let Err(error) = self.give(caller, model.clone(), &mut callbacks) {
            tracing::warn!(%error, "a run has no tools");
        }
        (callbacks, model)
    }
}
