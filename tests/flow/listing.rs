//! `tools/list` and `sandbox_capabilities` start nothing (S3-02).

use std::fs;
use std::time::{Duration, Instant};

use dormouse_tests::NOISE;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// What a process has mapped: names of files, and the total size in GiB.
fn mapped(process: u32) -> (String, u64) {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let bytes: u64 = maps
        .lines()
        .filter_map(|line| {
            let (from, to) = line.split_whitespace().next()?.split_once('-')?;
            Some(u64::from_str_radix(to, 16).ok()? - u64::from_str_radix(from, 16).ok()?)
        })
        .sum();
    (maps, bytes >> 30)
}

fn threads(process: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect()
}

/// Nothing of a sandbox is in the process: no machine code, no pool of memory, no clock thread.
fn has_engine(process: u32) -> bool {
    let (maps, gibibytes) = mapped(process);
    maps.contains(".cwasm")
        || gibibytes > 64
        || threads(process).iter().any(|name| name.starts_with("dormouse-tick"))
}

#[test]
fn s3_02_listing_tools_and_capabilities_starts_nothing() {
    let begin = Instant::now();
    let mut wire = Wire::greeted(&[]);
    let listed = wire.ask(1, "tools/list", json!({}));
    let elapsed = begin.elapsed();
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(2), "{listed}");
    assert!(elapsed < Duration::from_secs(1) + NOISE, "{elapsed:?}");
    let capabilities = wire.call(2, "sandbox_capabilities", json!({}));
    assert_eq!(capabilities["isError"], false);
    // S2-13: what the provider can do is told with it.
    let known = &capabilities["structuredContent"];
    let languages: Vec<&Json> =
        known["languages"].as_array().unwrap().iter().map(|one| &one["language"]).collect();
    let able = &known["abilities"];
    assert_eq!((&able[0]["provider"], &able[1]), (&json!("wasm"), &Json::Null), "{able}");
    assert_eq!(able[0]["languages"], json!(languages));
    assert_eq!((&able[0]["variables"], &able[0]["wall"]), (&json!("saved"), &json!("webassembly")));
    assert!(!has_engine(wire.process()), "something was started by listing");
    wire.call(3, "sandbox_eval", json!({"code": "1"}));
    assert!(has_engine(wire.process()), "the first run starts what it needs");
}

#[test]
fn s3_02_listing_needs_no_guest_and_writes_nothing() {
    let empty = tempfile::tempdir().unwrap();
    for (arguments, name) in [(&["--no-confine"][..], "cache"), (&[], "confined")] {
        let cache = empty.path().join(name);
        let mut wire = Wire::start_with(arguments, &[("DORMOUSE_CACHE_DIR", cache.to_str().unwrap())]);
        wire.greet();
        assert_eq!(wire.ask(1, "tools/list", json!({}))["result"]["tools"].as_array().map(Vec::len), Some(2));
        let capabilities = wire.call(2, "sandbox_capabilities", json!({}));
        let languages = capabilities["structuredContent"]["languages"].as_array().unwrap().clone();
        assert!(languages.iter().all(|language| language["available"] == false), "{languages:?}");
        match arguments {
            // The folder is made before the process confines itself, as it could not be afterwards. Nothing is in it.
            [] => {
                assert_eq!(
                    std::fs::read_dir(&cache).unwrap().count(),
                    0,
                    "listing wrote to the cache folder"
                );
            }
            _ => assert!(!cache.exists(), "listing made the cache folder"),
        }
        let refused = wire.call(3, "sandbox_eval", json!({"code": "1"}));
        assert_eq!(refused["structuredContent"]["error"]["code"], "guest_missing");
        let hint = refused["structuredContent"]["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("guests build python"), "{hint}");
    }
}

#[test]
fn the_list_is_sorted_complete_and_always_the_same() {
    let mut wire = Wire::greeted(&[]);
    let tools = wire.ask(1, "tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["sandbox_capabilities", "sandbox_eval"]);
    for tool in tools.as_array().unwrap() {
        for part in ["title", "description", "inputSchema", "outputSchema", "annotations"] {
            assert!(!tool[part].is_null(), "{}: no {part}", tool["name"]);
        }
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(tool["annotations"][hint].is_boolean(), "{}: no {hint}", tool["name"]);
        }
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
    }
    wire.call(2, "sandbox_eval", json!({"code": "x = 1"}));
    assert_eq!(wire.ask(3, "tools/list", json!({}))["result"]["tools"], tools, "a call changed the list");
    let mut second = Wire::greeted(&[]);
    assert_eq!(
        second.ask(1, "tools/list", json!({}))["result"]["tools"],
        tools,
        "another process lists otherwise"
    );
}

#[test]
fn clients_of_2026_need_no_handshake() {
    let mut wire = Wire::start(&[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "0"},
    });
    let listed = wire.ask(1, "tools/list", json!({"_meta": meta}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(2), "{listed}");
    assert!(listed["result"]["ttlMs"].as_u64() > Some(0), "{listed}");
    assert_ne!(listed["result"]["cacheScope"], Json::Null);
    let arguments = json!({"code": "6 * 7"});
    let called =
        wire.ask(2, "tools/call", json!({"name": "sandbox_eval", "arguments": arguments, "_meta": meta}));
    assert_eq!(called["result"]["structuredContent"]["result"]["value"], 42, "{called}");
    let discovered = wire.ask(3, "server/discover", json!({"_meta": meta}));
    assert!(discovered["result"]["supportedVersions"].is_array(), "{discovered}");
}

/// What the host can do for sandboxes is told with the operator's bounds, and never what opens it.
#[test]
fn s2_13_packages_git_and_models_are_told_without_what_is_secret() {
    let state = tempfile::tempdir().unwrap();
    let state = ["--state-dir", state.path().to_str().unwrap()];
    let mut plain = Wire::greeted(&state);
    let told = plain.call(1, "sandbox_capabilities", json!({}))["structuredContent"].take();
    for what in ["packages", "git", "models"] {
        assert_eq!(told[what]["available"], false, "{what}: {told}");
    }
    assert_eq!(told["models"]["from"], "none");
    let options = [
        &state[..],
        &["--packages", "on", "--pip-index", "https://me:pass-0123@index.example/simple"],
        &["--package-allow", "requests,pip:types-*", "--allow-git", "https://git.example/team=GIT_WORD"],
        &["--llm-endpoint", "https://llm.example/v1", "--llm-model", "small", "--llm-key-env", "LLM_WORD"],
        &["--llm-max-calls", "7", "--llm-max-tokens", "900"],
    ];
    drop(plain);
    let words = [("GIT_WORD", "me:pass-0123"), ("LLM_WORD", "pass-0123")];
    let mut wire = Wire::start_with(&options.concat(), &words);
    wire.greet();
    let answer = wire.call(1, "sandbox_capabilities", json!({}));
    let told = &answer["structuredContent"];
    let packages = json!({
        "available": true, "managers": ["pip"], "allow": ["requests", "pip:types-*"], "allowed": 2,
        "packages": 200, "bytes": 256 << 20,
    });
    assert_eq!(told["packages"], packages);
    assert_eq!(told["git"], json!({"available": true, "allow": ["https://git.example/team"], "allowed": 1}));
    let models =
        json!({"available": true, "from": "operator", "model": "small", "max_calls": 7, "max_tokens": 900});
    assert_eq!(told["models"], models);
    for secret in ["pass-0123", "index.example", "llm.example", "_WORD"] {
        assert!(!answer.to_string().contains(secret), "{secret}: {answer}");
    }
}
