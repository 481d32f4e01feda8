//! What lies in a mounted folder and is no file, and very many folders, through every tool: FS-07.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use dormouse_tests::binary;
use dormouse_tests::levels::Levels;
use dormouse_tests::served::{Served, signal};
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

/// How long any call on what is no file may take.
const SOON: Duration = Duration::from_secs(5);

/// A folder with two pipes, one of which somebody holds open, a socket, and a device where one can be made.
struct Odd {
    folder: tempfile::TempDir,
    names: Vec<&'static str>,
    _open: (std::fs::File, UnixListener),
}

fn odd() -> Odd {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let shell = |line: &str| {
        let mut command = binary::started(Path::new("/bin/sh"), &["-c", line]);
        command.current_dir(&data);
        binary::finish(command, b"").status == Some(0)
    };
    assert!(shell("mkfifo pipe held"));
    let held = std::fs::File::options().read(true).write(true).open(data.join("held")).unwrap();
    let socket = UnixListener::bind(data.join("socket")).unwrap();
    let device = shell("mknod device c 1 3");
    let names = ["pipe", "held", "socket"].into_iter().chain(device.then_some("device")).collect();
    Odd { folder, names, _open: (held, socket) }
}

impl Odd {
    fn arguments(&self) -> Vec<String> {
        let (data, state) = (self.folder.path().join("data"), self.folder.path().join("state"));
        let mount = format!("{}:/d:rw", data.display());
        [
            "--state-dir",
            state.to_str().unwrap(),
            "--mount",
            &mount,
            "--allow-writes",
            "--tools",
            "all",
            "--root",
        ]
        .into_iter()
        .chain([data.to_str().unwrap()])
        .map(str::to_owned)
        .collect()
    }
}

#[test]
fn fs_07_no_tool_waits_for_a_pipe_a_socket_or_a_device_of_a_mount() {
    let odd = odd();
    let arguments = odd.arguments();
    let mut wire = Wire::greeted(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    wire.call(1, "sandbox_create", json!({"name": "work", "allow_writes": true}));
    let mut id = 1;
    let mut ask = |tool: &str, mut arguments: Json, refused: bool| {
        id += 1;
        arguments["sandbox"] = "work".into();
        let begin = Instant::now();
        let answer = wire.call(id, tool, arguments.clone());
        assert!(begin.elapsed() < SOON, "{tool} {arguments}: {:?}", begin.elapsed());
        let code = answer["structuredContent"]["error"]["code"].clone();
        // A root does not tell whether there is something that cannot be opened.
        let denied = code == "args_invalid" || (tool == "sandbox_load" && code == "path_denied");
        assert_eq!(denied, refused, "{tool} {arguments}: {answer}");
        answer
    };
    let packed = |name: &str| {
        let mut command = binary::started(
            Path::new("/bin/sh"),
            &["-c", &format!("cd $(mktemp -d) && echo x > {name} && tar -cf - {name}")],
        );
        command.env("LC_ALL", "C");
        BASE64.encode(&binary::finish(command, b"").stdout)
    };
    for name in &odd.names {
        let path = format!("/d/{name}");
        ask("sandbox_write", json!({"path": path, "content": "x"}), true);
        ask("sandbox_write", json!({"path": path, "content": "x", "append": true}), true);
        ask("sandbox_edit", json!({"path": path, "old": "a", "new": "b"}), true);
        ask("sandbox_upload", json!({"path": path, "content_base64": "eA=="}), true);
        ask("sandbox_upload", json!({"path": "/d", "content_base64": packed(name), "unpack": true}), true);
        ask("sandbox_read", json!({"path": path}), true);
        ask("sandbox_read", json!({"path": path, "offset": 5}), true);
        ask("sandbox_download", json!({"path": path}), true);
        ask("sandbox_load", json!({"path": name, "var": "x"}), true);
        for line in [
            "cat /d/NAME",
            "echo x > /d/NAME",
            "echo x >> /d/NAME",
            "cp /d/NAME /workspace/c",
            "wc -c /d/NAME",
        ] {
            let line = line.replace("NAME", name);
            let answer = ask("sandbox_exec", json!({"command": line, "timeout_ms": 3_000}), false);
            assert_ne!(answer["structuredContent"]["exit_code"], 0, "{line}: {answer}");
        }
        for (language, code) in [
            ("python", "open('/d/NAME').read()"),
            ("python", "open('/d/NAME', 'w')"),
            ("javascript", "require('fs').readFileSync('/d/NAME')"),
        ] {
            let code = code.replace("NAME", name);
            let answer =
                ask("sandbox_eval", json!({"language": language, "code": code, "timeout_ms": 3_000}), false);
            assert!(!answer["structuredContent"]["exception"].is_null(), "{code}: {answer}");
        }
    }
    let listed = ask("sandbox_files", json!({"path": "/d", "recursive": true}), false);
    let listed = listed["structuredContent"]["entries"].to_string();
    assert!(odd.names.iter().all(|name| listed.contains(name)), "{listed}");
    let answer = ask(
        "sandbox_exec",
        json!({"command": "find /d | wc -l; ls -lR /d > /dev/null; grep -r x /d; rm /d/pipe"}),
        false,
    );
    assert!(
        answer["structuredContent"]["stdout"]
            .as_str()
            .unwrap()
            .starts_with(&(odd.names.len() + 1).to_string()),
        "{answer}"
    );
}

/// Clients that give up and ask again: what they asked holds no thread and no descriptor.
#[test]
fn fs_07_six_hundred_abandoned_calls_leave_nothing_behind() {
    let odd = odd();
    let arguments = odd.arguments();
    let server = Served::start(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let create = json!({"name": "work", "allow_writes": true});
    assert_eq!(server.ask("POST", "/api/sandboxes", None, Some(&create)).status, 201);
    let json_body = [("Content-Type", "application/json")];
    let write = json!({"path": "/d/pipe", "content": "x"}).to_string();
    let edit = json!({"path": "/d/pipe", "old": "x", "new": "y"}).to_string();
    let warm = server.send("POST", "/api/sandboxes/work/files/write", &json_body, write.as_bytes());
    assert_eq!((warm.status, warm.code().as_str()), (400, "args_invalid"), "{}", warm.json());
    let process = server.process().to_string();
    let before = Levels::of(&process);
    for number in 0..600 {
        let (path, body) = match number % 3 {
            0 => ("write", &write),
            1 => ("edit", &edit),
            _ => ("content?path=/d/held", &write),
        };
        let path = format!("/api/sandboxes/work/files/{path}");
        if number % 3 == 2 {
            drop(server.begin(
                "PUT",
                &path,
                &[("Content-Type", "application/octet-stream")],
                body.as_bytes(),
            ));
        } else {
            drop(server.begin("POST", &path, &json_body, body.as_bytes()));
        }
    }
    let begin = Instant::now();
    let created = server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "next"})));
    assert_eq!(created.status, 201, "{}", created.json());
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    // Threads that have nothing to do end after a while of their own; a few always find something. What is left behind would be
    // one for each call.
    // Connections to the database that many read through at once stay open for the next.
    let slack = Levels { memory: u64::MAX / 2, descriptors: 32, threads: 32 };
    before.wait_until_back(&process, &slack, Duration::from_secs(60));
    assert_eq!(server.end().status, Some(0));
}

