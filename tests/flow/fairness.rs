//! OWN-01: an owner takes all he can of everything that there is, and the others are served all the same.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dormouse_tests::levels::{Levels, wait_until_busy, wait_until_idle};
use dormouse_tests::served::{Served, told};
use dormouse_tests::{NOISE, PROMISE, wait_for, wait_until};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

const GREEDY: Option<&str> = Some("greedy-token-0123456789");
const OTHER: Option<&str> = Some("other-token-0123456789");
/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// As many calls as an owner may have in progress.
const CALLS: usize = 64;
/// How often the other owner asks, each time for a fresh run and for one in his sandbox.
const TRIES: usize = 30;

/// A server with two owners, the other one's sandbox made and used.
fn server(folder: &TempDir) -> Served {
    server_with(folder, &[])
}

fn server_with(folder: &TempDir, options: &[&str]) -> Served {
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, "greedy greedy-token-0123456789\nother other-token-0123456789\n").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let (state, tokens) = (folder.path().join("state"), tokens.to_str().unwrap().to_owned());
    let arguments = ["--state-dir", state.to_str().unwrap(), "--token-file", &tokens, "--tools", "all"];
    let server = Served::start(&[&arguments, options].concat());
    assert_eq!(eval(&server, OTHER, json!({"code": "x = 41", "session_key": "mine"})), json!(null));
    assert_eq!(eval(&server, OTHER, json!({"code": "1 + 1"})), 2);
    server
}

/// The value of a snippet.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "arguments are written where they are sent")]
fn eval(server: &Served, token: Option<&str>, arguments: Json) -> Json {
    let told = server.ask("POST", "/api/eval", token, Some(&arguments));
    assert_eq!(told.status, 200, "{arguments}: {}", String::from_utf8_lossy(&told.body));
    told.json()["result"]["value"].clone()
}

/// A request that is not waited for.
fn begin(server: &Served, path: &str, arguments: &Json) -> TcpStream {
    let bearer = format!("Bearer {}", GREEDY.unwrap());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    server.begin("POST", path, &headers, arguments.to_string().as_bytes())
}

/// The other owner asks again and again; every answer comes within a second.
#[track_caller]
fn served(server: &Served, while_: &str) {
    let mut times = Vec::new();
    for _ in 0..TRIES {
        for (arguments, value) in
            [(json!({"code": "1 + 1"}), 2), (json!({"code": "x + 1", "session_key": "mine"}), 42)]
        {
            let begin = Instant::now();
            assert_eq!(eval(server, OTHER, arguments), value, "{while_}");
            times.push(begin.elapsed());
        }
    }
    times.sort();
    let (middle, worst) = (times[times.len() / 2], times[times.len() - 1]);
    eprintln!("own_01, {while_}: p50 {middle:?}, p100 {worst:?}");
    let late = times.iter().filter(|time| **time > PROMISE).count();
    assert!(
        worst < PROMISE + NOISE && late <= times.len() / 20,
        "{while_}: {late} late, the worst {worst:?}"
    );
}

/// All calls of the greedy owner, begun and not waited for.
fn flood(server: &Served, language: &str, code: &str) -> Vec<TcpStream> {
    let arguments = json!({"code": code, "language": language, "timeout_ms": 60_000});
    let calls: Vec<_> = (0..CALLS).map(|_| begin(server, "/api/eval", &arguments)).collect();
    wait_for("all calls of the owner are in progress", PATIENCE, || {
        let told = server.ask("POST", "/api/eval", GREEDY, Some(&json!({"code": "1"}))).json();
        if told["error"]["code"] == "busy" { Ok(()) } else { Err(told) }
    });
    calls
}

