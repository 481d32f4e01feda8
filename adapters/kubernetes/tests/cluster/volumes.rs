//! The volume of a sandbox: kept over stop and wake, believed only where it is certain what it holds, and removed with the sandbox.
//!
//! That nothing was unpacked into a volume shows by the inodes of its files and the times of their last change, which are others once
//! they are.

use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use dormouse_core::Provider as _;
use dormouse_core::sandbox::{Machine, SandboxId};
use dormouse_core::testing::{wait_for_async, wait_until_async};
use dormouse_kubernetes::{Mode, Settings};
use serde_json::{Value as Json, json};

use crate::objects::VOLUMES;
use crate::support::{Bench, PATIENCE, patient, said, save, spec};

/// A cluster with a storage class.
async fn bench(test: &str) -> Option<Bench> {
    let change = |settings: &mut Settings| {
        settings.storage_class = Some("fast".into());
        patient(settings);
    };
    Bench::containers_with(test, Mode::Pods, change).await
}

/// The volume of a sandbox, as the cluster has it.
fn volume(bench: &Bench, id: &SandboxId) -> Option<Json> {
    let all = bench.server.names(VOLUMES).into_iter().filter_map(|name| bench.server.get(VOLUMES, &name));
    all.into_iter().find(|one| one["metadata"]["labels"]["dormouse.sandbox"] == id.as_str())
}

fn note(volume: &Json, name: &str) -> Option<String> {
    volume["metadata"]["annotations"][name].as_str().map(str::to_owned)
}

/// Changes the volume of a sandbox behind the provider's back.
fn change(bench: &Bench, id: &SandboxId, change: impl FnOnce(&mut Json)) {
    let mut object = volume(bench, id).unwrap();
    change(&mut object);
    bench.server.put(VOLUMES, object);
}

/// What tells a file in the volume of a sandbox from one that was made anew.
fn stamp(bench: &Bench, id: &SandboxId, file: &str) -> (u64, i64, i64) {
    let folder = bench.server.node.folder(&volume(bench, id).unwrap());
    let found = std::fs::metadata(folder.join(file)).unwrap();
    (found.ino(), found.ctime(), found.ctime_nsec())
}

/// Puts a sandbox away, and waits until its volume is nobody's.
async fn put_away(bench: &Bench, id: &SandboxId, machine: Box<dyn Machine>) {
    drop(machine);
    wait_until_async("the pod is gone", PATIENCE, || bench.server.names("pods").is_empty()).await;
    // What is to be noted then is noted, or is not.
    let server = bench.server.clone();
    let quiet = async || {
        let before = server.asked().len();
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        if server.asked().len() == before { Ok(()) } else { Err("something goes on") }
    };
    wait_for_async("nothing is asked any more", PATIENCE, quiet).await;
    assert!(volume(bench, id).is_some(), "the volume stays");
}

