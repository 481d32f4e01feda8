//! The memory limit: what a sandbox is told to have is what the kernel lets it have, programs and files together.

use std::sync::Arc;

use dormouse_core::program::NoPrograms;
use dormouse_core::sandbox::{Include, Owner, SandboxSpec};
use dormouse_core::{ErrorCode, OfferedPrograms as _, ProgramCall, ProgramRun, Provider as _};
use dormouse_files::{Files, Tree};

use crate::life::TreePort;
use crate::list::limits::{runs_when_full, sized, stopped, taking};
use crate::list::{FULL, line, path, run, said, spec};
use crate::support::Bench;

const MIB: u64 = 1 << 20;

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

/// CON-24: memory that programs share is a folder as well.
#[tokio::test(flavor = "multi_thread")]
async fn con_24_a_sandbox_whose_shared_memory_is_full_too_still_runs_commands() {
    let Some(bench) = Bench::new("con_24_shared").await else { return };
    runs_when_full(&bench, &["/workspace", "/tmp", "/dev/shm"]).await;
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
    let ended = programs.run(ProgramRun::of(&Owner::local()), &call, &mut files).await.unwrap();
    let errors = String::from_utf8(ended.errors).unwrap();
    assert_eq!(ended.status, 137);
    assert!(errors.contains("memory limit"), "{errors}");
    bench.end().await;
}
