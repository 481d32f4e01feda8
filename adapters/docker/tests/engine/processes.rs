//! Processes that fill their limit.

use dormouse_core::Provider as _;
use dormouse_core::sandbox::SandboxSpec;

use crate::list::limits::{count, fill_the_limit_of_processes};
use crate::list::{FULL, said, spec};
use crate::support::Bench;

/// CON-01: where nothing else can be started, the sweep is let in for the moment.
#[tokio::test(flavor = "multi_thread")]
async fn con_01_a_full_limit_of_processes_does_not_keep_the_sweep_out() {
    let Some(bench) = Bench::of_list("con_01_full").await else { return };
    let spec = SandboxSpec { image: Some(FULL.into()), ..spec() };
    let mut machine = bench.provider.machine(&spec, None).await.unwrap();
    said(&mut machine, "echo kept > file").await;
    fill_the_limit_of_processes(&mut machine).await;
    assert_eq!(said(&mut machine, "cat file").await.1, "kept\n");
    assert!(count(&mut machine).await < 12);
    drop(machine);
    bench.end().await;
}
