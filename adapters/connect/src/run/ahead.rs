//! A look at a program's calls before it runs: tools that are not there, arguments that are missing, unknown or of another type.
//!
//! A right program is never told of: what a call would be refused for when it is made, and nothing else, is wrong with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dormouse_core::{Catalog as _, PlainCall};
use dormouse_sources::{Check, Patterns};
use dormouse_tools::nearest;
use serde_json::{Map, Value as Json};

use super::{Run, Tools as Offered};
use crate::pool::{Fresh, Held};
use crate::shared::SEARCHED;
use crate::tools::{Tool, Tools};
use crate::{stub, text};

/// Calls that are told of.
const MOST_TOLD: usize = 20;
/// Stubs that are shown, and bytes of one; a longer one is shown as one line.
const MOST_STUBS: usize = 5;
const MAX_STUB: usize = 2_000;
/// Characters of a name.
const MAX_NAME: usize = 64;
/// Keywords of a schema that are about several arguments, or about those that are not given.
const OF_SEVERAL: [&str; 13] = [
    "allOf",
    "anyOf",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "if",
    "maxProperties",
    "minProperties",
    "not",
    "oneOf",
    "required",
    "then",
];

/// What is wrong with one call, and the stub of the tool that is meant.
struct Wrong {
    line: u32,
    why: String,
    stub: Option<String>,
}

/// What is wrong with a program's calls, in words for its author; none: nothing that is known. Servers that cannot be reached are
/// left out.
pub(crate) async fn look(run: &Arc<Run>, calls: Vec<PlainCall>) -> Option<String> {
    let mut by_server: BTreeMap<usize, Vec<PlainCall>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for call in calls {
        let (server, tool) = call.name.split_once('.').unwrap_or((&call.name, ""));
        match run.shared.server(server) {
            Some(server) if !tool.is_empty() => by_server.entry(server).or_default().push(call),
            _ => {
                let missing = Offered(run.clone()).missing(&call.name);
                let why = format!("no tool `{}`; {missing}", shown(&call.name));
                wrong.push(Wrong { line: call.line, why, stub: None });
            }
        }
    }
    let each = by_server.into_iter().map(|(server, calls)| async move {
        let looked = tokio::time::timeout(SEARCHED, of_server(run, server, calls)).await;
        looked.unwrap_or_default()
    });
    wrong.extend(futures::future::join_all(each).await.into_iter().flatten());
    wrong.sort_by_key(|one| one.line);
    (!wrong.is_empty()).then(|| told(&wrong))
}

fn told(wrong: &[Wrong]) -> String {
    let mut text = match wrong.len() {
        1 => "a call of a tool is wrong, and nothing was run:".to_owned(),
        count => format!("{count} calls of tools are wrong, and nothing was run:"),
    };
    for one in wrong.iter().take(MOST_TOLD) {
        text.push_str(&format!("\nline {}: {}", one.line, one.why));
    }
    if let Some(more @ 1..) = wrong.len().checked_sub(MOST_TOLD) {
        text.push_str(&format!("\nand {more} more"));
    }
    let mut stubs = BTreeSet::new();
    let shown = wrong.iter().filter_map(|one| one.stub.as_deref()).filter(|stub| stubs.insert(*stub));
    for stub in shown.take(MOST_STUBS) {
        text.push_str(&format!("\n\n{}", stub.trim_end()));
    }
    text
}

async fn of_server(run: &Arc<Run>, server: usize, calls: Vec<PlainCall>) -> Vec<Wrong> {
    let (of, mut wrong) = (&run.shared.identifiers[server], Vec::new());
    for call in calls {
        let Some((_, name)) = call.name.split_once('.') else { continue };
        // A list that does not have the tool may be an old one.
        let Ok(held) = run.reach(server, Fresh::With(name)).await else { break };
        let (why, meant) = match held.tools.get(name) {
            Some(tool) => {
                let why = of_arguments(&held.tools, tool, &call);
                if why.is_empty() {
                    continue;
                }
                (format!("`{of}.{}`: {}", tool.identifier, why.join("; ")), Some(tool))
            }
            None => (run.shared.no_tool(server, &held, name), meant(&held, name)),
        };
        wrong.push(Wrong { line: call.line, why, stub: meant.map(|tool| stub_of(run, of, tool)) });
    }
    wrong
}

/// The tool that a name most likely stands for.
fn meant<'a>(held: &'a Held, name: &str) -> Option<&'a Tool> {
    let names = held.tools.list.iter().map(|tool| tool.identifier.as_str());
    held.tools.get(nearest(name, names)?)
}

fn stub_of(run: &Run, server: &str, tool: &Tool) -> String {
    let language = run.caller.language.as_ref();
    match stub::one(server, tool, language) {
        stub if stub.len() <= MAX_STUB => stub,
        _ => stub::signature(server, tool, language),
    }
}

/// What is wrong with the arguments of a call.
fn of_arguments(tools: &Tools, tool: &Tool, call: &PlainCall) -> Vec<String> {
    if call.positional {
        return vec!["it takes its arguments by name".into()];
    }
    // What is not checked when the call is made is the server's to say.
    if !tools.is_checked(tool) {
        return Vec::new();
    }
    let mut wrong = of_names(&tool.listed.input_schema, call);
    wrong.extend(of_types(&tool.listed.input_schema, call));
    if wrong.is_empty() && call.whole && call.others.is_empty() {
        wrong.extend(tools.violation(tool, &Json::Object(call.literals.clone())));
    }
    wrong
}

fn of_names(schema: &Json, call: &PlainCall) -> Vec<String> {
    if schema.get("$ref").is_some() {
        return Vec::new();
    }
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let missing: Vec<&str> = required.filter(|name| call.whole && !call.gives(name)).collect();
    let given = call.literals.keys().chain(&call.others).map(String::as_str);
    let strange: BTreeSet<&str> = given.filter(|name| !properties.contains_key(*name)).collect();
    let takes_others = schema["additionalProperties"] != false || schema.get("patternProperties").is_some();
    let mut wrong: Vec<String> =
        missing.iter().map(|name| format!("the argument `{}` is missing", shown(name))).collect();
    for name in strange {
        let meant = nearest(name, properties.keys().map(String::as_str));
        // One more argument may be right; in the place of one that is missing it is not.
        if takes_others && !meant.is_some_and(|meant| missing.contains(&meant)) {
            continue;
        }
        let meant = meant.map(|meant| format!(", and there is `{}`", shown(meant)));
        wrong.push(format!("there is no argument `{}`{}", shown(name), meant.unwrap_or_default()));
    }
    wrong
}

/// Each literal by itself, against what the schema says of the argument.
fn of_types(schema: &Json, call: &PlainCall) -> Vec<String> {
    let (Json::Object(schema), false) = (schema, call.literals.is_empty()) else { return Vec::new() };
    let of_one: Map<String, Json> =
        schema.iter().filter(|(word, _)| !OF_SEVERAL.contains(&word.as_str())).map(pair).collect();
    let Some(Json::Object(properties)) = schema.get("properties") else { return Vec::new() };
    let Ok(check) = Check::new(&Json::Object(of_one), &mut Patterns::default()) else { return Vec::new() };
    let known = call.literals.iter().filter(|(name, _)| properties.contains_key(*name));
    known
        .filter_map(|literal| check.violation(&Json::Object([pair(literal)].into_iter().collect())))
        .collect()
}

fn pair((name, value): (&String, &Json)) -> (String, Json) {
    (name.clone(), value.clone())
}

fn shown(name: &str) -> String {
    text::line(name, MAX_NAME)
}
