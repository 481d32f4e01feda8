//! The loop of a sub-agent: the model's turn, its code in the sandbox, what came of it, and again.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dormouse_core::model::{Message, Role};
use dormouse_core::sandbox::SandboxId;
use dormouse_core::{
    Bounds, Callback, Callbacks, Error, ErrorCode, EvalRequest, Language, MeteredModel, Outcome, Prompt,
    Result, Status,
};
use serde_json::{Map, Value as Json, json};

use super::reply::{Turn, turn};
use super::signature::{Signature, Slot};
use super::texts;
use super::transcript::Transcript;
use crate::call::Caller;
use crate::models;
use crate::services::{Services, by_id};

/// What binds `submit` in Python.
const SUBMIT: &str = include_str!("submit.py");
/// What takes it away when the run has ended.
const WITHDRAW: &str = include_str!("withdraw.py");
/// Time of one run of the model's code, if the operator allows that much.
const WALL: Duration = Duration::from_secs(30);
/// Bytes of a value that the model may see.
const VALUE_BYTES: u32 = 16 << 10;

/// A task that is about to be done.
pub(crate) struct Task {
    pub(super) signature: Signature,
    pub(super) inputs: Map<String, Json>,
    pub(super) iterations: u32,
    pub(super) model: MeteredModel,
}

/// Checks what is known of the inputs without a sandbox.
///
/// # Errors
/// `args_invalid`, `too_large`.
pub(super) fn check_inputs(signature: &Signature, inputs: &Map<String, Json>, most: usize) -> Result<()> {
    let names =
        || signature.inputs.iter().map(|slot| format!("`{}`", slot.name)).collect::<Vec<_>>().join(", ");
    if let Some(stray) = inputs.keys().find(|name| !signature.inputs.iter().any(|slot| slot.name == **name)) {
        let shown: String = stray.escape_debug().take(48).collect();
        return Err(Error::args_invalid(format!("`{shown}` is not an input of the signature"))
            .with_hint(format!("its inputs are {}", names())));
    }
    for slot in &signature.inputs {
        if inputs.get(&slot.name).is_some_and(|value| !slot.kind.takes_json(value)) {
            return Err(Error::args_invalid(format!(
                "the input `{}` is not of the type {}",
                slot.name, slot.written
            ))
            .with_hint("give a value of that type, or another type in the signature"));
        }
    }
    let size = crate::call::fit::encoded_len(inputs);
    if size > most {
        let message = format!("the inputs have {size} bytes, at most {most} are taken");
        return Err(Error::new(ErrorCode::TooLarge, message)
            .with_hint("load files into variables first, and leave those inputs out"));
    }
    Ok(())
}

impl Task {
    /// Does it, and writes down what is said and seen in each turn.
    ///
    /// # Errors
    /// `args_invalid` for an input that is nowhere; `budget_exhausted` when turns or calls are used up; and what the model
    /// and the sandbox say.
    pub(super) async fn run(
        &self,
        services: &Services,
        caller: &Caller,
        id: &SandboxId,
        transcript: &mut Transcript,
    ) -> Result<()> {
        let task = self.bind(services, caller, id).await?;
        let mut messages = vec![Message { role: Role::User, text: task }];
        for _ in 0..self.iterations {
            forget(&mut messages, self.model.budget().prompt_bytes);
            let system = Some(texts::SYSTEM.to_owned());
            let prompt = Prompt { system, messages: messages.clone(), max_tokens: 0 };
            let answer = self.model.complete(prompt).await?;
            transcript.said(&answer.text);
            let (answer, is_cut) = (answer.text, answer.is_cut);
            let mut seen = match turn(&answer, &self.signature.outputs) {
                Turn::Nothing(why) => why.to_owned(),
                Turn::Outputs(outputs) => {
                    for (name, value) in outputs {
                        self.set(services, caller, id, name, &value).await?;
                    }
                    return Ok(());
                }
                Turn::Code(blocks) => match self.steps(services, caller, id, blocks).await? {
                    Some(seen) => seen,
                    None => return Ok(()),
                },
            };
            if is_cut {
                seen.push_str(texts::CUT);
            }
            transcript.seen(&seen);
            let text = if answer.trim().is_empty() { "(nothing)".into() } else { answer };
            messages.push(Message { role: Role::Assistant, text });
            messages.push(Message { role: Role::User, text: seen });
        }
        let message = format!("the sub-agent has used its {} iterations and has no outputs", self.iterations);
        Err(Error::new(ErrorCode::BudgetExhausted, message).with_hint(
            "raise max_iterations, or give a smaller task; what it has computed is still in the sandbox",
        ))
    }

    /// Binds the inputs; answers the text of the task.
    async fn bind(&self, services: &Services, caller: &Caller, id: &SandboxId) -> Result<String> {
        for (name, value) in &self.inputs {
            self.set(services, caller, id, name.clone(), value).await?;
        }
        let (variables, _) =
            services.sandboxes.variables(&caller.owner, &by_id(id), Language::python()).await?;
        let there = |slot: &&Slot| {
            self.inputs.contains_key(&slot.name) || variables.iter().any(|known| known.name == slot.name)
        };
        if let Some(missing) = self.signature.inputs.iter().find(|slot| !there(slot)) {
            let message =
                format!("the input `{}` is neither given nor a variable of the sandbox", missing.name);
            return Err(
                Error::args_invalid(message).with_hint("give it in `inputs`, or make the variable first")
            );
        }
        Ok(texts::task(&self.signature, &variables))
    }

