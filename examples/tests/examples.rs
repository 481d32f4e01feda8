//! Every example is run, and prints what its first comment shows. `…` there stands for any text within a line.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod index;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use dormouse_tests::binary;
use dormouse_tests::served::Served;

/// The examples that need nothing but themselves.
const ALONE: [&str; 9] =
    ["first_snippet", "limits", "files", "callbacks", "sandbox", "checkpoints", "shell", "program", "crowd"];
/// Those with a test of their own below.
const OTHERS: [&str; 6] = ["checks", "edge", "mcp_server", "packages", "rest_client", "scenario"];

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where the program of an example lies: beside the folder of the test programs.
fn program(example: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(Path::parent).unwrap().join("examples").join(example);
    assert!(
        path.is_file(),
        "`{example}` has not been built: run `cargo build --release --workspace --examples`"
    );
    path
}

/// What the first block of text in an example's first comment says.
fn shown(example: &str) -> String {
    let source = fs::read_to_string(folder().join(format!("{example}.rs"))).unwrap();
    let comment = source.lines().map_while(|line| line.strip_prefix("//!"));
    let block = comment.skip_while(|line| line.trim() != "```text").skip(1);
    let lines = block.take_while(|line| line.trim() != "```");
    lines.map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line))).collect()
}

/// Whether a line is as a pattern says.
fn fits(pattern: &str, line: &str) -> bool {
    let (first, mut rest) = match pattern.split_once('…') {
        None => return pattern == line,
        Some((first, rest)) => (first, rest),
    };
    let Some(mut line) = line.strip_prefix(first) else { return false };
    while let Some((part, after)) = rest.split_once('…') {
        let Some(at) = line.find(part) else { return false };
        (line, rest) = (&line[at + part.len()..], after);
    }
    line.ends_with(rest)
}

#[track_caller]
fn prints_what_it_shows(example: &str, arguments: &[&str], stdin: &[u8]) {
    let ran = binary::finish(binary::started(&program(example), arguments), stdin);
    let (printed, wanted) = (ran.text(), shown(example));
    let same = printed.lines().count() == wanted.lines().count()
        && wanted.lines().zip(printed.lines()).all(|(pattern, line)| fits(pattern, line));
    assert!(
        same && ran.status == Some(0) && !wanted.is_empty(),
        "{example} ended with {:?} and printed\n{printed}\nIts comment says\n{wanted}\n{}",
        ran.status,
        ran.complaint()
    );
}

#[test]
fn a_pattern_stands_for_text_within_a_line() {
    assert!(fits("in … ms", "in 12 ms") && fits("…a…b", "xaxb") && fits("a", "a") && fits("a…", "a"));
    assert!(!fits("in … ms", "in 12 s") && !fits("…a…b", "xb") && !fits("a", "ab"));
}

#[test]
fn examples_print_what_they_show() {
    for example in ALONE {
        prints_what_it_shows(example, &[], b"");
    }
}

#[test]
fn the_scenario_passes() {
    let file = folder().join("scenario/double.yaml");
    prints_what_it_shows("scenario", &[file.to_str().unwrap()], b"");
}

#[test]
fn packages_come_from_the_index_that_is_named() {
    let index = index::Served::start("colours", "COUNT = 7\n");
    prints_what_it_shows("packages", &[&index.url, "colours"], b"");
}

#[test]
fn the_mcp_server_answers_what_its_comment_says_by_hand() {
    let source = fs::read_to_string(folder().join("mcp_server.rs")).unwrap();
    let asked = source.lines().filter_map(|line| line.strip_prefix("//! {"));
    let asked: String = asked.map(|line| format!("{{{line}\n")).collect();
    assert_eq!(asked.lines().count(), 3);
    prints_what_it_shows("mcp_server", &[], asked.as_bytes());
}

#[test]
fn the_client_of_the_server_uses_a_sandbox() {
    let state = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", state.path().to_str().unwrap()]);
    prints_what_it_shows("rest_client", &[&format!("http://{}", server.authority())], b"");
}

#[test]
fn checks_see_the_project_and_fail_where_one_fails() {
    let folder = tempfile::tempdir().unwrap();
    let (checks, project) = (folder.path().join("checks"), folder.path().join("project"));
    fs::create_dir_all(&checks).unwrap();
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("notes.txt"), "tea\n").unwrap();
    fs::write(checks.join("a.py"), "assert open('notes.txt').read() == 'tea\\n'").unwrap();
    let run = || {
        let arguments = [checks.to_str().unwrap(), project.to_str().unwrap()];
        binary::finish(binary::started(&program("checks"), &arguments), b"")
    };
    let good = run();
    assert_eq!((good.status, good.text().matches(" ok\n").count()), (Some(0), 1), "{}", good.complaint());
    fs::write(checks.join("b.js"), "throw new TypeError('bad')").unwrap();
    let bad = run();
    assert!(bad.status == Some(1) && bad.text().contains("TypeError: bad"), "{}", bad.text());
}

#[test]
fn the_edge_handler_evaluates_the_body_of_a_request() {
    let mut child = binary::started(&program("edge"), &["127.0.0.1:0"]).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let answer = address.trim().strip_prefix("http://").map(|authority| {
        let mut stream = TcpStream::connect(authority).unwrap();
        let head = format!("POST /eval/python HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n");
        write!(stream, "{head}Content-Length: 14\r\n\r\nsum(range(10))").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let answer = answer.unwrap_or_else(|| panic!("no address: {address}"));
    assert!(answer.contains(r#"{"value":{"type":"int","value":45}}"#), "{answer}");
}

#[test]
fn every_example_is_built_run_and_listed() {
    let mut found: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".rs").map(str::to_owned))
        .collect();
    found.sort();
    let mut run = [&ALONE[..], &OTHERS[..]].concat();
    run.sort_unstable();
    assert_eq!(found, run, "each example has a test");
    let read = |name: &str| fs::read_to_string(folder().join(name)).unwrap();
    let (manifest, list) = (read("Cargo.toml"), read("README.md"));
    for example in found {
        assert!(
            manifest.contains(&format!("path = \"{example}.rs\"")),
            "Cargo.toml does not build {example}"
        );
        assert!(
            list.contains(&format!("| [{example}]({example}.rs) |")),
            "README.md does not list {example}"
        );
        let how = format!("--example {example}");
        assert!(read(&format!("{example}.rs")).contains(&how), "{example} does not say how it is run");
    }
}
