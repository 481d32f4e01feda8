//! Programs over real MCP servers (`tests/tools`): each is run straight, and once more so that it is saved and moved to another
//! installation at every point where it waits. Both come to the value that stands behind it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use dormouse::connections::{Caller, Taint};
use dormouse::sandbox::Owner;
use dormouse::waiting::{CallAnswer, PendingCall};
use dormouse::{CallbackCall, Callbacks, Catalog, Connections as _, Dormouse, Language, Outcome, Program};
use dormouse_chores::arguments::Extent;
use dormouse_chores::outcome::Totals;
use dormouse_chores::progress::Progress;
use dormouse_chores::{node, program, python, workspace};
use dormouse_connect::{Connectors, Settings, file};
use serde_json::{Value as Json, json};
use tokio::task::JoinSet;

use super::expected::Expected;
use super::report::Report;
use super::server;

/// Servers of npm, each with the name that the file of servers has for its program.
const NPM: [(&str, &str, &str); 3] = [
    ("EVERYTHING", "mcp-server-everything", "@modelcontextprotocol/server-everything@2026.8.31"),
    ("FILESYSTEM", "mcp-server-filesystem", "@modelcontextprotocol/server-filesystem@2026.8.31"),
    ("MEMORY", "mcp-server-memory", "@modelcontextprotocol/server-memory@2026.8.31"),
];
/// The same of PyPI.
const PYPI: [(&str, &str, &str); 2] = [
    ("TIME", "mcp-server-time", "mcp-server-time==2026.10.19"),
    ("GIT", "mcp-server-git", "mcp-server-git==2026.10.19"),
];
/// One more of PyPI, with an environment of its own.
const SQLITE: &str = "mcp-server-sqlite";
/// The file of servers, with their programs.
const CONNECTED: &str = "connected.json";
/// The name of the comparison of lists.
const LIST: &str = "list-of-tools";
/// Time for one program.
const LIMIT: Duration = Duration::from_secs(60);
/// The same with all its waits and moves.
const LONGEST: Duration = Duration::from_secs(120);
/// The word in programs and values that stands for the folder of the fixture.
const FIXTURE: &str = "FIXTURE";

/// A program, and what it comes to.
struct Golden {
    name: String,
    language: String,
    code: String,
    value: Json,
}

/// Runs all of them, both ways.
pub(super) fn run(extent: &Extent) -> Result<Totals> {
    let mut report = Report::default();
    let goldens = read(&workspace().join("tests/tools/programs.txt"))?;
    if let Err(cause) = python::require().and_then(|()| node::require()) {
        report.skip(&cause, 2 * goldens.len() as u64);
    } else {
        play(&goldens, extent, &mut report)?;
    }
    let mut expected = Expected::load("tools", "expected.txt")?;
    report.close("tools", &mut expected, extent, |_| true)
}

/// The programs of the file: `== NAME LANGUAGE`, the source, `-- `, the value as one line of JSON.
fn read(path: &Path) -> Result<Vec<Golden>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let parts = text.split("\n== ").map(|part| part.strip_prefix("== ").unwrap_or(part));
    let one = |part: &str| -> Option<Golden> {
        let (head, rest) = part.split_once('\n')?;
        let (name, language) = head.split_once(' ')?;
        let (code, value) = rest.rsplit_once("\n-- \n")?;
        let value = serde_json::from_str(value.trim()).ok()?;
        Some(Golden { name: name.into(), language: language.trim().into(), code: code.into(), value })
    };
    parts
        .filter(|part| !part.trim().is_empty())
        .map(|part| {
            one(part)
                .with_context(|| format!("a program cannot be read: {:.60}", part.escape_debug().to_string()))
        })
        .collect()
}

