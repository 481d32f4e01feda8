//! State folders that cannot be written: no room, no inodes, no descriptors. A named error at the call; when the fault ends,
//! work goes on, and nothing that was acknowledged is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dormouse_tests::served::Served;
use dormouse_tests::wire::Wire;
use dormouse_tests::{binary, wait_for};
use serde_json::{Value as Json, json};

/// A small disk of its own, gone with this value.
pub(crate) struct Disk(pub(crate) PathBuf);

impl Disk {
    /// None: this user or this system cannot mount one, which is said.
    pub(crate) fn mount(options: &str) -> Option<Self> {
        let mount = binary::installed("mount", "lif_02 on a disk of its own")?;
        let folder = tempfile::Builder::new().prefix("dormouse-disk-").tempdir().unwrap().keep();
        let place = folder.to_str().unwrap().to_owned();
        let words = ["-t", "tmpfs", "-o", options, "tmpfs", &place];
        let ran = binary::finish(binary::started(&mount, &words), b"");
        if ran.status == Some(0) {
            return Some(Self(folder));
        }
        eprintln!("left out: a disk of {options} cannot be mounted: {}", ran.complaint().trim());
        let _ = fs::remove_dir(&folder);
        None
    }

    /// The state folder on it.
    pub(crate) fn state(&self) -> String {
        self.0.join("state").to_str().unwrap().to_owned()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let place = self.0.to_str().unwrap().to_owned();
        binary::finish(binary::started(Path::new("umount"), &["-l", &place]), b"");
        let _ = fs::remove_dir(&self.0);
    }
}

fn served(state: &str) -> Wire {
    let mut wire = Wire::start(&["--state-dir", state, "--tools", "all"]);
    wire.greet();
    wire
}

fn code(result: &Json) -> &str {
    result["structuredContent"]["error"]["code"].as_str().unwrap_or("none")
}

/// Calls until something is refused; how often it went well, and with what code it was refused.
fn until_refused(mut call: impl FnMut(u64) -> Json) -> (u64, String) {
    for number in 0..500 {
        let result = call(number);
        if result["isError"] == true {
            return (number, code(&result).to_owned());
        }
    }
    panic!("nothing was refused");
}

fn eval(wire: &mut Wire, id: i64, name: &str, code: &str) -> Json {
    wire.call(id, "sandbox_eval", json!({"sandbox": name, "code": code}))
}

#[test]
fn lif_02_a_full_disk_refuses_by_name_and_takes_more_when_there_is_room() {
    let Some(disk) = Disk::mount("size=16m") else { return };
    let mut wire = served(&disk.state());
    wire.call(1, "sandbox_create", json!({"name": "box"}));
    eval(&mut wire, 2, "box", "x = 1");
    let first = wire.call(3, "sandbox_checkpoint", json!({"sandbox": "box"}));
    fs::write(disk.0.join("filler"), vec![0; 9 << 20]).unwrap();
    let (made, refused) = until_refused(|number| {
        let id = 10 + i64::try_from(number).unwrap() * 2;
        eval(&mut wire, id, "box", &format!("import os\nx = {number}\ndata = os.urandom(300_000)"));
        wire.call(id + 1, "sandbox_checkpoint", json!({"sandbox": "box"}))
    });
    assert_eq!(refused, "state_unavailable");
    assert!(made > 2, "{made} checkpoints");
    // It goes on in memory, and says at each call that wants the disk what is wrong.
    assert_eq!(eval(&mut wire, 5_000, "box", "x")["structuredContent"]["result"]["value"], made);
    let stopped = wire.call(5_001, "sandbox_stop", json!({"sandbox": "box"}));
    assert_eq!(code(&stopped), "state_unavailable", "{stopped}");
    assert!(stopped["structuredContent"]["error"]["hint"].as_str().unwrap().contains("free space"));
    let back = json!({"sandbox": "box", "checkpoint_id": first["structuredContent"]["id"]});
    let restored = wire.call(5_002, "sandbox_restore", back.clone());
    if restored["isError"] == true {
        assert_eq!(code(&restored), "state_unavailable");
        assert_eq!(eval(&mut wire, 5_003, "box", "x")["structuredContent"]["result"]["value"], made);
    }
    // Room is made by removing what is there, or from outside.
    eval(&mut wire, 5_004, "box", "x = 'kept'\ndel data");
    fs::remove_file(disk.0.join("filler")).unwrap();
    let saved = wire.call(5_005, "sandbox_stop", json!({"sandbox": "box"}));
    assert_ne!(saved["isError"], true, "{saved}");
    wire.kill();
    let mut wire = served(&disk.state());
    assert_eq!(eval(&mut wire, 1, "box", "x")["structuredContent"]["result"]["value"], "kept");
    let listed = wire.call(2, "sandbox_list_checkpoints", json!({"sandbox": "box"}));
    let listed = listed["structuredContent"]["checkpoints"].as_array().unwrap().len() as u64;
    assert_eq!(listed, made + 1, "what was refused is not there, what was acknowledged is");
    let restored = wire.call(3, "sandbox_restore", back);
    assert_ne!(restored["isError"], true, "{restored}");
    assert_eq!(eval(&mut wire, 4, "box", "x")["structuredContent"]["result"]["value"], 1);
    wire.end(Duration::from_secs(20));
}