async fn end(bench: Bench) {
    assert_eq!(bench.server.node.clashes.load(Ordering::Acquire), 0, "no two pods had one volume");
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_volume_is_kept_over_stop_and_wake_and_nothing_is_unpacked_into_it() {
    let Some(bench) = bench("kept").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(
        machine.as_mut(),
        "mkdir d; head -c 3000000 /dev/urandom > d/large; echo one > a; ln -s a l; echo t > /tmp/t",
    )
    .await;
    let sum = said(machine.as_mut(), "cksum < d/large").await;
    let used = volume(&bench, &id).unwrap();
    assert_eq!((note(&used, "dormouse.save"), note(&used, "dormouse.use").is_some()), (None, true));
    let (state, saved, _) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;
    let kept = volume(&bench, &id).unwrap();
    let root = saved.root.to_string();
    assert!(note(&kept, "dormouse.save").is_some_and(|save| save.starts_with(&root)), "{kept}");
    assert_eq!(note(&kept, "dormouse.use"), None);
    let before = stamp(&bench, &id, "d/large");

    let mut machine = bench.machine_of(&id, Some(state)).await;
    assert_eq!(stamp(&bench, &id, "d/large"), before, "it was not unpacked");
    assert_eq!(note(&volume(&bench, &id).unwrap(), "dormouse.save"), None, "it was taken away before");
    assert_eq!(
        said(machine.as_mut(), "cksum < d/large; cat a l /tmp/t").await,
        format!("{sum}one\none\nt\n")
    );
    // What is saved then is what there is, with what was there before.
    said(machine.as_mut(), "echo two > b").await;
    let (_, saved, chunks) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;

    // A process that begins with what is on the disk, and with no engine in between.
    let next = bench.neighbour();
    let state = next.load(&saved, Arc::new(chunks)).unwrap();
    let mut machine = next.machine_of(&id, &spec(), Some(state)).await.unwrap();
    assert_eq!(stamp(&bench, &id, "d/large"), before);
    assert_eq!(said(machine.as_mut(), "cksum < d/large; cat b").await, format!("{sum}two\n"));
    drop(machine);
    next.close().await;
    assert_eq!(bench.server.names(VOLUMES).len(), 1);
    end(bench).await;
}

/// KUB-16: a volume whose files are not those of the state that the sandbox goes on from.
#[tokio::test(flavor = "multi_thread")]
async fn kub_16_a_volume_that_holds_anything_else_is_emptied_first() {
    let Some(bench) = bench("kub_16").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (first, ..) = save(machine.as_mut()).await;
    let begun = stamp(&bench, &id, "a");
    // It is written after the save.
    said(machine.as_mut(), "echo 'more than one' > a; mkdir -p x/y; echo late > x/y/late; chmod 0 x/y").await;
    put_away(&bench, &id, machine).await;
    assert_eq!(note(&volume(&bench, &id).unwrap(), "dormouse.save"), None);
    let mut machine = bench.machine_of(&id, Some(first.clone())).await;
    assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "one\na\n");
    assert_ne!(stamp(&bench, &id, "a"), begun);

    // It works on in the background while it is saved.
    said(machine.as_mut(), "(while :; do date +%N > beat; done) >/dev/null 2>&1 & echo two > a").await;
    let (second, ..) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;
    assert_eq!(note(&volume(&bench, &id).unwrap(), "dormouse.save"), None);

    // An older state than the one that it holds.
    let mut machine = bench.machine_of(&id, Some(second)).await;
    said(machine.as_mut(), "rm beat; echo three > a; echo new > new").await;
    let (third, ..) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;
    assert!(note(&volume(&bench, &id).unwrap(), "dormouse.save").is_some());
    let mut machine = bench.machine_of(&id, Some(first)).await;
    assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "one\na\n");

    // A restore while it is awake takes another pod, and leaves the volume to the one that has it.
    machine.restore(third.as_ref()).await.unwrap();
    assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "three\na\nnew\n");

    // A fork beside its origin has a volume of its own.
    let fork = SandboxId::random().unwrap();
    let mut other = bench.machine_of(&fork, Some(third)).await;
    said(other.as_mut(), "echo fork > a").await;
    assert_eq!(said(machine.as_mut(), "cat a").await, "three\n");
    assert_eq!(bench.server.names(VOLUMES).len(), 2);
    // No state at all, though there is a volume.
    drop((machine, other));
    wait_until_async("the pods are gone", PATIENCE, || bench.server.names("pods").is_empty()).await;
    let mut machine = bench.machine_of(&id, None).await;
    assert_eq!(said(machine.as_mut(), "ls -A").await, "");
    drop(machine);
    end(bench).await;
}

/// KUB-16: a process that is killed while it uses a volume.
#[tokio::test(flavor = "multi_thread")]
async fn kub_16_what_a_killed_process_had_is_believed_by_nobody() {
    let Some(bench) = bench("kub_16 killed").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, saved, chunks) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;
    let mut machine = bench.machine_of(&id, Some(state)).await;
    said(machine.as_mut(), "echo lost > a; (while :; do date +%N > beat; done) >/dev/null 2>&1 &").await;
    // From here on nobody looks after the pod, and its process is no more.
    Box::leak(machine);
    let pod = bench.server.names("pods").remove(0);
    let mut dead = bench.server.get("pods", &pod).unwrap();
    dead["metadata"]["labels"]["dormouse.process"] = json!("0".repeat(32));
    bench.server.put("pods", dead);
    let user = format!("{pod}/{}", "0".repeat(32));
    change(&bench, &id, |volume| volume["metadata"]["annotations"]["dormouse.use"] = json!(user));
    let next = bench.neighbour();
    let state = next.load(&saved, Arc::new(chunks)).unwrap();
    let mut machine = next.machine_of(&id, &spec(), Some(state)).await.unwrap();
    assert!(bench.server.get("pods", &pod).is_none(), "its end was waited for");
    assert_eq!(said(machine.as_mut(), "sleep 0.3; cat a; ls -A").await, "one\na\n");
    let used = volume(&bench, &id).unwrap();
    assert!(note(&used, "dormouse.use").unwrap().starts_with(&bench.server.names("pods")[0]), "{used}");
    drop(machine);
    next.close().await;
    end(bench).await;
}

