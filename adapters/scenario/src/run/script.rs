//! One scripted turn: its calls in order, until one is not what is expected.

use std::time::Instant;

use dormouse_core::Result;
use serde_json::Value as Json;
use serde_saphyr::Spanned;

use super::call::{Called, call, time_of};
use super::session::{Session, status_of};
use super::{expect, since};
use crate::config::{ToolCall, Turn};
use crate::report::{Status, Step, Text, TurnRecord};
use crate::template;

/// Bytes that `save_as` keeps.
const MAX_SAVED: usize = 64 << 10;

pub(super) async fn play(
    session: &mut Session<'_>,
    number: usize,
    turn: &Spanned<Turn>,
    calls: &[Spanned<ToolCall>],
) -> TurnRecord {
    let start = Instant::now();
    let mut record = begun(session, number, "script", turn);
    for call in calls {
        if record.status != Status::Passed {
            break;
        }
        step(session, call, &mut record).await;
    }
    record.duration_ms = since(start);
    record
}

/// A turn of which nothing has happened yet.
pub(super) fn begun(
    session: &Session<'_>,
    number: usize,
    driver: &'static str,
    turn: &Spanned<Turn>,
) -> TurnRecord {
    let mut record = TurnRecord {
        number,
        place: session.scenario.place(turn.referenced),
        driver,
        content: None,
        status: Status::Passed,
        failure: None,
        duration_ms: 0.0,
        steps: Vec::new(),
    };
    match turn
        .value
        .content
        .as_deref()
        .map(|content| template::fill_text(content, &session.variables))
        .transpose()
    {
        Ok(content) => record.content = content.as_deref().map(Text::long),
        Err(error) => fail(&mut record, error.message()),
    }
    if session.is_cancelled() {
        record.status = Status::Cancelled;
    }
    record
}

pub(super) fn fail(record: &mut TurnRecord, why: &str) {
    record.status = Status::Failed;
    record.failure = Some(Text::short(why));
}

async fn step(session: &mut Session<'_>, scripted: &Spanned<ToolCall>, record: &mut TurnRecord) {
    let place = session.scenario.place(scripted.referenced);
    let scripted = &scripted.value;
    let arguments = match template::fill(&scripted.arguments, &session.variables) {
        Ok(arguments) => arguments,
        Err(error) => return fail(record, error.message()),
    };
    let time = time_of(session);
    let Called { record: mut called, result } =
        call(session, &session.tools, &scripted.tool, arguments, time).await;
    called.place = Some(place);
    let mut why = expect::failure(&scripted.expect, &result);
    if why.is_none()
        && let Some(name) = &scripted.save_as
    {
        match kept(scripted, &result) {
            Ok(text) => {
                session.variables.insert(name.clone(), text);
            }
            Err(missing) => why = Some(missing),
        }
    }
    if let Some(why) = &why {
        fail(record, &format!("`{}`: {why}", called.tool));
        called.failure = Some(Text::short(why));
        if let Err(error) = &result {
            record.status = status_of(error);
        }
    }
    record.steps.push(Step::Called(called.into()));
}

/// What `save_as` keeps of an answer.
fn kept(scripted: &ToolCall, result: &Result<dormouse_sources::ToolAnswer>) -> Result<String, String> {
    let Ok(answer) = result else { return Ok(String::new()) };
    let mut text = match &scripted.save_from {
        None => answer.text(),
        Some(pointer) => match answer.structured.as_ref().and_then(|structured| pointer.find(structured)) {
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => return Err(format!("there is nothing to keep at `{pointer}` of the structured content")),
        },
    };
    text.truncate(text.floor_char_boundary(MAX_SAVED.min(text.len())));
    Ok(text)
}
