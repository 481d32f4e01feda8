//! The golden cases of the Wasm guests (`tests/golden`). What an interpreter answers is the same, but for the places that are
//! listed here with the reason; a place that is listed and does not differ is a failure as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use dormouse_core::{Bounds, GuestPath, Language, Status};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::support;

/// A case that is not run: what it asks for is refused.
const REFUSED: &str = "a container has no fixed seed and clock";
const PLACES: &str = "the folder of the case is where it lies on this machine";
const COLUMNS: &str = "V8 points at `new`, QuickJS at the class";
const WORDS: &str = "V8 has other words, and another place, for what it refuses";

/// Language, case, the JSON pointers that differ, and why.
const DIFFERENT: &[(&str, &str, &[&str], &str)] = &[
    ("python", "surroundings", &["/result/value/folder/value"], PLACES),
    (
        "javascript",
        "surroundings",
        &[
            "/result/value/folder/value",
            "/result/value/environment/count",
            "/result/value/environment/value/HOME",
        ],
        "the folder of the case, and the home of a container is its image's",
    ),
    ("javascript", "exception", &["/exception/column", "/exception/traceback"], COLUMNS),
    (
        "javascript",
        "exception_chain",
        &[
            "/exception/column",
            "/exception/traceback",
            "/exception/previous/0/column",
            "/exception/previous/1/stack_trace/0",
        ],
        COLUMNS,
    ),
    (
        "javascript",
        "syntax_error",
        &["/exception/column", "/exception/message", "/exception/traceback"],
        WORDS,
    ),
    (
        "php",
        "surroundings",
        &[
            "/result/value/folder/value",
            "/result/value/environment/count",
            "/result/value/environment/value/HOME",
            "/result/value/here/value/1/value",
            "/result/value/here/value/3/value",
        ],
        "the folder of the case, the system is Linux, and the home of a container is its image's",
    ),
    (
        "php",
        "cycles",
        &[
            "/result/value/1/id",
            "/result/value/1/value/1/class",
            "/result/value/1/value/1/count",
            "/result/value/1/value/1/is_list",
            "/result/value/1/value/1/type",
            "/result/value/1/value/1/value",
        ],
        "an array within itself is known by the variable it shares, one level further down",
    ),
    (
        "php",
        "fatal_error",
        &["/exception/stack_trace", "/stderr"],
        "PHP itself tells a fatal error on standard error",
    ),
];

/// What the versions of the languages say in other words, made the same on both sides.
fn without_versions(language: &Language, answer: &mut Json) {
    match language.as_str() {
        // The marks below a line that raised, and the folder of the library.
        "python" => {
            if let Some(Json::String(text)) = answer.pointer_mut("/exception/traceback") {
                let marks = |line: &&str| line.is_empty() || !line.bytes().all(|b| b" ~^".contains(&b));
                *text = text.lines().filter(marks).collect::<Vec<_>>().join("\n");
            }
            if let Some(Json::String(text)) = answer.pointer_mut("/result/value/module/repr") {
                *text = text.split(" from ").next().unwrap_or_default().to_owned();
            }
        }
        "javascript" => {
            if let Some(Json::String(text)) = answer.pointer_mut("/exception/previous/1/message") {
                // Every version of V8 has its own words for it.
                *text = "JSON.parse refuses it".to_owned();
            }
        }
        // Before PHP 8.4 closures have no place in their names.
        _ => {
            for name in ["arrow", "closure"] {
                let place = format!("/result/value/{name}/repr");
                if let Some(Json::String(text)) = answer.pointer_mut(&place)
                    && let Some((_, arguments)) = text.split_once('}')
                {
                    *text = format!("{{closure}}{arguments}");
                }
            }
        }
    }
}

/// `call.json`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Call {
    language: Option<String>,
    name: Option<String>,
    timeout_ms: Option<u64>,
    memory_bytes: Option<u64>,
    output_bytes: Option<u64>,
    seed: Option<u64>,
    clock: Option<u64>,
    stdin: Option<String>,
    env: BTreeMap<String, String>,
    args: Vec<String>,
    directory: Option<String>,
    mount: Option<Json>,
    bounds: Option<Bounds>,
    tools: bool,
}

