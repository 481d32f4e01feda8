//! Two real servers on one state folder.

use std::time::{Duration, Instant};

use dormouse_tests::wait_for;
use dormouse_tests::wire::{PATIENCE, Wire};
use serde_json::{Value as Json, json};

fn served(state: &str) -> Wire {
    let mut wire = Wire::start(&["--state-dir", state, "--tools", "all"]);
    wire.greet();
    wire
}

fn value(result: &Json) -> &Json {
    &result["structuredContent"]["result"]["value"]
}

#[test]
fn lif_06_two_servers_on_one_folder_take_turns_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut servers = [served(state), served(state)];
    // One key, one sandbox, whoever asks; each name is one server's.
    let ids: Vec<Json> = servers
        .iter_mut()
        .map(|wire| {
            wire.call(1, "sandbox_create", json!({"session_key": "k"}))["structuredContent"]["id"].clone()
        })
        .collect();
    assert!(ids[0].is_string() && ids[0] == ids[1], "{ids:?}");
    for wire in &mut servers {
        let taken = wire.call(2, "sandbox_create", json!({"name": "box"}));
        let code = &taken["structuredContent"]["error"]["code"];
        assert!(code.is_null() || code == "name_taken", "{taken}");
    }
    // The one that has not got it waits until the other has saved it.
    servers[0].call(3, "sandbox_eval", json!({"session_key": "k", "code": "x = 0"}));
    for turn in 1..=4 {
        let wire = &mut servers[turn % 2];
        let id = 10 + i64::try_from(turn).unwrap();
        let result = wire.call(id, "sandbox_eval", json!({"session_key": "k", "code": "x += 1; x"}));
        assert_eq!(*value(&result), turn, "{result}");
    }
    // Both at once, each on its own: neither sees, stops or reaps the other's.
    for (number, wire) in servers.iter_mut().enumerate() {
        wire.call(30, "sandbox_eval", json!({"session_key": format!("own {number}"), "code": "x = 1"}));
    }
    // While a run goes on in one, the other says `busy` after its patience, and destroys nothing.
    servers[0].wait_for_rest(31, &json!({"session_key": "own 0"}));
    let code = "print('begun'); import time; time.sleep(8); x = 2; x";
    let long = json!({"session_key": "own 0", "code": code, "timeout_ms": 20_000});
    servers[0].begin(40, "sandbox_eval", &long);
    let refused = servers[1].call(41, "sandbox_destroy", json!({"session_key": "own 0"}));
    assert_eq!(refused["structuredContent"]["error"]["code"], "busy", "{refused}");
    let ran = servers[0].answer(40);
    assert_eq!(*value(&ran["result"]), 2, "{ran}");
    // One is killed: the other has its sandboxes at once, as they were last saved.
    let [one, mut other] = servers;
    one.kill();
    let seen = other.call(50, "sandbox_eval", json!({"session_key": "own 0", "code": "x"}));
    assert!(["1", "2"].contains(&value(&seen).to_string().as_str()), "{seen}");
    other.end(Duration::from_secs(20));
}

#[test]
fn two_servers_that_take_turns_do_not_wait_for_each_others_rest() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut servers = [served(state), served(state)];
    let call = |wire: &mut Wire, id: i64, code: &str| {
        wire.call(id, "sandbox_eval", json!({"session_key": "k", "code": code}))
    };
    call(&mut servers[0], 1, "x = 0");
    call(&mut servers[1], 2, "x");
    let begin = Instant::now();
    for turn in 1..=20_i64 {
        let result = call(&mut servers[usize::from(turn % 2 == 1)], 10 + turn, "x += 1; x");
        assert_eq!(*value(&result), turn, "{result}");
    }
    let took = begin.elapsed();
    eprintln!("20 turns took {took:?}");
    // A turn took 1.1 s when a sandbox was given up by time alone.
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Whoever is asked, the sandbox has one status: in use now, and at rest a little later.
    let told = |servers: &mut [Wire; 2]| {
        servers.each_mut().map(|wire| {
            let told = wire.call(90, "sandbox_get", json!({"session_key": "k"}));
            told["structuredContent"]["status"].clone()
        })
    };
    assert_eq!(told(&mut servers), ["running", "running"]);
    wait_for("the sandbox is at rest", PATIENCE, || {
        let told = told(&mut servers);
        if told == ["warm", "warm"] { Ok(()) } else { Err(format!("{told:?}")) }
    });
    for wire in servers {
        wire.end(Duration::from_secs(20));
    }
}
