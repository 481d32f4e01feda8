//! What people see of a run while it is under way, on standard error: one line for what has ended, and why for what has failed.

use dormouse_scenario::{Event, Observer, Problem, Status};

use crate::print;

/// Writes lines.
pub(super) struct Lines;

impl Observer for Lines {
    fn event(&self, event: Event<'_>) {
        // Nobody may be looking.
        let _ = match (line(event), event) {
            (Some(line), Event::Warning { .. }) => print::warning(&line),
            (Some(line), _) => print::note(&line),
            (None, _) => Ok(()),
        };
    }
}

fn line(event: Event<'_>) -> Option<String> {
    Some(match event {
        Event::NotOpened { scenario, repetition, error } => {
            let whose = match (scenario, repetition) {
                (Some(scenario), Some(repetition)) => format!("{scenario} {repetition}: "),
                (Some(scenario), None) => format!("{scenario}: "),
                (None, _) => String::new(),
            };
            format!("{whose}NOT OPENED: {}", Problem::from(error).line())
        }
        Event::CallFinished { scenario, repetition, tool, latency_ms, ok } => {
            let word = if ok { "ok" } else { "error" };
            format!("{scenario} {repetition}: {tool} {word}, {latency_ms:.1} ms")
        }
        Event::TurnFinished { scenario, repetition, turn } => {
            format!("{scenario} {repetition}: {}", turn.line()?)
        }
        Event::GateFinished { scenario, repetition, gate } => {
            format!("{scenario} {repetition}: {}", gate.line())
        }
        Event::RepetitionFinished { scenario, repetition, status } => {
            let word = match status {
                Status::Passed => "passed",
                Status::Failed => "FAILED",
                Status::Cancelled => "cancelled",
                Status::Skipped => "skipped",
            };
            format!("{scenario} {repetition}: {word}")
        }
        Event::Warning { message } => message.to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use dormouse::{Error, ErrorCode};
    use dormouse_scenario::{GateDetails, GateRecord, Text, TurnRecord};

    use super::*;

    #[test]
    fn a_gate_that_fails_is_told_with_tool_message_reason_and_place() {
        let mut gate = GateRecord {
            kind: "tool_exec",
            place: "arena.yaml:7:9".into(),
            tool: Some(Text::short("Bash")),
            message: Some(Text::short("the tests pass")),
            passed: false,
            score: 0.0,
            reason: Text::short("the command ended with exit status 127, not 0"),
            latency_ms: 1.0,
            details: GateDetails::default(),
        };
        let shown = |gate: &GateRecord| line(Event::GateFinished { scenario: "one", repetition: 2, gate });
        assert_eq!(
            shown(&gate).unwrap(),
            "one 2: gate tool_exec Bash FAILS: the tests pass: the command ended with exit status 127, not 0 (arena.yaml:7:9)"
        );
        gate.passed = true;
        assert_eq!(shown(&gate).unwrap(), "one 2: gate tool_exec Bash holds");
    }

    #[test]
    fn a_server_that_cannot_be_opened_is_told_with_code_and_hint_in_every_scope() {
        let error = Error::new(ErrorCode::ProviderUnavailable, "arena.yaml:3:7: mcp server `box`: no luck")
            .with_hint("try again");
        let shown = |scenario, repetition| line(Event::NotOpened { scenario, repetition, error: &error });
        let wanted =
            "NOT OPENED: arena.yaml:3:7: mcp server `box`: no luck [provider_unavailable]; try again";
        assert_eq!(shown(None, None).unwrap(), wanted);
        assert_eq!(shown(Some("one"), None).unwrap(), format!("one: {wanted}"));
        assert_eq!(shown(Some("one"), Some(2)).unwrap(), format!("one 2: {wanted}"));
    }

    #[test]
    fn a_turn_is_told_only_where_it_fails() {
        let mut turn = TurnRecord {
            number: 3,
            place: "a.yaml:1:2".into(),
            driver: "script",
            content: None,
            status: Status::Failed,
            failure: Some(Text::short("no")),
            duration_ms: 0.0,
            steps: Vec::new(),
        };
        let shown = |turn: &TurnRecord| line(Event::TurnFinished { scenario: "one", repetition: 1, turn });
        assert_eq!(shown(&turn).unwrap(), "one 1: turn 3 FAILED: no (a.yaml:1:2)");
        (turn.status, turn.failure) = (Status::Passed, None);
        assert_eq!(shown(&turn), None);
    }
}
