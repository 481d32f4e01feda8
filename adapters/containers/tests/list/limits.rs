//! Command lines and snippets that take all that a container has: processes, memory, and files in memory.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Machine, SandboxSpec};
use dormouse_core::{ErrorCode, EvalRequest, Language, Limits, Status};

use super::{BUSYBOX, FULL, Ground, line, run, said, spec};

const MIB: u64 = 1 << 20;

/// A sandbox of so many MiB.
pub(crate) fn sized(memory: u64, disk: u64) -> SandboxSpec {
    SandboxSpec { image: Some(FULL.into()), memory: memory * MIB, disk: disk * MIB, ..spec() }
}

/// Takes so many MiB for a moment, and says so.
pub(crate) fn taking(mebibytes: u64) -> String {
    format!("python3 -c 'x = bytearray({mebibytes} << 20); print(len(x) >> 20)'")
}

/// The limit that stopped a line.
pub(crate) async fn stopped(machine: &mut Box<dyn Machine>, text: &str) -> Option<ErrorCode> {
    run(machine, text).await.outcome.stopped().map(|error| error.code())
}

/// How many processes there are, that of the question among them.
pub(crate) async fn count(machine: &mut Box<dyn Machine>) -> u32 {
    said(machine, "ls -d /proc/[0-9]* | wc -l").await.1.trim().parse().unwrap()
}

/// CON-01: `kill -9 -1`, a fork bomb, a double-forked daemon.
pub(crate) async fn con_01_a_fork_bomb_is_bounded_and_swept(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let killed = run(&mut machine, "kill -9 -1").await.outcome;
    assert!(matches!(killed.status, Status::Exited(_)), "{:?}", killed.status);
    assert_eq!(said(&mut machine, "echo alive").await.1, "alive\n");
    let mut request = line("b() { b | b & }; b; sleep 20");
    request.context.limits.wall = Duration::from_secs(2);
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert!(!ended.outcome.is_ok());
    assert!(count(&mut machine).await < 12);
}

/// Python that forks without a pause, and again what is killed, by those that are left: nothing else can be started.
pub(crate) async fn fill_the_limit_of_processes(machine: &mut Box<dyn Machine>) {
    let bomb = "import os\nwhile True:\n try: os.fork()\n except OSError: pass\n";
    let mut request = line(&format!("python3 -c '{bomb}'"));
    request.context.limits.wall = Duration::from_secs(3);
    let ended = machine.exec(request, Arc::new(NoPrograms)).await.unwrap();
    assert_eq!(ended.outcome.stopped().map(|error| error.code()), Some(ErrorCode::LimitTime));
}

/// CON-01: one that a line leaves running when it ends. Where nobody can raise the limit the container is given up, and says so.
pub(crate) async fn con_01_a_fork_bomb_that_is_left_running_wedges_nothing(ground: &impl Ground) {
    for image in [BUSYBOX, FULL] {
        let spec = SandboxSpec { image: Some(image.into()), ..spec() };
        let mut machine = ground.provider().machine(&spec, None).await.unwrap();
        let _ended = run(&mut machine, "b() { b | b & }; b; sleep 1; ls").await;
        match machine.exec(line("echo alive"), Arc::new(NoPrograms)).await {
            Ok(executed) => {
                assert_eq!(executed.outcome.stdout.text, "alive\n", "{image}: {:?}", executed.outcome)
            }
            Err(error) => {
                assert_eq!(error.code(), ErrorCode::ProviderUnavailable, "{image}: {error}");
                assert!(machine.is_gone(), "{image}: {error}");
            }
        }
    }
}

