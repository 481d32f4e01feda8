//! What a file of connections may say.

use serde_json::json;

use super::*;

fn lookup(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "s3cr3t".to_owned())
}

fn parsed(value: &Json) -> Result<Contents> {
    parse(&value.to_string(), Path::new("c.json"), &lookup)
}

#[test]
fn what_clients_write_is_read() {
    let contents = parsed(&json!({
        "$schema": "x",
        "mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server", "${TOKEN}"], "env": {"A": "${env:TOKEN}"}, "cwd": "/srv", "type": "stdio"},
            "odd-one": {"type": "http", "url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}, "icon": "x"},
            "off": {"command": "x", "disabled": true, "env": {"A": "${UNSET}"}},
        },
        "servers": {"old": {"type": "sse", "url": "http://localhost:1/sse", "autoApprove": ["a"], "alwaysAllow": ["b*"], "foreign": {"x": 1}}},
        "dormouse": {"rules": {"*.delete_*": "deny"}, "check": true},
    }))
    .unwrap();
    let names: Vec<&str> = contents.connections.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["files", "odd-one", "old"]);
    let program = contents.connections[0].program().unwrap();
    assert_eq!(program.args, ["-y", "server", "s3cr3t"]);
    assert_eq!((program.env["A"].as_str(), program.cwd.as_deref()), ("s3cr3t", Some(Path::new("/srv"))));
    let Reach::Address { headers, .. } = &contents.connections[1].reach else { panic!("an address") };
    assert_eq!(headers["Authorization"], "Bearer s3cr3t");
    assert_eq!(
        contents.connections[2].rules,
        BTreeMap::from([("a".into(), Verdict::Allow), ("b*".into(), Verdict::Allow)])
    );
    assert_eq!(contents.rules["*.delete_*"], Verdict::Deny);
    assert!(contents.check);
    assert!(!format!("{:?}", contents.connections[1]).contains("s3cr3t"));
}

#[test]
fn headers_that_name_secrets_are_for_the_gate_to_write() {
    let contents = parsed(&json!({"mcpServers": {
        "tracker": {"url": "https://mcp.example/mcp", "headers": {"Authorization": "Bearer ${secret:TRACKER}", "X-Team": "${TOKEN}"}},
        "api": {"headers": {"X-Key": "${secret:KEY}"}, "dormouse": {"openapi": "https://api.example/a.yaml"}},
    }}))
    .unwrap();
    let [api, tracker] = &contents.connections[..] else { panic!("two servers") };
    assert_eq!(tracker.set, BTreeMap::from([("Authorization".into(), "Bearer {TRACKER}".into())]));
    assert_eq!(api.set, BTreeMap::from([("X-Key".into(), "{KEY}".into())]));
    let Reach::Address { headers, .. } = &tracker.reach else { panic!("an address") };
    assert_eq!(*headers, BTreeMap::from([("X-Team".into(), "s3cr3t".into())]));
    // Without a network there is nobody to write them.
    let settings = crate::Settings { connections: contents.connections, ..crate::Settings::default() };
    let error = crate::Connectors::new(settings).err().unwrap();
    assert!(
        error.message().contains("server `api`") && error.hint().unwrap().contains("--network"),
        "{error}"
    );
    for (given, wanted) in [
        (json!({"url": "https://a.example/${secret:K}"}), "stands where no secret is put"),
        (json!({"command": "x", "env": {"A": "${secret:K}"}}), "stands where no secret is put"),
        (json!({"url": "https://a.example", "headers": {"X": "${secret:a b}"}}), "is no name of a secret"),
        (json!({"url": "https://a.example", "headers": {"Host": "${secret:K}"}}), "not an entry's to set"),
    ] {
        let error = parsed(&json!({"mcpServers": {"s": given}})).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
    }
}