fn play(goldens: &[Golden], extent: &Extent, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().canonicalize()?;
    let script = workspace().join("tests/tools/fixture.sh");
    let made = program::run(Command::new("bash").arg(script).arg(&place), LIMIT)?;
    ensure!(made.succeeded(), "the fixture was not made: {}", made.end());
    let connectors = connected(&place)?;
    if extent.wants(LIST) {
        let told = shortest_list(&place, report);
        report.count(LIST, told.map_err(|error| format!("{error:#}")));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let installations = [Dormouse::new()?, Dormouse::new()?];
        let step = Progress::new("tools").counted("running", goldens.len());
        for golden in goldens {
            for (way, moves) in [("straight", false), ("moved", true)] {
                let name = format!("{} {way}", golden.name);
                if extent.wants(&name) {
                    let playing = one(golden, &place, &connectors, (&installations, moves));
                    let played = tokio::time::timeout(LONGEST, playing).await;
                    let played = played.unwrap_or_else(|_| Err(anyhow!("it did not come to an end")));
                    report.count(&name, played.map_err(|error| format!("{error:#}")));
                }
            }
            step.advance();
        }
        connectors.close().await;
        Ok(())
    })
}

/// Holds the list of the profile `code` against those of the servers that it connects: at most a tenth of their bytes.
fn shortest_list(place: &Path, report: &mut Report) -> Result<()> {
    let servers: Json = serde_json::from_slice(&std::fs::read(place.join(CONNECTED))?)?;
    let (mut raw, mut tools) = (0, 0);
    for server in servers["mcpServers"].as_object().context("no servers")?.values() {
        let mut command = Command::new(server["command"].as_str().context("no program")?);
        command.args(server["args"].as_array().into_iter().flatten().filter_map(Json::as_str));
        let variables = server["env"].as_object().into_iter().flatten();
        command.envs(variables.filter_map(|(name, value)| Some((name, value.as_str()?))));
        let (bytes, count) = listed(&mut command)?;
        (raw, tools) = (raw + bytes, tools + count);
    }
    let mut own = Command::new(server::dormouse()?);
    own.args(["mcp", "--profile", "code", "--state-dir"]).arg(place.join("state"));
    own.arg("--connect").arg(place.join(CONNECTED));
    let (bytes, _) = listed(&mut own)?;
    report.note(format!(
        "tools/list: {tools} tools of the servers {raw} bytes, the profile `code` {bytes} bytes"
    ));
    ensure!(bytes * 10 <= raw, "the list of the profile `code` has {bytes} bytes, that of the servers {raw}");
    Ok(())
}

/// Bytes of the tools that a server lists, and how many they are.
fn listed(command: &mut Command) -> Result<(usize, usize)> {
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (mut input, output) =
        (server.stdin.take().context("no input")?, server.stdout.take().context("no output")?);
    let client = json!({"name": "suite", "version": "1"});
    let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ];
    for message in messages {
        writeln!(input, "{message}")?;
    }
    let lines = BufReader::new(output).lines();
    let answers = lines.map_while(Result::ok).filter_map(|line| serde_json::from_str::<Json>(&line).ok());
    let tools =
        answers.into_iter().find(|answer| answer["id"] == 2).map(|answer| answer["result"]["tools"].clone());
    drop(input);
    let _ = server.kill();
    server.wait()?;
    let tools = tools.context("the server listed no tools")?;
    Ok((tools.to_string().len(), tools.as_array().map_or(0, Vec::len)))
}

/// The servers of the fixture.
fn connected(place: &Path) -> Result<Connectors> {
    let npm = node::packages("tools-npm", &NPM.map(|(_, _, package)| package))?;
    let pypi = python::environment("tools-pypi", &PYPI.map(|(_, _, package)| package).join(" "))?;
    // It is of before the second version of the SDK.
    let (sqlite, packages) = (SQLITE, "mcp-server-sqlite==2025.4.25 mcp==1.30.0");
    let older = python::environment("tools-sqlite", packages)?.join("bin").join(sqlite);
    let mut text = std::fs::read_to_string(place.join("servers.json"))?;
    let programs = NPM.iter().map(|(word, program, _)| (word, npm.join("node_modules/.bin").join(program)));
    let programs: Vec<(&&str, PathBuf)> = programs
        .chain(PYPI.iter().map(|(word, program, _)| (word, pypi.join("bin").join(program))))
        .collect();
    text = text.replace("${SQLITE}", &older.to_string_lossy());
    for (word, program) in &programs {
        text = text.replace(&format!("${{{word}}}"), &program.to_string_lossy());
    }
    text = text.replace(&format!("${{{FIXTURE}}}"), &place.to_string_lossy());
    let written = place.join(CONNECTED);
    std::fs::write(&written, text)?;
    let contents = file::read(&[&written])?;
    Ok(Connectors::new(Settings {
        connections: contents.connections,
        rules: contents.rules,
        // All programs are right: none is to be refused.
        check: true,
        ..Settings::default()
    })?)
}