#[test]
fn own_01_runs_that_sleep() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let calls = flood(&server, "python", "import time; time.sleep(60)");
    served(&server, "all places of runs that one owner can have sleep");
    drop(calls);
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn own_01_runs_that_compute() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    for (language, code) in [("python", "while True: pass"), ("javascript", "for (;;);")] {
        let calls = flood(&server, language, code);
        served(&server, &format!("{CALLS} endless loops of {language} run and wait"));
        drop(calls);
        wait_until_idle(&server.process().to_string(), PATIENCE);
    }
    assert_eq!(server.end().status, Some(0));
}

/// One instruction over much memory: it would hold a thread for seconds, and go on past its limit, if it were not done in pieces.
#[test]
fn own_01_and_cpu_02_runs_that_fill_and_copy_much_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&folder, &["--runs-memory", "16GiB"]);
    let (limit, done) = (Duration::from_millis(200), AtomicBool::new(false));
    for (language, code) in [
        ("python", "b = bytes([65]) * (300 << 20); len(b)"),
        ("javascript", "new Uint8Array(300 << 20).fill(65).copyWithin(1, 0).length"),
        ("php", "strlen(str_repeat('A', 200 << 20) . 'B')"),
    ] {
        done.store(false, Ordering::Relaxed);
        std::thread::scope(|scope| {
            let fills = || {
                let arguments = json!({"code": code, "language": language, "timeout_ms": limit.as_millis(),
                    "memory_bytes": 512 << 20});
                while !done.load(Ordering::Relaxed) {
                    let begin = Instant::now();
                    let told = server.ask("POST", "/api/eval", GREEDY, Some(&arguments)).json();
                    let took = begin.elapsed();
                    assert!(told["ok"] == true || told["error"]["code"] == "limit_time", "{told}");
                    assert!(took < limit + PROMISE + NOISE, "{language}: {took:?}, {told}");
                }
            };
            let greedy: Vec<_> = (0..16).map(|_| scope.spawn(fills)).collect();
            wait_until_busy(&server.process().to_string());
            served(&server, &format!("sixteen runs of {language} fill and copy hundreds of megabytes each"));
            done.store(true, Ordering::Relaxed);
            greedy.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn own_01_jobs_that_sleep_and_compute() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    for line in ["sleep 60", "while :; do :; done"] {
        let mut started = 0;
        for number in 0.. {
            let (key, line) = (format!("job-{}", number / 4), format!("{line} # {number}"));
            let arguments =
                json!({"command": line, "session_key": key, "background": true, "timeout_ms": 60_000});
            let answer = server.mcp(GREEDY, "sandbox_exec", &arguments).json();
            let answer = &answer["result"]["structuredContent"];
            if answer["error"]["code"] == "busy" {
                break;
            }
            assert!(answer["job_id"].is_string(), "{answer}");
            started += 1;
        }
        assert_eq!(started, 16, "half of the places of jobs");
        served(&server, &format!("{started} jobs run `{line}`"));
        let one = json!({"command": "sleep 60", "session_key": "mine", "background": true});
        let answer = server.mcp(OTHER, "sandbox_exec", &one).json();
        assert!(answer["result"]["structuredContent"]["job_id"].is_string(), "{answer}");
        for number in 0..started {
            let key = format!("job-{}", number / 4);
            server.mcp(GREEDY, "sandbox_destroy", &json!({"session_key": key}));
        }
        wait_until_idle(&server.process().to_string(), PATIENCE);
    }
    assert_eq!(server.end().status, Some(0));
}

/// Forty sandboxes, each with three interpreters and a shell: more than there is room for in memory.
#[test]
fn own_01_interpreters_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let (done, woken) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let wakes = |first: usize| {
            let (server, done, woken) = (&server, &done, &woken);
            move || {
                let mut rounds = 0;
                while !done.load(Ordering::Relaxed) || rounds == 0 {
                    for number in (first..40).step_by(4) {
                        let key = format!("box-{number}");
                        let code = |language: &str| match language {
                            "php" => "$v = ($v ?? 0) + 1;",
                            "javascript" => "globalThis.v = (globalThis.v ?? 0) + 1",
                            _ => "v = globals().get('v', 0) + 1\nv",
                        };
                        for language in ["python", "javascript", "php"] {
                            let arguments =
                                json!({"code": code(language), "language": language, "session_key": key});
                            eval(server, GREEDY, arguments);
                        }
                        let line = json!({"command": "v=$((v + 1)); echo $v", "session_key": key});
                        let answer = server.mcp(GREEDY, "sandbox_exec", &line).json();
                        let answer = &answer["result"]["structuredContent"];
                        // Whoever was put down in between has lost nothing.
                        assert_eq!(answer["stdout"], format!("{}\n", rounds + 1), "{answer}");
                        woken.fetch_add(1, Ordering::Relaxed);
                    }
                    rounds += 1;
                }
            }
        };
        let greedy: Vec<_> = (0..4).map(|first| scope.spawn(wakes(first))).collect();
        wait_until("a quarter of the sandboxes is woken", PATIENCE, || woken.load(Ordering::Relaxed) >= 10);
        served(
            &server,
            "forty sandboxes of one owner are woken in turn, with three languages and a shell each",
        );
        done.store(true, Ordering::Relaxed);
        greedy.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(server.end().status, Some(0));
}

/// Code that runs while a sandbox is saved, and does not end: the sandbox cannot be put down, and only its owner minds.
#[test]
fn own_01_sandboxes_that_cannot_be_saved() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let code = "import sys, time\nclass Slow:\n    until = time.time() + 0.5\n    def write(self, text): return len(text)\n    \
        def flush(self):\n        if time.time() > self.until: time.sleep(10 ** 6)\nsys.stdout = Slow()\n1";
    for number in 0..70 {
        // What he may not have he does not get.
        let arguments = json!({"code": code, "session_key": format!("box-{number}")});
        let stream = begin(&server, "/api/eval", &arguments);
        if number % 8 == 7 {
            told(stream);
        }
    }
    served(&server, "seventy sandboxes of one owner cannot be saved");
    // Saving them at the end is another case (LIF-05).
    server.kill();
}

