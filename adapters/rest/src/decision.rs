//! `POST /api/runs/{run}/calls/{call}`: a person's answer whether a call of a run may be made. No tool has it: a model is not to
//! allow its own program's calls.

use axum::body::to_bytes;
use axum::extract::{FromRequestParts as _, Path, Request};
use axum::response::Response;
use dormouse_core::connections::Decision;
use dormouse_core::{Error, Result};
use dormouse_tools::Reply;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::openapi::refused;
use crate::router::Shared;
use crate::{call, status};

/// The path.
pub(crate) const PATH: &str = "/api/runs/{run}/calls/{call}";
/// Largest body, in bytes (16 KiB).
const MAX_BODY: usize = 16 << 10;
/// Longest reason, in characters.
const MAX_REASON: usize = 1_000;

/// The body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    allow: bool,
    #[serde(default)]
    reason: Option<String>,
}

/// Answers it.
pub(crate) async fn answer(shared: &Shared, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let decided = async {
        let Path((run, number)): Path<(String, u32)> =
            Path::from_request_parts(&mut parts, &()).await.map_err(|_| {
                Error::args_invalid("the address does not name a run and the number of a call")
                    .with_hint("write `/api/runs/RUN/calls/NUMBER`")
            })?;
        let bytes = to_bytes(body, MAX_BODY)
            .await
            .map_err(|_| Error::args_invalid("the body is longer than 16 KiB"))?;
        let decision = read(&bytes)?;
        shared.surface.decide(&call::owner(&parts), (&run, number), decision)
    };
    match decided.await {
        Ok(run) => status::answer(Reply { text: run.to_string(), structured: run, is_error: false }),
        Err(error) => status::refusal(&error),
    }
}

fn read(bytes: &[u8]) -> Result<Decision> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| {
        Error::args_invalid(format!("the body cannot be read: {error}"))
            .with_hint("send `{\"allow\": true}`, or `{\"allow\": false, \"reason\": \"why\"}`")
    })?;
    let reason = answer.reason.unwrap_or_else(|| "it was denied".into());
    Ok(match answer.allow {
        true => Decision::Approved,
        false => Decision::Denied(reason.chars().take(MAX_REASON).collect()),
    })
}

/// How the OpenAPI document tells of it, with the schema of a run.
pub(crate) fn operation(run: &Json) -> Json {
    let parameter =
        |name: &str, schema: Json| json!({"name": name, "in": "path", "required": true, "schema": schema});
    json!({
        "operationId": "decide",
        "summary": "Allow or deny a call that a run asks about",
        "parameters": [
            parameter("run", json!({"type": "string", "description": "The run's id."})),
            parameter("call", json!({"type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "The call's number."})),
        ],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {
            "type": "object",
            "additionalProperties": false,
            "required": ["allow"],
            "properties": {
                "allow": {"type": "boolean", "description": "Whether the call may be made."},
                "reason": {"type": "string", "maxLength": MAX_REASON, "description": "What the program is told when it may not."},
            },
        }}}},
        "responses": {
            "200": {
                "description": "The run, as `POST /api/runs/{run}` shows it.",
                "content": {"application/json": {"schema": run}},
            },
            "4XX": refused("There is no such run or question, it has been answered already, or the request is wrong."),
            "5XX": refused("The server cannot do it."),
        },
    })
}
