//! Command lines in sandboxes: what lasts, what programs are told, jobs, packages, the network, and the list of
//! commands in the documents.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]

mod descriptors;
mod list;
mod network;
mod programs;
mod signals;

use std::time::Duration;

use dormouse::sandboxes::CommandLine;
use dormouse::{ErrorCode, PersistentSandbox, Recovery, Stream};
use dormouse_tests::lasting::{close, named, open, shown};
use dormouse_tests::{JAVASCRIPT, PYTHON, sandbox};

/// What a command line writes to standard output; it must end with status 0.
#[track_caller]
fn output(kept: &PersistentSandbox, text: &str) -> String {
    let executed = sandbox::wait(kept.exec(text)).expect("the call is taken");
    let outcome = executed.outcome;
    assert_eq!(outcome.exit_code(), 0, "`{text}`: {} {:?}", outcome.stderr.text, outcome.stopped());
    outcome.stdout.text
}

/// Its exit status and what it writes to standard error.
fn failure(kept: &PersistentSandbox, text: &str) -> (i32, String) {
    let outcome = sandbox::wait(kept.exec(text)).expect("the call is taken").outcome;
    (outcome.exit_code(), outcome.stderr.text)
}

fn in_a_sandbox(body: impl FnOnce(&PersistentSandbox)) {
    let folder = tempfile::tempdir().expect("a folder");
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    body(&kept);
    drop(kept);
    close(dormouse);
}

#[test]
fn folder_variables_and_functions_last_and_options_and_traps_do_not() {
    in_a_sandbox(|kept| {
        output(
            kept,
            "mkdir -p a/b; cd a/b; x=1; export Y=2; f() { echo f $1; }; alias ll='ls -l'; arr=(1 2)",
        );
        assert_eq!(output(kept, "pwd; echo $x $Y ${arr[1]}; f 3"), "/workspace/a/b\n1 2 2\nf 3\n");
        output(kept, "set -eu -o pipefail; trap 'echo bye' EXIT; true");
        assert_eq!(output(kept, "false; echo ${unset:-none}; echo on"), "none\non\n");
        assert_eq!(failure(kept, "set -e; false; echo never").0, 1);
        assert_eq!(output(kept, "cd -- /tmp; echo $OLDPWD"), "/workspace/a/b\n");
        // A folder for one call alone.
        let mut line = CommandLine::new("pwd");
        line.directory = Some(dormouse::GuestPath::parse("/workspace").unwrap());
        assert_eq!(sandbox::wait(kept.exec_line(line)).unwrap().outcome.stdout.text, "/workspace\n");
        assert_eq!(output(kept, "pwd"), "/tmp\n");
    });
}

#[test]
fn a_shell_is_saved_forked_and_put_back_like_every_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    output(&kept, "cd /tmp; x=before; echo before > f; f() { echo f; }");
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    output(&kept, "cd /; x=after; echo after > /tmp/f");
    sandbox::wait(kept.restore(&saved)).unwrap();
    assert_eq!(output(&kept, "pwd; echo $x; cat f; f"), "/tmp\nbefore\nbefore\nf\n");
    let fork = sandbox::wait(kept.fork(1)).unwrap().remove(0);
    output(&fork, "x=fork; echo fork > f");
    assert_eq!(output(&kept, "echo $x; cat f"), "before\nbefore\n");
    drop(fork);
    close(dormouse);
    // In another process, as it were.
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(output(&kept, "pwd; echo $x; cat f; f"), "/tmp\nbefore\nbefore\nf\n");
    close(dormouse);
}