async fn one(
    golden: &Golden,
    place: &Path,
    connectors: &Connectors,
    (installations, moves): (&[Dormouse; 2], bool),
) -> Result<()> {
    let place = place.to_string_lossy();
    let code = golden.code.replace(FIXTURE, &place);
    let caller = Caller {
        owner: Owner::local(),
        language: Some(Language::parse(&golden.language)?),
        approver: None,
        taint: Taint::default(),
    };
    let catalog = connectors.catalog(&caller);
    let snippet = installations[0].snippet(&golden.language, code).timeout(LIMIT).catalog(catalog.clone());
    let outcome = match moves {
        true => moved(snippet.start().await?, (&golden.language, catalog), installations).await?,
        false => snippet.run().await?,
    };
    let value = outcome.value().with_context(|| told(&outcome))?;
    let value = plain(&serde_json::to_value(value)?);
    let wanted: Json = serde_json::from_str(&golden.value.to_string().replace(FIXTURE, &place))?;
    ensure!(value == wanted, "it came to {value}");
    Ok(())
}

/// Lets a program go on in the other installation whenever it waits, from its bytes.
async fn moved(
    mut program: Program,
    (language, catalog): (&str, Arc<dyn Catalog>),
    installations: &[Dormouse; 2],
) -> Result<Outcome> {
    let mut callbacks = Callbacks::default();
    callbacks.set_catalog(catalog.clone());
    let mut under_way = JoinSet::new();
    for other in (0..2).cycle().skip(1) {
        let Some(wanted) = program.wanted().cloned() else { break };
        for call in wanted.calls {
            under_way.spawn(answered(callbacks.clone(), call));
        }
        let saved = program.save().await?;
        drop(program);
        let answer = match wanted.time {
            Some(time) => tokio::time::timeout(time, next(&mut under_way)).await.ok(),
            None => Some(next(&mut under_way).await),
        };
        program = installations[other]
            .snippet(language, "")
            .timeout(LIMIT)
            .catalog(catalog.clone())
            .resume(&saved)
            .await?;
        program.answer(answer.into_iter().collect()).await?;
    }
    Ok(program.finish().await?)
}

async fn next(under_way: &mut JoinSet<CallAnswer>) -> CallAnswer {
    match under_way.join_next().await {
        Some(Ok(answer)) => answer,
        _ => std::future::pending().await,
    }
}

async fn answered(callbacks: Callbacks, call: PendingCall) -> CallAnswer {
    let outcome = match callbacks.get(&call.name) {
        Some(callback) => {
            let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
            let answered = callback.call(CallbackCall { arguments, ..CallbackCall::default() }).await;
            answered.map(|answer| answer.value.to_string())
        }
        None => Err(callbacks.missing(&call.name)),
    };
    CallAnswer { id: call.id, outcome }
}

fn told(outcome: &Outcome) -> String {
    match (outcome.exception(), outcome.stopped()) {
        (Some(exception), _) => format!("{}: {}", exception.class, exception.message),
        (None, Some(error)) => error.to_string(),
        (None, None) => "it has no value".into(),
    }
}

/// A typed value without its types.
fn plain(value: &Json) -> Json {
    match &value["value"] {
        Json::Array(items) => items.iter().map(plain).collect(),
        Json::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), plain(field))).collect(),
        other => other.clone(),
    }
}
