//! The list of tools, and calls through a provider that only pretends.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::{
    Access, Captured, EvalRequest, Grants, GuestInfo, Mount, Outcome, Policy, Provider, Status, Value,
    outcome::Usage,
};
use serde_json::json;

use super::*;

#[path = "checks_tests.rs"]
mod checks;
#[path = "eval_tests.rs"]
mod evals;
#[path = "exec_tests.rs"]
mod exec;
#[path = "golden_tests.rs"]
mod golden;
#[path = "kept_tests.rs"]
mod kept;
#[path = "profile_tests.rs"]
mod profiles;

/// Keeps what it was asked to run; panics for the source `panic`.
#[derive(Default)]
struct Fake(Mutex<Vec<EvalRequest>>);

#[async_trait]
impl Provider for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn guests(&self) -> Vec<GuestInfo> {
        let language = dormouse_core::Language::python();
        vec![GuestInfo {
            language,
            interpreter: "Fake 1".into(),
            available: false,
            note: Some("not built".into()),
        }]
    }

    async fn eval(&self, request: EvalRequest) -> Result<Outcome> {
        assert_ne!(request.code, "panic", "asked to");
        self.0.lock().expect("not poisoned").push(request);
        let (stdout, stderr) = (Captured::default(), Captured::default());
        let usage = Usage::default();
        Ok(Outcome {
            status: Status::Returned(Value::null()),
            stdout,
            stderr,
            usage,
            provider: "fake",
            fallback_from: None,
            recovery: None,
            warning: None,
            closed_files: Vec::new(),
            recovery_reason: None,
            network: None,
        })
    }
}

fn surface(policy: Policy, mounts: &[Mount]) -> (Surface, Arc<Fake>) {
    let fake = Arc::new(Fake::default());
    let grants = Grants { mounts: mounts.to_vec(), ..Grants::default() };
    (Surface::new(Runtime::new(policy, fake.clone())).with_grants(&grants), fake)
}

fn call(surface: &Surface, name: &str, arguments: Json) -> Result<Reply> {
    let Json::Object(arguments) = arguments else { panic!("not an object") };
    let call = surface.call(name, arguments, CallContext::default());
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(call)
}

fn eval(surface: &Surface, arguments: Json) -> Reply {
    call(surface, "sandbox_eval", arguments).expect("a tool")
}

/// Follows the rules of `schema`, in every corner of a schema.
fn check_portable(at: &str, schema: &Json) {
    let object = schema.as_object().unwrap_or_else(|| panic!("{at}: {schema} is not an object"));
    for (key, value) in object {
        match key.as_str() {
            "type" => assert!(value.is_string(), "{at}: a list of types"),
            "properties" => value.as_object().expect("properties").iter().for_each(|(name, property)| {
                assert!(
                    property["description"].as_str().is_some_and(|text| text.len() > 4),
                    "{at}.{name}: no description"
                );
                check_portable(&format!("{at}.{name}"), property);
            }),
            "anyOf" => {
                let [object, null] = value.as_array().expect("a list").as_slice() else {
                    panic!("{at}: {value}")
                };
                assert_eq!((&object["type"], null), (&json!("object"), &json!({"type": "null"})), "{at}");
                check_portable(at, object);
            }
            "items" => check_portable(&format!("{at}[]"), value),
            "additionalProperties" => assert_eq!(value, &Json::Bool(false), "{at}"),
            "default" => assert!(!value.is_null(), "{at}: a null default"),
            "enum" => {
                assert!(value.as_array().is_some_and(|words| words.iter().all(Json::is_string)), "{at}")
            }
            "description" | "required" | "minimum" | "maximum" | "minLength" | "maxLength" => {}
            other => panic!("{at}: the keyword `{other}` is not portable"),
        }
    }
}

