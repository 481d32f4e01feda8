//! How a run ended, in one word or two, so that a test can list the endings it takes.

use dormouse::{Exception, Outcome, Status};
use serde_json::Value as Json;

/// `returned`, `raised CLASS`, `exited STATUS`, or the code of the limit or crash that ended it.
pub fn ending(outcome: &Outcome) -> String {
    match &outcome.status {
        Status::Returned(_) => "returned".into(),
        Status::Raised(exception) => format!("raised {}", exception.class),
        Status::Exited(status) => format!("exited {status}"),
        Status::Stopped(error) => error.code().as_str().into(),
    }
}

/// The whole answer, as every front door gives it.
pub fn answer(outcome: &Outcome) -> Json {
    dormouse_tools::encode::outcome(outcome)
}

/// The answer as the text of a failed assertion.
pub fn told(outcome: &Outcome) -> String {
    let mut text = format!("{:#}", answer(outcome));
    if text.len() > 4_000 {
        let end = text.floor_char_boundary(4_000);
        text.truncate(end);
        text.push_str(" ...");
    }
    text
}

/// Asserts that a run ended in one of the listed ways.
#[track_caller]
pub fn assert_ends(outcome: &Outcome, allowed: &[&str]) {
    let found = ending(outcome);
    assert!(
        allowed.contains(&found.as_str()),
        "ended with `{found}`, not one of {allowed:?}: {}",
        told(outcome)
    );
}

/// The typed value as JSON.
#[track_caller]
pub fn value(outcome: &Outcome) -> Json {
    match outcome.value() {
        Some(value) => serde_json::to_value(value).expect("values are JSON"),
        None => panic!("no value came back: {}", told(outcome)),
    }
}

/// The exception.
#[track_caller]
pub fn exception(outcome: &Outcome) -> &Exception {
    match outcome.exception() {
        Some(exception) => exception,
        None => panic!("no exception came back: {}", told(outcome)),
    }
}
