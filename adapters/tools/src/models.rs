//! Which language model a call may use, and how snippets reach it: `llm_query` and `llm_query_batched` in Python, and the
//! callback `llm_query` in every language.
//!
//! The operator's model comes first, then the one that the front door brings with the call. Whatever a call of a tool asks,
//! it asks through one [`MeteredModel`]: one budget. While the model answers, the run's wall clock stands still.

use std::sync::Arc;

use dormouse_core::sandbox::Owner;
use dormouse_core::{
    Callback, Callbacks, Error, ErrorCode, Language, MeteredModel, Model, ModelBudget, ModelTotals,
    ModelUsage, Prompt, Result,
};
use futures::future::try_join_all;
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;

use crate::call::CallContext;

/// The callback's name.
const NAME: &str = "llm_query";
/// What binds it in Python.
const PYTHON: &str = include_str!("models/llm_query.py");
/// The names that it has there.
pub(crate) const PYTHON_NAMES: [&str; 3] = ["llm_query", "llm_query_batched", "LlmError"];
/// Prompts of one batch.
const BATCH: usize = 32;
/// Prompts of a batch that are under way at one time.
const AT_ONCE: usize = 4;

/// The operator's model and budget, and what has been used.
#[derive(Clone, Default)]
pub(crate) struct Models {
    own: Option<Arc<dyn Model>>,
    budget: ModelBudget,
    totals: ModelTotals,
}

impl Models {
    /// Without a model, the budget is for those that come with calls.
    pub(crate) fn new(own: Option<Arc<dyn Model>>, budget: ModelBudget) -> Self {
        Self { own, budget, totals: ModelTotals::default() }
    }

    /// Whether the operator has named one.
    pub(crate) fn is_configured(&self) -> bool {
        self.own.is_some()
    }

    /// What the operator's is called; empty when there is none.
    pub(crate) fn name(&self) -> &str {
        self.own.as_ref().map_or("", |model| model.name())
    }

    /// The model of a call, if there is one, with a budget that has not been touched.
    pub(crate) fn of_call(&self, context: &CallContext) -> Option<MeteredModel> {
        let model = self.own.clone().or_else(|| context.model.clone())?;
        Some(MeteredModel::new(model, self.budget.clone(), context.owner.as_str(), self.totals.clone()))
    }

    /// What an owner has used since the process began.
    pub(crate) fn used(&self, owner: &Owner) -> ModelUsage {
        self.totals.of(owner.as_str())
    }

    /// What one call may spend.
    pub(crate) fn budget(&self) -> &ModelBudget {
        &self.budget
    }
}

/// The error where no model can be reached.
pub(crate) fn unreachable() -> Error {
    let message = "no model reachable: client declared no sampling capability and no --llm-endpoint is set";
    Error::new(ErrorCode::CapabilityUnavailable, message)
        .with_hint("have the operator set --llm-endpoint, or use a client that supports sampling")
}

/// Offers a run the model. Where there is none, asking raises.
pub(crate) fn offer(model: Option<MeteredModel>, callbacks: &mut Callbacks) -> Result<()> {
    let schema = json!({
        "type": "object",
        "properties": {
            "prompt": {"type": "string"},
            "prompts": {"type": "array", "items": {"type": "string"}},
            "system": {"type": "string"},
            "max_tokens": {"type": "integer"},
        },
    });
    let ask = move |arguments: Json| {
        let model = model.clone();
        async move {
            let model = model.ok_or_else(unreachable).map_err(|error| told(&error))?;
            answer(&model, &arguments).await.map_err(|error| told(&error))
        }
    };
    let callback = Callback::new("Asks a language model and answers its text.", schema, ask);
    callbacks.insert(NAME, callback.stopping_clock().bound(Language::python(), PYTHON))
}

/// An error as the snippet's exception says it: its code comes first.
fn told(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("{}: {error}; {hint}", error.code()),
        None => format!("{}: {error}", error.code()),
    }
}

async fn answer(model: &MeteredModel, arguments: &Json) -> Result<Json> {
    let text = |name: &str| match &arguments[name] {
        Json::Null => Ok(None),
        Json::String(text) => Ok(Some(text.clone())),
        _ => Err(Error::args_invalid(format!("`{name}` is not a string"))),
    };
    let system = text("system")?;
    let max_tokens = match &arguments["max_tokens"] {
        Json::Null => 0,
        number => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0)
            .ok_or_else(|| Error::args_invalid("`max_tokens` is not a number from 1"))?,
    };
    let prompt = |text: String| Prompt { system: system.clone(), max_tokens, ..Prompt::question(text) };
    match (text("prompt")?, &arguments["prompts"]) {
        (Some(question), Json::Null) => Ok(model.complete(prompt(question)).await?.told().into()),
        (None, Json::Array(questions)) if questions.iter().all(Json::is_string) => {
            if questions.len() > BATCH {
                let message = format!("a batch of {} prompts, at most {BATCH} are taken", questions.len());
                return Err(Error::args_invalid(message).with_hint("ask in several batches"));
            }
            let questions = questions.iter().filter_map(Json::as_str).map(|text| prompt(text.to_owned()));
            batch(model, questions.collect()).await
        }
        _ => Err(Error::args_invalid("give `prompt`, a text, or `prompts`, a list of texts")),
    }
}

/// The answers in the order of the prompts; the first failure ends them all. A batch that cannot be asked as a whole is not
/// begun.
async fn batch(model: &MeteredModel, prompts: Vec<Prompt>) -> Result<Json> {
    let left = u64::from(model.budget().calls).saturating_sub(model.usage().calls);
    if prompts.len() as u64 > left {
        let message = format!("a batch of {} prompts, and {left} calls of the model are left", prompts.len());
        return Err(Error::new(ErrorCode::BudgetExhausted, message)
            .with_hint("ask about fewer texts; the operator can raise the budget"));
    }
    let places = Semaphore::new(AT_ONCE);
    let places = &places;
    let asked = prompts.into_iter().map(|prompt| async move {
        let _place = places.acquire().await;
        model.complete(prompt).await.map(|completion| Json::from(completion.told()))
    });
    Ok(Json::Array(try_join_all(asked).await?))
}
