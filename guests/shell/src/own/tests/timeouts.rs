//! `timeout` before commands that compute without an end.

use std::time::{Duration, Instant};

use super::Shell;

#[test]
fn timeout_stops_what_never_waits() {
    let mut shell = Shell::new();
    shell.out("echo x > f");
    for line in [
        "awk 'BEGIN { while (1) ; }'",
        "awk 'BEGIN { for (;;) print > \"/dev/null\" }'",
        "sed ':a; ba' f",
        "bash -c \"awk 'BEGIN { while (1) ; }'; echo on\"",
        "bash -c 'while true; do true; done'",
        "timeout 20 awk 'BEGIN { while (1) ; }'",
        "bc < loop",
        "bc -l < series",
    ] {
        shell.write("/home/loop", b"while (1) x = x\n1\n");
        shell.write("/home/series", b"scale = 500\nfor (;;) x = e(1)\n");
        let begun = Instant::now();
        let came = shell.run(&format!("timeout 0.2 {line}; echo $?; echo next"));
        assert_eq!((came.out.as_str(), came.err.as_str()), ("124\nnext\n", ""), "{line}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{line}");
    }
}

#[test]
fn timeout_limits_only_its_own_command() {
    let mut shell = Shell::new();
    let line =
        "timeout 0.1 awk 'BEGIN { while (1) ; }'; awk 'BEGIN { for (i = 0; i < 1000; i++) n += i; print n }'";
    assert_eq!(shell.out(line), "499500\n");
    assert_eq!(shell.out("timeout 5 timeout 0.1 awk 'BEGIN { while (1) ; }'; echo $?"), "124\n");
    assert_eq!(shell.out("timeout 5 bash -c 'timeout 0.1 bc <<< \"while (1) x = x\"; echo $?'"), "124\n");
    assert_eq!(shell.out("timeout 5 awk 'BEGIN { exit 3 }'; echo $?; timeout 5 seq 2 | bc"), "3\n1\n2\n");
    assert_eq!(shell.out("timeout 0.1 awk 'BEGIN { while (1) ; }' | cat; echo ${PIPESTATUS[0]}"), "124\n");
    assert_eq!(shell.out("x=$(timeout 0.1 awk 'BEGIN { while (1) ; }'); echo $?"), "124\n");
}
