//! The options of Kubernetes, with the whole binary and without a cluster.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of a whole process")]

use std::io::Write as _;
use std::process::{Command, Stdio};

/// Runs the binary with an empty cache folder, a bare environment and a configuration, in a file and as standard input; answers its status and what it says.
fn dormouse(config: &str, words: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kubernetes.json"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dormouse"));
    command.args(words).env_clear().env("DORMOUSE_CACHE_DIR", folder.path()).current_dir(folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // Who does not read it ends without it.
    let _ = child.stdin.take().unwrap().write_all(config.as_bytes());
    let ran = child.wait_with_output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (ran.status.code(), said.concat())
}

const CONFIG: &str = r#"{"kubeconfig": "nowhere", "images": ["tools:1"]}"#;

#[test]
fn doctor_says_that_there_is_no_way_to_a_cluster() {
    let words = ["doctor", "--kubernetes", "pods", "--kubernetes-config", "kubernetes.json"];
    let (_, said) = dormouse(CONFIG, &words);
    let line = said.lines().find(|line| line.contains("there is no way to a cluster"));
    assert!(line.is_some_and(|line| line.contains("FAIL") && line.contains("kubernetes")), "{said}");
    assert!(said.contains("kubernetes can"), "{said}");
    let (_, said) = dormouse(CONFIG, &["doctor"]);
    assert!(said.contains("off: no cluster is named (--kubernetes)"), "{said}");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let create = |more: &[&'static str]| {
        let mut words = vec![
            "sandbox",
            "--state-dir",
            "state",
            "create",
            "box",
            "--provider",
            "kubernetes",
            "--no-fallback",
        ];
        words.extend(more);
        words
    };
    let file = ["--kubernetes", "pods", "--kubernetes-config", "kubernetes.json"];
    let (code, said) = dormouse(r#"{"pool": "x"}"#, &create(&file));
    assert!(code == Some(2) && said.contains("unknown field `pool`"), "{said}");
    let (code, said) = dormouse(CONFIG, &create(&file[2..]));
    assert!(code == Some(2) && said.contains("has no effect without `--kubernetes`"), "{said}");
    let (code, said) = dormouse(CONFIG, &create(&file));
    assert!(code == Some(1) && said.contains("provider_unavailable"), "{said}");
    // A file that can be read only once, as a pipe of the shell's.
    let piped = ["--kubernetes", "pods", "--kubernetes-config", "/dev/stdin"];
    let (code, said) = dormouse(CONFIG, &create(&piped));
    assert!(code == Some(1) && said.contains("provider_unavailable"), "{said}");
    let (code, said) = dormouse(CONFIG, &create(&[]));
    assert!(code == Some(1) && said.contains("there is no kubernetes provider here"), "{said}");
}

#[test]
fn a_server_that_confines_itself_reads_the_kubeconfig_before_and_starts_no_program_of_it() {
    let words =
        ["mcp", "--state-dir", "state", "--kubernetes", "pods", "--kubernetes-config", "kubernetes.json"];
    let (code, said) = dormouse(CONFIG, &words);
    assert!(code == Some(1) && said.contains("there is no way to a cluster"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let user = r#"{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "get-token", "interactiveMode": "Never"}}"#;
    std::fs::write(
        &kubeconfig,
        format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "t",
            "clusters": [{{"name": "t", "cluster": {{"server": "http://127.0.0.1:1"}}}}],
            "users": [{{"name": "t", "user": {user}}}],
            "contexts": [{{"name": "t", "context": {{"cluster": "t", "user": "t"}}}}]}}"#
        ),
    )
    .unwrap();
    let config = format!(r#"{{"kubeconfig": {kubeconfig:?}, "images": ["tools:1"]}}"#);
    let (code, said) = dormouse(&config, &words);
    assert!(
        code == Some(2) && said.contains("come from a program") && said.contains("--no-confine"),
        "{said}"
    );
    let (code, said) = dormouse(&config, &[&words[..], &["--no-confine"]].concat());
    assert!(code == Some(0), "{said}");
}