async fn answer(language: &Language, case: &Path, extension: &str) -> Option<Json> {
    let code = fs::read_to_string(case.join(format!("in.{extension}"))).expect("a case has a source");
    let call: Call = fs::read_to_string(case.join("call.json"))
        .map(|text| serde_json::from_str(&text).expect("a call"))
        .unwrap_or_default();
    if call.language.is_some() {
        return None;
    }
    let mut running = support::start(language).await;
    let mut request = running.snippet(&code);
    if let Some(name) = call.name {
        request.name = name;
    }
    request.context.limits.wall = call.timeout_ms.map_or(request.context.limits.wall, Duration::from_millis);
    request.context.limits.memory = call.memory_bytes.unwrap_or(request.context.limits.memory);
    request.context.limits.output = call.output_bytes.unwrap_or(request.context.limits.output);
    request.context.bounds = call.bounds.unwrap_or_default();
    let grants = &mut request.context.grants;
    grants.stdin = call.stdin.unwrap_or_default().into_bytes();
    grants.environment = call.env.into_iter().collect();
    grants.arguments = call.args;
    // Where the mount's files lie on this machine.
    let files = call.mount.as_ref().map(|_| case.join("files").to_string_lossy().into_owned());
    grants.directory =
        call.directory.map(|path| GuestPath::parse(files.as_deref().unwrap_or(&path)).expect("a path"));
    if call.tools {
        support::offer_tools(&mut request);
    }
    if call.seed.is_some() || call.clock.is_some() {
        request.context.grants.seed = call.seed;
        let error = running.interpreter.eval(&request).await.expect_err(REFUSED);
        assert_eq!(error.code().as_str(), "capability_unavailable");
        return None;
    }
    let reply = running.request(request).await;
    let (mut result, mut exception, mut error, mut exit) = (Json::Null, Json::Null, Json::Null, 0);
    match &reply.status {
        Status::Returned(value) => result = serde_json::to_value(value).expect("JSON"),
        Status::Raised(raised) => {
            (exception, exit) = (serde_json::to_value(raised).expect("JSON"), 1);
        }
        Status::Exited(status) => exit = status & 0xff,
        Status::Stopped(stopped) => {
            error = serde_json::to_value(stopped).expect("JSON");
            exit = i32::from(stopped.code().exit_status());
        }
    }
    Some(json!({
        "result": result, "exception": exception, "error": error, "exit_code": exit,
        "stdout": reply.stdout.text, "stderr": reply.stderr.text,
        "dropped": [reply.stdout.dropped_bytes, reply.stderr.dropped_bytes],
    }))
}

/// What the guest answered, in the same form.
fn recorded(case: &Path) -> Json {
    let text = fs::read_to_string(case.join("out.json")).expect("an answer");
    let whole: Json = serde_json::from_str(&text).expect("JSON");
    let cut = &whole["truncated"];
    let dropped = |name: &str| cut[name].as_u64().unwrap_or(0);
    json!({
        "result": whole["result"], "exception": whole["exception"], "error": whole["error"],
        "exit_code": whole["exit_code"], "stdout": whole["stdout"], "stderr": whole["stderr"],
        "dropped": [dropped("stdout_bytes"), dropped("stderr_bytes")],
    })
}

/// The places where two values differ.
fn differences(wanted: &Json, found: &Json, at: &str, places: &mut BTreeSet<String>) {
    match (wanted, found) {
        (Json::Object(left), Json::Object(right)) => {
            let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
            for name in names {
                let (left, right) = (left.get(name), right.get(name));
                let none = Json::String("(absent)".into());
                differences(left.unwrap_or(&none), right.unwrap_or(&none), &format!("{at}/{name}"), places);
            }
        }
        (Json::Array(left), Json::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                differences(left, right, &format!("{at}/{index}"), places);
            }
        }
        _ if wanted != found => {
            places.insert(at.to_owned());
        }
        _ => {}
    }
}

async fn check(language: Language, extension: &str) {
    if !support::is_here(&language) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(language.as_str());
    let folder = folder.canonicalize().expect("the golden cases are there");
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the golden cases are there").flatten() {
        let case = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(mut found) = answer(&language, &case, extension).await else { continue };
        count += 1;
        let mut wanted = recorded(&case);
        without_versions(&language, &mut found);
        without_versions(&language, &mut wanted);
        let mut places = BTreeSet::new();
        differences(&wanted, &found, "", &mut places);
        let listed: BTreeSet<String> = DIFFERENT
            .iter()
            .filter(|(of, case, ..)| *of == language.as_str() && *case == name)
            .flat_map(|(_, _, places, why)| {
                assert!(!why.is_empty());
                places.iter().map(|place| (*place).to_owned())
            })
            .collect();
        if places != listed {
            let shown = |place: &String| {
                format!(
                    "  {place}\n    guest:  {:?}\n    interpreter: {:?}",
                    wanted.pointer(place),
                    found.pointer(place)
                )
            };
            let unlisted: Vec<String> = places.difference(&listed).map(shown).collect();
            let same: Vec<&String> = listed.difference(&places).collect();
            wrong.push(format!("{name}: differs\n{}\n  listed, and the same: {same:?}", unlisted.join("\n")));
        }
    }
    assert!(count > 10, "only {count} cases were found");
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn python_answers_as_its_guest() {
    check(Language::python(), "py").await;
}

#[tokio::test]
async fn javascript_answers_as_its_guest() {
    check(Language::javascript(), "js").await;
}

#[tokio::test]
async fn php_answers_as_its_guest() {
    check(Language::php(), "php").await;
}
