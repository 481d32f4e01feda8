//! The routes over machines that only pretend: every route is one of a tool, and every tool has one.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::body::Body;
use axum::body::to_bytes;
use axum::extract::Request;
use dormouse_core::sandboxes::Rules;
use dormouse_core::testing::{FakeProvider, ManualClock, MemoryLedger, wait_until_async};
use dormouse_core::{Policy, Runtime};
use dormouse_tools::Toolset;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::Value as Json;

use super::*;
use crate::route::Source;

fn surface() -> Arc<Surface> {
    surface_over(FakeProvider::default())
}

fn surface_over(provider: FakeProvider) -> Arc<Surface> {
    let runtime = Runtime::new(Policy::default(), Arc::new(provider));
    let clock = Arc::new(ManualClock::default());
    let runtime = runtime.with_sandboxes(Arc::new(MemoryLedger::default()), Rules::default(), clock);
    Arc::new(Surface::new(runtime).with_tools(Toolset::All).unwrap())
}

/// The status and the body of one answer.
async fn ask(routes: &Router, method: &str, path: &str, body: &str) -> (u16, Json) {
    let mut request = Request::builder().method(method).uri(path);
    if !body.is_empty() {
        request = request.header("content-type", "application/json");
    }
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let response = TowerToHyperService::new(routes.clone()).call(request).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[test]
fn no_two_routes_are_the_same() {
    let all: BTreeSet<_> = ROUTES.iter().map(|route| (route.path, format!("{:?}", route.method))).collect();
    let ids: BTreeSet<_> = ROUTES.iter().map(|route| route.id).collect();
    assert_eq!((all.len(), ids.len()), (ROUTES.len(), ROUTES.len()));
}

#[test]
fn every_tool_has_a_route_and_a_method_is_what_its_tool_does() {
    let surface = surface();
    let routed: BTreeSet<&str> = ROUTES.iter().map(|route| route.tool).collect();
    let tools: BTreeSet<&str> = surface.list().iter().map(|spec| spec.name).collect();
    assert_eq!(routed, tools);
    for route in ROUTES {
        let does = surface.get(route.tool).unwrap().annotations;
        match route.method {
            Method::Get => assert!(does.read_only, "{}: a page can make anybody GET", route.path),
            Method::Delete => assert!(does.destructive && does.idempotent, "{}", route.path),
            Method::Post | Method::Put => assert!(!does.read_only, "{}", route.path),
        }
    }
}

#[test]
fn every_argument_of_a_route_is_one_of_its_tool_and_has_a_place() {
    let surface = surface();
    for route in ROUTES {
        let schema = &surface.get(route.tool).unwrap().input_schema;
        let fields = schema["properties"].as_object().unwrap();
        for part in route.path.split('/').filter_map(|part| part.strip_prefix('{')) {
            assert!(fields.contains_key(part.trim_end_matches('}')), "{}", route.path);
        }
        for needed in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            assert_ne!(route.source(needed), Source::Nowhere, "{}: {needed}", route.path);
        }
    }
    let stop = ROUTES.iter().find(|route| route.id == "sandbox_stop").unwrap();
    assert_eq!((stop.source("sandbox"), stop.source("session_key")), (Source::Path, Source::Nowhere));
}

#[test]
fn the_document_has_every_route_and_only_those_of_offered_tools() {
    let document = openapi::document(&surface(), false);
    let paths = document["paths"].as_object().unwrap();
    let documented = |route: &Route| {
        let operations = paths[route.path].as_object().unwrap();
        operations.values().any(|operation| operation["operationId"] == route.id)
    };
    assert!(ROUTES.iter().all(documented));
    assert!(document["security"].is_null());
    assert_eq!(openapi::document(&surface(), true)["security"][0]["token"], json!([]));
    let runtime = Runtime::new(Policy::default(), Arc::new(FakeProvider::default()));
    let few = openapi::document(&Surface::new(runtime), false);
    let few: Vec<&String> = few["paths"].as_object().unwrap().keys().collect();
    assert_eq!(few, ["/api/capabilities", "/api/eval", "/health"]);
}