#[test]
fn own_01_files_that_are_written_without_end() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let (done, written, body) = (AtomicBool::new(false), AtomicUsize::new(0), vec![7u8; 8 << 20]);
    for number in 0..8 {
        eval(&server, GREEDY, json!({"code": "1", "session_key": format!("box-{number}")}));
    }
    let names = server.ask("GET", "/api/sandboxes", GREEDY, None).json();
    let ids: Vec<String> = names["sandboxes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    std::thread::scope(|scope| {
        for id in &ids {
            let (server, done, written, body) = (&server, &done, &written, &body);
            scope.spawn(move || {
                let bearer = format!("Bearer {}", GREEDY.unwrap());
                let path = format!("/api/sandboxes/{id}/files/content?path=/workspace/f");
                while !done.load(Ordering::Relaxed) {
                    let sent = server.send("PUT", &path, &[("Authorization", &bearer)], body);
                    assert_eq!(sent.status, 200, "{}", sent.code());
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        wait_until("eight files are written", PATIENCE, || written.load(Ordering::Relaxed) >= 8);
        served(&server, "eight connections of one owner write files");
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(server.end().status, Some(0));
}

/// Memories of which every page was written, and is again and again: each save compares all of it with the language's image.
#[test]
fn own_01_large_memories_that_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let (done, changed, boxes) = (AtomicBool::new(false), AtomicUsize::new(0), 16);
    let changes = |number: usize, round: usize| {
        let code = if round == 0 {
            "import os\nb = bytearray(os.urandom(1 << 20) * 120)".to_owned()
        } else {
            format!("b[::4096] = bytes([{round} % 256]) * (len(b) // 4096)\nlen(b)")
        };
        let session = format!("large-{number}");
        // How long gigabytes of changes take to be saved is the machine's matter.
        eval(&server, GREEDY, json!({"code": code, "session_key": session, "timeout_ms": 60_000}));
        changed.fetch_add(1, Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        let (changes, done) = (&changes, &done);
        let greedy: Vec<_> = (0..4)
            .map(|first| {
                scope.spawn(move || {
                    let mut round = 0;
                    while round < 2 || !done.load(Ordering::Relaxed) {
                        (first..boxes).step_by(4).for_each(|number| changes(number, round));
                        round += 1;
                    }
                })
            })
            .collect();
        wait_until("each sandbox is changed", PATIENCE, || changed.load(Ordering::Relaxed) >= boxes);
        served(&server, &format!("{boxes} sandboxes of 120 MiB change all of it and are saved"));
        done.store(true, Ordering::Relaxed);
        greedy.into_iter().for_each(|thread| thread.join().unwrap());
    });
    // Gigabytes of it would be saved at the end.
    server.kill();
}

/// What sandboxes let go of is the system's again, and not only the server's for the next of them (MEM-04).
#[test]
fn own_01_and_mem_04_memory_that_was_let_go_of_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let held = || Levels::of(&server.process().to_string()).memory >> 10;
    let before = held();
    let bearer = format!("Bearer {}", GREEDY.unwrap());
    let mut ids = Vec::new();
    for number in 0..8 {
        let key = format!("large-{number}");
        eval(&server, GREEDY, json!({"code": "1", "session_key": key}));
        let told = server.mcp(GREEDY, "sandbox_get", &json!({"session_key": key})).json();
        let id = told["result"]["structuredContent"]["id"].as_str().expect("an id").to_owned();
        let mut bytes = vec![number; 8 << 20];
        bytes.iter_mut().step_by(512).zip(0u32..).for_each(|(byte, at)| *byte = (at % 251) as u8);
        for file in 0..5 {
            let path = format!("/api/sandboxes/{id}/files/content?path=/workspace/{file}");
            bytes[0] = file;
            let sent = server.send("PUT", &path, &[("Authorization", &bearer)], &bytes);
            assert_eq!(sent.status, 200, "{}", sent.code());
        }
        ids.push(id);
    }
    let most = held();
    for id in &ids {
        let gone = server.ask("DELETE", &format!("/api/sandboxes/{id}"), GREEDY, None);
        assert_eq!(gone.status, 200, "{}", gone.code());
    }
    let (begin, slack) = (Instant::now(), 64);
    wait_for("the system has the memory of the files again", PATIENCE, || {
        let now = held();
        if now <= before + slack {
            Ok(())
        } else {
            Err(format!("{before} MiB before, {most} then, {now} now"))
        }
    });
    eprintln!(
        "mem_04: {before} MiB before, {most} MiB with 320 MiB of files, {} MiB after {:?}",
        held(),
        begin.elapsed()
    );
    assert_eq!(server.end().status, Some(0));
}

/// The memory of all that runs is bounded: one owner gets half of it, what is more is refused by name, and the other has his own.
#[test]
fn own_01_the_memory_of_runs_is_shared_and_more_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let server = server_with(&folder, &["--runs-memory", "180MiB"]);
    // The other's runs may have it for a moment, and this one is refused then.
    let code = "import time
x = None
while x is None:
    try:
        x = bytearray(60 << 20)
    except MemoryError:
        time.sleep(0.01)
time.sleep(4)";
    let hold = json!({"code": code, "timeout_ms": 20_000});
    let _held = begin(&server, "/api/eval", &hold);
    let more = json!({"code": "x = bytearray(60 << 20)"});
    let refused = wait_for("the memory is held", PATIENCE, || {
        let told = server.ask("POST", "/api/eval", GREEDY, Some(&more)).json();
        if told["exception"]["class"] == "MemoryError" { Ok(told) } else { Err(told) }
    });
    let hint = refused["exception"]["hint"].as_str().unwrap();
    assert!(hint.contains("all runs together") && hint.contains("try again"), "{hint}");
    assert_eq!(eval(&server, OTHER, json!({"code": "len(bytearray(30 << 20))"})), 30 << 20);
    assert_eq!(
        eval(&server, OTHER, json!({"code": "len(x := bytearray(30 << 20))", "session_key": "mine"})),
        30 << 20
    );
    assert_eq!(eval(&server, GREEDY, json!({"code": "1 + 1"})), 2);
    wait_for("what is let go of can be had again", PATIENCE, || {
        let told = server.ask("POST", "/api/eval", GREEDY, Some(&more)).json();
        if told["ok"] == true { Ok(()) } else { Err(told) }
    });
}

/// What a sandbox had when it slept it gets back, whatever may be added then.
#[test]
fn own_01_a_saved_memory_is_given_back_where_nothing_may_be_added() {
    let folder = tempfile::tempdir().unwrap();
    let before = server(&folder);
    // With some memory free: without any, an interpreter cannot even read a line where nothing may be added.
    let fill = "kept = bytearray(60 << 20); free = bytearray(2 << 20); del free";
    eval(&before, OTHER, json!({"code": fill, "session_key": "large"}));
    assert_eq!(before.end().status, Some(0));
    let after = server_with(&folder, &["--runs-memory", "8MiB"]);
    assert_eq!(eval(&after, OTHER, json!({"code": "len(kept)", "session_key": "large"})), 60 << 20);
    let more = json!({"code": "more = bytearray(60 << 20)", "session_key": "large"});
    let refused = after.ask("POST", "/api/eval", OTHER, Some(&more)).json();
    assert_eq!(refused["exception"]["class"], "MemoryError", "{refused}");
    assert_eq!(eval(&after, OTHER, json!({"code": "len(kept)", "session_key": "large"})), 60 << 20);
}

/// Tools that go through many files, and archives of many, hold nobody else up.
#[test]
fn own_01_checks_and_archives_of_many_files() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let make = "import base64, io, os, tarfile
for d in range(60):
    os.makedirs(f'/workspace/d{d}')
    for i in range(300):
        with open(f'/workspace/d{d}/f{i}', 'w') as file: _ = file.write(f'{d} {i} ' * 100)
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode='w:gz') as archive:
    for i in range(9_000):
        about = tarfile.TarInfo(f'f{i}'); about.size = 4
        archive.addfile(about, io.BytesIO(b'text'))