#[test]
fn keys_of_our_own_are_read_from_json_and_toml_alike() {
    let contents = parsed(&json!({"mcpServers": {"api": {"headers": {"X-Key": "k"}, "dormouse": {
        "openapi": "https://api.example/api.yaml", "base_url": "https://api.example/v1", "shared": true, "trust_hints": true, "untrusted": true,
        "outward": true, "rules": {"get*": "allow"}, "idempotent": ["put_*"], "start_timeout_ms": 1500,
    }}}}))
    .unwrap();
    let toml = r#"
        [[connect]]
        name = "api"
        headers = { X-Key = "k" }
        [connect.dormouse]
        openapi = "https://api.example/api.yaml"
        base_url = "https://api.example/v1"
        shared = true
        trust_hints = true
        untrusted = true
        outward = true
        rules = { "get*" = "allow" }
        idempotent = ["put_*"]
        start_timeout_ms = 1500

        [dormouse.rules]
        "api.delete*" = "deny"
    "#;
    let table = parse(toml, Path::new("servers.toml"), &lookup).unwrap();
    assert_eq!(table.rules["api.delete*"], Verdict::Deny);
    for one in [&contents.connections[0], &table.connections[0]] {
        assert_eq!(one.start_timeout, Some(Duration::from_millis(1500)));
        assert!(one.shared && one.trust_hints && one.untrusted && one.outward);
        assert_eq!(
            (one.rules["get*"], one.idempotent.as_slice()),
            (Verdict::Allow, &["put_*".to_owned()][..])
        );
        assert!(
            matches!(&one.reach, Reach::OpenApi { document: Document::Address(at), base_url: Some(url), .. } if at.ends_with("api.yaml") && url.ends_with("/v1"))
        );
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (servers, wanted) in [
        (json!({"a b": {"command": "x"}}), "`a b` is no name"),
        (json!({"a": {}}), "no way to be reached"),
        (json!({"a": {"command": "x", "url": "http://localhost"}}), "more than one way"),
        (json!({"a": {"url": "http://localhost", "args": ["x"]}}), "`args` does not go"),
        (json!({"a": {"url": "http://localhost", "type": "stdio"}}), "`type` does not go"),
        (json!({"a": {"command": "x", "type": "http"}}), "`type` does not go"),
        (json!({"a": {"command": ""}}), "no program"),
        (json!({"a": {"url": "ftp://x"}}), "neither http nor https"),
        (json!({"a": {"url": "http://u:p@x"}}), "password"),
        (json!({"a": {"url": "http://x", "headers": {"Host": "x"}}}), "not an entry's to set"),
        (json!({"a": {"command": "${UNSET}"}}), "`UNSET` is not set"),
        (
            json!({"a": {"command": "x", "env": {"A": 1}}}),
            "server `a`: `env.A`: invalid type: integer `1`, expected a string",
        ),
        (json!({"a": {"command": "x", "args": "y"}}), "`args`: invalid type: string \"y\", expected a list"),
        (json!({"a": 1}), "expected a server"),
        (json!({"a": {"command": "x", "rules": {"*": "deny"}}}), "`rules` stands in the wrong place"),
        (json!({"a": {"command": "x", "dormouse": {"share": true}}}), "unknown field `share`"),
        (json!({"a": {"command": "x", "dormouse": {"rules": {"x": "perhaps"}}}}), "perhaps"),
    ] {
        let error = parsed(&json!({ "mcpServers": servers })).unwrap_err();
        assert!(
            error.message().starts_with("c.json:") && error.message().contains(wanted),
            "{error} / {wanted}"
        );
    }
    let many: BTreeMap<String, Json> =
        (0..65).map(|at| (format!("s{at}"), json!({"command": "x"}))).collect();
    assert!(parsed(&json!({ "mcpServers": many })).is_err());
    assert!(
        parsed(&json!({"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}})).is_err()
    );
    assert!(
        parse("{\"mcpServers\":\n {", Path::new("c.json"), &lookup)
            .unwrap_err()
            .message()
            .starts_with("c.json:2:")
    );
}

#[test]
fn a_document_of_a_file_is_read_at_once_from_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("servers.json");
    std::fs::write(&path, r#"{"mcpServers": {"a": {"dormouse": {"openapi": "api.yaml"}}}}"#).unwrap();
    let error = read(&[&path]).unwrap_err();
    assert!(error.code() == ErrorCode::NotFound && error.message().contains("api.yaml"), "{error}");
    std::fs::write(folder.path().join("api.yaml"), "openapi: 3.0.0").unwrap();
    let contents = read(&[&path]).unwrap();
    assert!(
        matches!(&contents.connections[0].reach, Reach::OpenApi { document: Document::Text(text), .. } if text == "openapi: 3.0.0")
    );
    assert_eq!(read(&[&folder.path().join("none.json")]).unwrap_err().code(), ErrorCode::NotFound);
}

#[test]
fn servers_that_stand_twice_and_rules_that_fit_nothing_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let one = file(
        "one.json",
        r#"{"mcpServers": {"a": {"command": "x"}, "off": {"command": "x", "disabled": true}}}"#,
    );
    let two = file(
        "two.toml",
        "[[connect]]\nname = 'b'\ncommand = 'y'\n[dormouse.rules]\n'a.t' = 'deny'\n'off.*' = 'allow'\n'*' = 'ask'\n",
    );
    let both = read(&[&one, &two]).unwrap();
    assert_eq!((both.connections.len(), both.rules.len(), both.check), (2, 3, false));
    let allows = file("allows.json", r#"{"dormouse": {"rules": {"a.t": "allow"}}}"#);
    for files in [[&one, &two, &allows], [&allows, &two, &one]] {
        assert_eq!(read(&files).unwrap().rules["a.t"], Verdict::Deny);
    }
    for (name, text, wanted) in [
        (
            "1.json",
            r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#,
            "`a` stands there twice",
        ),
        (
            "9.json",
            r#"{"mcpServers": {"a": {"command": "x", "dormouse": {"rules": {"t": "deny", "t": "allow"}}}}}"#,
            "`t` stands there twice",
        ),
        (
            "10.json",
            r#"{"mcpServers": {"a": {"command": "x"}}, "rules": {"*": "deny"}}"#,
            "in the wrong place",
        ),
        (
            "2.toml",
            "[[connect]]\nname = 'a'\ncommand = 'x'\n[[connect]]\nname = 'a'\ncommand = 'y'\n",
            "server `a`: it stands there twice",
        ),
        (
            "3.json",
            r#"{"mcpServers": {"a": {"command": "x"}}, "dormouse": {"rules": {"aa.t": "deny"}}}"#,
            "`aa`, which no file connects",
        ),
        (
            "4.json",
            r#"{"mcpServers": {"a": {"command": "x"}}, "dormouse": {"rules": {"delete": "deny"}}}"#,
            "names no tool",
        ),
        ("5.toml", "[[connect]]\nname = 'a'\ncommand = 1\n", "server `a`: `command`: invalid type: integer"),
        ("8.toml", "[[connect]]\ncommand = 'x'\n", "number 1 has no `name`"),
        ("6.toml", "[[conect]]\nname = 'a'\n", "the key `conect` is unknown"),
        (
            "7.json",
            r#"{"mcpServers": {"a": {"command": "x", "dormouse": {"start_timeout_ms": 5}}}}"#,
            "`start_timeout_ms` is 5",
        ),
    ] {
        let error = read(&[file(name, text)]).unwrap_err();
        assert!(error.message().contains(wanted), "{name}: {error}");
    }
    let checks = file("checks.json", r#"{"dormouse": {"check": true}}"#);
    assert!(read(&[&one, &checks, &two]).unwrap().check, "one of the files says so");
    let again = file("again.json", r#"{"mcpServers": {"a": {"command": "z"}}}"#);
    assert!(read(&[&one, &again]).unwrap_err().message().contains("another file"));
}
