//! The page: one file without scripts and without anything from elsewhere. Whatever tools and models said is escaped by the
//! templates, and characters that are not shown, or that turn text around, are made visible first.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::parts::{bar, gates, millis, note, pill, problem, timeline, turn, visible, warning};
use super::record::{RepetitionRecord, Report, ScenarioRecord, Status};

const STYLE: &str = include_str!("style.css");
/// What a browser may do with the page: nothing but style it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

impl Report {
    /// The whole page.
    pub fn to_html(&self) -> String {
        let name = visible(&self.name);
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="referrer" content="no-referrer";
                    title { (name) ": " (self.status.as_str()) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        h1 { (name) " " (pill(self.status)) }
                        p .soft { "Began " time datetime=(self.started) { (self.started) } ", took " (millis(self.duration_ms)) }
                    }
                    main {
                        (facts(self))
                        @if let Some(error) = &self.problem { (problem(error)) }
                        @for text in &self.warnings { (warning(text)) }
                        (overview(&self.scenarios))
                        @for (at, scenario) in self.scenarios.iter().enumerate() { (section(at, scenario)) }
                        (environment(self))
                    }
                }
            }
        };
        page.into_string()
    }
}

fn facts(report: &Report) -> Markup {
    let totals = &report.totals;
    let rows = [
        ("Repetitions passed", format!("{} of {}", totals.passed, totals.repetitions)),
        ("Gates held", format!("{} of {}", totals.gates - totals.gates_failed, totals.gates)),
        ("Calls of tools", totals.calls.to_string()),
        ("Warnings", report.warnings.len().to_string()),
    ];
    html! {
        dl .facts {
            @for (name, value) in rows { div { dt { (name) } dd { (value) } } }
        }
    }
}

fn overview(scenarios: &[ScenarioRecord]) -> Markup {
    let longest = scenarios.iter().map(|scenario| scenario.duration_ms).fold(0.0, f64::max);
    html! {
        h2 { "Scenarios" }
        div .scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "Scenario" }
                        th scope="col" { "Status" }
                        th scope="col" .number { "Repetitions passed" }
                        th scope="col" .number { "Gates held" }
                        th scope="col" .number { "Time" }
                        th scope="col" { "Share of the longest" }
                    }
                }
                tbody {
                    @for (at, scenario) in scenarios.iter().enumerate() {
                        @let gates = scenario.repetitions.iter().flat_map(|repetition| &repetition.gates);
                        @let held = gates.clone().filter(|gate| gate.passed).count();
                        @let passed = scenario.repetitions.iter().filter(|one| one.status == Status::Passed).count();
                        tr {
                            th scope="row" { a href={ "#scenario-" (at) } { (visible(&scenario.id)) } }
                            td { (pill(scenario.status)) }
                            td .number { (passed) " of " (scenario.repetitions.len()) }
                            td .number { (held) " of " (gates.count()) }
                            td .number { (millis(scenario.duration_ms)) }
                            td .wide { (bar(&[("work", scenario.duration_ms)], longest)) }
                        }
                    }
                }
            }
        }
    }
}

fn section(at: usize, scenario: &ScenarioRecord) -> Markup {
    html! {
        section id={ "scenario-" (at) } {
            h2 { (visible(&scenario.id)) " " (pill(scenario.status)) }
            p .soft {
                (visible(&scenario.file))
                @if let Some(kind) = &scenario.task_type { " · " (visible(kind)) }
            }
            @if let Some(text) = &scenario.description { p .user { (visible(&text.text)) } }
            @if let Some(error) = &scenario.problem { (problem(error)) }
            @if !scenario.variables.is_empty() { (variables(scenario)) }
            (repetitions(scenario))
            @for repetition in scenario.repetitions.iter().filter(|one| one.status != Status::Skipped) {
                (one(at, repetition))
            }
        }
    }
}

fn variables(scenario: &ScenarioRecord) -> Markup {
    html! {
        details {
            summary { "Variables" span .end { (scenario.variables.len()) } }
            div .inside {
                table {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Value" } } }
                    tbody {
                        @for (name, value) in &scenario.variables {
                            tr { th scope="row" { code { (visible(name)) } } td { code { (visible(&value.text)) } } }
                        }
                    }
                }
            }
        }
    }
}

fn repetitions(scenario: &ScenarioRecord) -> Markup {
    let whole = |one: &RepetitionRecord| one.open_ms + one.work_ms + one.close_ms;
    let longest = scenario.repetitions.iter().map(whole).fold(0.0, f64::max);
    html! {
        div .scroll {
            table {
                caption {
                    "Repetitions" span .key.open {} "opening servers" span .key.work {} "turns and gates" span .key.close {} "closing"
                }
                thead {
                    tr {
                        th scope="col" .number { "No." }
                        th scope="col" { "Status" }
                        th scope="col" .number { "Turns" }
                        th scope="col" .number { "Gates held" }
                        th scope="col" .number { "Tokens" }
                        th scope="col" .number { "Time" }
                        th scope="col" { "Where it went" }
                    }
                }
                tbody {
                    @for one in &scenario.repetitions {
                        tr {
                            th scope="row" .number { (one.number) }
                            td { (pill(one.status)) }
                            td .number { (one.turns.len()) }
                            td .number { (one.gates.iter().filter(|gate| gate.passed).count()) " of " (one.gates.len()) }
                            td .number { @if let Some((asked, said)) = one.tokens { (asked + said) } @else { "–" } }
                            td .number { (millis(whole(one))) }
                            td .wide {
                                (bar(&[("open", one.open_ms), ("work", one.work_ms), ("close", one.close_ms)], longest))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn one(scenario: usize, repetition: &RepetitionRecord) -> Markup {
    let failed = repetition.status != Status::Passed;
    html! {
        details open[failed || repetition.number == 1] id={ "repetition-" (scenario) "-" (repetition.number) } {
            summary {
                strong { "Repetition " (repetition.number) }
                (pill(repetition.status))
                span .end { (millis(repetition.open_ms + repetition.work_ms + repetition.close_ms)) }
            }
            div .inside {
                @if let Some(error) = &repetition.problem { (problem(error)) }
                (gates(&repetition.gates))
                (timeline(repetition))
                @for played in &repetition.turns { (turn(played)) }
                @if !repetition.tools.is_empty() {
                    p .label { "Tools that turns could call" }
                    p { @for name in &repetition.tools { code { (visible(name)) } " " } }
                }
            }
        }
    }
}

fn environment(report: &Report) -> Markup {
    html! {
        h2 { "Environment" }
        @if report.servers.is_empty() { (note("There are no servers.", true)) }
        @else {
            div .scroll {
                table {
                    caption { "Servers, in the order in which they are opened" }
                    thead { tr { th scope="col" { "Name" } th scope="col" { "Source" } th scope="col" { "Scope" } } }
                    tbody {
                        @for server in &report.servers {
                            tr {
                                th scope="row" { (visible(&server.name)) }
                                td { (visible(&server.transport)) }
                                td { (visible(&server.scope)) }
                            }
                        }
                    }
                }
            }
        }
        p .soft {
            "Written by " (report.program)
            @if let Some(model) = &report.model { " with the model " (visible(model)) }
            ". Files: " @for file in &report.files { code { (visible(file)) } " " }
        }
    }
}
