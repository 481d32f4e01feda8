//! One turn that a model answers: it says something or wants tools to be called, until it wants no more.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, Result};
use dormouse_models::openai::{ToolCall, can_carry};
use dormouse_sources::{Tool, ToolAnswer};
use serde_saphyr::Spanned;

use super::arena::cancelled;
use super::call::{Called, call, time_of};
use super::script::{begun, fail};
use super::session::{Session, status_of};
use super::since;
use crate::config::Turn;
use crate::model::{Answer, Conversation, MAX_RESULT};
use crate::report::{CallRecord, Problem, Status, Step, Text, TurnRecord};
use crate::template;

pub(super) async fn play(session: &mut Session<'_>, number: usize, turn: &Spanned<Turn>) -> TurnRecord {
    let start = Instant::now();
    let mut record = begun(session, number, "model", turn);
    // It is put back at the end; the session lends everything else to the calls meanwhile.
    if let (Status::Passed, Some(mut conversation)) = (record.status, session.conversation.take()) {
        if let Err(error) = talk(session, &mut conversation, &turn.value, &mut record).await {
            fail(&mut record, error.message());
            record.status = status_of(&error);
        }
        session.conversation = Some(conversation);
    }
    record.duration_ms = since(start);
    record
}

async fn talk(
    session: &Session<'_>,
    conversation: &mut Conversation,
    turn: &Turn,
    record: &mut TurnRecord,
) -> Result<()> {
    let said = template::fill_text(turn.content.as_deref().unwrap_or_default(), &session.variables)?;
    conversation.user(&said);
    let tools = carried(session);
    for _ in 0..conversation.max_iterations() {
        let asked = Instant::now();
        let answer = ask(session, conversation, &tools).await?;
        if let Some(text) = &answer.text {
            record.steps.push(Step::Said { text: Text::long(text), latency_ms: since(asked) });
        }
        if answer.wanted.is_empty() {
            return Ok(());
        }
        for wanted in &answer.wanted {
            let (called, told) = wish(session, wanted).await;
            record.steps.push(Step::Called(called.into()));
            if session.is_cancelled() {
                return Err(cancelled());
            }
            conversation.result(wanted, &told);
        }
    }
    let message = format!("the model has not finished after {} answers", conversation.max_iterations());
    Err(Error::new(ErrorCode::BudgetExhausted, message).with_hint("raise `model.max_iterations`"))
}

/// The tools that the model is told of.
fn carried(session: &Session<'_>) -> Vec<Arc<Tool>> {
    let mut tools = session.tools.list();
    tools.retain(|tool| {
        let fits = can_carry(&tool.name);
        if !fits {
            let shown: String = tool.name.escape_debug().take(128).collect();
            session
                .arena
                .warnings
                .push(&format!("the tool `{shown}` cannot be offered to the model: its name is invalid"));
        }
        fits
    });
    tools
}

async fn ask(session: &Session<'_>, conversation: &mut Conversation, tools: &[Arc<Tool>]) -> Result<Answer> {
    let left = session.deadline.saturating_duration_since(Instant::now());
    tokio::select! {
        biased;
        () = session.arena.options.cancel.cancelled() => Err(cancelled()),
        answered = tokio::time::timeout(left, conversation.ask(tools)) => answered.unwrap_or_else(|_| Err(late())),
    }
}

fn late() -> Error {
    Error::new(ErrorCode::LimitTime, "the turns took longer than a repetition may")
        .with_hint("raise `timeouts.repetition_seconds`")
}

/// Calls what the model wants; the record, and what the model is told.
async fn wish(session: &Session<'_>, wanted: &ToolCall) -> (CallRecord, String) {
    let arguments = match &wanted.arguments {
        Ok(arguments) => arguments.clone(),
        Err(text) => return refused(session, wanted, text),
    };
    let time: Duration = time_of(session);
    let Called { record, result } = call(session, &session.tools, &wanted.name, arguments, time).await;
    let told = match &result {
        Ok(answer) => told(answer),
        Err(error) => match error.hint() {
            Some(hint) => format!("Error: {}\n{hint}", error.message()),
            None => format!("Error: {}", error.message()),
        },
    };
    (record, Text::cut(&told, MAX_RESULT).text)
}

/// A call whose arguments are none: it is not made, and the model is told why.
fn refused(session: &Session<'_>, wanted: &ToolCall, text: &str) -> (CallRecord, String) {
    let error = Error::args_invalid("the arguments are not a JSON object")
        .with_hint("the model wrote them; what it wrote is in the report");
    let record = CallRecord {
        tool: Text::short(&wanted.name),
        place: None,
        server: None,
        arguments: Text::long(text),
        output: Text::default(),
        structured: None,
        structured_cut: None,
        is_error: false,
        problem: Some(Problem::from(&error)),
        started_ms: since(session.start),
        latency_ms: 0.0,
        failure: None,
    };
    (record, format!("Error: {}", error.message()))
}

/// The text of an answer, its structured content where there is no text.
fn told(answer: &ToolAnswer) -> String {
    let text = answer.text();
    let text = match &answer.structured {
        Some(structured) if text.is_empty() => structured.to_string(),
        _ => text,
    };
    match answer.is_error {
        true => format!("The tool failed:\n{text}"),
        false => text,
    }
}
