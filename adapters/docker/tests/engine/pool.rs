//! Containers that wait.

use std::time::Duration;

use dormouse_core::sandbox::{SandboxSpec, WarmPool};
use dormouse_core::{ErrorCode, Provider as _};

use crate::support::{Bench, said, spec};

async fn until(bench: &Bench, count: usize) {
    let waiting = async {
        while bench.provider.waiting() != count {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_one_that_waits_is_given_once_and_replaced() {
    let Some(bench) = Bench::with("pool", |settings| settings.warm = 2).await else { return };
    let required = SandboxSpec { warm_pool: WarmPool::Require, memory: 512 << 20, ..spec() };
    assert_eq!(bench.provider.machine(&required, None).await.err().unwrap().code(), ErrorCode::Busy);
    bench.provider.warm(&required).await.unwrap();
    until(&bench, 2).await;
    let other = SandboxSpec { memory: 768 << 20, processes: 40, ..required.clone() };
    let (one, two) =
        tokio::join!(bench.provider.machine(&required, None), bench.provider.machine(&other, None));
    let (mut one, mut two) = (one.unwrap(), two.unwrap());
    said(&mut one, "echo one > mine").await;
    assert_eq!(said(&mut two, "ls").await.1, "", "they are two containers");
    let limit = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null; \
                 cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null";
    assert_eq!(said(&mut two, limit).await.1, format!("{}\n44\n", 768 << 20));
    until(&bench, 2).await;
    drop((one, two));
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ended_while_it_waited_is_not_given() {
    let Some(bench) = Bench::with("pool_gone", |settings| settings.warm = 1).await else { return };
    bench.provider.warm(&spec()).await.unwrap();
    until(&bench, 1).await;
    let filter =
        std::collections::HashMap::from([("label", vec![format!("dormouse.owner={}", bench.owner())])]);
    let options = bollard::query_parameters::ListContainersOptionsBuilder::default().filters(&filter).build();
    for container in bench.docker.list_containers(Some(options)).await.unwrap() {
        bench.docker.kill_container(&container.id.unwrap(), None).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut machine = bench.machine().await;
    assert_eq!(said(&mut machine, "echo here").await.1, "here\n");
    drop(machine);
    bench.end().await;
}