/// Removes, one after the other, until nothing is refused; on a disk without a free byte.
#[test]
fn lif_09_a_full_disk_is_cleared_by_removing_from_a_server_and_from_commands() {
    let Some(disk) = Disk::mount("size=48m") else { return };
    let mut wire = served(&disk.state());
    let taken = || fs::metadata(disk.0.join("state/state.db")).unwrap().len();
    let mut checkpoints = Vec::new();
    for (id, name) in (0..).step_by(20).zip(["a", "b", "c"]) {
        wire.call(id + 1, "sandbox_create", json!({"name": name}));
        for number in 0..3 {
            eval(
                &mut wire,
                id + 2 + number,
                name,
                &format!("import os\nx = {number}\ndata = os.urandom(1_500_000)"),
            );
            let saved = wire.call(id + 10 + number, "sandbox_checkpoint", json!({"sandbox": name}));
            assert_eq!(code(&saved), "none", "{saved}");
            checkpoints.push((name, saved["structuredContent"]["id"].clone()));
        }
    }
    let fill = || {
        use std::io::Write as _;
        let mut filler =
            fs::OpenOptions::new().append(true).create(true).open(disk.0.join("filler")).unwrap();
        for piece in [1 << 20, 4096, 1] {
            while filler.write_all(&vec![1; piece]).is_ok() {}
        }
    };
    fill();
    let refused = wire.call(500, "sandbox_checkpoint", json!({"sandbox": "a"}));
    assert!(["state_unavailable", "quota_exceeded"].contains(&code(&refused)), "{refused}");
    for (id, (name, checkpoint)) in (600..).zip(&checkpoints[..4]) {
        let gone =
            wire.call(id, "sandbox_remove_checkpoint", json!({"sandbox": name, "checkpoint_id": checkpoint}));
        assert_eq!(code(&gone), "none", "{gone}");
    }
    let gone = wire.call(700, "sandbox_destroy", json!({"sandbox": "b"}));
    assert_eq!(code(&gone), "none", "{gone}");
    wire.kill();
    fill();
    // What commands leave open and what they find is as full.
    let state = disk.state();
    let run = |words: &[&str]| {
        let ran = binary::dormouse(&[words, &["--state-dir", &state, "--json"]].concat(), b"");
        assert_eq!(ran.status, Some(0), "{words:?}: {}{}", ran.text(), ran.complaint());
        ran.text()
    };
    assert!(run(&["sandbox", "list"]).contains("\"c\""));
    let before = taken();
    run(&["sandbox", "rm", "c"]);
    run(&["sandbox", "sweep"]);
    assert!(taken() < before / 2, "{} of {before}", taken());
    assert!(run(&["sandbox", "list"]).contains("\"a\""));
    run(&["sandbox", "rm", "a"]);
    assert!(taken() < 1 << 20, "{}", taken());
    assert!(fs::metadata(disk.0.join("state/reserve")).unwrap().len() > 0, "room is set aside again");
}

