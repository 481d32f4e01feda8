//! The source `wasm` over sandboxes that only pretend.

use std::time::Duration;

use dormouse_core::Access;
use dormouse_core::sandbox::{Ledger as _, Phase, Sandbox};
use dormouse_core::sandboxes::Rules;
use dormouse_core::testing::{FakeProvider, FaultyLedger, ManualClock, wait_until_async};
use dormouse_core::{Policy, Runtime};

use super::*;
use crate::testing::PATIENCE;

struct Desk {
    provider: FakeProvider,
    ledger: FaultyLedger,
    source: WasmSource,
}

fn desk() -> Desk {
    let provider = FakeProvider::default();
    let policy = Policy { allow_writes: true, ..Policy::default() };
    let runtime = Runtime::new(policy, Arc::new(provider.clone()));
    let ledger = FaultyLedger::default();
    let clock = Arc::new(ManualClock::default());
    let runtime = runtime.with_sandboxes(Arc::new(ledger.clone()), Rules::default(), clock);
    let sandboxes = runtime.sandboxes().unwrap().clone();
    let make = move || Surface::new(runtime.clone());
    let source = WasmSource::new(sandboxes, Arc::new(make));
    Desk { provider, ledger, source }
}

impl Desk {
    /// Sandboxes that are not destroyed, whoever has them.
    fn all(&self) -> Vec<Sandbox> {
        let phases = [Phase::Creating, Phase::Running, Phase::Stopped, Phase::Error];
        phases.into_iter().flat_map(|phase| self.ledger.in_phase(phase).unwrap()).collect()
    }

    fn there(&self) -> usize {
        self.all().len()
    }
}

fn map(value: Json) -> Map<String, Json> {
    let Json::Object(map) = value else { panic!("a map") };
    map
}

async fn call(opened: &Opened, tool: &str, arguments: Json) -> ToolAnswer {
    let call = Call { tool: tool.into(), arguments: map(arguments), progress: None, key: None };
    opened.endpoint.call(call).await.unwrap()
}

#[tokio::test]
async fn an_endpoint_has_a_fresh_sandbox_of_its_own_and_takes_it_along() {
    let desk = desk();
    let args = map(
        json!({"files": {"/workspace/a.txt": "one"}, "env": {"A": "1"}, "limits": {"disk_bytes": 5_000_000}}),
    );
    let (first, second) =
        (desk.source.open(args.clone()).await.unwrap(), desk.source.open(args).await.unwrap());
    assert_eq!(desk.there(), 2);
    let names: Vec<String> = first.endpoint.list().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["Bash", "Edit", "Read", "run_lint", "run_tests", "run_typecheck"]);
    let edit = json!({"path": "/workspace/a.txt", "old_string": "one", "new_string": "two"});
    let edited = call(&first, "Edit", edit).await;
    assert!(!edited.is_error, "{}", edited.text());
    assert!(call(&first, "Read", json!({"path": "/workspace/a.txt"})).await.text().contains("two"));
    let other = call(&second, "Read", json!({"path": "/workspace/a.txt"})).await;
    assert!(other.text().contains("one"), "the other endpoint has its own: {}", other.text());
    assert_eq!(other.structured.unwrap()["path"], "/workspace/a.txt");
    first.endpoint.close().await.unwrap();
    assert_eq!(desk.there(), 1);
    let closed = Call { tool: "Read".into(), arguments: Map::new(), progress: None, key: None };
    assert_eq!(first.endpoint.call(closed).await.unwrap_err().code(), ErrorCode::ProviderUnavailable);
    first.endpoint.close().await.unwrap();
    drop(second);
    let gone = || desk.there() == 0 && desk.provider.machines() == 0;
    wait_until_async("the sandbox of a dropped endpoint is removed", PATIENCE, gone).await;
}

#[tokio::test]
async fn what_tools_made_besides_ends_with_the_endpoint() {
    let desk = desk();
    let opened = desk.source.open(map(json!({"profile": "sandbox"}))).await.unwrap();
    let made = call(&opened, "sandbox_create", json!({"name": "more"})).await;
    assert!(!made.is_error && desk.there() == 2, "{}", made.text());
    let listed = call(&opened, "sandbox_list", json!({})).await.structured.unwrap();
    assert_eq!(listed["sandboxes"].as_array().unwrap().len(), 2, "and no others are seen");
    opened.endpoint.close().await.unwrap();
    assert_eq!(desk.there(), 0);
}

#[tokio::test]
async fn folders_are_mounted_below_what_the_operator_allows() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let (skills, data, other) = (path("skills/codegen"), path("data"), path("other"));
    std::os::unix::fs::symlink(&other, format!("{data}/link")).unwrap();
    let mut desk = desk();
    let rule = Mountable::default().folder(&folder.path().join("skills"), Access::ReadOnly).unwrap();
    desk.source = desk.source.with_mountable(rule.folder(data.as_ref(), Access::ReadWrite).unwrap());
    let mounts = |source: &str, readonly: bool| {
        map(json!({"mounts": [{"source": source, "target": "/skills/codegen", "readonly": readonly}]}))
    };
    for (source, readonly) in [(&skills, true), (&data, true), (&data, false)] {
        let opened = desk.source.open(mounts(source, readonly)).await.unwrap();
        let sandbox = desk.all().pop().unwrap();
        let expected = if readonly { Access::ReadOnly } else { Access::ReadWrite };
        let mount = &sandbox.spec.mounts[0];
        assert_eq!((mount.source.to_str().unwrap(), mount.access), (source.as_str(), expected));
        opened.endpoint.close().await.unwrap();
    }
    let up = format!("{data}/../other");
    for (source, readonly) in [
        (&skills, false),
        (&other, true),
        (&up, true),
        (&format!("{data}/link"), true),
        (&"/absent".to_owned(), true),
    ] {
        let error = desk.source.open(mounts(source, readonly)).await.err().unwrap();
        assert_eq!(error.code(), ErrorCode::PathDenied, "{source}");
        let error = desk.source.check(&mounts(source, readonly)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::PathDenied, "{source}, before anything is opened");
    }
    assert_eq!(desk.there(), 0);
    assert!(desk.source.takes_mounts());
}

