//! From the start of `dormouse mcp` to the first tool result on its standard output, in both protocol eras.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::{Value as Json, json};

use crate::bench::{Bench, LANGUAGES, SUM, milliseconds};
use crate::launch;
use crate::table::{Goal, Row};
use crate::turns::{Turn, take_turns};

/// The promise, in milliseconds.
const GOAL: f64 = 25.0;
/// The id of the request whose result is waited for.
const CALL: u64 = 2;

pub(crate) fn rows(bench: &Bench) -> Result<Vec<Row>> {
    let wanted = LANGUAGES.into_iter().filter(|language| bench.begins(&format!("mcp-{language}")));
    Ok(wanted.flat_map(|language| eras(bench, language)).collect())
}

fn eras(bench: &Bench, language: &'static str) -> [Row; 2] {
    let turn = |lines: Vec<Json>| -> Turn<'_> { Box::new(move || Ok(vec![first_result(&lines)?])) };
    let measured = take_turns(bench.rounds, [turn(with_handshake(language)), turn(vec![modern(language)])]);
    let [handshake, modern] = measured;
    let what = format!("start of `dormouse mcp` to the first {language} result");
    [
        Row::new(
            format!("mcp-{language}-initialize"),
            format!("{what}: initialize, then tools/call"),
            "ms",
            handshake,
        )
        .goal(Goal::AtMost(GOAL)),
        Row::new(
            format!("mcp-{language}-single"),
            format!("{what}: one request of 2026-07-28"),
            "ms",
            modern,
        )
        .goal(Goal::AtMost(GOAL)),
    ]
}

fn arguments(language: &str) -> Json {
    json!({"language": language, "code": SUM})
}

fn with_handshake(language: &str) -> Vec<Json> {
    let client = json!({"name": "dormouse-bench", "version": "1"});
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let call = json!({"name": "sandbox_eval", "arguments": arguments(language)});
    vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": CALL, "method": "tools/call", "params": call}),
    ]
}

fn modern(language: &str) -> Json {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "dormouse-bench", "version": "1"},
    });
    let call = json!({"name": "sandbox_eval", "arguments": arguments(language), "_meta": meta});
    json!({"jsonrpc": "2.0", "id": CALL, "method": "tools/call", "params": call})
}

/// Milliseconds until the server has answered [`CALL`]. The server's end is waited for, and not counted.
fn first_result(lines: &[Json]) -> Result<f64> {
    let mut command = launch::command(launch::dormouse()?);
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let begin = Instant::now();
    let mut child = command.spawn().context("`dormouse mcp` does not start")?;
    let answered = converse(&mut child, lines);
    let ms = milliseconds(begin.elapsed());
    drop(child.stdin.take());
    let status = child.wait()?;
    answered?;
    ensure!(status.success(), "`dormouse mcp` ended with {status}");
    Ok(ms)
}

/// Says each line; after a request, its answer is waited for, as a client would.
fn converse(child: &mut Child, lines: &[Json]) -> Result<()> {
    let stdin = child.stdin.as_mut().ok_or_else(|| anyhow!("the server has no input"))?;
    let mut stdout =
        BufReader::new(child.stdout.as_mut().ok_or_else(|| anyhow!("the server has no output"))?);
    for line in lines {
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).context("the server has ended")?;
        let Some(id) = line.get("id") else { continue };
        let answer = loop {
            let mut text = String::new();
            ensure!(stdout.read_line(&mut text)? > 0, "the server has ended");
            let answer: Json = serde_json::from_str(&text).context("the server wrote what is no JSON")?;
            if answer.get("id") == Some(id) {
                break answer;
            }
        };
        let result = answer.get("result").ok_or_else(|| anyhow!("the server refused: {answer}"))?;
        ensure!(result.get("isError") != Some(&Json::Bool(true)), "the tool failed: {result}");
    }
    Ok(())
}
