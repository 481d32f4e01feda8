//! Parts of the page: texts, calls, gates, turns, bars.

use maud::{Markup, html};
use serde_json::Value as Json;

use super::record::{CallRecord, GateRecord, Problem, RepetitionRecord, Status, Step, TurnRecord};
use super::text::Text;

/// Width of a bar, in its own units.
const WIDTH: f64 = 1_000.0;
/// Calls that a timeline shows; later ones are left out.
const MAX_LANES: usize = 60;
/// Height of one call in a timeline, in its own units.
const LANE: usize = 10;

/// The text with every character that is not shown, or that turns text around, made visible.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| matches!(c, '\u{80}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}');
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => shown.push(char),
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + u32::from(char))),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if hidden(char) => shown.extend(char.escape_unicode()),
            _ => shown.push(char),
        }
    }
    shown
}

/// A time as people read it.
pub(super) fn millis(ms: f64) -> String {
    match ms {
        _ if ms < 1.0 => format!("{ms:.2} ms"),
        _ if ms < 1_000.0 => format!("{ms:.0} ms"),
        _ if ms < 60_000.0 => format!("{:.1} s", ms / 1e3),
        _ => format!("{:.1} min", ms / 60e3),
    }
}

pub(super) fn pill(status: Status) -> Markup {
    html! { span .status.(status.as_str()) { (status.as_str()) } }
}

pub(super) fn note(text: &str, odd: bool) -> Markup {
    html! { p .note.odd[odd] { (visible(text)) } }
}

pub(super) fn warning(text: &Text) -> Markup {
    note(&format!("Warning: {text}"), true)
}

pub(super) fn problem(problem: &Problem) -> Markup {
    html! {
        p .note {
            strong { (problem.code) } " " (visible(&problem.message.text))
            @if let Some(hint) = &problem.hint { br; span .soft { (visible(&hint.text)) } }
        }
    }
}

/// Parts of a time beside one another; `whole` is the full width.
pub(super) fn bar(parts: &[(&str, f64)], whole: f64) -> Markup {
    let scale = if whole > 0.0 { WIDTH / whole } else { 0.0 };
    let said: Vec<String> = parts.iter().map(|(name, ms)| format!("{name} {}", millis(*ms))).collect();
    let mut x = 0.0;
    let places: Vec<(&str, f64, f64)> = parts
        .iter()
        .map(|(name, ms)| {
            let place = (*name, x, ms * scale);
            x += ms * scale;
            place
        })
        .collect();
    html! {
        svg .bar viewBox="0 0 1000 12" preserveAspectRatio="none" role="img" aria-label=(said.join(", ")) {
            @for (name, x, width) in places {
                rect class=(name) x=(format!("{x:.1}")) y="0" width=(format!("{:.1}", width.max(1.5))) height="12" {}
            }
        }
    }
}

/// When which call was under way.
pub(super) fn timeline(repetition: &RepetitionRecord) -> Markup {
    let calls: Vec<&CallRecord> = repetition.turns.iter().flat_map(TurnRecord::calls).collect();
    if calls.len() < 2 {
        return html! {};
    }
    // The time of gates is told by their table.
    let whole = calls.iter().map(|call| call.started_ms + call.latency_ms).fold(0.001, f64::max);
    let shown = calls.len().min(MAX_LANES);
    let label = format!("{} calls of tools within {}", calls.len(), millis(whole));
    html! {
        p .label {
            "Calls over time, " (millis(whole)) " in all" span .key.call {} "answered" span .key.error {} "failed"
            @if calls.len() > shown { " (the first " (shown) " of " (calls.len()) ")" }
        }
        svg .line viewBox={ "0 0 1000 " (shown * LANE) } preserveAspectRatio="none" height=(shown * LANE) role="img" aria-label=(label) {
            @for (lane, call) in calls.iter().take(shown).enumerate() {
                @let failed = call.is_error || call.problem.is_some();
                @let (x, width) = (call.started_ms / whole * WIDTH, (call.latency_ms / whole * WIDTH).max(2.0));
                rect class=(if failed { "error" } else { "call" }) x=(format!("{x:.1}")) y=(lane * LANE + 1)
                    width=(format!("{width:.1}")) height=(LANE - 2) {
                    title { (visible(&call.tool.text)) ", " (millis(call.latency_ms)) }
                }
            }
        }
    }
}

