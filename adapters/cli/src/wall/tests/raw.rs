//! Calls that no safe function makes: a small program installs the filters before itself, makes them, and tells what the
//! kernel answered.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use seccompiler::BpfProgram;

use super::super::{Reach, calls};

const SCRIPT: &str = include_str!("../raw.py");
const NUMBERS: [(&str, i64); 31] = [
    ("bpf", libc::SYS_bpf),
    ("clone", libc::SYS_clone),
    ("clone3", libc::SYS_clone3),
    ("execve", libc::SYS_execve),
    ("execveat", libc::SYS_execveat),
    ("fchmodat", libc::SYS_fchmodat),
    ("fcntl", libc::SYS_fcntl),
    ("getpid", libc::SYS_getpid),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("ioctl", libc::SYS_ioctl),
    ("keyctl", libc::SYS_keyctl),
    ("mount_setattr", libc::SYS_mount_setattr),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("pidfd_open", libc::SYS_pidfd_open),
    ("prlimit64", libc::SYS_prlimit64),
    ("process_vm_readv", libc::SYS_process_vm_readv),
    ("ptrace", libc::SYS_ptrace),
    ("recvmsg", libc::SYS_recvmsg),
    ("seccomp", libc::SYS_seccomp),
    ("sendto", libc::SYS_sendto),
    ("setns", libc::SYS_setns),
    ("socket", libc::SYS_socket),
    ("socketpair", libc::SYS_socketpair),
    ("tgkill", libc::SYS_tgkill),
    ("tkill", libc::SYS_tkill),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
    ("openat", libc::SYS_openat),
    ("read", libc::SYS_read),
    ("x32", cfg!(target_arch = "x86_64") as i64),
];

/// What the kernel answers behind the filters of a server.
#[allow(clippy::disallowed_methods, reason = "nothing but a program of its own can ask so")]
fn told(reach: &Reach) -> Option<BTreeMap<String, i32>> {
    let mut command = Command::new("python3");
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        let _ = crate::print::err("skipped osw_03_calls: there is no python3\n");
        return None;
    };
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut process = String::new();
    output.read_line(&mut process).unwrap();
    let programs = calls::of_server(reach, process.trim().parse().unwrap()).programs().unwrap();
    let mut input: String = programs.iter().map(|program| hex(program) + "\n").collect();
    input += "\n";
    input += &NUMBERS.map(|(name, number)| format!("{name}={number}")).join(" ");
    child.stdin.take().unwrap().write_all(format!("{input}\n").as_bytes()).unwrap();
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    Some(lines.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect())
}

fn hex(program: &BpfProgram) -> String {
    let bytes = program.iter().flat_map(|step| {
        let [first, second] = step.code.to_ne_bytes();
        let [a, b, c, d] = step.k.to_ne_bytes();
        [first, second, step.jt, step.jf, a, b, c, d]
    });
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn osw_03_calls_beyond_a_process_are_refused_and_those_that_are_not_known_do_not_exist() {
    let Some(told) = told(&Reach { connects: true, listens: true, helped: true, ..Reach::default() }) else {
        return;
    };
    let passed = ["getpid", "signal-own", "tcgets"];
    let absent = ["clone3", "unknown", "x32-getpid", "x32-execve", "x32-socket"];
    for (name, number) in &told {
        let expected = match name.as_str() {
            name if passed.contains(&name) => 0,
            name if absent.contains(&name) => libc::ENOSYS,
            _ => libc::EPERM,
        };
        assert_eq!(*number, expected, "{name}");
    }
    assert!(told.len() >= 30, "{told:?}");
}
