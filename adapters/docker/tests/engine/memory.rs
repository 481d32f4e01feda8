//! The memory limit: what a sandbox is told to have is what the kernel lets it have, programs and files together.

use std::sync::Arc;
use std::time::Duration;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Include, Machine, Owner, SandboxSpec};
use dormouse_core::{
    ErrorCode, EvalRequest, Language, Limits, OfferedPrograms as _, ProgramCall, Provider as _,
};
use dormouse_files::{Files, Tree};

use crate::life::TreePort;
use crate::list::{FULL, line, path, run, said, spec};
use crate::support::Bench;

const MIB: u64 = 1 << 20;

fn sized(memory: u64, disk: u64) -> SandboxSpec {
    SandboxSpec { image: Some(FULL.into()), memory: memory * MIB, disk: disk * MIB, ..spec() }
}

/// Takes so many MiB for a moment, and says so.
fn taking(mebibytes: u64) -> String {
    format!("python3 -c 'x = bytearray({mebibytes} << 20); print(len(x) >> 20)'")
}

async fn stopped(machine: &mut Box<dyn Machine>, text: &str) -> Option<ErrorCode> {
    run(machine, text).await.outcome.stopped().map(|error| error.code())
}

/// CON-24: the control group's limit is the sandbox's, with swap; a program that takes more is ended by name.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_the_memory_limit_is_what_the_sandbox_is_told() {
    let Some(bench) = Bench::new("con_24_limit").await else { return };
    if bench.has("con_24_limit", FULL).await {
        let mut machine = bench.provider.machine(&sized(192, 32), None).await.unwrap();
        let limits = "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max 2>/dev/null; \
                      cat memory/memory.memsw.limit_in_bytes memory.swap.max 2>/dev/null";
        let (_, text, _) = said(&mut machine, limits).await;
        let numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        // The second counts both in version 1, and swap alone in version 2.
        assert!(numbers == [192 * MIB, 192 * MIB] || numbers == [192 * MIB, 0], "{text}");
        assert_eq!(said(&mut machine, &taking(150)).await.1, "150\n");
        assert_eq!(stopped(&mut machine, &taking(200)).await, Some(ErrorCode::LimitMemory));
        assert_eq!(
            stopped(&mut machine, &format!("exec {}", taking(200))).await,
            Some(ErrorCode::LimitMemory)
        );
        let mut snippet = EvalRequest::new(Language::python(), "x = bytearray(200 << 20)");
        snippet.context.limits = Limits { wall: Duration::from_secs(30), ..Limits::default() };
        let outcome = machine.eval(snippet).await.unwrap();
        let error = outcome.stopped().unwrap();
        assert_eq!(error.code(), ErrorCode::LimitMemory, "{error}");
        assert!(error.message().contains(&(192 * MIB).to_string()), "{error}");
        assert_eq!(said(&mut machine, "echo alive").await.1, "alive\n");
        drop(machine);
    }
    bench.end().await;
}

/// CON-24: files are memory: those in the volumes, in `/dev/shm` and in `/tmp`.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_files_count_as_memory() {
    let Some(bench) = Bench::new("con_24_files").await else { return };
    if bench.has("con_24_files", FULL).await {
        let mut machine = bench.provider.machine(&sized(192, 80), None).await.unwrap();
        for place in ["/workspace", "/tmp"] {
            let (code, _, errors) =
                said(&mut machine, &format!("dd if=/dev/zero of={place}/f bs=1M count=45")).await;
            assert_eq!(code, 0, "{errors}");
        }
        assert_eq!(said(&mut machine, &taking(60)).await.1, "60\n");
        assert_eq!(stopped(&mut machine, &taking(120)).await, Some(ErrorCode::LimitMemory));
        said(&mut machine, "rm /workspace/f /tmp/f").await;
        assert_eq!(said(&mut machine, &taking(120)).await.1, "120\n");
        drop(machine);
    }
    bench.end().await;
}