pub(super) fn turn(turn: &TurnRecord) -> Markup {
    html! {
        div .turn {
            h3 { "Turn " (turn.number) " " (pill(turn.status)) " " span .soft { (turn.driver) ", " (millis(turn.duration_ms)) ", " (visible(&turn.place)) } }
            @if let Some(content) = &turn.content { p .user { (visible(&content.text)) } }
            @if let Some(why) = &turn.failure { (note(&why.text, false)) }
            @for step in &turn.steps {
                @match step {
                    Step::Said { text, latency_ms } => {
                        p .label { "The model said, after " (millis(*latency_ms)) }
                        pre { (visible(&text.text)) }
                    }
                    Step::Called(called) => (call(called)),
                }
            }
        }
    }
}

fn call(call: &CallRecord) -> Markup {
    let failed = call.failure.is_some();
    html! {
        details open[failed] {
            summary {
                code { (visible(&call.tool.text)) }
                @if failed { (pill(Status::Failed)) }
                @else if call.is_error || call.problem.is_some() { span .status.skipped { "error" } }
                span .end { (millis(call.latency_ms)) }
            }
            div .inside {
                @if let Some(why) = &call.failure { (note(&why.text, false)) }
                @if let Some(error) = &call.problem { (problem(error)) }
                (block("Arguments", &call.arguments))
                @if call.problem.is_none() { (block("Output", &call.output)) }
                (data("Structured content", call.structured.as_ref(), call.structured_cut.as_ref()))
                @if let Some(server) = &call.server { p .label { "Server: " (visible(server)) } }
            }
        }
    }
}

/// JSON, or what is left of its text.
fn data(label: &str, whole: Option<&Json>, cut: Option<&Text>) -> Markup {
    let whole = whole.map(|json| Text { text: format!("{json:#}"), omitted_bytes: 0 });
    html! { @if let Some(text) = whole.as_ref().or(cut) { (block(label, text)) } }
}

fn block(label: &str, text: &Text) -> Markup {
    html! {
        p .label {
            (label)
            @if text.omitted_bytes > 0 { " (" (text.omitted_bytes) " bytes left out)" }
        }
        pre tabindex="0" aria-label=(label) { (visible(&text.text)) }
    }
}

pub(super) fn gates(gates: &[GateRecord]) -> Markup {
    if gates.is_empty() {
        return html! {};
    }
    html! {
        div .scroll {
            table {
                caption { "Gates" }
                thead {
                    tr {
                        th scope="col" { "Gate" }
                        th scope="col" { "Status" }
                        th scope="col" { "What it found" }
                        th scope="col" .number { "Time" }
                    }
                }
                tbody { @for gate in gates { (row(gate)) } }
            }
        }
        @for gate in gates { (seen(gate)) }
    }
}

fn row(gate: &GateRecord) -> Markup {
    html! {
        tr {
            th scope="row" {
                code { (gate.kind) }
                @if let Some(tool) = &gate.tool { " " code { (visible(&tool.text)) } }
                @if let Some(message) = &gate.message { br; span .soft { (visible(&message.text)) } }
                br; span .soft { (visible(&gate.place)) }
            }
            td { (pill(if gate.passed { Status::Passed } else { Status::Failed })) }
            td { (visible(&gate.reason.text)) }
            td .number { (millis(gate.latency_ms)) }
        }
    }
}

/// What a gate's call brought, if it called something.
fn seen(gate: &GateRecord) -> Markup {
    let details = &gate.details;
    let blocks = [("Arguments", &details.arguments), ("Output", &details.output)];
    let has_payload = details.payload.is_some() || details.payload_cut.is_some();
    if !has_payload && blocks.iter().all(|(_, text)| text.is_none()) {
        return html! {};
    }
    html! {
        details open[!gate.passed] {
            summary {
                "What " code { (gate.kind) } @if let Some(tool) = &gate.tool { " " code { (visible(&tool.text)) } } " saw"
            }
            div .inside {
                @if let Some(error) = &details.problem { (problem(error)) }
                @for (label, text) in blocks { @if let Some(text) = text { (block(label, text)) } }
                (data("Payload", details.payload.as_ref(), details.payload_cut.as_ref()))
            }
        }
    }
}
