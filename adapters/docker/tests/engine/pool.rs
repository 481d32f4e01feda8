//! Containers that wait.

use dormouse_core::sandbox::{SandboxSpec, WarmPool};
use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_core::{ErrorCode, Provider as _};

use crate::list::{PATIENCE, said, spec};
use crate::support::{Bench, running};

async fn wait_for_warm(bench: &Bench, count: usize) {
    wait_until_async("the pool has its size", PATIENCE, || bench.provider.waiting() == count).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_one_that_waits_is_given_once_and_replaced() {
    let Some(bench) = Bench::with("pool", |settings| settings.warm = 2).await else { return };
    let required = SandboxSpec { warm_pool: WarmPool::Require, memory: 512 << 20, ..spec() };
    assert_eq!(bench.provider.machine(&required, None).await.err().unwrap().code(), ErrorCode::Busy);
    bench.provider.warm(&required).await.unwrap();
    wait_for_warm(&bench, 2).await;
    let other = SandboxSpec { memory: 768 << 20, processes: 40, ..required.clone() };
    let (one, two) =
        tokio::join!(bench.provider.machine(&required, None), bench.provider.machine(&other, None));
    let (mut one, mut two) = (one.unwrap(), two.unwrap());
    said(&mut one, "echo one > mine").await;
    assert_eq!(said(&mut two, "ls").await.1, "", "they are two containers");
    let limit = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; \
                 cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null";
    assert_eq!(said(&mut two, limit).await.1, format!("{}\n44\n", 768 << 20));
    wait_for_warm(&bench, 2).await;
    drop((one, two));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ended_while_it_waited_is_not_given() {
    let Some(bench) = Bench::with("pool_gone", |settings| settings.warm = 1).await else { return };
    bench.provider.warm(&spec()).await.unwrap();
    wait_for_warm(&bench, 1).await;
    let warm = running(&bench.docker, &bench.owner()).await;
    for id in &warm {
        bench.docker.kill_container(id, None).await.unwrap();
    }
    wait_for_async("the killed containers end", PATIENCE, async || {
        let still = running(&bench.docker, &bench.owner()).await;
        if still.iter().any(|id| warm.contains(id)) { Err(still) } else { Ok(()) }
    })
    .await;
    let mut machine = bench.machine().await;
    assert_eq!(said(&mut machine, "echo here").await.1, "here\n");
    drop(machine);
    bench.end().await;
}