base64.b64encode(packed.getvalue()).decode()";
    let arguments = json!({"code": make, "session_key": "files", "timeout_ms": 60_000});
    let made = server.ask("POST", "/api/eval", GREEDY, Some(&arguments)).json();
    let packed = made["result"]["value"].as_str().unwrap_or_else(|| panic!("{made}"));
    let id = made["sandbox_id"].as_str().unwrap();
    let check = format!("/api/sandboxes/{id}/tests");
    let before = Instant::now();
    let told = server.ask("POST", &check, GREEDY, Some(&json!({"timeout_ms": 1_000})));
    assert_eq!(told.status, 200, "{}", String::from_utf8_lossy(&told.body));
    assert!(before.elapsed() < Duration::from_secs(1) + PROMISE + NOISE, "{:?}", before.elapsed());
    let unpack = json!({"path": "/workspace/new", "content_base64": packed, "unpack": true});
    let calls: Vec<TcpStream> = (0..8)
        .flat_map(|call| {
            let other = json!({"session_key": format!("archive-{call}")});
            let made = server.ask("POST", "/api/sandboxes", GREEDY, Some(&other)).json();
            let upload = format!("/api/sandboxes/{}/files/upload", made["id"].as_str().unwrap());
            [begin(&server, &check, &json!({"timeout_ms": 1_000})), begin(&server, &upload, &unpack)]
        })
        .collect();
    served(&server, "files are looked through and archives unpacked");
    drop(calls);
}