fn validate(at: &str, schema: &Json, value: &Json) {
    let validator = jsonschema::validator_for(schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{at}: {errors:#?}");
}

#[test]
fn every_tool_follows_the_rules_of_the_surface() {
    let (surface, _) = surface(Policy::default(), &[]);
    let names: Vec<_> = surface.list().iter().map(|spec| spec.name).collect();
    assert_eq!(names, ["sandbox_capabilities", "sandbox_eval"]);
    for spec in surface.list() {
        let mut bytes = spec.name.bytes();
        assert!(bytes.next().is_some_and(|byte| byte.is_ascii_lowercase()) && spec.name.len() <= 32);
        assert!(bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'));
        let sentences = spec.description.matches(". ").count() + 1;
        assert!((3..=6).contains(&sentences), "{}: {sentences} sentences", spec.name);
        for schema in [&spec.input_schema, &spec.output_schema] {
            check_portable(spec.name, schema);
            let is_input = std::ptr::eq(schema, &spec.input_schema);
            assert!(!(is_input && schema.to_string().contains("anyOf")), "{}: not in arguments", spec.name);
            assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        }
    }
}

#[test]
fn every_answer_fulfils_the_output_schema() {
    let (surface, _) = surface(Policy::default(), &[Mount::parse("data:/data").expect("a mount")]);
    for (name, arguments) in [
        ("sandbox_eval", json!({"code": "1"})),
        ("sandbox_eval", json!({"code": ""})),
        ("sandbox_eval", json!({"code": "panic"})),
        ("sandbox_capabilities", json!({})),
        ("sandbox_capabilities", json!({"x": 1})),
    ] {
        let reply = call(&surface, name, arguments.clone()).expect("a tool");
        validate(name, &surface.get(name).expect("a tool").output_schema, &reply.structured);
        assert_eq!(reply.is_error, !reply.structured["error"].is_null(), "{name} {arguments}");
    }
    let exception = json!({"class": "A", "message": "b", "code": 1, "file": "f", "line": 1, "column": 2,
        "stack_trace": ["f (a:1)"], "excerpt": "x", "traceback": "t"});
    let mut exception: dormouse_core::Exception = serde_json::from_value(exception).expect("an exception");
    exception.previous = vec![exception.clone()];
    let stream = Captured { dropped_bytes: 1, total_bytes: 1, ..Captured::default() };
    let usage = Usage { fuel: Some(1), ..Usage::default() };
    let run = Outcome {
        status: Status::Raised(exception),
        stdout: stream.clone(),
        stderr: stream,
        usage,
        provider: "fake",
        fallback_from: None,
        recovery: None,
        warning: None,
        closed_files: Vec::new(),
        recovery_reason: None,
        network: None,
    };
    let schema = &surface.get("sandbox_eval").expect("a tool").output_schema;
    validate("sandbox_eval", schema, &crate::call::encode::outcome(&run));
}

#[test]
fn an_unknown_tool_is_an_error_of_its_own() {
    let (surface, _) = surface(Policy::default(), &[]);
    let error = call(&surface, "sandbox_evil", json!({})).expect_err("no such tool");
    assert_eq!((error.code(), error.hint()), (ErrorCode::NotFound, Some("did you mean `sandbox_eval`?")));
    // One that needs sandboxes that last says so.
    let error = call(&surface, "sandbox_create", json!({})).expect_err("no such tool");
    assert!(error.hint().is_some_and(|hint| hint.contains("--state-dir")), "{error:?}");
    assert!(
        surface
            .with_tools(Toolset::parse("sandbox_write").unwrap())
            .is_err_and(|error| error.hint().is_some_and(|hint| hint.contains("--state-dir")))
    );
}

#[test]
fn arguments_reach_the_provider_and_defaults_are_the_operators() {
    let (surface, fake) = surface(Policy::default(), &[]);
    let reply = eval(
        &surface,
        json!({
            "code": "1", "language": "js", "name": "a.js", "timeout_ms": 100, "memory_bytes": 16 << 20, "output_bytes": 10,
            "fuel": 5, "seed": 7, "stdin": "in", "preview_offset": 3, "preview_items": 4,
        }),
    );
    assert!(!reply.is_error, "{}", reply.text);
    eval(&surface, json!({"code": "2"}));
    let asked = fake.0.lock().expect("not poisoned");
    let (all, none) = (&asked[0], &asked[1]);
    assert_eq!((all.language.as_str(), all.name.as_str()), ("javascript", "a.js"));
    assert_eq!((all.context.limits.wall, all.context.limits.fuel), (Duration::from_millis(100), Some(5)));
    assert_eq!((all.context.limits.memory, all.context.limits.output), (16 << 20, 10));
    assert_eq!((all.context.grants.seed, all.context.grants.stdin.as_slice()), (Some(7), b"in".as_slice()));
    assert_eq!((all.context.bounds.offset, all.context.bounds.items), (3, 4));
    assert_eq!((none.language.as_str(), &none.context.limits), ("python", &Policy::default().defaults));
    assert_eq!(none.context.grants.seed, None);
}

/// MCP-02: what is refused never reaches the provider.
#[test]
fn a_refused_call_starts_nothing() {
    let (surface, fake) = surface(Policy::default(), &[]);
    for (arguments, code) in [
        (json!({"code": "1", "timeout_ms": 60_001}), "args_invalid"),
        (json!({"code": "1", "language": "../python"}), "args_invalid"),
        (json!({"code": "1", "name": "a\0b"}), "args_invalid"),
        (json!({"code": "x".repeat((32 << 20) + 1)}), "too_large"),
        (json!({"code": "1", "allow_network": true}), "network_denied"),
        (json!({"code": "1", "allow_writes": true}), "write_denied"),
    ] {
        let reply = eval(&surface, arguments);
        assert_eq!(reply.structured["error"]["code"], code);
        assert!(
            reply.is_error && reply.text.starts_with("Error: ") && reply.text.len() < 4_096,
            "{}",
            reply.text
        );
    }
    assert!(fake.0.lock().expect("not poisoned").is_empty());
}

#[test]
fn a_call_can_only_lower_the_access_of_a_mount() {
    let mounts = [Mount::parse("a:/a").expect("a mount"), Mount::parse("b:/b:rw").expect("a mount")];
    let (surface, fake) = surface(Policy { allow_writes: true, ..Policy::default() }, &mounts);
    eval(&surface, json!({"code": "1"}));
    eval(&surface, json!({"code": "1", "allow_writes": true}));
    let asked = fake.0.lock().expect("not poisoned");
    let access = |index: usize| {
        asked[index].context.grants.mounts.iter().map(|mount| mount.access).collect::<Vec<_>>()
    };
    assert_eq!(access(0), [Access::ReadOnly, Access::ReadOnly]);
    assert_eq!(access(1), [Access::ReadOnly, Access::ReadWrite]);
    let spec = surface.get("sandbox_eval").expect("a tool");
    assert!(spec.annotations.destructive && !spec.annotations.read_only);
    assert!(spec.description.ends_with("Mounted folders: `/a` (read-only), `/b` (writable on request)."));
}

#[test]
fn a_tool_that_panics_still_answers() {
    let (surface, _) = surface(Policy::default(), &[]);
    let reply = eval(&surface, json!({"code": "panic"}));
    assert_eq!(reply.structured["error"]["code"], "internal");
}

#[test]
fn capabilities_name_limits_and_mounts_but_no_host_path() {
    let mounts = [Mount::parse("/secret/place:/data:rw").expect("a mount")];
    let (surface, _) = surface(Policy::default(), &mounts);
    let reply = call(&surface, "sandbox_capabilities", json!({})).expect("a tool");
    assert_eq!(reply.structured["mounts"], json!([{"target": "/data", "writable": false}]));
    assert_eq!(reply.structured["defaults"]["timeout_ms"], 5_000);
    assert_eq!(reply.structured["ceilings"]["memory_bytes"], 512 << 20);
    assert_eq!(reply.structured["languages"][0]["available"], false);
    // One that says nothing of itself can do nothing.
    let able = &reply.structured["abilities"];
    assert_eq!((&able[0]["wall"], &able[0]["limits"]), (&json!("none"), &json!([])), "{able}");
    assert_eq!(able[0]["provider"], reply.structured["providers"][0]);
    assert!(!reply.text.contains("secret"));
}
