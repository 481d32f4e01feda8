//! A repository that this host clones for a container of a scenario, which has no network (S0-22, S0-29).

use std::path::Path;

use dormouse_tests::binary;
use serde_json::{Value as Json, json};

use super::Desk;
use super::git_server::Server;
use super::scenario::at_the_engine;

/// The password of the server. Nothing but the server may ever see it.
const SECRET: &str = "me:pass-0123456789-word";
/// The same as the header says it.
const HEADER: &str = "Basic bWU6cGFzcy0wMTIzNDU2Nzg5LXdvcmQ=";

/// A folder with one bare repository of two commits, a program, a link and a branch `side`.
fn served(folder: &Path) {
    let work = "git init -q --bare -b main r.git && git init -q -b main w && cd w && mkdir bin && printf '#!/bin/sh\necho it runs\n' > bin/run \
         && ln -s bin/run link && head -c 3000000 /dev/zero > big && git add -A && git commit -q -m one && git checkout -q -b side && echo side > name \
         && git add -A && git commit -q -m two && git push -q ../r.git main side";
    let mut command = binary::started(Path::new("bash"), &["-c", work]);
    command.current_dir(folder).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "A U Thor").env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    let ran = binary::finish(command, b"");
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
}

/// An arena whose one turn runs command lines in a container that begins with a repository.
fn arena(repo: &str, branch: &str, lines: &[(&str, &str)]) -> String {
    let calls: Vec<Json> = lines
        .iter()
        .map(|(line, said)| json!({"tool": "Bash", "arguments": {"command": line}, "expect": {"text": said}}))
        .collect();
    let entry = json!({"name": "box", "source": "docker", "scope": "session", "source_args": {
        "image": "dormouse-test/mcp:1", "repo": "{{scenario.repo}}", "branch": branch}});
    let scenario = json!({"id": "one", "variables": {"repo": repo}, "turns": [{"tool_calls": calls}]});
    json!({"spec": {"mcp_servers": [entry], "scenarios": [{"spec": scenario}]}}).to_string()
}

#[test]
fn s0_22_a_repository_is_in_the_container_before_its_server_and_the_credential_never_is() {
    let Some(desk) = Desk::new("s0_22") else { return };
    if binary::installed("git", "s0_22").is_none() {
        return desk.close();
    }
    let folder = desk.folder.path();
    served(folder);
    let server = Server::start(folder, Some(HEADER));
    let (repo, file, state) =
        (format!("{}/r.git", server.url), folder.join("arena.yaml"), folder.join("state"));
    let run = |options: &[&str], report: &str| {
        let out = folder.join(report);
        let words = [
            "scenario",
            "run",
            file.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
            "--docker-image",
            "dormouse-test/mcp:1",
        ];
        let words = [&words[..], &["--state-dir", state.to_str().unwrap()], options].concat();
        let mut command = binary::command(&words);
        at_the_engine(&mut command, folder);
        command.env("GIT_TOKEN_OF_TEST", SECRET);
        let ran = binary::finish(command, b"");
        let report = std::fs::read_to_string(out.join("report.json")).unwrap_or_default();
        (ran.status, ran.complaint(), report)
    };
    let lines = [
        ("pwd; cd /workspace && cat name && git log --oneline | wc -l", "side\\n2"),
        ("cd /workspace && git status -sb && wc -c < big", "## side...origin/side\\n3000000"),
        (
            "cd /workspace && ./bin/run && readlink link && ls -a | tr '\\n' ' '",
            "it runs\\nbin/run\\n. .. .git big bin link name",
        ),
        (
            "cd /workspace && test -O name && test -O .git && echo mine && git config user.name x && echo written",
            "mine\\nwritten",
        ),
        ("ls /sys/class/net; cd /workspace && git config remote.origin.url", "^lo\\nhttp://127"),
        (
            "env | grep -c -e TOKEN -e pass-01234; grep -rl -e pass-01234 -e bWU6cGFzcy0 /workspace | wc -l",
            "^0\\n0",
        ),
    ];
    std::fs::write(&file, arena(&repo, "side", &lines)).unwrap();
    let allow = format!("{}/=GIT_TOKEN_OF_TEST", server.url);
    for (options, report) in
        [(&["--allow-git", allow.as_str()][..], "open"), (&["--allow-git", &allow, "--confine"], "confined")]
    {
        let (status, said, report) = run(options, report);
        assert_eq!(status, Some(0), "{options:?}: {said}\n{report}");
        assert!(!format!("{said}{report}").contains("6789-word"), "{said}");
        let seen = server.seen();
        assert!(seen.authorizations.iter().all(|shown| shown.as_deref() == Some(HEADER)), "{seen:?}");
        assert!(
            !seen.requests.is_empty() && seen.requests.iter().all(|asked| asked.contains(" /r.git/")),
            "{seen:?}"
        );
    }
    // Without the credential, and for a branch that is not there: an error in words, and nothing is left.
    let open = format!("{}/", server.url);
    for (branch, allow, wanted) in [
        ("side", open.as_str(), "asks for a credential"),
        ("none", &allow, "the repository cannot be cloned"),
    ] {
        std::fs::write(&file, arena(&repo, branch, &[("true", "")])).unwrap();
        let (status, said, report) = run(&["--allow-git", allow], "failed");
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains(wanted), "{said}");
        assert!(!format!("{said}{report}").contains("6789-word"), "{said}");
    }
    // Nobody allows it: nothing is opened.
    let (status, said, report) = run(&[], "refused");
    assert_eq!((status, report.as_str()), (Some(2), ""), "{said}");
    assert!(said.contains("--allow-git"), "{said}");
    desk.close();
}
