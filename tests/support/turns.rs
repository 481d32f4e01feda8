//! An agent's turns from a script, over the real stdio server: what a client of a language model would call, in a fixed order.

use std::time::Instant;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::wire::Wire;

/// One call, and what must come of it.
#[derive(Debug, Deserialize)]
pub struct Turn {
    /// Why it is made.
    pub say: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Json,
    /// Whether the answer must be an error.
    pub is_error: bool,
    /// Texts that the answer must hold.
    pub contains: Vec<String>,
}

/// What came of a turn.
#[derive(Debug)]
pub struct Done {
    /// The turn.
    pub turn: Turn,
    /// The answer's text.
    pub text: String,
    /// The answer's structured content.
    pub structured: Json,
    /// Whether the answer was an error.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub milliseconds: f64,
}

impl Done {
    /// Whether it came to what it must.
    pub fn is_as_expected(&self) -> bool {
        self.is_error == self.turn.is_error && self.turn.contains.iter().all(|part| self.text.contains(part))
    }
}

/// Plays a script of turns: a JSON list of [`Turn`].
///
/// # Panics
/// When the script is none, or the server goes away.
pub fn play(wire: &mut Wire, script: &str) -> Vec<Done> {
    let turns: Vec<Turn> = serde_json::from_str(script).expect("a list of turns");
    let play = |(id, turn): (i64, Turn)| {
        let begin = Instant::now();
        let mut result = wire.call(id, &turn.tool, turn.arguments.clone());
        let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
        Done {
            text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
            structured: result["structuredContent"].take(),
            is_error: result["isError"] == true,
            milliseconds,
            turn,
        }
    };
    (1..).zip(turns).map(play).collect()
}

/// The run as data.
pub fn report(done: &[Done]) -> Json {
    let turns = done.iter().map(|done| {
        json!({
            "say": done.turn.say,
            "tool": done.turn.tool,
            "arguments": done.turn.arguments,
            "is_error": done.is_error,
            "as_expected": done.is_as_expected(),
            "duration_ms": done.milliseconds,
            "text": done.text,
            "answer": done.structured,
        })
    });
    json!({"passed": done.iter().all(Done::is_as_expected), "turns": turns.collect::<Vec<_>>()})
}

/// The run as one page that needs nothing else.
pub fn page(done: &[Done]) -> String {
    let mut page = String::from(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>codegen</title><style>body{font:16px/1.5 \
         system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}pre{background:#f4f4f4;padding:.75rem;overflow:auto}\
         .bad{color:#a00}</style><h1>An agent's turns on Wasm alone</h1>",
    );
    let all: f64 = done.iter().map(|done| done.milliseconds).sum();
    let expected = done.iter().filter(|done| done.is_as_expected()).count();
    page.push_str(&format!("<p>{expected} of {} turns as expected, {all:.0} ms in all.</p>", done.len()));
    for (number, done) in (1..).zip(done) {
        let Done { turn, text, milliseconds, .. } = done;
        let arguments = match turn.arguments["command"].as_str() {
            Some(command) => command.to_owned(),
            None => turn.arguments.to_string(),
        };
        let end = if done.is_error { "error" } else { "ok" };
        let class = if done.is_as_expected() { "" } else { " class=\"bad\"" };
        page.push_str(&format!(
            "<h2{class}>{number}. {}</h2><p>{}: {end}, {milliseconds:.1} ms</p><pre>{}</pre><pre>{}</pre>",
            escaped(&turn.say),
            escaped(&turn.tool),
            escaped(&arguments),
            escaped(text)
        ));
    }
    page.push_str("</html>\n");
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