/// What saving leaves free is enough for removing, whatever the disk's size: nothing but the folder itself fills it here.
#[test]
fn lif_09_a_disk_that_its_sandboxes_have_filled_is_cleared_by_removing() {
    for size in [24, 40] {
        let Some(disk) = Disk::mount(&format!("size={size}m")) else { return };
        let mut wire = served(&disk.state());
        for name in ["a", "b", "c"] {
            wire.call(1, "sandbox_create", json!({"name": name}));
        }
        let (made, refused) = until_refused(|number| {
            let name = ["a", "b", "c"][usize::try_from(number).unwrap() % 3];
            let id = 10 + i64::try_from(number).unwrap() * 2;
            let code = format!(
                "import os\nwith open('/workspace/{number}', 'wb') as f: _ = f.write(os.urandom(700_000))"
            );
            let written = eval(&mut wire, id, name, &code);
            if written["isError"] == true {
                return written;
            }
            wire.call(id + 1, "sandbox_checkpoint", json!({"sandbox": name}))
        });
        assert!(made > 3 && ["state_unavailable", "quota_exceeded"].contains(&refused.as_str()), "{refused}");
        wire.kill();
        let state = disk.state();
        let taken = || fs::metadata(disk.0.join("state/state.db")).unwrap().len();
        let before = taken();
        for name in ["a", "b"] {
            let ran = binary::dormouse(&["sandbox", "rm", name, "--state-dir", &state], b"");
            assert_eq!(ran.status, Some(0), "{size} MiB, {name}: {}", ran.complaint());
        }
        assert!(taken() < before * 2 / 3, "{} of {before}", taken());
        let mut wire = served(&state);
        let listed = wire.call(1, "sandbox_list_checkpoints", json!({"sandbox": "c"}));
        let first = listed["structuredContent"]["checkpoints"][0]["id"].clone();
        let back = wire.call(3, "sandbox_restore", json!({"sandbox": "c", "checkpoint_id": first}));
        assert_eq!(code(&back), "none", "what stays is whole: {back}");
        let gone = wire.call(2, "sandbox_destroy", json!({"sandbox": "c"}));
        assert_eq!(code(&gone), "none", "{gone}");
        wire.end(Duration::from_secs(20));
    }
}

#[test]
fn lif_02_a_disk_without_inodes_refuses_by_name_and_recovers() {
    let Some(disk) = Disk::mount("size=40m,nr_inodes=40") else { return };
    let mut wire = served(&disk.state());
    for name in ["other", "box"] {
        wire.call(1, "sandbox_create", json!({"name": name}));
        eval(&mut wire, 2, name, "x = 1");
        wire.call(3, "sandbox_stop", json!({"sandbox": name}));
    }
    let mut fillers = 0;
    while fs::write(disk.0.join(format!("filler-{fillers}")), "").is_ok() {
        fillers += 1;
    }
    // A sandbox that is called needs the name of its lock.
    let refused = eval(&mut wire, 4, "box", "x");
    assert_eq!(code(&refused), "state_unavailable", "{refused}");
    // Removing is done with what is kept for it.
    let gone = wire.call(7, "sandbox_destroy", json!({"sandbox": "other"}));
    assert_ne!(gone["isError"], true, "{gone}");
    for number in 0..fillers {
        fs::remove_file(disk.0.join(format!("filler-{number}"))).unwrap();
    }
    assert_eq!(eval(&mut wire, 5, "box", "x")["structuredContent"]["result"]["value"], 1);
    wire.end(Duration::from_secs(20));
}

