//! What the parts of a file must hold by themselves: numbers within their bounds, turns, calls and gates that can be played.

use dormouse_core::{Error, Result};
use dormouse_models::{Api, Endpoint};
use serde_saphyr::Spanned;

use super::arena::{ModelSpec, Timeouts};
use super::scenario::{Gate, ScenarioSpec, ToolCall};
use super::yaml::Source;
use crate::template;

/// Most repetitions of a scenario; most turns, calls of a turn, and gates.
const MAX_REPETITIONS: u32 = 1_000;
const MAX_STEPS: usize = 200;
/// Longest time that can be set, in seconds (a day).
const MAX_SECONDS: u64 = 86_400;

pub(super) fn check_timeouts(source: &Source, timeouts: &Spanned<Timeouts>) -> Result<()> {
    let Timeouts { open_seconds, call_seconds, repetition_seconds } = timeouts.value;
    for (name, seconds) in [
        ("open_seconds", open_seconds),
        ("call_seconds", call_seconds),
        ("repetition_seconds", repetition_seconds),
    ] {
        if !(1..=MAX_SECONDS).contains(&seconds) {
            let message = format!("`{name}` is {seconds}: it must be 1 to {MAX_SECONDS}");
            return Err(source.error(Some(timeouts.referenced), &message));
        }
    }
    Ok(())
}

pub(super) fn check_model(source: &Source, model: &Spanned<ModelSpec>) -> Result<()> {
    let at = model.referenced;
    let ModelSpec { url, name, max_iterations, budget, .. } = &model.value;
    Endpoint::new(url, Api::OpenAi, name).map_err(|error| source.placed(at, &error))?;
    for (name, value, most) in [
        ("max_iterations", u64::from(*max_iterations), 200),
        ("budget.calls", u64::from(budget.calls), 10_000),
        ("budget.tokens", budget.tokens, u64::MAX),
        ("budget.answer_tokens", u64::from(budget.answer_tokens), 1_000_000),
        ("budget.call_seconds", budget.call_seconds, 3_600),
    ] {
        if !(1..=most).contains(&value) {
            return Err(source.error(Some(at), &format!("`{name}` is {value}: it must be 1 to {most}")));
        }
    }
    Ok(())
}

pub(super) fn repetitions(source: &Source, given: Option<&Spanned<u32>>) -> Result<Option<u32>> {
    match given {
        None => Ok(None),
        Some(given) if (1..=MAX_REPETITIONS).contains(&given.value) => Ok(Some(given.value)),
        Some(given) => {
            let message = format!("`repetitions` is {}: it must be 1 to {MAX_REPETITIONS}", given.value);
            Err(source.error(Some(given.referenced), &message))
        }
    }
}

/// Checks what has a place inside a scenario.
pub(super) fn check_scenario(source: &Source, spec: &ScenarioSpec) -> Result<()> {
    repetitions(source, spec.repetitions.as_ref())?;
    if spec.turns.is_empty() && spec.conversation_assertions.is_empty() {
        return Err(source.error(None, "a scenario has neither turns nor gates"));
    }
    for name in spec.variables.keys() {
        if !template::is_key(name) {
            let shown: String = name.escape_debug().take(64).collect();
            let message =
                format!("`{shown}` is not the name of a variable: use letters, digits, `_`, `-` and `.`");
            return Err(source.error(None, &message));
        }
    }
    // What earlier calls keep can be named by later ones.
    let mut names: Vec<&str> = spec.variables.keys().map(String::as_str).collect();
    for (number, turn) in spec.turns.iter().enumerate() {
        let calls = turn.value.tool_calls.as_deref();
        if number >= MAX_STEPS || calls.is_some_and(|calls| calls.len() > MAX_STEPS) {
            let message = format!("there are at most {MAX_STEPS} turns, and {MAX_STEPS} calls in one");
            return Err(source.error(Some(turn.referenced), &message));
        }
        if turn.value.content.is_none() && calls.is_none_or(<[_]>::is_empty) {
            return Err(source.error(Some(turn.referenced), "a turn has neither `content` nor `tool_calls`"));
        }
        let content = turn.value.content.as_deref().unwrap_or_default();
        template::check_text(content, &names).map_err(|error| source.placed(turn.referenced, &error))?;
        for Spanned { value: call, referenced: at, .. } in calls.unwrap_or_default() {
            check_call(call, &mut names).map_err(|error| source.placed(*at, &error))?;
        }
    }
    if spec.conversation_assertions.len() > MAX_STEPS {
        return Err(source.error(None, &format!("a scenario has at most {MAX_STEPS} gates")));
    }
    for Spanned { value: gate, referenced: at, .. } in &spec.conversation_assertions {
        check_gate(gate, &names).map_err(|error| source.placed(*at, &error))?;
    }
    Ok(())
}

fn check_call<'a>(call: &'a ToolCall, names: &mut Vec<&'a str>) -> Result<()> {
    template::check(&call.arguments, names)?;
    let both = call.expect.error.is_some()
        && (call.expect.is_error || call.expect.text.is_some() || !call.expect.structured.is_empty());
    if both {
        return Err(Error::args_invalid(
            "a call that must fail with `error` has no answer to expect anything of",
        ));
    }
    match (&call.save_as, &call.save_from) {
        (Some(name), _) if !template::is_key(name) => Err(Error::args_invalid(
            "`save_as` is not the name of a variable: use letters, digits, `_`, `-` and `.`",
        )),
        (Some(name), _) => {
            names.push(name);
            Ok(())
        }
        (None, Some(_)) => Err(Error::args_invalid("`save_from` goes with `save_as`")),
        (None, None) => Ok(()),
    }
}

fn check_gate(gate: &Gate, names: &[&str]) -> Result<()> {
    match gate {
        Gate::ToolExec(gate) => {
            template::check(&gate.args, names)?;
            if !(1..=MAX_SECONDS).contains(&gate.timeout_seconds) {
                let message =
                    format!("`timeout_seconds` is {}: it must be 1 to {MAX_SECONDS}", gate.timeout_seconds);
                return Err(Error::args_invalid(message));
            }
            Ok(())
        }
        Gate::ToolsCalled(gate) if gate.tools.is_empty() => {
            Err(Error::args_invalid("`tools` is empty: name the tools that must have been called"))
        }
        Gate::ToolsCalled(_) | Gate::OutputContains(_) => Ok(()),
    }
}
