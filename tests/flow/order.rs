//! Calls that are sent one after the other, without waiting for answers, over one connection: they run in that order.

use std::time::{Duration, Instant};

use dormouse_tests::NOISE;
use dormouse_tests::served::Served;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

/// A server, and the number of the next request.
struct Line {
    wire: Wire,
    next: i64,
    _state: tempfile::TempDir,
}

impl Line {
    fn start(arguments: &[&str]) -> Self {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().to_str().unwrap();
        let wire = Wire::greeted(&[&["--state-dir", folder, "--tools", "all"], arguments].concat());
        Self { wire, next: 1, _state: state }
    }

    /// Sends all calls in one piece; their numbers.
    fn send(&mut self, calls: &[(&str, Json)]) -> Vec<i64> {
        let first = self.next;
        self.next += i64::try_from(calls.len()).unwrap();
        let lines: String = (first..)
            .zip(calls)
            .map(|(id, (tool, arguments))| {
                let params = json!({"name": tool, "arguments": arguments});
                format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            })
            .collect();
        self.wire.raw(lines.as_bytes());
        (first..self.next).collect()
    }

    /// Sends all calls in one piece; their answers.
    #[track_caller]
    fn pipe(&mut self, calls: &[(&str, Json)]) -> Vec<Json> {
        let ids = self.send(calls);
        ids.into_iter().map(|id| self.answer(id)).collect()
    }

    #[track_caller]
    fn answer(&mut self, id: i64) -> Json {
        self.wire.answer(id)["result"]["structuredContent"].take()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let answer = self.pipe(&[(tool, arguments)]).remove(0);
        assert!(answer["error"].is_null(), "{tool}: {answer}");
        answer
    }

    fn end(self) {
        assert_eq!(self.wire.end(PATIENCE).status, Some(0));
    }
}

/// The text that a call of a round leaves or finds.
type Says = fn(&Json) -> Option<String>;

fn in_a(tool: &'static str, arguments: &Json) -> (&'static str, Json) {
    let mut arguments = arguments.clone();
    arguments["sandbox"] = "a".into();
    (tool, arguments)
}

/// Calls that change the file `f` to `N`, each in its way.
fn file_writers(n: u32) -> Vec<(&'static str, Json)> {
    let path = "/workspace/f";
    vec![
        in_a("sandbox_eval", &json!({"code": format!("with open('f', 'w') as f: f.write('{n}')")})),
        in_a("sandbox_exec", &json!({"command": format!("echo -n {n} > f")})),
        in_a("sandbox_write", &json!({"path": path, "content": n.to_string()})),
        in_a("sandbox_edit", &json!({"path": path, "old": "before", "new": n.to_string()})),
        in_a("sandbox_upload", &json!({"path": path, "content_base64": base64(&n.to_string())})),
    ]
}