/// Who watches the server is told at once, and nobody is given a sandbox that he could not use.
#[test]
fn lif_02_without_inodes_the_health_says_so_and_nothing_is_made() {
    let Some(disk) = Disk::mount("size=40m,nr_inodes=40") else { return };
    let server = Served::start(&["--state-dir", &disk.state(), "--tools", "all"]);
    let health = || server.ask("GET", "/health", None, None).json();
    let make = |name: &str| {
        server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": name, "session_key": name})))
    };
    assert_eq!(make("there").status, 201);
    assert_eq!(health()["status"], "ok");
    let mut fillers = 0;
    while fs::write(disk.0.join(format!("filler-{fillers}")), "").is_ok() {
        fillers += 1;
    }
    let degraded = health();
    assert_eq!(degraded["status"], "degraded", "{degraded}");
    assert_eq!(degraded["reason"]["message"], "no inodes are left on the disk", "{degraded}");
    let refused = make("other").json();
    assert_eq!(refused["error"]["code"], "state_unavailable", "{refused}");
    assert!(refused["error"]["hint"].as_str().is_some_and(|hint| hint.contains("files")), "{refused}");
    assert_eq!(make("there").status, 200, "one that is there is answered");
    for number in 0..fillers {
        fs::remove_file(disk.0.join(format!("filler-{number}"))).unwrap();
    }
    assert_eq!(health()["status"], "ok");
    assert_eq!(make("other").status, 201);
    let told = server.ask("POST", "/api/sandboxes/other/eval", None, Some(&json!({"code": "1 + 1"})));
    assert_eq!(told.json()["result"]["value"], 2, "{}", told.json());
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn lif_02_a_command_removes_on_a_disk_without_inodes() {
    let Some(disk) = Disk::mount("size=40m,nr_inodes=40") else { return };
    let state = disk.state();
    let run = |words: &[&str]| binary::dormouse(&[words, &["--state-dir", &state, "--json"]].concat(), b"");
    let told = |words: &[&str]| -> Json { serde_json::from_slice(&run(words).stdout).unwrap() };
    for name in ["a", "b"] {
        assert_eq!(run(&["sandbox", "create", name]).status, Some(0));
        assert_eq!(run(&["sandbox", "eval", name, "x = 1"]).status, Some(0));
    }
    let mut fillers = 0;
    while fs::write(disk.0.join(format!("filler-{fillers}")), "").is_ok() {
        fillers += 1;
    }
    assert_eq!(told(&["sandbox", "list"])["sandboxes"].as_array().unwrap().len(), 2);
    let gone = run(&["sandbox", "rm", "a"]);
    assert_eq!(gone.status, Some(0), "{}", gone.complaint());
    for number in 0..fillers {
        fs::remove_file(disk.0.join(format!("filler-{number}"))).unwrap();
    }
    assert_eq!(told(&["sandbox", "rm", "a"])["error"]["code"], "unknown_sandbox");
    assert_eq!(told(&["sandbox", "eval", "b", "x"])["result"]["value"], 1);
}

/// What comes free is taken by other programs at once, and each removal finds what it needs all the same.
#[test]
fn lif_02_all_sandboxes_are_removed_on_a_disk_without_inodes() {
    let Some(disk) = Disk::mount("size=40m,nr_inodes=40") else { return };
    let state = disk.state();
    let run = |words: &[&str]| binary::dormouse(&[words, &["--state-dir", &state, "--json"]].concat(), b"");
    let mut fillers = 0;
    let mut use_up = || {
        while fs::write(disk.0.join(format!("filler-{fillers}")), "").is_ok() {
            fillers += 1;
        }
    };
    for name in ["a", "b", "c", "d", "e", "f"] {
        assert_eq!(run(&["sandbox", "create", name]).status, Some(0));
        assert_eq!(run(&["sandbox", "eval", name, "x = 1"]).status, Some(0));
    }
    for name in ["a", "b", "c"] {
        use_up();
        let gone = run(&["sandbox", "rm", name]);
        assert_eq!(gone.status, Some(0), "{name}: {}{}", gone.text(), gone.complaint());
    }
    // A server keeps the database's files. It is started with what it needs, for once.
    for number in 0..3 {
        fs::remove_file(disk.0.join(format!("filler-{number}"))).unwrap();
    }
    let mut wire = served(&state);
    for (number, name) in (1..).zip(["d", "e", "f"]) {
        use_up();
        let gone = wire.call(number, "sandbox_destroy", json!({"sandbox": name}));
        assert_ne!(gone["isError"], true, "{name}: {gone}");
    }
    let listed = wire.call(9, "sandbox_list", json!({}));
    assert_eq!(listed["structuredContent"]["sandboxes"], json!([]), "{listed}");
    wire.end(Duration::from_secs(20));
}

#[test]
fn lif_02_a_folder_on_a_disk_that_is_read_only_is_listed_and_copied_from_and_not_changed() {
    let Some(disk) = Disk::mount("size=8m") else { return };
    let state = disk.state();
    let run = |words: &[&str]| binary::dormouse(&[words, &["--state-dir", &state, "--json"]].concat(), b"");
    assert_eq!(run(&["sandbox", "create", "box"]).status, Some(0));
    let code = "x = 1\nopen('/workspace/f', 'w').write('kept')\nNone";
    assert_eq!(run(&["sandbox", "eval", "box", code]).status, Some(0));
    let remount = |how: &str| {
        let place = disk.0.to_str().unwrap();
        let words = ["-o", how, place];
        let ran = binary::finish(binary::started(Path::new("mount"), &words), b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    };
    remount("remount,ro");
    for words in [
        &["sandbox", "create", "other"][..],
        &["sandbox", "eval", "box", "x"],
        &["sandbox", "rm", "box"],
        &["sandbox", "stop", "box"],
        &["sandbox", "sweep"],
    ] {
        let ran = run(words);
        let told = format!("{}{}", ran.text(), ran.complaint());
        assert!(ran.status == Some(1) && told.contains("state_unavailable"), "{words:?}: {told}");
        assert!(told.contains("the state folder is read-only"), "{words:?}: {told}");
    }
    let listed = run(&["sandbox", "list"]);
    assert!(listed.status == Some(0) && listed.text().contains("\"box\""), "{}", listed.complaint());
    assert!(run(&["sandbox", "files", "box"]).text().contains("\"f\""));
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("f");
    let copied = run(&["sandbox", "cp", "box:/workspace/f", copy.to_str().unwrap()]);
    assert_eq!(copied.status, Some(0), "{}", copied.complaint());
    assert_eq!(fs::read_to_string(copy).unwrap(), "kept");
    let checked = run(&["state", "check"]);
    assert_eq!(checked.status, Some(0), "{}{}", checked.text(), checked.complaint());
    remount("remount,rw");
    let ran = run(&["sandbox", "eval", "box", "x"]);
    assert!(ran.text().contains("\"value\":1"), "{}{}", ran.text(), ran.complaint());
}

/// Whoever calls is told, whoever watches the server, and whoever waits for its end.
#[test]
fn lif_02_what_cannot_be_saved_is_told_by_the_call_the_health_and_the_exit_status() {
    let Some(disk) = Disk::mount("size=24m") else { return };
    let server = Served::start(&["--state-dir", &disk.state(), "--tools", "all"]);
    let health = || server.ask("GET", "/health", None, None).json();
    assert_eq!(health()["status"], "ok");
    let made = server.ask("POST", "/api/sandboxes", None, Some(&json!({"name": "box"})));
    assert!(made.json()["id"].is_string(), "{}", made.json());
    {
        use std::io::Write as _;
        let mut filler = fs::File::create(disk.0.join("filler")).unwrap();
        for piece in [1 << 20, 4096] {
            while filler.write_all(&vec![1; piece]).is_ok() {}
        }
    }
    // The first one already, which fills nothing itself.
    let code = json!({"sandbox": "box", "code": "import os\nx = os.urandom(3_000_000)\nlen(x)"});
    let told = server.mcp(None, "sandbox_eval", &code).json();
    let answer = &told["result"]["structuredContent"];
    assert_eq!((&answer["ok"], &answer["result"]["value"]), (&json!(true), &json!(3_000_000)), "{told}");
    assert_eq!(answer["unsaved"]["code"], "state_unavailable", "{told}");
    let message = answer["unsaved"]["message"].as_str().unwrap();
    assert!(message.contains("the disk is full"), "{message}");
    for (tool, arguments) in [
        ("sandbox_exec", json!({"sandbox": "box", "command": "echo 1 > /workspace/a"})),
        ("sandbox_write", json!({"sandbox": "box", "path": "/workspace/b", "content": "2"})),
    ] {
        let told = server.mcp(None, tool, &arguments).json();
        assert_eq!(told["result"]["structuredContent"]["unsaved"]["code"], "state_unavailable", "{told}");
    }
    let degraded = health();
    assert_eq!(degraded["status"], "degraded", "{degraded}");
    assert!(!degraded.to_string().contains(disk.0.to_str().unwrap()), "it tells no path: {degraded}");
    let ran = server.end();
    assert_eq!(ran.status, Some(1), "{}", ran.complaint());
    assert!(ran.complaint().contains("the disk is full"), "{}", ran.complaint());
}

#[test]
fn lif_02_a_command_that_cannot_save_says_so_beside_its_answer() {
    let Some(disk) = Disk::mount("size=24m") else { return };
    let state = disk.state();
    let run = |words: &[&str]| binary::dormouse(&[words, &["--state-dir", &state, "--json"]].concat(), b"");
    assert_eq!(run(&["sandbox", "create", "box"]).status, Some(0));
    let ran = run(&["sandbox", "eval", "box", "import os\nx = os.urandom(40_000_000)\nlen(x)"]);
    let told: Json = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&told["ok"], &told["result"]["value"]), (&json!(true), &json!(40_000_000)), "{told}");
    assert_eq!(told["unsaved"]["code"], "state_unavailable", "{told}");
    assert_eq!(ran.status, Some(1));
}