/// Far more folders side by side than the process may have descriptors, through everything that lists.
#[test]
fn fs_07_three_thousand_folders_are_listed_with_two_hundred_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let (data, state) = (folder.path().join("data"), folder.path().join("state"));
    for number in 0..3_000 {
        let inner = data.join(format!("node_modules/p{number:04}"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("index.js"), "x").unwrap();
    }
    let mount = format!("{}:/d", data.display());
    let arguments = ["--state-dir", state.to_str().unwrap(), "--mount", &mount, "--tools", "all"];
    let mut wire = Wire::start_after("ulimit -n 200", &arguments);
    wire.greet();
    wire.call(1, "sandbox_create", json!({"name": "work"}));
    let listed = wire.call(2, "sandbox_files", json!({"sandbox": "work", "path": "/d", "recursive": true}));
    assert_eq!(listed["structuredContent"]["total"], 6_001, "{listed:.300}");
    for (id, line, told) in [
        (10, "find /d -name index.js | wc -l", "3000\n"),
        (11, "ls -R /d | grep -c index.js", "3000\n"),
        (12, "ls /d/node_modules | wc -l", "3000\n"),
        (13, "cp -r /d/node_modules /workspace/n && ls /workspace/n | wc -l", "3000\n"),
        (14, "grep -rl x /d | wc -l", "3000\n"),
        (15, "shopt -s globstar 2>/dev/null; set -- /d/node_modules/*; echo $#", "3000\n"),
    ] {
        let arguments = json!({"sandbox": "work", "command": line, "timeout_ms": 60_000});
        let ran = wire.call(id, "sandbox_exec", arguments);
        assert_eq!(ran["structuredContent"]["stdout"], told, "{line}: {ran:.600}");
    }
    for (id, language, code) in [
        (20, "python", "import os\nsum(len(f) for _, _, f in os.walk('/d'))"),
        (
            21,
            "javascript",
            "let n = 0; for (const d of require('fs').readdirSync('/d/node_modules')) n += require('fs').readdirSync('/d/node_modules/' + d).length; n",
        ),
    ] {
        let arguments = json!({"sandbox": "work", "language": language, "code": code, "timeout_ms": 60_000});
        let ran = wire.call(id, "sandbox_eval", arguments);
        assert_eq!(ran["structuredContent"]["result"]["value"], 3_000, "{language}: {ran:.600}");
    }
    assert_eq!(wire.end(Duration::from_secs(20)).status, Some(0));
}

/// A copy of a pipe that nobody writes into waits, ends when it is asked to, and leaves the sandbox to others.
#[test]
fn fs_07_a_copy_that_waits_for_a_pipe_can_be_ended() {
    let odd = odd();
    let (data, state) = (odd.folder.path().join("data"), odd.folder.path().join("copies"));
    let run = |arguments: &[&str]| {
        let all = [&["sandbox", "--state-dir", state.to_str().unwrap()], arguments].concat();
        binary::command(&all)
    };
    let finish = |arguments: &[&str]| binary::finish(run(arguments), b"");
    assert_eq!(finish(&["create", "box"]).status, Some(0));
    for name in ["pipe", "held"] {
        let place = format!("box:/workspace/{name}");
        let pipe = data.join(name);
        let mut copying = run(&["cp", pipe.to_str().unwrap(), &place]).spawn().unwrap();
        // Time in which it comes to the pipe.
        std::thread::sleep(Duration::from_millis(500));
        assert!(copying.try_wait().unwrap().is_none(), "{name}: it waits");
        signal(copying.id(), "INT");
        assert_eq!(binary::wait(&mut copying, SOON), Some(130), "{name}");
        let ran = finish(&["eval", "box", "6 * 7"]);
        assert_eq!((ran.status, ran.text().trim()), (Some(0), "42"), "{}", ran.complaint());
    }
}