/// CON-01: a memory bomb is `limit_memory`, not a bare 137; a line that survives one is not.
pub(crate) async fn con_01_a_memory_bomb_is_named(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&spec(), None).await.unwrap();
    let bomb = "tail /dev/zero";
    assert_eq!(stopped(&mut machine, bomb).await, Some(ErrorCode::LimitMemory));
    assert_eq!(stopped(&mut machine, &format!("exec {bomb}")).await, Some(ErrorCode::LimitMemory));
    assert_eq!(said(&mut machine, &format!("{bomb}; echo survived")).await.1, "survived\n");
    assert_eq!(said(&mut machine, "sh -c 'kill -9 $$'").await.0, 137);
    assert!(!machine.is_gone());
}

/// CON-24: the control group's limit is the sandbox's, with swap; a program that takes more is ended by name.
pub(crate) async fn con_24_the_memory_limit_is_what_the_sandbox_is_told(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&sized(192, 32), None).await.unwrap();
    let limits = "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max 2>/dev/null; \
                  cat memory/memory.memsw.limit_in_bytes memory.swap.max 2>/dev/null";
    let (_, text, _) = said(&mut machine, limits).await;
    let numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    // The second counts both in version 1, and swap alone in version 2.
    assert!(numbers == [192 * MIB, 192 * MIB] || numbers == [192 * MIB, 0], "{text}");
    assert_eq!(said(&mut machine, &taking(150)).await.1, "150\n");
    assert_eq!(stopped(&mut machine, &taking(200)).await, Some(ErrorCode::LimitMemory));
    assert_eq!(stopped(&mut machine, &format!("exec {}", taking(200))).await, Some(ErrorCode::LimitMemory));
    let mut snippet = EvalRequest::new(Language::python(), "x = bytearray(200 << 20)");
    snippet.context.limits = Limits { wall: Duration::from_secs(30), ..Limits::default() };
    let outcome = machine.eval(snippet).await.unwrap();
    let error = outcome.stopped().unwrap();
    assert_eq!(error.code(), ErrorCode::LimitMemory, "{error}");
    assert!(error.message().contains(&(192 * MIB).to_string()), "{error}");
    assert_eq!(said(&mut machine, "echo alive").await.1, "alive\n");
}

/// CON-24: files are memory: those in the volumes and in `/tmp`.
pub(crate) async fn con_24_files_count_as_memory(ground: &impl Ground) {
    let mut machine = ground.provider().machine(&sized(192, 80), None).await.unwrap();
    for place in ["/workspace", "/tmp"] {
        let (code, _, errors) =
            said(&mut machine, &format!("dd if=/dev/zero of={place}/f bs=1M count=45")).await;
        assert_eq!(code, 0, "{errors}");
    }
    assert_eq!(said(&mut machine, &taking(60)).await.1, "60\n");
    assert_eq!(stopped(&mut machine, &taking(120)).await, Some(ErrorCode::LimitMemory));
    said(&mut machine, "rm /workspace/f /tmp/f").await;
    assert_eq!(said(&mut machine, &taking(120)).await.1, "120\n");
}

/// CON-24: files that take all that they may leave a sandbox in which commands run.
pub(crate) async fn con_24_a_sandbox_whose_files_are_full_still_runs_commands(ground: &impl Ground) {
    runs_when_full(ground, &["/workspace", "/tmp"]).await;
}

/// Fills these folders, where more disk than memory was asked for.
pub(crate) async fn runs_when_full(ground: &impl Ground, places: &[&str]) {
    let spec = SandboxSpec { memory: 64 * MIB, disk: 256 * MIB, ..spec() };
    let mut machine = ground.provider().machine(&spec, None).await.unwrap();
    for place in places {
        let (code, _, errors) =
            said(&mut machine, &format!("dd if=/dev/zero of={place}/f bs=64k count=10000")).await;
        assert!(code != 0 && errors.contains("No space left"), "{place}: {errors}");
    }
    assert_eq!(said(&mut machine, "echo alive; ls /workspace").await.1, "alive\nf\n");
    let remove = format!("rm {}; ls | wc -l", places.join("/f ") + "/f");
    assert_eq!(said(&mut machine, &remove).await.1, "0\n");
}
