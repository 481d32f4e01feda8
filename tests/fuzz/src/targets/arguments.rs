//! Calls of every tool with any arguments, over a provider and a ledger that only pretend.
//!
//! Each line of an input is the name of a tool and, after a space, the JSON object of its arguments. A sandbox with the name
//! `box` exists before the first line.

use std::sync::Arc;

use dormouse_core::sandboxes::Rules;
use dormouse_core::testing::{FakeProvider, ManualClock, MemoryLedger};
use dormouse_core::{Policy, Runtime};
use dormouse_tools::{CallContext, Profile, Reply, Surface, Toolset};
use serde_json::{Map, Value as Json};
use tokio::runtime::Builder;

use crate::Target;

/// Calls of one input.
const MOST: usize = 8;
/// Longest text of an answer, in bytes (256 KiB).
const TEXT: usize = 256 << 10;

pub(crate) const TARGET: Target = Target {
    words: &[
        "\nsandbox_eval ",
        "\nsandbox_exec ",
        "\nsandbox_write ",
        "\nsandbox_read ",
        "\nsandbox_upload ",
        "\nsandbox_fork ",
        "\nsandbox_job ",
        "\nsandbox_run ",
        "\nrlm_exec ",
        "\nEdit ",
        "\"sandbox\":\"box\"",
        "\"session_key\":\"k\"",
        "\"language\":\"python\"",
        "\"code\":\"",
        "\"command\":\"",
        "\"path\":\"/workspace/a\"",
        "\"timeout_ms\":",
        "\"offset\":",
        "\"content_base64\":\"",
        "\"unpack\":true",
        "null",
        "5000.0",
        "1e999",
        "\\ud83d\\ude00",
        "{\"a\":",
    ],
    longest: 16 << 10,
    memory: 128 << 20,
    ..Target::new("arguments", "arguments of every tool (adapters/tools)", run)
};

fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    // Time passes at once when everybody waits.
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(calls(text));
}

fn surface() -> Surface {
    let provider = Arc::new(FakeProvider::default());
    let runtime = Runtime::new(Policy::default(), provider);
    let (ledger, clock) = (Arc::new(MemoryLedger::default()), Arc::new(ManualClock::default()));
    let runtime = runtime.with_sandboxes(ledger, Rules::default(), clock);
    // Sandboxes last: all tools are made anew at each step.
    let surface = Surface::new(runtime).with_tools(Toolset::All).expect("all tools");
    surface.with_profiles(&Profile::ALL.map(|(_, profile)| profile))
}

async fn calls(text: &str) {
    let surface = surface();
    let name = Map::from_iter([("name".to_owned(), "box".into())]);
    let made = call(&surface, "sandbox_create", name).await.expect("there is such a tool");
    assert!(!made.is_error, "{}", made.text);
    for line in text.lines().take(MOST) {
        let (tool, arguments) = line.split_once(' ').unwrap_or((line, "{}"));
        let Ok(Json::Object(arguments)) = serde_json::from_str(arguments) else { continue };
        let before = sandboxes(&surface).await;
        let Some(reply) = call(&surface, tool, arguments).await else { continue };
        let code = reply.structured["error"]["code"].as_str().unwrap_or_default();
        assert_ne!(code, "internal", "{tool}: {}", reply.text);
        if code == "args_invalid" || code == "too_large" {
            assert_eq!(sandboxes(&surface).await, before, "{tool}: a refused call changes nothing");
        }
    }
}

/// None: there is no such tool.
async fn call(surface: &Surface, tool: &str, arguments: Map<String, Json>) -> Option<Reply> {
    let reply = surface.call(tool, arguments, CallContext::default()).await.ok()?;
    assert!(reply.structured.is_object() && reply.text.len() <= TEXT, "{tool}: {} bytes", reply.text.len());
    Some(reply)
}

/// The sandboxes, as they are listed.
async fn sandboxes(surface: &Surface) -> Json {
    let listed = call(surface, "sandbox_list", Map::new()).await.expect("there is such a tool");
    listed.structured
}