/// KUB-17: a volume that somebody removed, changed or made in its place.
#[tokio::test(flavor = "multi_thread")]
async fn kub_17_a_volume_that_is_missing_lost_or_somebody_elses_is_not_relied_on() {
    let Some(bench) = bench("kub_17").await else { return };
    let id = SandboxId::random().unwrap();
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, ..) = save(machine.as_mut()).await;
    put_away(&bench, &id, machine).await;
    let name = volume(&bench, &id).unwrap()["metadata"]["name"].as_str().unwrap().to_owned();
    let spoil = |bench: &Bench| {
        let folder = bench.server.node.folder(&volume(bench, &id).unwrap());
        std::fs::write(folder.join("stray"), "x").unwrap();
    };
    let woken = async |why: &str| {
        let mut machine = bench.machine_of(&id, Some(state.clone())).await;
        assert_eq!(said(machine.as_mut(), "cat a; ls -A").await, "one\na\n", "{why}");
        save(machine.as_mut()).await;
        drop(machine);
        wait_until_async("the pod is gone", PATIENCE, || bench.server.names("pods").is_empty()).await;
    };
    let believed = async || {
        wait_until_async("it is believed", PATIENCE, || {
            volume(&bench, &id).is_some_and(|volume| note(&volume, "dormouse.save").is_some())
        })
        .await;
    };
    // An annotation that nobody can have written so.
    spoil(&bench);
    change(&bench, &id, |volume| volume["metadata"]["annotations"]["dormouse.save"] = json!("yes"));
    woken("an annotation that cannot be read").await;
    believed().await;
    // The claim was made anew from a copy, as by a backup: another number, another disk.
    let copy = volume(&bench, &id).unwrap();
    bench.server.remove(VOLUMES, &name);
    bench.server.put(VOLUMES, copy);
    std::fs::create_dir_all(bench.server.node.folder(&volume(&bench, &id).unwrap())).unwrap();
    spoil(&bench);
    woken("a copy of a claim").await;
    believed().await;
    // Somebody removed it.
    bench.server.remove(VOLUMES, &name);
    woken("a volume that is missing").await;
    believed().await;
    // Its disk is lost: it is removed, and made again for the next pod.
    let lost = volume(&bench, &id).unwrap()["metadata"]["uid"].clone();
    change(&bench, &id, |volume| volume["status"]["phase"] = json!("Lost"));
    woken("a volume that is lost").await;
    wait_until_async("it is removed", PATIENCE, || volume(&bench, &id).is_none()).await;
    woken("a new one").await;
    believed().await;
    assert_ne!(volume(&bench, &id).unwrap()["metadata"]["uid"], lost);
    // Another one has its name: it is neither used, nor emptied, nor removed.
    change(&bench, &id, |volume| volume["metadata"]["labels"] = json!({"app": "database"}));
    let folder = bench.server.node.folder(&bench.server.get(VOLUMES, &name).unwrap());
    std::fs::write(folder.join("precious"), "x").unwrap();
    woken("somebody else's volume").await;
    assert!(folder.join("precious").exists());
    // Removals that were tried without an answer are made again, and mean this one alone.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(bench.server.get(VOLUMES, &name).unwrap()["metadata"]["labels"]["app"], "database");
    end(bench).await;
}

