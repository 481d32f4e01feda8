//! Folders that can only be looked at: who looks takes nothing of what is kept for removing, and a server that was started there goes
//! on by itself when the folder can be written.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use dormouse_tests::binary;
use dormouse_tests::served::Served;
use serde_json::{Value as Json, json};

use crate::disk::Disk;

/// A disk with one sandbox, `box`, which has a variable and a file, and nothing that has it open.
fn with_a_box(options: &str) -> Option<Disk> {
    let disk = Disk::mount(options)?;
    run(&disk, &["sandbox", "create", "box"]);
    run(&disk, &["sandbox", "eval", "box", "x = 1\nopen('/workspace/f', 'w').write('kept')\nNone"]);
    Some(disk)
}

/// Runs a command, which goes well, over the folder.
fn run(disk: &Disk, words: &[&str]) -> String {
    let ran = binary::dormouse(&[words, &["--state-dir", &disk.state(), "--json"]].concat(), b"");
    assert_eq!(ran.status, Some(0), "{words:?}: {}{}", ran.text(), ran.complaint());
    ran.text()
}

fn fill(disk: &Disk) {
    let mut filler = fs::File::create(disk.0.join("filler")).unwrap();
    for piece in [1 << 20, 4096, 1] {
        while filler.write_all(&vec![1; piece]).is_ok() {}
    }
}

/// As many files as the disk takes.
fn use_up_inodes(disk: &Disk) -> usize {
    (0..).find(|number| fs::write(disk.0.join(format!("filler-{number}")), "").is_err()).unwrap()
}

fn look(disk: &Disk) {
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("f");
    assert!(run(disk, &["sandbox", "list"]).contains("\"box\""));
    assert!(run(disk, &["sandbox", "files", "box"]).contains("\"f\""));
    assert!(run(disk, &["sandbox", "vars", "box"]).contains("\"x\""));
    run(disk, &["sandbox", "cp", "box:/workspace/f", copy.to_str().unwrap()]);
    assert_eq!(fs::read_to_string(copy).unwrap(), "kept");
}

#[test]
fn lif_02_who_looks_at_a_full_disk_takes_nothing_of_what_is_kept_for_removing() {
    let Some(disk) = with_a_box("size=24m") else { return };
    fill(&disk);
    let reserve = || fs::metadata(disk.0.join("state/reserve")).map_or(0, |found| found.len());
    let before = reserve();
    assert!(before > 0);
    look(&disk);
    assert_eq!(reserve(), before);
    // Another program takes what comes free meanwhile.
    fill(&disk);
    look(&disk);
    run(&disk, &["sandbox", "rm", "box"]);
    assert!(!run(&disk, &["sandbox", "list"]).contains("\"box\""));
}

#[test]
fn lif_02_files_are_listed_and_copied_where_no_inodes_are_left() {
    let Some(disk) = with_a_box("size=40m,nr_inodes=40") else { return };
    let server = Served::start(&["--state-dir", &disk.state(), "--tools", "all"]);
    let fillers = use_up_inodes(&disk);
    let ask = |path: &str| server.ask("GET", path, None, None);
    let listed = ask("/api/sandboxes/box/files?path=/workspace").json();
    assert_eq!(listed["entries"][0]["path"], "f", "{listed}");
    assert_eq!(ask("/api/sandboxes/box/files/content?path=/workspace/f").body, b"kept");
    let told = server.mcp(None, "sandbox_eval", &json!({"sandbox": "box", "code": "x = 2"})).json();
    assert_eq!(told["result"]["structuredContent"]["error"]["code"], "state_unavailable", "{told}");
    for number in 0..fillers {
        fs::remove_file(disk.0.join(format!("filler-{number}"))).unwrap();
    }
    let told = server.mcp(None, "sandbox_eval", &json!({"sandbox": "box", "code": "x"})).json();
    assert_eq!(told["result"]["structuredContent"]["result"]["value"], 1, "{told}");
    assert_eq!(server.end().status, Some(0));
    use_up_inodes(&disk);
    look(&disk);
}

/// It has read by then, and what it has read is not taken for what is there.
fn goes_on_by_itself(disk: &Disk, why: &str, mend: impl FnOnce()) {
    let server = Served::start(&["--state-dir", &disk.state(), "--tools", "all"]);
    let call = |tool: &str, arguments: Json| -> Json {
        let mut told = server.mcp(None, tool, &arguments).json();
        told["result"]["structuredContent"].take()
    };
    assert_eq!(server.ask("GET", "/health", None, None).json()["status"], "degraded");
    let read = json!({"sandbox": "box", "path": "/workspace/f"});
    assert!(call("sandbox_read", read.clone()).to_string().contains("kept"));
    let refused = call("sandbox_eval", json!({"sandbox": "box", "code": "x = 2"}));
    assert!(refused["error"]["message"].as_str().is_some_and(|told| told.contains(why)), "{refused}");
    mend();
    run(disk, &["sandbox", "eval", "box", "x = 5\nopen('/workspace/f', 'w').write('newer')\nNone"]);
    assert!(call("sandbox_read", read).to_string().contains("newer"));
    let shown = call("sandbox_eval", json!({"sandbox": "box", "code": "x += 1; x"}));
    assert_eq!(shown["result"]["value"], 6, "{shown}");
    let (begun, mut health) = (Instant::now(), Json::Null);
    while health["status"] != "ok" {
        assert!(begun.elapsed() < Duration::from_secs(10), "{health}");
        health = server.ask("GET", "/health", None, None).json();
    }
    let other = call("sandbox_create", json!({"name": "other"}));
    assert!(other["id"].is_string(), "{other}");
    let ended = server.end();
    assert_eq!(ended.status, Some(0), "{}", ended.complaint());
    assert!(run(disk, &["sandbox", "eval", "box", "x"]).contains("\"value\":6"));
}

#[test]
fn lif_02_a_server_that_was_started_on_a_full_disk_goes_on_by_itself() {
    let Some(disk) = with_a_box("size=24m") else { return };
    fill(&disk);
    goes_on_by_itself(&disk, "the disk is full", || fs::remove_file(disk.0.join("filler")).unwrap());
}

#[test]
fn lif_02_a_server_that_was_started_on_a_read_only_disk_goes_on_by_itself() {
    let Some(disk) = with_a_box("size=24m") else { return };
    let remount = |how: &str| {
        let words = ["-o", how, disk.0.to_str().unwrap()];
        let ran = binary::finish(binary::started(Path::new("mount"), &words), b"");
        assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    };
    remount("remount,ro");
    goes_on_by_itself(&disk, "the state folder is read-only", || remount("remount,rw"));
}
