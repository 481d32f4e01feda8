//! What a client of MCP gets besides answers: files as resources, and who the server says it is.

use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

#[test]
fn a_download_links_a_resource_that_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut wire = Wire::greeted(&["--state-dir", folder.path().to_str().unwrap(), "--tools", "all"]);
    let key = "k";
    wire.call(
        1,
        "sandbox_write",
        json!({"session_key": key, "path": "/workspace/a b.txt", "content": "h\u{e9}"}),
    );
    let bytes =
        json!({"session_key": key, "path": "/workspace/x.png", "content": "AP8=", "encoding": "base64"});
    wire.call(2, "sandbox_write", bytes);
    let mut link = |id, path: &str| -> Json {
        let answer = wire.call(id, "sandbox_download", json!({"session_key": key, "path": path}));
        let link = answer["content"][1].clone();
        assert_eq!(link["type"], "resource_link", "{answer}");
        wire.ask(id + 1, "resources/read", json!({"uri": link["uri"]}))["result"]["contents"][0].take()
    };
    let text = link(3, "/workspace/a b.txt");
    assert_eq!(
        (text["text"].as_str(), text["mimeType"].as_str()),
        (Some("h\u{e9}"), Some("text/plain")),
        "{text}"
    );
    let blob = link(5, "/workspace/x.png");
    assert_eq!(
        (blob["blob"].as_str(), blob["mimeType"].as_str()),
        (Some("AP8="), Some("image/png")),
        "{blob}"
    );

    let uri = text["uri"].as_str().unwrap();
    for (id, bad) in [
        (10, "file:///etc/passwd".to_owned()),
        (11, uri.replace("a%20b", "none")),
        (12, uri.replace("sb-", "sb-a")),
        (13, format!("{uri}/../../x")),
        (14, "x".repeat(100_000)),
    ] {
        let answer = wire.ask(id, "resources/read", json!({"uri": bad}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(wire.ask(20, "resources/list", json!({}))["result"]["resources"], json!([]));
    let templates = wire.ask(21, "resources/templates/list", json!({}));
    assert!(
        templates["result"]["resourceTemplates"][0]["uriTemplate"].as_str().unwrap().contains("{sandbox}")
    );
    assert_eq!(wire.end(PATIENCE).status, Some(0));

    let mut fresh = Wire::greeted(&[]);
    assert_eq!(fresh.ask(1, "resources/read", json!({"uri": uri}))["error"]["code"], -32601);
}

/// S2-27, S2-29: what a snippet leaves in the folder for artifacts is found without a word of where it is.
#[test]
fn artifacts_are_listed_as_resources_and_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut wire = Wire::greeted(&["--state-dir", state, "--tools", "all"]);
    let draw = "open('/workspace/outputs/chart.png', 'wb').write(b'\\x89PNG')";
    wire.call(1, "sandbox_create", json!({"name": "one"}));
    let drawn = wire.call(2, "sandbox_eval", json!({"sandbox": "one", "code": draw}));
    assert_eq!(drawn["structuredContent"]["result"]["value"], 4, "{drawn}");
    let line = "mkdir outputs/deep && echo '# Report' > outputs/deep/report.md; echo no > elsewhere.md";
    wire.call(3, "sandbox_exec", json!({"sandbox": "one", "command": line}));
    let list = |wire: &mut Wire, id| wire.ask(id, "resources/list", json!({}))["result"]["resources"].take();
    let of = |listed: &Json, field: &str| -> Vec<Json> {
        listed.as_array().unwrap().iter().map(|one| one[field].clone()).collect()
    };
    let awake = list(&mut wire, 4);
    assert_eq!(of(&awake, "name"), ["chart.png", "deep/report.md"], "{awake}");
    assert_eq!(of(&awake, "title"), ["chart.png of one", "deep/report.md of one"]);
    assert_eq!(of(&awake, "mimeType"), ["image/png", "text/plain"]);
    assert_eq!(of(&awake, "size"), [4, 9]);
    let read = wire.ask(5, "resources/read", json!({"uri": awake[0]["uri"]}));
    assert_eq!(read["result"]["contents"][0]["blob"], "iVBORw==", "{read}");
    // One that is put away is looked into and stays put away.
    wire.call(6, "sandbox_stop", json!({"sandbox": "one"}));
    assert_eq!(of(&list(&mut wire, 7), "uri"), of(&awake, "uri"));
    let seen = wire.call(8, "sandbox_get", json!({"sandbox": "one"}));
    assert_eq!(seen["structuredContent"]["status"], "shutdown", "{seen}");
    // Pages are of sandboxes; those without artifacts have nothing on them.
    for number in 0..20 {
        wire.call(10 + number, "sandbox_create", json!({"name": format!("more{number}")}));
    }
    // Those that are made within one millisecond are in the order of their ids.
    let all = wire.call(39, "sandbox_list", json!({"limit": 50}))["structuredContent"]["sandboxes"].take();
    let last = all.as_array().unwrap().last().unwrap()["name"].as_str().unwrap();
    let write = json!({"sandbox": last, "path": "/workspace/outputs/x", "content": "x"});
    wire.call(40, "sandbox_write", write);
    let of_last = [format!("x of {last}")];
    let first = wire.ask(41, "resources/list", json!({}));
    let next = &first["result"]["nextCursor"];
    assert!(first["result"]["resources"].as_array().unwrap().len() == 2 && next.is_string(), "{first}");
    let second = wire.ask(42, "resources/list", json!({"cursor": next}));
    assert_eq!(of(&second["result"]["resources"], "title"), of_last, "{second}");
    let bad = wire.ask(43, "resources/list", json!({"cursor": "elsewhere"}));
    assert_eq!(bad["error"]["code"], -32602, "{bad}");
    wire.call(44, "sandbox_destroy", json!({"sandbox": "one"}));
    assert_eq!(of(&list(&mut wire, 45), "title"), of_last, "it is on the first page now");
    assert_eq!(wire.end(PATIENCE).status, Some(0));
}

/// S4-01, and what a model is told about the tools as a whole.
#[test]
fn each_profile_says_who_it_is_and_how_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    for (arguments, name, version, told) in [
        (&[][..], "dormouse", env!("CARGO_PKG_VERSION"), "nothing is kept between calls"),
        (&["--state-dir", state], "dormouse", env!("CARGO_PKG_VERSION"), "`sandbox_checkpoint`"),
        (&["--state-dir", state, "--profile", "sprites"], "automaker-sprites", "1.0.0", "`sprite_create`"),
        (&["--state-dir", state, "--profile", "rlm"], "dormouse", env!("CARGO_PKG_VERSION"), "`rlm_exec`"),
    ] {
        let mut wire = Wire::start(arguments);
        let hello = wire.greet();
        let result = &hello["result"];
        assert_eq!(
            (&result["serverInfo"]["name"], &result["serverInfo"]["version"]),
            (&name.into(), &version.into())
        );
        assert!(result["instructions"].as_str().unwrap().contains(told), "{hello}");
    }
}

