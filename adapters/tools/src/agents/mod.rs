//! `sandbox_sub_agent`: a task given to a model that works in a sandbox by writing code (S3-12).
//!
//! The loop runs on the host. What the model writes runs in the sandbox and nowhere else; what it has found out stays there
//! as variables. The protocol is in docs/models.md.

mod reply;
mod run;
mod signature;
mod texts;
mod transcript;

use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Language, Result};
use serde_json::{Map, Value as Json};

use self::run::Task;
use self::signature::Signature;
use self::transcript::{Transcript, TurnShown};
use crate::call::{Answer, Caller, encode};
use crate::models;
use crate::services::{Services, Target, by_id};
use crate::spec::{ErrorFields, FETCHES, Order, answer, arguments, integer, object, text};
use crate::verbs::Verb;
use crate::verbs::variables::VariableShown;

/// Bytes of all inputs together, as JSON.
const MAX_INPUTS: usize = 8 << 20;

arguments! {
    /// What every name of this verb is asked.
    pub(crate) struct Ask {
        signature: String = text(
            64 << 10,
            "Inputs and outputs, as `question, context: str -> answer: str, pages: list`. Types are str (default), int, \
             float, bool, list and dict.",
        ),
        inputs: Map<String, Json> = object(
            "A value for each input of the signature. One that is left out must be a variable of the sandbox already.",
        ),
        max_iterations: u32 = integer((1, 100), "Most turns of the model. Default 10.").or(10),
        max_llm_calls: u32 = integer(
            (1, 1_000),
            "Most calls of the model: its turns, and what its code asks. Default 30.",
        ).or(30),
    }
}

arguments! {
    /// What the canonical name is asked.
    pub(crate) struct Named {
        target: Target = Target::table(),
        ask: Ask = Ask::table(),
    }
}

answer! {
    /// What every name of this verb answers.
    pub(crate) struct Told {
        sandbox_id: SandboxId = "The sandbox.",
        outputs: Option<Vec<VariableShown>> = "The outputs, which are variables of the sandbox, in the order of the signature.",
        iterations: u32 = "Turns of the model.",
        llm_calls: u64 = "Calls of the model.",
        input_tokens: u64 = "Tokens of the prompts.",
        output_tokens: u64 = "Tokens of the answers.",
        message: Option<String> = "What was done, in one sentence.",
        transcript: Vec<TurnShown> = "The last 20 turns.",
    }
}

/// The canonical name.
pub(crate) fn sub_agent() -> Verb<Named, Told> {
    Verb {
        name: "sandbox_sub_agent",
        title: "Give a task to a sub-agent in a sandbox",
        description: "Gives a task to a language model that works in a sandbox by writing Python, turn after turn, and keeps its \
            results there in variables. Use it for questions over inputs that are too long to read: the inputs are variables \
            of the sandbox, and only a summary of the outputs comes back. sandbox_get_var shows them. It needs a model: the \
            operator's endpoint, or a client that supports sampling.",
        arguments: Named::table(),
        annotations: FETCHES,
        order: Order::Works,
        run: |services, caller, asked| {
            Box::pin(async move {
                let task = task(asked.ask, caller)?;
                let sandbox = services.get_or_create(&asked.target, &caller.owner).await?;
                work(services, caller, &sandbox.id, task).await
            })
        },
    }
}

/// A task out of checked arguments, before any sandbox is touched.
///
/// # Errors
/// `args_invalid` for the signature and the inputs; `capability_unavailable` without a model.
pub(crate) fn task(asked: Ask, caller: &Caller) -> Result<Task> {
    let Ask { signature, inputs, max_iterations: iterations, max_llm_calls } = asked;
    let signature = Signature::parse(&signature)?;
    run::check_inputs(&signature, &inputs, MAX_INPUTS)?;
    let model = caller.model.as_ref().ok_or_else(models::unreachable)?.limited_to(max_llm_calls);
    Ok(Task { signature, inputs, iterations, model })
}

/// Does a task and tells what came of it. One that failed after the model had said something tells that, too.
pub(crate) async fn work(
    services: &Services,
    caller: &Caller,
    id: &SandboxId,
    task: Task,
) -> Result<Answer<Told>> {
    let mut transcript = Transcript::default();
    let done = task.run(services, caller, id, &mut transcript).await;
    let iterations = transcript.turns();
    let told = |outputs, message| {
        let used = task.model.usage();
        Told {
            sandbox_id: id.clone(),
            outputs,
            iterations,
            llm_calls: used.calls,
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            message,
            transcript: transcript.shown(),
        }
    };
    if let Err(error) = done {
        if iterations == 0 {
            return Err(error);
        }
        let text = format!("{}\n{}", encode::error_text(&error), transcript.end());
        let answer = Answer::from(told(None, None)).with_text(text);
        return Ok(answer.stopped_by(ErrorFields::of(&error)));
    }
    let python = Language::python();
    let (variables, _) = services.sandboxes.variables(&caller.owner, &by_id(id), python).await?;
    let known = |name: &str| variables.iter().find(|variable| variable.name == name);
    let outputs: Vec<_> = task.signature.outputs.iter().filter_map(|slot| known(&slot.name)).collect();
    let named: Vec<String> = outputs
        .iter()
        .map(|variable| format!("`{}` ({}): {}", variable.name, variable.kind, variable.summary))
        .collect();
    let message = format!(
        "Stored {} after {iterations} iterations and {} model calls",
        task.signature.outputs.iter().map(|slot| format!("`{}`", slot.name)).collect::<Vec<_>>().join(", "),
        task.model.usage().calls,
    );
    let text = format!("{message}\n{}", named.join("\n"));
    let outputs = outputs.into_iter().cloned().map(VariableShown::from);
    Ok(Answer::from(told(Some(outputs.collect()), Some(message))).with_text(text))
}
