//! Claims whose sandbox is suspended while it is put away, where the template gives it a volume.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use dormouse_core::Provider as _;
use dormouse_core::sandbox::{Machine, SandboxId};
use dormouse_core::testing::wait_until_async;
use dormouse_kubernetes::Mode;
use serde_json::{Value as Json, json};

use crate::objects::VOLUMES;
use crate::server::Wrong;
use crate::support::{Bench, PATIENCE, patient, said, save, spec};

async fn bench(test: &str) -> Option<Bench> {
    let bench = Bench::containers_with(test, Mode::AgentSandbox, patient).await?;
    bench.fill_keeping(1);
    Some(bench)
}

fn claims(bench: &Bench) -> Vec<Json> {
    let names = bench.server.names("sandboxclaims");
    names.iter().filter_map(|name| bench.server.get("sandboxclaims", name)).collect()
}

fn mode(bench: &Bench, claim: &Json) -> Json {
    let sandbox = claim["status"]["sandbox"]["name"].as_str().unwrap();
    bench.server.get("sandboxes", sandbox).unwrap()["spec"]["operatingMode"].clone()
}

/// What tells a file of a claim's sandbox from one that was made anew.
fn stamp(bench: &Bench, claim: &Json, file: &str) -> (u64, i64, i64) {
    let volume = format!("w-{}", claim["status"]["sandbox"]["name"].as_str().unwrap());
    let folder = bench.server.node.folder(&bench.server.get(VOLUMES, &volume).unwrap());
    let found = std::fs::metadata(folder.join(file)).unwrap();
    (found.ino(), found.ctime(), found.ctime_nsec())
}