/// Each sandbox that is not saved yet holds a lock, which takes a descriptor.
#[test]
fn lif_02_a_server_without_descriptors_refuses_by_name_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut wire = Wire::start_after("ulimit -n 48", &["--state-dir", state, "--tools", "all"]);
    wire.greet();
    let name = |number: i64| format!("box-{number}");
    let (mut refused, mut made, mut first) = (0, 0, 60);
    for number in 0..60 {
        let result = wire.call(number + 1, "sandbox_create", json!({"name": name(number)}));
        assert!(matches!(code(&result), "none" | "state_unavailable"), "{result}");
        made += i64::from(code(&result) == "none");
    }
    assert_eq!(made, 60, "making one takes no descriptor that lasts");
    for number in 0..60 {
        let result = eval(&mut wire, 100 + number, &name(number), &format!("x = {number}"));
        assert!(matches!(code(&result), "none" | "state_unavailable"), "{result}");
        match code(&result) {
            "none" => first = first.min(number),
            _ => refused += 1,
        }
    }
    assert!(refused > 5, "only {refused} calls were refused");
    // A second later the first are saved, and their locks given back.
    let mut id = 1_000;
    let mut taken = |name: &str, line: &str| {
        wait_for("the call is taken", Duration::from_secs(60), || {
            id += 1;
            let result = eval(&mut wire, id, name, line);
            if code(&result) == "none" { Ok(result) } else { Err(result) }
        })
    };
    taken(&name(59), "x = 59");
    let shown = taken(&name(first), "x");
    assert_eq!(shown["structuredContent"]["result"]["value"], first, "{shown}");
    wire.end(Duration::from_secs(30));
    let shown = binary::dormouse(&["sandbox", "eval", &name(59), "x", "--state-dir", state, "--json"], b"");
    assert!(shown.text().contains("\"value\":59"), "{}", shown.text());
}

