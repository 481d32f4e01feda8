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
use serde_json::json;

use self::run::Task;
use self::signature::Signature;
use self::transcript::Transcript;
use super::verb::{Answer, CHANGES, Caller, Kept, Verb, by_id, naming};
use crate::decode::Arguments;
use crate::encode;
use crate::field::{Absent, Field, Kind};
use crate::models;
use crate::schema::{self, Object};
use crate::surface::Annotations;

/// Bytes of all inputs together, as JSON.
const MAX_INPUTS: usize = 8 << 20;

/// It asks a model, which may be elsewhere.
pub(super) const ASKS: Annotations = Annotations { open_world: true, ..CHANGES };

/// The arguments that every name of this verb has.
pub(super) fn fields() -> Vec<Field> {
    let number = |name, most, default: u64, text: &'static str| {
        Field::integer(name, (1, most), Absent::Default(default), text)
    };
    vec![
        Field::text(
            "signature",
            64 << 10,
            Absent::Refused,
            "Inputs and outputs, as `question, context: str -> answer: str, pages: list`. Types are str (default), int, \
             float, bool, list and dict.",
        ),
        Field::new(
            "inputs",
            Kind::Object { needed: true },
            "A value for each input of the signature. One that is left out must be a variable of the sandbox already.",
        ),
        number("max_iterations", 100, 10, "Most turns of the model. Default 10."),
        number(
            "max_llm_calls",
            1_000,
            30,
            "Most calls of the model: its turns, and what its code asks. Default 30.",
        ),
    ]
}

/// What every name of this verb answers.
pub(super) fn output() -> Object {
    let variable = Object::new()
        .description("An output, which is a variable of the sandbox.")
        .required("name", schema::text("Its name."))
        .required("type", schema::text("The name of its type."))
        .required("summary", schema::text("The beginning of how it is shown. Untrusted text."))
        .build();
    Object::new()
        .optional("sandbox_id", schema::text("The sandbox."))
        .optional("outputs", schema::list(&variable, "In the order of the signature."))
        .optional("iterations", schema::integer(0, "Turns of the model."))
        .optional("llm_calls", schema::integer(0, "Calls of the model."))
        .optional("input_tokens", schema::integer(0, "Tokens of the prompts."))
        .optional("output_tokens", schema::integer(0, "Tokens of the answers."))
        .optional("message", schema::text("What was done, in one sentence."))
        .optional("transcript", transcript::schema())
}

/// The canonical name.
pub(super) fn sub_agent() -> Verb {
    Verb {
        name: "sandbox_sub_agent",
        title: "Give a task to a sub-agent in a sandbox",
        description: "Gives a task to a language model that works in a sandbox by writing Python, turn after turn, and keeps its \
            results there in variables. Use it for questions over inputs that are too long to read: the inputs are variables \
            of the sandbox, and only a summary of the outputs comes back. sandbox_get_var shows them. It needs a model: the \
            operator's endpoint, or a client that can sample.",
        fields: naming(fields()),
        output: output(),
        annotations: ASKS,
        run: |kept, mut arguments, caller| {
            Box::pin(async move {
                let task = task(&mut arguments, caller)?;
                let id = kept.there_or_new(&mut arguments, &caller.owner).await?;
                work(kept, caller, &id, task).await
            })
        },
    }
}

/// A task out of checked arguments, before any sandbox is touched.
///
/// # Errors
/// `args_invalid` for the signature and the inputs; `capability_unavailable` without a model.
pub(super) fn task(arguments: &mut Arguments, caller: &Caller) -> Result<Task> {
    let signature = Signature::parse(&arguments.take_text("signature").unwrap_or_default())?;
    let inputs = arguments.take_object("inputs");
    run::check_inputs(&signature, &inputs, MAX_INPUTS)?;
    let number = |name| arguments.integer(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(1);
    let (iterations, calls) = (number("max_iterations"), number("max_llm_calls"));
    let model = caller.model.as_ref().ok_or_else(models::unreachable)?.limited_to(calls);
    Ok(Task { signature, inputs, iterations, model })
}

/// Does a task and tells what came of it. One that failed after the model had said something tells that, too.
pub(super) async fn work(kept: &Kept, caller: &Caller, id: &SandboxId, task: Task) -> Result<Answer> {
    let mut transcript = Transcript::default();
    let done = task.run(kept, caller, id, &mut transcript).await;
    let iterations = transcript.turns();
    if let Err(error) = done {
        if iterations == 0 {
            return Err(error);
        }
        let used = task.model.usage();
        let text = format!("{}\n{}", encode::error_text(&error), transcript.end());
        let answer = json!({
            "error": encode::error(&error),
            "sandbox_id": id.as_str(),
            "iterations": iterations,
            "llm_calls": used.calls,
            "input_tokens": used.input_tokens,
            "output_tokens": used.output_tokens,
            "transcript": transcript.shown(),
        });
        return Ok(Answer::from(answer).with_text(text).failed());
    }
    let python = Language::python();
    let (variables, _) = kept.sandboxes.variables(&caller.owner, &by_id(id), python).await?;
    let known = |name: &str| variables.iter().find(|variable| variable.name == name);
    let outputs: Vec<_> = task.signature.outputs.iter().filter_map(|slot| known(&slot.name)).collect();
    let named: Vec<String> = outputs
        .iter()
        .map(|variable| format!("`{}` ({}): {}", variable.name, variable.kind, variable.summary))
        .collect();
    let used = task.model.usage();
    let message = format!(
        "Stored {} after {iterations} iterations and {} model calls",
        task.signature.outputs.iter().map(|slot| format!("`{}`", slot.name)).collect::<Vec<_>>().join(", "),
        used.calls,
    );
    let text = format!("{message}\n{}", named.join("\n"));
    let answer = json!({
        "sandbox_id": id.as_str(),
        "outputs": outputs,
        "iterations": iterations,
        "llm_calls": used.calls,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "message": message,
        "transcript": transcript.shown(),
    });
    Ok(Answer::from(answer).with_text(text))
}