#[tokio::test]
async fn a_sandbox_lives_behind_the_routes() {
    let routes = router(surface(), false, &CancellationToken::new());
    let (status, made) =
        ask(&routes, "POST", "/api/sandboxes", r#"{"name": "a b", "session_key": "k"}"#).await;
    assert_eq!((status, &made["name"]), (201, &json!("a b")), "{made}");
    let again = ask(&routes, "POST", "/api/sandboxes", r#"{"session_key": "k"}"#).await;
    assert_eq!((again.0, &again.1["id"]), (200, &made["id"]));
    assert_eq!(ask(&routes, "GET", "/api/sandboxes/a%20b", "").await.0, 200);
    let listed = ask(&routes, "GET", "/api/sandboxes?limit=10&phase=running", "").await;
    assert_eq!(listed.1["sandboxes"].as_array().unwrap().len(), 1);
    assert_eq!(ask(&routes, "POST", "/api/sandboxes/a%20b/stop", "").await.1["phase"], "stopped");
    assert_eq!(ask(&routes, "DELETE", "/api/sandboxes/a%20b", "").await.0, 200);
    assert_eq!(ask(&routes, "GET", "/api/sandboxes/a%20b", "").await.0, 404);
}

#[tokio::test]
async fn calls_at_the_end_of_the_server_are_answered() {
    let closing = CancellationToken::new();
    let provider = FakeProvider::default();
    let routes = router(surface_over(provider.clone()), false, &closing);
    assert_eq!(ask(&routes, "POST", "/api/sandboxes", r#"{"name": "b"}"#).await.0, 201);
    let endless = r#"{"command": "never starts", "background": true}"#;
    let end = async {
        wait_until_async("the job waits", Duration::from_secs(60), || provider.waiting() == 1).await;
        closing.cancel();
    };
    let ((status, told), ()) = tokio::join!(ask(&routes, "POST", "/api/sandboxes/b/exec", endless), end);
    assert_eq!((status, &told["error"]["code"]), (409, &json!("cancelled")), "{told}");
    let (status, told) = ask(&routes, "POST", "/api/sandboxes", r#"{"name": "a"}"#).await;
    assert_eq!((status, &told["error"]["code"]), (409, &json!("cancelled")), "{told}");
    assert_eq!(ask(&routes, "GET", "/health", "").await.0, 200);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_with_its_code() {
    let routes = router(surface(), false, &CancellationToken::new());
    for (method, path, body, status, code) in [
        ("GET", "/api/nothing", "", 404, "not_found"),
        ("DELETE", "/api/sandboxes", "", 405, "not_found"),
        ("GET", "/api/sandboxes?limit=many", "", 400, "args_invalid"),
        ("GET", "/api/sandboxes?limit=-1", "", 400, "args_invalid"),
        ("GET", "/api/sandboxes?limit=1&limit=2", "", 400, "args_invalid"),
        ("GET", "/api/sandboxes?access_token=0123456789abcdef", "", 400, "args_invalid"),
        ("GET", "/api/sandboxes", "{}", 400, "args_invalid"),
        ("POST", "/api/sandboxes?name=a", "", 400, "args_invalid"),
        ("POST", "/api/sandboxes", "[]", 400, "args_invalid"),
        ("POST", "/api/sandboxes", "{", 400, "args_invalid"),
        ("POST", "/api/sandboxes", r#"{"nmae": "a"}"#, 400, "args_invalid"),
        ("POST", "/api/sandboxes/a/stop", r#"{"sandbox": "b"}"#, 400, "args_invalid"),
        ("POST", "/api/sandboxes/a/stop", r#"{"session_key": "b"}"#, 400, "args_invalid"),
        ("POST", "/api/sandboxes/%ff/stop", "", 400, "args_invalid"),
        ("POST", "/api/sandboxes/..%2f..%2fetc/stop", "", 404, "unknown_sandbox"),
        ("POST", "/api/sandboxes/none/stop", "", 404, "unknown_sandbox"),
        ("POST", "/api/sandboxes/none/eval", "{}", 400, "args_invalid"),
        ("GET", "/api/sandboxes/none/files/content?path=/a&offset=1", "", 400, "args_invalid"),
        ("GET", "/api/sandboxes/none/files/content?path=/workspace/a", "", 404, "unknown_sandbox"),
        ("PUT", "/api/sandboxes/none/files/content?path=/a&host_path=/etc/passwd", "", 400, "args_invalid"),
    ] {
        let (found, told) = ask(&routes, method, path, body).await;
        assert_eq!((found, &told["error"]["code"]), (status, &json!(code)), "{method} {path} {body}: {told}");
    }
    for (limit, problem) in [
        ("-1", "the field `limit` is -1, outside 1 to 200"),
        ("1.5", "the field `limit` is 1.5, not a whole number"),
        ("many", "the field `limit` is a string, not a whole number: `many`"),
    ] {
        let (_, told) = ask(&routes, "GET", &format!("/api/sandboxes?limit={limit}"), "").await;
        assert_eq!(told["error"]["message"], problem, "{told}");
        assert_eq!(told["error"]["hint"], "give `limit` a whole number from 1 to 200", "{told}");
    }
    let form = Request::builder().method("POST").uri("/api/sandboxes").header("content-type", "text/plain");
    let form = form.body(Body::from("{}")).unwrap();
    let answer = TowerToHyperService::new(routes).call(form).await.unwrap();
    assert_eq!(answer.status(), 415, "a web page's form is no JSON");
}