/// Calls that find what the file `f` is.
fn file_readers() -> Vec<((&'static str, Json), Says)> {
    fn text(told: &Json) -> Option<String> {
        told.as_str().map(str::to_owned)
    }
    let value: Says = |told| text(&told["result"]["value"]);
    let stdout: Says = |told| text(&told["stdout"]);
    let content: Says = |told| text(&told["content"]);
    let size: Says = |told| {
        let file = told["entries"].as_array()?.iter().find(|entry| entry["path"] == "f")?;
        Some(format!("{} bytes", file["bytes"]))
    };
    let encoded: Says = |told| text(&told["content_base64"]);
    let path = "/workspace/f";
    vec![
        (in_a("sandbox_eval", &json!({"code": "open('f').read()"})), value),
        (in_a("sandbox_exec", &json!({"command": "cat f"})), stdout),
        (in_a("sandbox_read", &json!({"path": path})), content),
        (in_a("sandbox_read", &json!({"path": path, "start_line": 1})), content),
        (in_a("sandbox_files", &json!({})), size),
        (in_a("sandbox_download", &json!({"path": path})), encoded),
    ]
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| char::from(DIGITS[usize::try_from(bits & 63).unwrap()]);
    text.as_bytes()
        .chunks(3)
        .flat_map(|part| {
            let bits =
                part.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
            let digits = [18, 12, 6, 0].map(|shift| digit(bits >> shift));
            let filled = part.len() + 1;
            digits.into_iter().enumerate().map(move |(at, digit)| if at < filled { digit } else { '=' })
        })
        .collect()
}

/// S2-06: of each pair the second call finds what the first has written, however many pairs come at once.
#[test]
fn a_call_finds_what_the_call_before_it_has_written() {
    let mut line = Line::start(&[]);
    line.call("sandbox_create", json!({"name": "a"}));
    let before = in_a("sandbox_write", &json!({"path": "/workspace/f", "content": "before"}));
    let mut wrong = Vec::new();
    for round in 0..3u32 {
        for (writer, number) in file_writers(0).into_iter().zip(1000 + 10 * round..) {
            let place = file_writers(0).iter().position(|other| *other == writer).unwrap();
            let writer = file_writers(number).remove(place);
            for (reader, says) in file_readers() {
                let told = line.pipe(&[before.clone(), writer.clone(), reader.clone()]);
                let number = number.to_string();
                let wanted = [number.clone(), format!("{number}\n"), base64(&number), "4 bytes".to_owned()];
                let said = says(&told[2]);
                if !said.as_ref().is_some_and(|said| wanted.contains(said)) {
                    wrong.push(format!("{} then {}: {said:?} for {number}: {}", writer.0, reader.0, told[2]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} pairs: {wrong:#?}", wrong.len());
    line.end();
}

/// Variables, states and phases: each second call finds what the first has done.
#[test]
fn variables_checkpoints_forks_resets_and_stops_keep_their_order() {
    let mut line = Line::start(&[]);
    line.call("sandbox_create", json!({"name": "a"}));
    for round in 0..6u32 {
        let set = in_a("sandbox_eval", &json!({"code": format!("x = {round}")}));
        let value = in_a("sandbox_eval", &json!({"code": "x"}));
        let worse = in_a("sandbox_eval", &json!({"code": "x = 'worse'"}));
        let found = |told: &Json| told["result"]["value"].clone();
        // Variables.
        let told = line.pipe(&[set.clone(), value.clone(), in_a("sandbox_get_var", &json!({"name": "x"}))]);
        assert_eq!((found(&told[1]), found(&told[2])), (json!(round), json!(round)), "{told:?}");
        let told = line.pipe(&[set.clone(), in_a("sandbox_vars", &json!({}))]);
        assert!(told[1].to_string().contains(&format!("\"{round}\"")), "{told:?}");
        // A checkpoint holds what came before it and nothing of what came after, and is there for a restore.
        let name = format!("c{round}");
        let told = line.pipe(&[
            set.clone(),
            in_a("sandbox_checkpoint", &json!({"name": name})),
            worse.clone(),
            in_a("sandbox_restore", &json!({"checkpoint_id": name})),
            value.clone(),
            in_a("sandbox_fork", &json!({"checkpoint_id": name})),
            in_a("sandbox_remove_checkpoint", &json!({"checkpoint_id": name})),
        ]);
        assert_eq!(found(&told[4]), round, "{told:?}");
        assert!(told.iter().all(|one| one["error"].is_null()), "{told:?}");
        // A fork begins where the calls before it have come to.
        let told = line.pipe(&[set.clone(), in_a("sandbox_fork", &json!({})), worse.clone()]);
        let fork = told[1]["sandboxes"][0]["id"].clone();
        let copy = line.call("sandbox_eval", json!({"sandbox": fork, "code": "x"}));
        assert_eq!(copy["result"]["value"], round, "{copy}");
        // A stop saves what came before it; what comes after wakes it.
        let told = line.pipe(&[set.clone(), in_a("sandbox_stop", &json!({})), value.clone()]);
        assert_eq!((told[1]["phase"].as_str(), found(&told[2])), (Some("stopped"), json!(round)), "{told:?}");
        let told = line.pipe(&[
            set.clone(),
            in_a("sandbox_stop", &json!({})),
            in_a("sandbox_resume", &json!({})),
            value.clone(),
        ]);
        assert_eq!((told[2]["phase"].as_str(), found(&told[3])), (Some("running"), json!(round)), "{told:?}");
        // After a reset there is nothing.
        let told = line.pipe(&[set.clone(), in_a("sandbox_reset", &json!({})), value.clone()]);
        assert!(told[2]["exception"]["message"].to_string().contains('x'), "{told:?}");
        // A job begins after them.
        let job = in_a("sandbox_exec", &json!({"command": "cat j > k", "background": true}));
        let told = line.pipe(&[in_a("sandbox_exec", &json!({"command": format!("echo {round} > j")})), job]);
        let wait = json!({"job": told[1]["job_id"], "action": "wait"});
        let (tool, wait) = in_a("sandbox_job", &wait);
        line.call(tool, wait);
        let read = line.call("sandbox_read", json!({"sandbox": "a", "path": "/workspace/k"}));
        assert_eq!(read["content"], format!("{round}\n"), "{read}");
        for view in line.call("sandbox_list", json!({}))["sandboxes"].as_array().unwrap().clone() {
            if view["name"] != "a" {
                line.call("sandbox_destroy", json!({"sandbox": view["id"]}));
            }
        }
    }
    line.end();
}

/// What is added comes in the order in which it was sent, whichever verb adds it.
#[test]
fn what_is_appended_stands_in_the_order_in_which_it_was_sent() {
    let mut line = Line::start(&[]);
    line.call("sandbox_create", json!({"name": "a", "session_key": "k"}));
    let mut wanted = String::new();
    for round in 0..4 {
        let calls: Vec<_> = (0..24)
            .map(|at| {
                let word = format!("{round}.{at} ");
                wanted.push_str(&word);
                let (tool, mut arguments) = match at % 3 {
                    0 => ("sandbox_write", json!({"path": "/workspace/l", "content": word, "append": true})),
                    1 => ("sandbox_exec", json!({"command": format!("echo -n '{word}' >> l")})),
                    _ => (
                        "sandbox_eval",
                        json!({"code": format!("with open('l', 'a') as f: f.write('{word}')")}),
                    ),
                };
                // By either of its names.
                let name = if at % 2 == 0 { "sandbox" } else { "session_key" };
                arguments[name] = if at % 2 == 0 { "a" } else { "k" }.into();
                (tool, arguments)
            })
            .collect();
        for told in line.pipe(&calls) {
            assert!(told["error"].is_null(), "{told}");
        }
    }
    let read = line.call("sandbox_read", json!({"sandbox": "a", "path": "/workspace/l"}));
    assert_eq!(read["content"], wanted);
    line.end();
}

/// Names and keys mean what they mean at their place in line.
#[test]
fn what_is_destroyed_and_made_again_is_what_later_calls_mean() {
    let mut line = Line::start(&[]);
    for round in 0..5 {
        let key = format!("k{round}");
        let told = line.pipe(&[
            ("sandbox_create", json!({"name": "n"})),
            ("sandbox_get", json!({"sandbox": "n"})),
            ("sandbox_list", json!({})),
            ("sandbox_destroy", json!({"sandbox": "n"})),
            ("sandbox_create", json!({"name": "n", "session_key": key})),
            ("sandbox_eval", json!({"session_key": key, "code": "'x' in globals()"})),
            ("sandbox_write", json!({"sandbox": "n", "path": "/workspace/f", "content": "new"})),
            ("sandbox_exec", json!({"session_key": key, "command": "cat f"})),
        ]);
        assert!(told.iter().all(|one| one["error"].is_null()), "{told:#?}");
        assert_eq!(told[2]["sandboxes"].as_array().unwrap().len(), 1, "{}", told[2]);
        assert_ne!(told[4]["id"], told[0]["id"], "{}", told[4]);
        assert_eq!(told[5]["result"]["value"], false, "{}", told[5]);
        assert_eq!(told[7]["stdout"], "new", "{}", told[7]);
        let told =
            line.pipe(&[("sandbox_destroy", json!({"session_key": key})), ("sandbox_list", json!({}))]);
        assert_eq!(told[1]["sandboxes"], json!([]), "{}", told[1]);
    }
    // The first call with a key makes its sandbox.
    let told = line.pipe(&[
        ("sandbox_eval", json!({"session_key": "fresh", "code": "x = 5"})),
        ("sandbox_eval", json!({"session_key": "fresh", "code": "x"})),
    ]);
    assert_eq!(told[1]["result"]["value"], 5, "{told:?}");
    line.end();
}

/// Those that end what runs, and those that only look, do not wait for it.
#[test]
fn a_destroy_overtakes_a_loop_and_who_looks_waits_for_no_run() {
    let mut line = Line::start(&[]);
    line.call("sandbox_create", json!({"name": "a"}));
    line.call("sandbox_eval", json!({"sandbox": "a", "code": "1"}));
    let begun = Instant::now();
    let ids = line.send(&[
        ("sandbox_eval", json!({"sandbox": "a", "code": "while True: pass", "timeout_ms": 60_000})),
        ("sandbox_eval", json!({"sandbox": "a", "code": "2"})),
        ("sandbox_checkpoint", json!({"sandbox": "a"})),
        ("sandbox_get", json!({"sandbox": "a"})),
        ("sandbox_list", json!({})),
        ("sandbox_list_checkpoints", json!({"sandbox": "a"})),
        ("sandbox_eval", json!({"code": "1 + 1"})),
    ]);
    for id in &ids[3..] {
        let told = line.answer(*id);
        assert!(told["error"].is_null(), "{told}");
    }
    line.call("sandbox_destroy", json!({"sandbox": "a"}));
    for id in &ids[..3] {
        let told = line.answer(*id);
        let code = told["error"]["code"].as_str().unwrap_or_default();
        assert!(["cancelled", "unknown_sandbox"].contains(&code), "{told}");
    }
    assert!(begun.elapsed() < Duration::from_secs(10) + NOISE, "{:?}", begun.elapsed());
    line.end();
}

/// A stop ends what came before it, and nothing that came after.
#[test]
fn a_6_what_is_sent_behind_a_stop_is_not_ended_by_it() {
    let mut line = Line::start(&[]);
    line.call("sandbox_create", json!({"name": "a"}));
    line.call("sandbox_eval", json!({"sandbox": "a", "code": "n = 0"}));
    for round in 0..12 {
        let add = || ("sandbox_eval", json!({"sandbox": "a", "code": "n += 1\nn"}));
        let long =
            ("sandbox_eval", json!({"sandbox": "a", "code": "while True: pass", "timeout_ms": 30_000}));
        let stop = ("sandbox_stop", json!({"sandbox": "a", "grace_ms": 0}));
        let told = line.pipe(&[long, stop, add(), add(), add()]);
        assert_eq!(told[0]["error"]["code"], "cancelled", "{}", told[0]);
        for (at, told) in told[2..].iter().enumerate() {
            assert_eq!(told["result"]["value"], round * 3 + at + 1, "{told}");
        }
    }
    line.end();
}

/// The sandbox that a profile works in by itself has the same order, from the call that makes it on.
#[test]
fn the_sandbox_of_a_profile_keeps_the_order_too() {
    let mut line = Line::start(&["--profile", "rlm"]);
    for round in 0..8 {
        let told = line.pipe(&[
            ("rlm_exec", json!({"code": format!("x = {round}")})),
            ("rlm_get", json!({"name": "x"})),
            ("rlm_exec", json!({"code": "x"})),
        ]);
        assert_eq!(told[1]["result"]["value"], round, "{told:?}");
        assert_eq!(told[2]["result"]["value"], round, "{told:?}");
    }
    line.end();
    let mut line = Line::start(&["--profile", "codegen"]);
    for round in 0..8 {
        let told = line.pipe(&[
            ("Bash", json!({"command": format!("echo {round} > f")})),
            ("Read", json!({"path": "/workspace/f"})),
            (
                "Edit",
                json!({"path": "/workspace/f", "old_string": format!("{round}"), "new_string": "changed"}),
            ),
            ("Bash", json!({"command": "cat f"})),
        ]);
        assert!(told[1]["content"].to_string().contains(&round.to_string()), "{told:?}");
        assert_eq!(told[3]["stdout"], "changed\n", "{told:?}");
    }
    line.end();
    let mut line = Line::start(&["--profile", "sprites"]);
    let told = line.pipe(&[
        ("sprite_create", json!({"name": "s"})),
        ("sprite_exec", json!({"name": "s", "command": "echo 1 > f"})),
        ("sprite_checkpoint", json!({"name": "s", "checkpointName": "c"})),
        ("sprite_exec", json!({"name": "s", "command": "echo 2 > f"})),
        ("sprite_restore", json!({"name": "s", "checkpointId": "c"})),
        ("sprite_exec", json!({"name": "s", "command": "cat f"})),
    ]);
    assert_eq!(told[5]["stdout"], "1\n", "{told:?}");
    let told = line.pipe(&[("sandbox_destroy", json!({"name": "s"})), ("sprite_list", json!({}))]);
    assert_eq!(told[1]["sprites"], json!([]), "{told:?}");
    line.end();
}

/// A key that has a sandbox already: options that it did not take are named.
#[test]
fn options_that_the_sandbox_of_a_key_did_not_take_are_told() {
    let mut line = Line::start(&[]);
    let made = line.call("sandbox_create", json!({"session_key": "k", "name": "first"}));
    assert_eq!((&made["created"], &made["ignored"]), (&json!(true), &Json::Null), "{made}");
    let same =
        line.call("sandbox_create", json!({"session_key": "k", "name": "first", "persistence": "session"}));
    assert_eq!((&same["created"], &same["ignored"]), (&json!(false), &Json::Null), "{same}");
    let other = line.call(
        "sandbox_create",
        json!({"session_key": "k", "name": "second", "disk_bytes": 2 << 20, "env": ["A=1"], "persistence": "files"}),
    );
    assert_eq!(other["name"], "first");
    assert_eq!(other["ignored"], json!(["name", "persistence", "disk_bytes", "env"]), "{other}");
    line.end();
}

/// Over HTTP a connection's requests are read one after the other; several can lie in it.
#[test]
fn a_6_requests_that_are_sent_at_once_over_one_http_connection_run_in_their_order() {
    let state = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", state.path().to_str().unwrap(), "--tools", "all"]);
    assert_eq!(server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "a"}))).status, 201);
    let mut bytes = Vec::new();
    for number in 0..12 {
        // Runs, writes and uploads in turn: what was quick before must not overtake what is slow.
        let (target, method, body) = match number % 3 {
            0 => {
                let code =
                    format!("import time; time.sleep(0.05)\nopen('/workspace/f', 'a').write('{number} ')");
                ("eval", "POST", json!({"code": code}))
            }
            1 => (
                "files/write",
                "POST",
                json!({"path": "/workspace/f", "content": format!("{number} "), "append": true}),
            ),
            _ => ("exec", "POST", json!({"command": format!("printf '{number} ' >> /workspace/f")})),
        };
        let (body, host) = (body.to_string(), server.authority());
        let length = body.len();
        bytes.extend(format!("{method} /api/sandboxes/a/{target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").bytes());
    }
    let end = format!(
        "GET /api/sandboxes/a/files/read?path=/workspace/f HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        server.authority()
    );
    bytes.extend(end.bytes());
    let told = dormouse_tests::served::told(server.raw(&bytes));
    let all = String::from_utf8_lossy(&told.body).into_owned();
    let order: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    assert!(all.contains(&format!("\"{} \"", order.join(" "))), "{all}");
}
