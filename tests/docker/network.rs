//! The network of a sandbox, asked for by a call, where the sandbox is a container: the same answers as on wasm.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use dormouse_egress::{Audit, Gate, Options, Outside, file};
use dormouse_tests::sandbox;
use serde_json::json;

use super::Desk;

/// Answers `hello` to whatever is asked. Its port.
fn server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = Vec::new();
            let mut piece = [0; 1_024];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut piece) {
                    Ok(count) if count > 0 => head.extend_from_slice(&piece[..count]),
                    _ => break,
                }
            }
            let _sent =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello");
        }
    });
    port
}

/// NET-34: containers and pods take part in the network that rules allow.
#[test]
fn net_34_a_container_or_pod_asks_for_a_network_as_any_sandbox_does() {
    Desk::each("net_34", |desk| {
        let port = server();
        let path = desk.folder.path().join("net.toml");
        let rules = format!(
            "[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\nprotocol = \"http\"\nmethods = [\"GET\"]\n\
             [budget]\nrequests = 4\n"
        );
        std::fs::write(&path, rules).unwrap();
        let audit = desk.folder.path().join("network.jsonl");
        let options = Options {
            settings: file::read(&path).unwrap(),
            names: None,
            audit: Audit::file(&audit).unwrap(),
            key: None,
            cassette: None,
            operator: None,
        };
        let gate = sandbox::wait(Gate::open(options)).unwrap();
        desk.dormouse.runtime().set_network(Arc::new(Outside::new(gate)), None);
        let make = |name: &str, more: serde_json::Value| {
            let mut asked = json!({"name": name, "image": desk.image(), "network": "default"});
            asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            desk.call("sandbox_create", asked)
        };
        let made = make("with", json!({}));
        assert_eq!(made["network"], json!({"profile": "default"}), "{made}");
        let ask = format!(
            "import urllib.request, urllib.error\ndef ask(path, method='GET'):\n    try:\n        \
             return urllib.request.urlopen(urllib.request.Request('http://127.0.0.1:{port}' + path, method=method)).read().decode()\n    \
             except urllib.error.HTTPError as error:\n        return error.code\n"
        );
        let value = |name: &str, code: &str| {
            let code = format!("{ask}{code}");
            desk.call("sandbox_eval", json!({"sandbox": name, "code": code, "timeout_ms": 60_000}))
        };
        let answer = value("with", "repr([ask('/'), ask('/', 'POST')])");
        assert_eq!(answer["result"]["value"], "['hello', 403]", "{answer}");
        assert_eq!(answer["network"]["requests"], 2, "{answer}");
        assert_eq!(answer["network"]["denied"][0]["reason"], "method", "{answer}");
        let answer = value("with", "repr([ask('/') for _ in range(6)])");
        assert_eq!(answer["result"]["value"], "['hello', 'hello', 'hello', 'hello', 429, 429]", "{answer}");
        // What a call narrows is narrow, and nothing more can be asked for.
        let lines = json!({"network_allow": [format!("GET http://127.0.0.1:{port}/a")]});
        assert!(make("narrow", lines)["error"].is_null());
        let answer = value("narrow", "repr([ask('/a'), ask('/b')])");
        assert_eq!(answer["result"]["value"], "['hello', 403]", "{answer}");
        let beyond = make("beyond", json!({"network_allow": ["https://example.com"]}));
        assert_eq!(beyond["error"]["code"], "network_denied", "{beyond}");
        // One without has none.
        desk.container("without");
        let answer = desk.exec("without", "env | grep -i proxy; ls /run/dormouse");
        assert_eq!(answer["stdout"], "", "{answer}");
        // A fork and what was stopped have it too; nothing of it is left in the end.
        let forked = desk.call("sandbox_fork", json!({"sandbox": "with"}));
        let fork = forked["sandboxes"][0]["id"].as_str().expect("a fork");
        desk.call("sandbox_stop", json!({"sandbox": "with"}));
        for name in [fork, "with"] {
            assert_eq!(value(name, "ask('/')")["result"]["value"], "hello", "{name}");
        }
        let text = std::fs::read_to_string(&audit).unwrap();
        assert!(text.contains("\"event\":\"ended\"") && text.contains("\"reason\":\"method\""), "{text}");
    });
}