/// S3-05: a file of bytes is bytes in every language, all of them in one sandbox.
#[test]
fn bytes_are_loaded_as_bytes_in_every_language() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::write(folder.path().join("in.bin"), b"\x00\xff\x01abc").unwrap();
    let state = folder.path().join("state");
    let mut wire = Wire::greeted(&["--state-dir", state.to_str().unwrap(), "--tools", "all", "--root", root]);
    let file = format!("{root}/in.bin");
    for (id, language, code) in [
        (1, "python", "[len(b), b[1]]"),
        (3, "php", "[strlen($b), ord($b[1])]"),
        (5, "javascript", "[b.length, b[1]]"),
    ] {
        let load = json!({"session_key": "k", "path": file, "var": "b", "as": "bytes", "language": language});
        let loaded = wire.call(id, "sandbox_load", load);
        assert_eq!(loaded["structuredContent"]["bytes"], 6, "{loaded}");
        let eval = json!({"session_key": "k", "language": language, "code": code});
        let seen = wire.call(id + 1, "sandbox_eval", eval);
        let values = &seen["structuredContent"]["result"]["value"];
        assert_eq!(
            (&values[0]["value"], &values[1]["value"]),
            (&json!(6), &json!(255)),
            "{language}: {seen}"
        );
    }
}
