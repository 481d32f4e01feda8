//! Requirements S3 on containers: nothing starts before it is needed, and what breaks is started anew.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use dormouse::sandbox::{ProviderName, SandboxSpec};
use dormouse::sandboxes::Rules;
use dormouse_tests::{binary, sandbox};
use dormouse_tools::{CallContext, Profile, Surface};
use serde_json::{Value as Json, json};

use super::Desk;

/// What S3-14 allows a first call, its container included.
const FIRST: Duration = Duration::from_secs(5);

fn desk(test: &str) -> Option<Desk> {
    let rules = Rules::default();
    let memory = rules.container_memory;
    let defaults = SandboxSpec { provider: ProviderName::Docker, memory, ..rules.defaults.clone() };
    Desk::with(test, None, Rules { defaults, save_after: Duration::ZERO, ..rules })
}

fn call(surface: &Surface, tool: &str, arguments: Json) -> String {
    let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
    sandbox::wait(surface.call(tool, arguments, CallContext::default())).unwrap().text
}

/// The engine's own command line, if there is one.
fn docker() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("docker")).find(|file| file.is_file())
}

/// S3-02, S3-14, S3-15: acceptance run 5.
#[test]
fn s3_02_the_first_call_starts_a_container_and_a_broken_one_is_replaced() {
    let Some(desk) = desk("s3_02") else { return };
    let surface = desk.surface(Profile::Rlm);
    assert!(surface.list().len() >= 6);
    assert_eq!(desk.left(), Vec::<String>::new(), "a list starts nothing");
    let begin = Instant::now();
    let said = call(
        &surface,
        "rlm_exec",
        json!({"code": "x = 42\nopen('/workspace/x', 'w').write('42')\nprint(x)"}),
    );
    assert!(said.contains("42"), "{said}");
    assert!(begin.elapsed() < FIRST, "{:?}", begin.elapsed());
    assert_eq!(call(&surface, "rlm_get", json!({"name": "x"})), "42");
    let Some(docker) = docker() else {
        eprintln!("skipped a part of s3_02: `docker` is not on the path");
        return desk.close();
    };
    // Saved, and then taken away by somebody else.
    sandbox::wait(super::lasting::sandboxes(&desk.dormouse).rest());
    let names = desk.left();
    let containers: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix('/')).collect();
    assert!(!containers.is_empty(), "{names:?}");
    let mut command = binary::started(&docker, &[&["rm", "-f", "-v"], containers.as_slice()].concat());
    if let Some(host) = std::env::var_os("DOCKER_HOST") {
        command.env("DOCKER_HOST", host);
    }
    let ran = binary::finish(command, b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    let end = Instant::now() + FIRST;
    let back = loop {
        // A call that meets the end of the container says so; the next one has another.
        let said = call(&surface, "rlm_exec", json!({"code": "print(open('/workspace/x').read())"}));
        if said.contains("42") || Instant::now() > end {
            break said;
        }
    };
    assert!(back.contains("42"), "{back}");
    // Variables were the container's.
    let gone = call(&surface, "rlm_get", json!({"name": "x"}));
    assert!(gone.contains("there is no variable `x`"), "{gone}");
    desk.close();
}
