//! What is meant by the options of a language model.

use std::sync::Arc;
use std::time::Duration;

use dormouse::{Error, Model, ModelBudget, Resolve, Result};
use dormouse_models::{Api, Endpoint, HttpModel, Key};

use super::units;
use crate::args::ModelArgs;

/// Longest time of one call.
const LONGEST: Duration = Duration::from_secs(3_600);

/// The model, if one is named, and what each call of a tool may spend. Reads the key.
pub(crate) fn model(
    arguments: &ModelArgs,
    names: Option<&Arc<dyn Resolve>>,
) -> Result<(Option<Arc<dyn Model>>, ModelBudget)> {
    let mut budget = ModelBudget::default();
    budget.calls = arguments.llm_max_calls.unwrap_or(budget.calls);
    budget.tokens = arguments.llm_max_tokens.unwrap_or(budget.tokens);
    budget.answer_tokens = arguments.llm_answer_tokens.unwrap_or(budget.answer_tokens);
    if budget.answer_tokens == 0 {
        return Err(Error::args_invalid("`--llm-answer-tokens` must be at least 1"));
    }
    // What is left of an answer that is cut is cut by its tokens.
    let bytes = usize::try_from(budget.answer_tokens).unwrap_or(usize::MAX).saturating_mul(16);
    budget.answer_bytes = bytes.clamp(budget.answer_bytes, 512 << 10);
    if let Some(text) = &arguments.llm_timeout {
        budget.call_time = units::duration("--llm-timeout", text)?;
        if !(Duration::from_millis(10)..=LONGEST).contains(&budget.call_time) {
            return Err(Error::args_invalid("`--llm-timeout` must be 10ms to 1h"));
        }
        budget.time = budget.time.max(budget.call_time);
    }
    let Some(url) = &arguments.llm_endpoint else { return Ok((None, budget)) };
    let name = arguments.llm_model.as_deref().unwrap_or_default();
    let mut endpoint = Endpoint::new(url, Api::parse(&arguments.llm_api)?, name)?.with_time(budget.call_time);
    let key = match (&arguments.llm_key_env, &arguments.llm_key_file) {
        (Some(variable), _) => Some(Key::from_env(variable)?),
        (None, Some(file)) => Some(Key::from_file(file)?),
        (None, None) => None,
    };
    if let Some(key) = key {
        endpoint = endpoint.with_key(key);
    }
    let model: Arc<dyn Model> = Arc::new(HttpModel::with_names(endpoint, names)?);
    Ok((Some(model), budget))
}
