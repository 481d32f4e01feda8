//! The HTTP status of an answer, and answers that no tool gave.

use axum::Json as JsonBody;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use dormouse_core::{Error, ErrorCode};
use dormouse_tools::{Reply, encode};
use serde_json::{Value as Json, json};

use crate::words;

/// Seconds after which one who was refused for want of a place may try again.
const RETRY: &str = "1";

/// The status of a request that was refused with this code.
pub fn of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::ArgsInvalid
        | ErrorCode::UnknownLanguage
        | ErrorCode::UnknownSource
        | ErrorCode::TemplateMissingKey => StatusCode::BAD_REQUEST,
        ErrorCode::Unauthorized => StatusCode::UNAUTHORIZED,
        ErrorCode::Forbidden | ErrorCode::NetworkDenied | ErrorCode::WriteDenied | ErrorCode::PathDenied => {
            StatusCode::FORBIDDEN
        }
        ErrorCode::NotFound | ErrorCode::UnknownSandbox | ErrorCode::UnknownCheckpoint => {
            StatusCode::NOT_FOUND
        }
        ErrorCode::Cancelled
        | ErrorCode::NameTaken
        | ErrorCode::InvalidState
        | ErrorCode::Conflict
        | ErrorCode::CheckpointOfOtherSandbox
        | ErrorCode::GuestMismatch => StatusCode::CONFLICT,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::LimitTime
        | ErrorCode::LimitFuel
        | ErrorCode::LimitMemory
        | ErrorCode::LimitStack
        | ErrorCode::LimitHost
        | ErrorCode::LimitDisk
        | ErrorCode::GuestTrap
        | ErrorCode::BadComponent
        | ErrorCode::ProjectFailed
        | ErrorCode::BudgetExhausted
        | ErrorCode::Unsatisfiable
        | ErrorCode::PackageRefused => StatusCode::UNPROCESSABLE_ENTITY,
        ErrorCode::Busy | ErrorCode::QuotaExceeded | ErrorCode::ModelRateLimited => {
            StatusCode::TOO_MANY_REQUESTS
        }
        ErrorCode::ModelUnavailable | ErrorCode::IndexUnavailable => StatusCode::BAD_GATEWAY,
        ErrorCode::CapabilityUnavailable => StatusCode::NOT_IMPLEMENTED,
        ErrorCode::GuestMissing
        | ErrorCode::VersionMismatch
        | ErrorCode::StateUnavailable
        | ErrorCode::ProviderUnavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::HealthTimeout => StatusCode::GATEWAY_TIMEOUT,
        // `state_damaged`, `internal`, and codes to come until they are named here.
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The answer of a tool. A run that a limit or a crash ended is an answer like any other: 200, and its `error` says so. So is a
/// check that did not pass.
pub(crate) fn answer(reply: Reply) -> Response {
    let told = &reply.structured;
    let ran = match told["provider"].as_str() {
        Some(provider) => provider != "none",
        None => told["passed"].is_boolean() || told["exit_code"].is_number(),
    };
    let status = match code(told) {
        Some(code) if reply.is_error && !ran => of(code),
        None if reply.is_error && !ran => StatusCode::INTERNAL_SERVER_ERROR,
        _ if told["created"] == true => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    respond(status, reply.structured)
}

/// The answer to a request that reached no tool.
pub(crate) fn refusal(error: &Error) -> Response {
    refusal_as(of(error.code()), error)
}

/// The same with a status of its own.
pub(crate) fn refusal_as(status: StatusCode, error: &Error) -> Response {
    let mut response = respond(status, json!({"error": encode::error(error)}));
    if status == StatusCode::UNAUTHORIZED {
        set(&mut response, header::WWW_AUTHENTICATE, "Bearer");
    }
    response
}

fn respond(status: StatusCode, mut body: Json) -> Response {
    words::in_routes(&mut body);
    let mut response = (status, JsonBody(body)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        set(&mut response, header::RETRY_AFTER, RETRY);
    }
    response
}

pub(crate) fn set(response: &mut Response, name: HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

fn code(structured: &Json) -> Option<ErrorCode> {
    let text = structured["error"]["code"].as_str()?;
    ErrorCode::ALL.iter().copied().find(|code| code.as_str() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_status() {
        let told: String =
            ErrorCode::ALL.iter().map(|code| format!("{code} {}\n", of(*code).as_u16())).collect();
        let wanted = "args_invalid 400\ntoo_large 413\nunknown_language 400\nguest_missing 503\n\
            guest_mismatch 409\nversion_mismatch 503\nbad_component 422\nlimit_time 422\nlimit_fuel 422\nlimit_memory 422\n\
            limit_stack 422\nlimit_host 422\nguest_trap 422\nproject_failed 422\nnetwork_denied 403\n\
            write_denied 403\npath_denied 403\ncapability_unavailable 501\nprovider_unavailable 503\n\
            unknown_source 400\ntemplate_missing_key 400\nhealth_timeout 504\nbusy 429\ncancelled 409\n\
            not_found 404\nunknown_sandbox 404\nunknown_checkpoint 404\ncheckpoint_of_other_sandbox 409\n\
            name_taken 409\ninvalid_state 409\nquota_exceeded 429\nlimit_disk 422\nconflict 409\n\
            state_damaged 500\nstate_unavailable 503\nmodel_unavailable 502\nmodel_rate_limited 429\n\
            budget_exhausted 422\nindex_unavailable 502\nunsatisfiable 422\n\
            package_refused 422\nunauthorized 401\nforbidden 403\ninternal 500\n";
        assert_eq!(told, wanted);
    }

    #[test]
    fn a_run_that_was_stopped_is_an_answer_and_a_refused_one_is_not() {
        let reply = |provider: &str| {
            let structured = json!({"provider": provider, "error": {"code": "limit_time"}});
            Reply { structured, text: String::new(), is_error: true }
        };
        assert_eq!(answer(reply("wasm")).status(), 200);
        assert_eq!(answer(reply("none")).status(), 422);
        for (structured, status) in [
            (json!({"passed": false, "error": null}), 200),
            (json!({"exit_code": 124, "error": {"code": "limit_time"}}), 200),
            (json!({"error": {"code": "limit_time"}}), 422),
            (json!({"error": null}), 500),
        ] {
            let reply = Reply { structured, text: String::new(), is_error: true };
            assert_eq!(answer(reply).status(), status);
        }
    }
}