/// KUB-18: several who want one volume at a time, and one who comes late.
#[tokio::test(flavor = "multi_thread")]
async fn kub_18_one_pod_has_a_volume_and_only_its_user_says_what_it_holds() {
    let Some(bench) = bench("kub_18").await else { return };
    let id = SandboxId::random().unwrap();
    let next = bench.neighbour();
    let spec = spec();
    let (one, two, three) = tokio::join!(
        bench.machine_of(&id, None),
        bench.machine_of(&id, None),
        next.machine_of(&id, &spec, None),
    );
    let mut machines = [one, two, three.unwrap()];
    for (number, machine) in machines.iter_mut().enumerate() {
        said(machine.as_mut(), &format!("echo {number} > a")).await;
    }
    for (number, machine) in machines.iter_mut().enumerate() {
        assert_eq!(said(machine.as_mut(), "cat a").await, format!("{number}\n"));
    }
    let pods: Vec<Json> =
        bench.server.names("pods").iter().filter_map(|pod| bench.server.get("pods", pod)).collect();
    assert_eq!(pods.iter().filter(|pod| !crate::node::claims_of(pod).is_empty()).count(), 1);
    drop(machines);
    next.close().await;
    wait_until_async("the pods are gone", PATIENCE, || bench.server.names("pods").is_empty()).await;

    // Somebody else took it while it was not looked: what was its user notes nothing.
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    save(machine.as_mut()).await;
    let user = format!("dormouse-other/{}", "0".repeat(32));
    change(&bench, &id, |volume| volume["metadata"]["annotations"]["dormouse.use"] = json!(user));
    put_away(&bench, &id, machine).await;
    let other = volume(&bench, &id).unwrap();
    assert_eq!((note(&other, "dormouse.save"), note(&other, "dormouse.use")), (None, Some(user)));
    // Who writes into the claim between its look and its change is not written over.
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, ..) = save(machine.as_mut()).await;
    let server = bench.server.clone();
    server.fail("patch persistentvolumeclaims", 1, crate::server::Wrong::Status(409, "Conflict", "modified"));
    put_away(&bench, &id, machine).await;
    assert!(note(&volume(&bench, &id).unwrap(), "dormouse.save").is_some(), "it was tried again");
    let before = stamp(&bench, &id, "a");
    drop(bench.machine_of(&id, Some(state)).await);
    assert_eq!(stamp(&bench, &id, "a"), before);
    end(bench).await;
}

/// KUB-19: what is kept of sandboxes that are no more, and what is another installation's.
#[tokio::test(flavor = "multi_thread")]
async fn kub_19_what_is_kept_of_a_sandbox_goes_with_it_and_others_is_not_touched() {
    let Some(bench) = bench("kub_19").await else { return };
    let ids = [SandboxId::random().unwrap(), SandboxId::random().unwrap()];
    for id in &ids {
        drop(bench.machine_of(id, None).await);
    }
    let mut others = volume(&bench, &ids[0]).unwrap();
    others["metadata"]["name"] = json!("dormouse-others");
    others["metadata"]["labels"]["dormouse.owner"] = json!("f".repeat(32));
    bench.server.put(VOLUMES, others);
    let mut kept = bench.provider.kept().await.unwrap();
    let mut all = ids.to_vec();
    kept.sort();
    all.sort();
    assert_eq!(kept, all);
    wait_until_async("the pods are gone", PATIENCE, || bench.server.names("pods").is_empty()).await;
    // One that cannot be removed now is removed later.
    bench.server.fail(
        "delete persistentvolumeclaims",
        2,
        crate::server::Wrong::Status(500, "InternalError", "no"),
    );
    bench.provider.forget(&ids[0]);
    wait_until_async("it is removed", PATIENCE, || bench.server.names(VOLUMES).len() == 2).await;
    // One that a pod still has goes with the pod.
    let machine = bench.machine_of(&ids[1], None).await;
    bench.provider.forget(&ids[1]);
    drop(machine);
    wait_until_async("it is removed as well", PATIENCE, || {
        bench.server.names(VOLUMES) == ["dormouse-others"]
    })
    .await;
    assert!(bench.provider.kept().await.unwrap().is_empty());
    end(bench).await;
}

/// A cluster that lets nobody make volumes costs time and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_volume_of_its_own_a_sandbox_begins_as_ever() {
    let Some(bench) = bench("none").await else { return };
    let id = SandboxId::random().unwrap();
    bench.server.fail("get persistentvolumeclaims", 1, crate::server::Wrong::Status(403, "Forbidden", "no"));
    let mut machine = bench.machine_of(&id, None).await;
    said(machine.as_mut(), "echo one > a").await;
    let (state, ..) = save(machine.as_mut()).await;
    drop(machine);
    assert!(bench.server.names(VOLUMES).is_empty());
    let mut machine = bench.machine_of(&id, Some(state)).await;
    assert_eq!(said(machine.as_mut(), "cat a").await, "one\n");
    drop(machine);
    end(bench).await;
}