#[tokio::test]
async fn sprites_begin_with_none() {
    let desk = desk();
    let opened = desk.source.open(map(json!({"profile": "sprites"}))).await.unwrap();
    assert_eq!(desk.there(), 0, "nobody made one");
    opened.endpoint.close().await.unwrap();
    for key in BEGINS_WITH {
        let args = map(
            json!({"profile": "sprites", key: if key == "repo" || key == "branch" { json!("x") } else { json!({}) }}),
        );
        let error = desk.source.check(&args).unwrap_err();
        assert!(error.message().contains(&format!("`{key}` does not go with")), "{error}");
    }
}

#[tokio::test]
async fn a_source_that_only_checks_opens_nothing() {
    let source = WasmSource::checking();
    source.check(&Map::new()).unwrap();
    assert!(source.check(&map(json!({"image": "x"}))).is_err());
    assert_eq!(source.open(Map::new()).await.err().unwrap().code(), ErrorCode::ProviderUnavailable);
}

#[test]
fn the_table_of_the_document_is_made_from_the_arguments() {
    let document = include_str!("../../../docs/scenarios.md");
    for arguments in [&ARGUMENTS[..], &crate::docker::ARGUMENTS] {
        let table = Argument::table(arguments);
        assert!(document.contains(&table), "docs/scenarios.md has to hold this table:\n{table}");
    }
    for (name, _) in Profile::ALL {
        assert!(ARGUMENTS[0].what.contains(&format!("`{name}`")), "{name}");
    }
}

#[tokio::test]
async fn what_fails_on_the_way_leaves_no_sandbox() {
    let desk = desk();
    let refused = [
        (json!({"limits": {"memory_bytes": 1}}), ErrorCode::ArgsInvalid),
        (json!({"mounts": [{"source": "/", "target": "/x", "readonly": true}]}), ErrorCode::PathDenied),
        // It is there when its files turn out to be too large.
        (
            json!({"limits": {"disk_bytes": 1 << 20}, "files": {"/a": "x".repeat(2 << 20)}}),
            ErrorCode::LimitDisk,
        ),
    ];
    for (args, code) in refused {
        let error = desk.source.open(map(args)).await.err().unwrap();
        assert_eq!((error.code(), desk.there()), (code, 0), "{error}");
    }
}

#[tokio::test]
async fn an_opening_that_is_given_up_leaves_no_sandbox_even_if_it_is_made_later() {
    let desk = desk();
    desk.ledger.hold(true);
    let ledger = desk.ledger.clone();
    tokio::select! {
        _ = desk.source.open(Map::new()) => panic!("the ledger waits"),
        () = wait_until_async("the ledger is written to", PATIENCE, || ledger.waiting() == 1) => {}
    }
    // Time for the first look, which finds nothing: the sandbox is made afterwards.
    tokio::time::sleep(Duration::from_millis(100)).await;
    desk.ledger.hold(false);
    wait_until_async("the ledger is written", PATIENCE, || ledger.waiting() == 0).await;
    // Time for it to be made, which would be seen only then.
    tokio::time::sleep(crate::estate::LATER).await;
    wait_until_async("it is looked for again", PATIENCE, || desk.there() == 0).await;
}

#[test]
fn arguments_are_checked_with_their_names() {
    let desk = desk();
    for args in
        [json!({}), json!({"profile": "rlm"}), json!({"profile": "{{scenario.p}}"}), json!({"branch": "b"})]
    {
        desk.source.check(&map(args)).unwrap();
    }
    // Where a template says where things go, that is judged when it is filled in.
    let mounts = |source: &str| json!([{"source": source, "target": "/r", "readonly": true}]);
    desk.source.check(&map(json!({"repo": "/r", "mounts": mounts("{{scenario.s}}")}))).unwrap();
    let refused = [
        (json!({"repo": "/r"}), "no folder that is mounted"),
        (json!({"env": {"A B": "1"}}), "`A B` is no environment variable"),
        (json!({"limits": {"memory_bytes": 1}}), "`limits.memory_bytes` is 1, outside 16777216 to 536870912"),
        (json!({"files": {"/a": "1", "/a/b": "1"}}), "`/a/b` below the file `/a`"),
        (json!({"image": "x"}), "no argument `image`"),
        (json!({"profile": "none"}), "no profile `none`"),
        (json!({"profile": 1}), "`profile` is a number"),
        (json!({"files": ["x"]}), "`files` is a list"),
        (json!({"files": {"x": "y"}}), "not a sandbox path"),
        (json!({"files": {"/x": 1}}), "`files./x` is a number"),
        (json!({"limits": {"fuel": 1}}), "`limits.fuel`"),
        (json!({"limits": {"disk_bytes": "1"}}), "`limits.disk_bytes`"),
        (json!({"limits": 1}), "`limits` is a number"),
        (json!({"env": {"A": 1}}), "`env.A`"),
    ];
    for (args, part) in refused {
        let error = desk.source.check(&map(args)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ArgsInvalid);
        assert!(error.message().contains(part), "{part}: {error}");
    }
    let big = json!({"files": {"/a": "x".repeat(MAX_FILES / 2), "/b": "x".repeat(MAX_FILES / 2 + 1)}});
    assert_eq!(desk.source.check(&map(big)).unwrap_err().code(), ErrorCode::TooLarge);
}