/// Puts a sandbox away, and waits until it is suspended.
async fn suspend(bench: &Bench, machine: Box<dyn Machine>) {
    drop(machine);
    wait_until_async("it is suspended", PATIENCE, || {
        claims(bench).iter().any(|claim| claim["metadata"]["annotations"]["dormouse.save"].is_string())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_is_suspended_and_resumed_with_its_files_as_they_were() {
    let Some(bench) = bench("suspended").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "mkdir d; echo one > d/a; echo t > /tmp/t").await;
    let (state, ..) = save(machine.as_mut()).await;
    let begun = claims(&bench).remove(0);
    assert_eq!(mode(&bench, &begun), "Running");
    suspend(&bench, machine).await;
    let kept = claims(&bench).remove(0);
    assert_eq!(
        (&kept["metadata"]["uid"], mode(&bench, &kept)),
        (&begun["metadata"]["uid"], json!("Suspended"))
    );
    let before = stamp(&bench, &kept, "d/a");

    let mut machine = bench.machine_of(&id, Some(state)).await;
    let resumed = claims(&bench).remove(0);
    assert_eq!(
        (&resumed["metadata"]["uid"], mode(&bench, &resumed)),
        (&begun["metadata"]["uid"], json!("Running"))
    );
    assert!(resumed["metadata"]["annotations"]["dormouse.save"].is_null(), "it was taken away before");
    assert_eq!(stamp(&bench, &resumed, "d/a"), before, "nothing was unpacked");
    assert_eq!(said(machine.as_mut(), "cat d/a /tmp/t; echo two > d/b").await, "one\nt\n");
    let (_, saved, chunks) = save(machine.as_mut()).await;
    suspend(&bench, machine).await;

    // Another process: what is left of the first one is not taken for left behind.
    bench.provider.close().await;
    let next = bench.neighbour();
    let state = next.load(&saved, Arc::new(chunks)).unwrap();
    let mut machine = next.machine_of(&id, &spec(), Some(state)).await.unwrap();
    assert_eq!(stamp(&bench, &claims(&bench)[0], "d/a"), before);
    assert_eq!(said(machine.as_mut(), "cat d/b").await, "two\n");
    drop(machine);
    next.forget(&id);
    wait_until_async("it is removed", PATIENCE, || claims(&bench).is_empty()).await;
    wait_until_async("with its volume", PATIENCE, || bench.server.names(VOLUMES).is_empty()).await;
    next.close().await;
    bench.end().await;
}

/// KUB-16: a suspended sandbox whose files are not those of the state that is gone on from.
#[tokio::test(flavor = "multi_thread")]
async fn kub_16_a_suspended_sandbox_is_resumed_for_its_own_state_alone() {
    let Some(bench) = bench("kub_16 suspended").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (first, ..) = save(machine.as_mut()).await;
    said(machine.as_mut(), "echo 'and two' > a").await;
    let (second, ..) = save(machine.as_mut()).await;
    suspend(&bench, machine).await;
    let kept = claims(&bench).remove(0)["metadata"]["name"].clone();
    // An older state goes on in another one, and what is kept is of no use any more.
    let mut machine = bench.machine_of(&id, Some(first)).await;
    assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "one\na\n");
    wait_until_async("the kept one is removed", PATIENCE, || {
        claims(&bench).iter().all(|claim| claim["metadata"]["name"] != kept)
    })
    .await;
    // A fork beside it has its own.
    let fork = SandboxId::random().unwrap();
    let mut other = bench.machine_of(&fork, Some(second.clone())).await;
    assert_eq!(said(other.as_mut(), "cat a; echo three > a; cat a").await, "and two\nthree\n");
    assert_eq!(said(machine.as_mut(), "cat a").await, "one\n");
    drop(other);
    // What is written after the save is not kept.
    save(machine.as_mut()).await;
    said(machine.as_mut(), "echo late > a").await;
    drop(machine);
    wait_until_async("nothing is kept", PATIENCE, || claims(&bench).is_empty()).await;
    let mut machine = bench.machine_of(&id, Some(second)).await;
    assert_eq!(said(machine.as_mut(), "cat a").await, "and two\n");
    // One that cannot be suspended is removed, as ever.
    save(machine.as_mut()).await;
    bench.server.fail("patch sandboxes", 1, Wrong::Status(500, "InternalError", "no"));
    drop(machine);
    wait_until_async("nothing is kept", PATIENCE, || claims(&bench).is_empty()).await;
    bench.end().await;
}

/// KUB-16: one that cannot be resumed.
#[tokio::test(flavor = "multi_thread")]
async fn kub_16_what_cannot_be_resumed_is_removed_and_the_sandbox_begins_from_the_pool() {
    let Some(bench) = bench("kub_16 resumed").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, saved, chunks) = save(machine.as_mut()).await;
    suspend(&bench, machine).await;
    bench.server.fail("patch sandboxes", 1, Wrong::Status(404, "NotFound", "gone"));
    let mut machine = bench.machine_of(&id, Some(state)).await;
    assert_eq!(said(machine.as_mut(), "cat a").await, "one\n");
    wait_until_async("one is left", PATIENCE, || claims(&bench).len() == 1).await;

    // Its process is killed: it is removed as what was left behind, and the next one begins from the pool.
    Box::leak(machine);
    let mut dead = claims(&bench).remove(0);
    let name = dead["metadata"]["name"].as_str().unwrap().to_owned();
    dead["metadata"]["labels"]["dormouse.process"] = json!("0".repeat(32));
    bench.server.put("sandboxclaims", dead);
    let next = bench.neighbour();
    let state = next.load(&saved, Arc::new(chunks)).unwrap();
    let mut machine = next.machine_of(&id, &spec(), Some(state)).await.unwrap();
    assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "one\na\n");
    wait_until_async("the dead one's is removed", PATIENCE, || {
        bench.server.get("sandboxclaims", &name).is_none()
    })
    .await;
    drop(machine);
    next.close().await;
    bench.end().await;
}

/// KUB-19: claims that are kept of sandboxes that are no more.
#[tokio::test(flavor = "multi_thread")]
async fn kub_19_a_suspended_sandbox_is_found_by_its_label_and_goes_with_it() {
    let Some(bench) = bench("kub_19 suspended").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    save(machine.as_mut()).await;
    suspend(&bench, machine).await;
    let mut others = claims(&bench).remove(0);
    others["metadata"]["name"] = json!("dormouse-others");
    others["metadata"]["labels"]["dormouse.owner"] = json!("f".repeat(32));
    others["status"] = json!({});
    bench.server.put("sandboxclaims", others);
    assert_eq!(bench.provider.kept().await.unwrap(), std::slice::from_ref(&id));
    bench.provider.forget(&id);
    wait_until_async("it is removed", PATIENCE, || claims(&bench).len() == 1).await;
    assert!(bench.server.get("sandboxclaims", "dormouse-others").is_some());
    bench.end().await;
}