/// Who follows the hint of `unsaved` is helped at once, not with the next sweep in half a minute.
#[test]
fn lif_09_what_is_removed_from_a_full_disk_makes_room_at_once() {
    let Some(disk) = Disk::mount("size=40m") else { return };
    let mut wire = served(&disk.state());
    for name in ["large", "box"] {
        wire.call(1, "sandbox_create", json!({"name": name}));
    }
    let fill = "import os\nopen('/workspace/f', 'wb').write(os.urandom(9_000_000))";
    eval(&mut wire, 2, "large", fill);
    wire.call(3, "sandbox_stop", json!({"sandbox": "large"}));
    let mut filler = fs::File::create(disk.0.join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[0; 4096]).is_ok() {}
    let unsaved = eval(&mut wire, 4, "box", "x = 1");
    assert_eq!(unsaved["structuredContent"]["unsaved"]["code"], "state_unavailable", "{unsaved}");
    let gone = wire.call(5, "sandbox_destroy", json!({"sandbox": "large"}));
    assert_ne!(gone["isError"], true, "{gone}");
    wait_for("it is saved", Duration::from_secs(60), || {
        let told = eval(&mut wire, 6, "box", "x");
        if told["structuredContent"]["unsaved"].is_null() { Ok(()) } else { Err(told) }
    });
    wire.end(Duration::from_secs(20));
}
