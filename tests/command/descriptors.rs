//! Where a command line's output goes: descriptors of `exec`, jobs, process substitutions, long pipes.

use std::time::{Duration, Instant};

use dormouse_tests::sandbox;

use super::{failure, in_a_sandbox, output};

#[test]
fn what_exec_redirects_ends_with_its_command_line() {
    in_a_sandbox(|kept| {
        for line in ["exec > log", "exec &> log", "exec 2>&1 > log", "exec 1>&-", "exec 2> log; exec >&2"] {
            sandbox::wait(kept.exec(&format!("echo first > f; {line}"))).expect("the call is taken");
            assert_eq!(output(kept, "echo shown"), "shown\n", "after `{line}`");
            let (status, errors) = failure(kept, "ls none");
            assert!(status != 0 && errors.contains("none"), "after `{line}`: {errors}");
        }
        assert_eq!(output(kept, "exec > log 2>&1; echo in the log; ls none; true"), "");
        assert_eq!(output(kept, "head -1 log; grep -c none log"), "in the log\n1\n");
        assert_eq!(output(kept, "exec &> both; echo in both; ls none; true"), "");
        assert_eq!(output(kept, "head -1 both; grep -c none both"), "in both\n1\n");
        // Others stay open, as in any shell.
        output(kept, "seq 3 > f; exec 3>> f 4< f 5>&1 > log; read -r x <&4; echo $x >&3");
        assert_eq!(output(kept, "read -r x <&4; echo $x >&3; echo shown >&5"), "shown\n");
        assert_eq!(output(kept, "cat f; exec 3>&- 4<&-"), "1\n2\n3\n1\n2\n");
        for line in ["echo two >&3", "read -r x <&4"] {
            let (status, errors) = failure(kept, line);
            assert!(status == 1 && errors.contains("Bad file descriptor"), "`{line}`: {status} {errors}");
        }
    });
}

#[test]
fn what_exec_redirects_in_a_script_applies_to_the_rest_of_the_script() {
    in_a_sandbox(|kept| {
        let script = "printf '#!/bin/bash\\necho before; exec > log 2>&1\\necho after; ls none; for i in 1 2; do echo $i; done\\n(exit 3)\\n' > x.sh; chmod +x x.sh";
        output(kept, script);
        for call in ["bash x.sh", "./x.sh", "bash -c \"$(cat x.sh)\""] {
            let line = format!("rm -f log; {call}; echo $?; sed s/.*none.*/none/ log");
            assert_eq!(output(kept, &line), "before\n3\nafter\nnone\n1\n2\n", "`{call}`");
            let inside = format!("rm -f log; exec > outer; {call}; echo end; cat log >&2");
            output(kept, &inside);
            assert_eq!(
                output(kept, "cat outer"),
                "before\nend\n",
                "`{call}` beside a redirection of the line"
            );
            let piped = format!("rm -f log; {call} | sed s/^/piped:/; head -1 log");
            assert_eq!(output(kept, &piped), "piped:before\nafter\n", "`{call}` in a pipe");
        }
        assert_eq!(output(kept, "bash -c 'trap \"echo bye\" EXIT; exec > log; echo a'; cat log"), "a\nbye\n");
        assert_eq!(output(kept, "bash -c 'exec 3>&1 > log; echo a; exec >&3; echo b'; cat log"), "b\na\n");
        assert_eq!(
            output(
                kept,
                "bash -c 'exec > log; bash -c \"echo deep; exec > deeper; echo a\"; echo b'; cat log deeper"
            ),
            "deep\nb\na\n"
        );
        assert_eq!(
            output(kept, "( bash -c 'exec 2> log; echo shown; ls none' ); grep -c none log"),
            "shown\n1\n"
        );
    });
}

#[test]
fn a_stage_of_a_pipe_writes_into_the_pipe_until_its_own_exec() {
    in_a_sandbox(|kept| {
        for (line, wanted) in [
            ("exec > log; seq 2 | grep 2; printf a | cat; for i in 1; do echo $i; done | cat", "2\na1\n"),
            (
                "(echo in; exec > log; seq 2; for i in 3 4; do echo $i; done) | sed s/^/p:/ > f",
                "1\n2\n3\n4\n",
            ),
            ("(exec 2> log; ls none; echo on) | cat > f; sed -i s/.*none.*/none/ log", "none\n"),
        ] {
            assert_eq!(output(kept, line), "", "`{line}`");
            assert_eq!(output(kept, "cat log"), wanted, "`{line}`");
        }
    });
}