/// CON-24: what the engine puts into a container is charged to the engine, and bounded by the volumes.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_files_that_a_container_wakes_with_are_bounded_by_its_volumes() {
    let Some(bench) = Bench::new("con_24_woken").await else { return };
    if bench.has("con_24_woken", FULL).await {
        let spec = sized(128, 64);
        let mut machine = bench.provider.machine(&spec, None).await.unwrap();
        said(&mut machine, "dd if=/dev/zero of=/workspace/f bs=1M count=56").await;
        assert_eq!(stopped(&mut machine, &taking(90)).await, Some(ErrorCode::LimitMemory));
        let state = machine.snapshot(Include::Files).await.unwrap();
        drop(machine);
        let mut machine = bench.provider.machine(&spec, Some(state)).await.unwrap();
        assert_eq!(said(&mut machine, &taking(90)).await.1, "90\n");
        let more = said(&mut machine, "dd if=/dev/zero of=/workspace/g bs=1M count=16").await;
        assert!(more.0 != 0 && more.2.contains("No space left"), "{more:?}");
        assert_eq!(stopped(&mut machine, &taking(130)).await, Some(ErrorCode::LimitMemory));
        drop(machine);
    }
    bench.end().await;
}

/// CON-24: files that take all that they may leave a sandbox in which commands run.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_a_sandbox_whose_files_are_full_still_runs_commands() {
    let Some(bench) = Bench::new("con_24_full").await else { return };
    // More disk than memory was asked for.
    let spec = SandboxSpec { memory: 64 * MIB, disk: 256 * MIB, ..spec() };
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    for place in ["/workspace", "/tmp", "/dev/shm"] {
        let (code, _, errors) =
            said(&mut machine, &format!("dd if=/dev/zero of={place}/f bs=64k count=10000")).await;
        assert!(code != 0 && errors.contains("No space left"), "{place}: {errors}");
    }
    assert_eq!(said(&mut machine, "echo alive; ls /workspace").await.1, "alive\nf\n");
    assert_eq!(said(&mut machine, "rm /workspace/f /tmp/f /dev/shm/f; ls | wc -l").await.1, "0\n");
    drop(machine);
    bench.end().await;
}

/// CON-24: where names fill the memory, so that no command can begin, the call says so, files can be removed, and the
/// container and its other files are there as before.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_a_sandbox_whose_memory_is_full_can_be_emptied() {
    let Some(bench) = Bench::new("con_24_names").await else { return };
    let spec = SandboxSpec { memory: 64 * MIB, disk: 24 * MIB, files: 200_000, ..spec() };
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    said(&mut machine, "echo kept > mine; mkdir names").await;
    let names = "i=0; while [ $i -lt 150000 ]; do : > names/$i; i=$((i+1)); done; sleep 1";
    let ended = run(&mut machine, names).await.outcome;
    assert_eq!(ended.stopped().map(|error| error.code()), Some(ErrorCode::LimitMemory), "{ended:?}");
    // Whatever is left of it is taken too; then nothing can begin.
    let mut said_full = 0;
    for round in 0..30 {
        let more = format!("i=0; while [ $i -lt 9000 ]; do : > names/m{round}-$i; i=$((i+1)); done");
        // It is ended, or not even begun.
        let code = match machine.exec(line(&more), Arc::new(NoPrograms)).await {
            Ok(executed) => executed.outcome.stopped().map(|error| error.code()),
            Err(error) => Some(error.code()),
        };
        said_full += u32::from(code == Some(ErrorCode::LimitMemory));
        if said_full == 5 {
            break;
        }
    }
    assert_eq!(said_full, 5);
    assert!(!machine.is_gone());
    // There may be room for a small one.
    if let Err(error) = machine.files().write(&path("/workspace/more"), b"x").await {
        assert_eq!(error.code(), ErrorCode::LimitMemory, "{error}");
    }
    assert_eq!(machine.files().read(&path("/workspace/mine"), 0, 9).await.unwrap().bytes, b"kept\n");
    machine.files().remove(&path("/workspace/names"), true).await.unwrap();
    assert_eq!(said(&mut machine, "cat mine").await.1, "kept\n");
    let limits = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
    assert_eq!(said(&mut machine, limits).await.1, format!("{}\n", 64 * MIB));
    drop(machine);
    bench.end().await;
}

/// CON-24: a command of another provider's sandbox says why it was killed.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_a_single_command_that_takes_too_much_says_so() {
    let Some(bench) = Bench::new("con_24_single").await else { return };
    let programs = bench.provider.programs(spec());
    let mut files = TreePort(Files::new(Tree::default()));
    let call = ProgramCall {
        name: "tail".into(),
        arguments: vec!["/dev/zero".into()],
        directory: "/workspace".into(),
        input: Vec::new(),
        environment: Vec::new(),
    };
    let ended = programs.run(&Owner::local(), &call, &mut files, None).await.unwrap();
    let errors = String::from_utf8(ended.errors).unwrap();
    assert_eq!(ended.status, 137);
    assert!(errors.contains("memory limit"), "{errors}");
    bench.end().await;
}