    async fn set(
        &self,
        services: &Services,
        caller: &Caller,
        id: &SandboxId,
        name: String,
        value: &Json,
    ) -> Result<()> {
        let (handle, json) = (by_id(id), value.to_string());
        services
            .sandboxes
            .set_variable(&caller.owner, &handle, Language::python(), name, json)
            .await
            .map(drop)
    }

    /// Runs blocks one after another, to the first that does not return. None: the outputs are there.
    async fn steps(
        &self,
        services: &Services,
        caller: &Caller,
        id: &SandboxId,
        blocks: Vec<String>,
    ) -> Result<Option<String>> {
        let mut seen = Vec::new();
        for block in blocks {
            let submitted = Arc::new(Mutex::new(false));
            let outcome = self.step(services, caller, id, block, submitted.clone()).await?;
            let stopped = matches!(outcome.status, Status::Stopped(_));
            // A run that was stopped has lost its variables, and its outputs with them.
            if !stopped && *submitted.lock().unwrap_or_else(PoisonError::into_inner) {
                return Ok(None);
            }
            seen.push(texts::seen(&outcome));
            if !matches!(outcome.status, Status::Returned(_)) {
                break;
            }
        }
        Ok(Some(seen.join("\n")))
    }

    async fn step(
        &self,
        services: &Services,
        caller: &Caller,
        id: &SandboxId,
        code: String,
        submitted: Arc<Mutex<bool>>,
    ) -> Result<Outcome> {
        let policy = services.sandboxes.policy();
        let mut request = EvalRequest::new(Language::python(), code);
        request.name = "<sub-agent>".into();
        request.context.limits = policy.defaults.clone();
        request.context.limits.wall = WALL.min(policy.ceiling.wall);
        request.context.bounds = Bounds { total_bytes: VALUE_BYTES, ..Bounds::default() };
        request.allow_eval = policy.allow_eval;
        models::offer(Some(self.model.clone()), &mut request.context.callbacks)?;
        offer_submit(&self.signature, submitted, &mut request.context.callbacks)?;
        Ok(services.sandboxes.eval(&caller.owner, &by_id(id), request).await?.1)
    }
}

/// Offers a run the end of the task.
fn offer_submit(signature: &Signature, submitted: Arc<Mutex<bool>>, callbacks: &mut Callbacks) -> Result<()> {
    let outputs = signature.outputs.clone();
    let submit = move |arguments: Json| {
        let told = check_outputs(&outputs, &arguments["types"]);
        if told.is_ok() {
            *submitted.lock().unwrap_or_else(PoisonError::into_inner) = true;
        }
        async move { told.map(|()| Json::Null) }
    };
    let schema =
        json!({"type": "object", "properties": {"types": {"type": "object"}}, "required": ["types"]});
    let callback = Callback::new("Ends the task with these outputs.", schema, submit);
    callbacks.insert("submit", callback.bound_for_a_run(Language::python(), SUBMIT, WITHDRAW))
}

fn check_outputs(outputs: &[Slot], types: &Json) -> Result<(), String> {
    let given = types.as_object().ok_or("submit takes outputs by name")?;
    if let Some(stray) = given.keys().find(|name| !outputs.iter().any(|slot| slot.name == **name)) {
        return Err(format!("`{}` is not an output", stray.chars().take(48).collect::<String>()));
    }
    for slot in outputs {
        match given.get(&slot.name).and_then(Json::as_str) {
            None => return Err(format!("the output `{}` is missing", slot.name)),
            Some(python) if !slot.kind.takes(python) => {
                let python: String = python.chars().take(48).collect();
                return Err(format!("the output `{}` is a {python}, not a {}", slot.name, slot.written));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// Drops the oldest turns when the conversation comes near to what a prompt may have. The task stays.
fn forget(messages: &mut Vec<Message>, prompt_bytes: usize) {
    let size = |messages: &[Message]| messages.iter().map(|message| message.text.len()).sum::<usize>();
    let most = prompt_bytes.saturating_sub(texts::SYSTEM.len());
    while messages.len() > 3 && size(messages) > most {
        messages.drain(1..3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_checked_by_name_and_type() {
        let outputs = Signature::parse("q -> a: int, b: list[str]").unwrap().outputs;
        assert!(check_outputs(&outputs, &json!({"a": "int", "b": "list"})).is_ok());
        for (bad, why) in [
            (json!({"a": "int"}), "`b` is missing"),
            (json!({"a": "str", "b": "list"}), "`a` is a str, not a int"),
            (json!({"a": "int", "b": "list", "c": "int"}), "`c` is not an output"),
            (json!(null), "by name"),
        ] {
            assert!(check_outputs(&outputs, &bad).unwrap_err().contains(why), "{bad}");
        }
    }

    #[test]
    fn the_oldest_turns_are_forgotten_first() {
        let message = |text: &str| Message { role: Role::User, text: text.repeat(100) };
        let mut messages: Vec<_> =
            ["t", "1", "a", "2", "b", "3", "c"].iter().map(|text| message(text)).collect();
        forget(&mut messages, texts::SYSTEM.len() + 350);
        let left: String = messages.iter().filter_map(|message| message.text.chars().next()).collect();
        assert_eq!(left, "t3c");
        forget(&mut messages, 1);
        assert_eq!(messages.len(), 3);
    }
}