#[test]
fn what_timeout_ends_leaves_the_shell_as_it_was() {
    in_a_sandbox(|kept| {
        for cut in [
            "timeout 0.2 bash -c '{ sleep 5; } 2> /dev/null'",
            "timeout 0.2 bash -c '{ sleep 5; } > /dev/null'",
            "timeout 0.2 bash -c 'exec > log; sleep 5'",
            "timeout 0.2 bash -c 'f() { local i; for i in 1 2; do sleep 5; done; }; f | cat'",
        ] {
            assert_eq!(
                output(kept, &format!("x=1; {cut}; echo $? $x; (echo in); echo err >&2")),
                "124 1\nin\n",
                "`{cut}`"
            );
        }
        let many = "for i in $(seq 60); do timeout 0.01 bash -c 'sleep 1'; done; bash -c 'echo deep'";
        assert_eq!(output(kept, many), "deep\n");
    });
}

#[test]
fn what_a_job_prints_goes_where_exec_has_sent_the_line() {
    in_a_sandbox(|kept| {
        let late = "{ sleep 0.1; echo late; }";
        assert_eq!(output(kept, &format!("exec > log; echo before; {late} & echo after")), "");
        assert_eq!(output(kept, "cat log"), "before\nafter\nlate\n");
        assert_eq!(output(kept, &format!("exec > log; {late} & wait; echo after")), "");
        assert_eq!(output(kept, "cat log"), "late\nafter\n");
        assert_eq!(output(kept, "exec > log; echo at once & echo after"), "");
        assert_eq!(output(kept, "sort log"), "after\nat once\n");
        // It ends while the line goes on, which has printed something of its own.
        assert_eq!(output(kept, &format!("echo a; exec > log; {late} & sleep 0.4; echo after")), "a\n");
        assert_eq!(output(kept, "sort log"), "after\nlate\n");
        let both = output(kept, &format!("{late} & sleep 0.4; echo after"));
        assert!(both.contains("late\n") && both.contains("after\n"), "{both}");
        assert_eq!(output(kept, "exec > log; trap 'echo bye' EXIT; echo hello"), "");
        assert_eq!(output(kept, "cat log"), "hello\nbye\n");
        // A copy of the first standard output leads there from a job too.
        let copied = "exec 3>&1 > log; { sleep 0.1; echo shown >&3; } & echo kept";
        assert_eq!(output(kept, copied), "shown\n");
        assert_eq!(output(kept, "cat log"), "kept\n");
    });
}

#[test]
fn what_groups_and_loops_print_into_a_process_substitution_arrives() {
    in_a_sandbox(|kept| {
        for (line, wanted) in [
            ("{ echo a; echo b; } > >(tee log); cat log", "a\nb\na\nb\n"),
            ("for i in 1 2; do echo $i; done > >(cat > f); cat f", "1\n2\n"),
            ("(echo out; echo err >&2) > >(sed s/^/1:/) 2> >(sed s/^/2:/)", "1:out\n2:err\n"),
            ("{ echo a; ls none; } > >(grep -c .) 2>&1; true", "2\n"),
            ("seq 2 | while read -r x; do echo \"got $x\"; done > >(cat > f); cat f", "got 1\ngot 2\n"),
            ("seq 2 > >(while read -r x; do echo \"got $x\"; done)", "got 1\ngot 2\n"),
            ("if true; then echo yes; fi > >(tr a-z A-Z) | cat; echo on", "YES\non\n"),
            ("for i in 1 2; do { echo $i; } > >(sed s/^/n/); done", "n1\nn2\n"),
            ("{ echo a; false; } > >(cat); echo $?", "a\n1\n"),
        ] {
            assert_eq!(output(kept, line), wanted, "`{line}`");
        }
    });
}

#[test]
fn a_process_substitution_for_the_rest_of_a_line_is_refused_in_words() {
    in_a_sandbox(|kept| {
        for line in ["exec > >(tee log) 2>&1", "exec &> >(tee log)", "exec 3> >(tee log)"] {
            let outcome =
                sandbox::wait(kept.exec(&format!("{line}; echo status $?; echo on"))).unwrap().outcome;
            assert_eq!(outcome.stdout.text, "status 1\non\n", "`{line}`");
            assert!(
                outcome.stderr.text.contains("a process substitution cannot take"),
                "{}",
                outcome.stderr.text
            );
        }
        assert_eq!(failure(kept, "test -e log").0, 1, "nothing of it has run");
    });
}

#[test]
fn the_first_lines_of_a_long_pipe_take_time_by_their_number() {
    in_a_sandbox(|kept| {
        let begin = Instant::now();
        assert_eq!(output(kept, "seq 200000 | head -n 200000 | tail -n 1"), "200000\n");
        assert_eq!(output(kept, "seq 200000 > f; cat f | head -n 199999 | wc -l"), "199999\n");
        assert_eq!(
            output(
                kept,
                "n=0; cat f | { while read -r x; do n=$((n + 1)); [ $n = 9999 ] && break; done; echo $n; }"
            ),
            "9999\n"
        );
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    });
}