#[test]
fn a_stopped_command_line_leaves_the_shell_as_it_was_and_keeps_its_output() {
    in_a_sandbox(|kept| {
        output(kept, "x=1; cd /tmp");
        let mut line =
            CommandLine::new("x=2; cd /; echo begun; python3 -c 'print(\"in python\")'; sleep 100");
        line.wall = Duration::from_millis(1_500);
        let executed = sandbox::wait(kept.exec_line(line)).unwrap();
        assert_eq!(executed.outcome.exit_code(), 124);
        assert_eq!(executed.outcome.stopped().map(dormouse::Error::code), Some(ErrorCode::LimitTime));
        assert_eq!(executed.outcome.stdout.text, "begun\nin python\n");
        assert_eq!(executed.outcome.recovery, Some(Recovery::BeforeRun));
        assert_eq!(output(kept, "echo $x; pwd"), "1\n/tmp\n");
        assert_eq!(failure(kept, "if then").0, 2);
        assert_eq!(failure(kept, "exit 300").0, 44);
        let mut long = CommandLine::new("true");
        long.wall = Duration::from_secs(601);
        let refused = sandbox::wait(kept.exec_line(long)).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::ArgsInvalid);
    });
}

/// What cannot be followed is no hint.
#[test]
fn who_has_all_the_memory_that_there_is_is_not_told_to_raise_the_limit() {
    in_a_sandbox(|kept| {
        let bomb = "a=(); while :; do a+=(\"${a[@]}\" x x x x); done";
        let mut line = CommandLine::new(bomb);
        // To fill it takes a busy machine its time.
        line.wall = Duration::from_secs(600);
        let executed = sandbox::wait(kept.exec_line(line)).unwrap();
        let error = executed.outcome.stopped().expect("memory ends it");
        assert_eq!(error.code(), ErrorCode::LimitMemory);
        let hint = "work on less data at a time: the limit is as high as the operator allows";
        assert_eq!(error.hint(), Some(hint));
    });
}

#[test]
fn the_shell_and_the_interpreters_share_one_tree_of_files() {
    in_a_sandbox(|kept| {
        output(kept, "mkdir d; echo from the shell > d/f; ln -s d/f link");
        assert_eq!(shown(kept, PYTHON, "open('/workspace/link').read()"), "from the shell\n");
        shown(kept, PYTHON, "open('/workspace/d/g', 'w').write('from python\\n')");
        shown(kept, JAVASCRIPT, "require('fs').appendFileSync('/workspace/d/g', 'and js\\n')");
        assert_eq!(output(kept, "cat d/g; wc -l < d/g"), "from python\nand js\n2\n");
        sandbox::wait(kept.write("/workspace/x.sh", b"#!/bin/bash\necho script $1\n".to_vec())).unwrap();
        assert_eq!(failure(kept, "./x.sh").0, 126);
        assert_eq!(
            output(kept, "chmod +x x.sh; ./x.sh one; bash x.sh two; mv x.sh y.sh; ./y.sh three"),
            "script one\nscript two\nscript three\n"
        );
    });
}

#[test]
fn every_call_has_a_standard_input_of_its_own() {
    in_a_sandbox(|kept| {
        for (text, given) in [
            ("cat", "one"),
            ("python3 -c 'print(input())'", "two"),
            ("cat", ""),
            ("read x; echo $x", "three\nfour"),
        ] {
            let mut line = CommandLine::new(text);
            line.stdin = given.as_bytes().to_vec();
            let said = sandbox::wait(kept.exec_line(line)).unwrap().outcome.stdout.text;
            assert_eq!(said.trim_end(), given.lines().next().unwrap_or_default(), "`{text}`");
        }
    });
}

#[test]
fn a_job_works_on_the_same_files_and_changes_nothing_else() {
    in_a_sandbox(|kept| {
        output(kept, "cd /tmp; x=1");
        let job = sandbox::wait(kept.start_job(CommandLine::new(
            "echo $x; pwd; x=2; cd /; echo made > /tmp/by-job; echo oops >&2; sleep 0.2; exit 3",
        )))
        .unwrap();
        assert_eq!(output(kept, "echo beside $x"), "beside 1\n");
        sandbox::wait(async {
            job.wait().await;
            Ok::<_, dormouse::Error>(())
        })
        .unwrap();
        let (ended, _) = job.ended().unwrap();
        assert_eq!(ended.as_ref().as_ref().unwrap().outcome.exit_code(), 3);
        assert_eq!(job.output(Stream::Stdout, 0).text, "1\n/tmp\n");
        assert_eq!(job.output(Stream::Stderr, 2).text, "ps\n");
        assert_eq!(output(kept, "cat by-job; echo $x; pwd"), "made\n1\n/tmp\n");
    });
}
