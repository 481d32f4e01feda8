//! When it is saved, and what an answer says that could not be.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::sandbox::{Durability, Handle, Include, Ledger as _, Name, SandboxSpec};
use crate::sandboxes::{Asked, CommandLine, Told, telling};
use crate::{ErrorCode, GuestPath};

const A: Handle<'static> = Handle::IdOrName("a");
const FULL: Option<ErrorCode> = Some(ErrorCode::StateUnavailable);

/// What a process would find that comes after a kill now.
fn saved(world: &World) -> String {
    for _ in 0..1_000 {
        let record = world.ledger.find(&world.owner, &A).unwrap();
        let Some(state) = record.state else { return String::new() };
        // A save and a sweep can come in between.
        if let Some(root) = world.ledger.chunks().get(&state.root).unwrap() {
            return String::from_utf8(root).unwrap();
        }
    }
    panic!("what the record names is not there");
}

async fn create_durable(world: &World) {
    let spec = SandboxSpec { durability: Durability::Call, ..SandboxSpec::default() };
    let asked = Asked { name: Some(Name::parse("a").unwrap()), spec: Some(spec), ..Asked::default() };
    world.sandboxes.create(&world.owner, asked).await.unwrap();
}

/// Nobody has to find it between two calls.
#[tokio::test]
async fn lif_01_a_sandbox_without_a_pause_is_saved_by_its_own_calls() {
    let world = World::new(rules());
    world.create("a").await;
    for turn in 0..30 {
        world.eval("a", &format!("set v {turn}")).await.unwrap();
        world.clock.advance(Duration::from_millis(500));
    }
    let saved = saved(&world);
    assert!((18..30).any(|turn| saved.contains(&format!("\"v\":\"{turn}\""))), "{saved}");
}

#[tokio::test]
async fn lif_01_what_earlier_calls_did_is_saved_beside_a_long_one() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let mut call = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut call).is_pending());
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(saved(&world), "", "it is called without a pause");
    world.pass(Duration::from_secs(9)).await;
    assert!(saved(&world).contains("\"v\":\"1\""), "{}", saved(&world));
    // Twice, and then the call ends: nothing of it is taken for another process's.
    world.pass(Duration::from_secs(11)).await;
    world.provider.let_go(1);
    call.await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
    world.eval("a", "set v 2").await.unwrap();
    world.sandboxes.close().await.unwrap();
    assert_eq!(world.neighbour().variable("a", "v").await, "2");
}

#[tokio::test]
async fn lif_01_a_call_that_is_given_up_after_a_save_beside_it_leaves_the_sandbox_usable() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let mut call = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut call).is_pending());
    world.pass(Duration::from_secs(11)).await;
    drop(call);
    assert_eq!(world.variable("a", "v").await, "1");
    world.sandboxes.checkpoint(&world.owner, &A, None, Include::Both).await.unwrap();
    assert_eq!(world.neighbour().variable("a", "v").await, "1");
}

/// Neither the job nor the calls beside it wait for the job's end.
#[tokio::test]
async fn lif_01_a_sandbox_with_a_job_is_saved_while_it_runs() {
    let world = World::new(rules());
    world.create("a").await;
    let (_, job) = world.sandboxes.start_job(&world.owner, &A, CommandLine::new("wait")).await.unwrap();
    world.eval("a", "set v 1").await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    assert!(saved(&world).contains("\"v\":\"1\""), "{}", saved(&world));
    let generation = |world: &World| world.ledger.find(&world.owner, &A).unwrap().generation;
    let before = generation(&world);
    for _ in 0..8 {
        world.pass(Duration::from_secs(1)).await;
    }
    assert_eq!(generation(&world), before, "without calls it is saved now and then");
    world.pass(Duration::from_secs(3)).await;
    assert_eq!(generation(&world), before + 1);
    job.cancel();
    job.wait().await;
    world.sandboxes.close().await.unwrap();
    assert_eq!(world.neighbour().variable("a", "v").await, "1");
}

#[tokio::test]
async fn lif_01_a_checkpoint_saves_the_sandbox_whatever_it_includes() {
    for include in [Include::Both, Include::Files, Include::Memory] {
        let world = World::new(rules());
        world.create("a").await;
        world.eval("a", "set v 1").await.unwrap();
        world.eval("a", "write /f 2").await.unwrap();
        let (kept, _) = world.sandboxes.checkpoint(&world.owner, &A, None, include).await.unwrap();
        assert_eq!(kept.label.include, include);
        // As after a kill: the first process does nothing more.
        let neighbour = world.neighbour();
        assert_eq!(neighbour.variable("a", "v").await, "1", "{include:?}");
        let path = GuestPath::parse("/f").unwrap();
        let bytes = neighbour.sandboxes.read(&world.owner, &A, path, 0, 9).await.unwrap().bytes;
        assert_eq!(bytes, b"2", "{include:?}");
    }
}

#[tokio::test]
async fn lif_01_a_checkpoint_that_is_refused_saves_nothing_and_loses_nothing() {
    let world = World::new(rules());
    world.create("a").await;
    for _ in 0..3 {
        world.sandboxes.checkpoint(&world.owner, &A, None, Include::Both).await.unwrap();
    }
    world.eval("a", "set v 1").await.unwrap();
    let before = saved(&world);
    let refused = world.sandboxes.checkpoint(&world.owner, &A, None, Include::Both).await;
    assert_eq!((code(refused), saved(&world)), (Some(ErrorCode::QuotaExceeded), before));
    assert_eq!(world.variable("a", "v").await, "1");
    world.pass(Duration::from_secs(2)).await;
    assert!(saved(&world).contains("\"v\":\"1\""));
}

#[tokio::test]
async fn lif_01_an_upload_is_saved_when_it_is_answered() {
    let world = World::new(rules());
    world.create("a").await;
    let path = GuestPath::parse("/f").unwrap();
    let files = vec![(path.clone(), b"2".to_vec())];
    world.sandboxes.upload(&world.owner, &A, Vec::new(), files).await.unwrap();
    let bytes = world.neighbour().sandboxes.read(&world.owner, &A, path, 0, 9).await.unwrap().bytes;
    assert_eq!(bytes, b"2");
}

#[tokio::test]
async fn lif_01_a_durable_sandbox_is_saved_when_its_calls_are_answered() {
    let world = World::new(rules());
    create_durable(&world).await;
    world.eval("a", "set v 1").await.unwrap();
    assert!(saved(&world).contains("\"v\":\"1\""));
    let path = GuestPath::parse("/f").unwrap();
    world.sandboxes.write(&world.owner, &A, path.clone(), b"2".to_vec()).await.unwrap();
    let bytes = world.neighbour().sandboxes.read(&world.owner, &A, path, 0, 9).await.unwrap().bytes;
    assert_eq!(bytes, b"2");
}

#[tokio::test]
async fn lif_02_a_call_that_cannot_be_saved_says_so() {
    let world = World::new(rules());
    world.create("a").await;
    let (done, Told { unsaved, .. }) = telling(world.eval("a", "set v 1")).await;
    assert!(done.is_ok() && unsaved.is_none(), "it will be saved a moment later");
    world.ledger.set_full(true);
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.sandboxes.trouble().map(|error| error.code()), FULL);
    let (done, Told { unsaved, .. }) = telling(world.eval("a", "set v 2")).await;
    assert_eq!((done.is_ok(), unsaved.map(|error| error.code())), (true, FULL));
    let path = GuestPath::parse("/f").unwrap();
    let write = world.sandboxes.write(&world.owner, &A, path, b"3".to_vec());
    assert_eq!(telling(write).await.1.unsaved.map(|error| error.code()), FULL);
    let closed = world.sandboxes.close().await;
    assert_eq!(code(closed), FULL, "the end says it as well");

    world.ledger.set_full(false);
    let (_, Told { unsaved, .. }) = telling(world.eval("a", "set v 4")).await;
    assert!(unsaved.is_none());
    assert!(saved(&world).contains("\"v\":\"4\""), "it is saved at once");
    assert!(world.sandboxes.trouble().is_none());
}

#[tokio::test]
async fn lif_02_a_disk_without_room_is_told_at_the_first_call() {
    let world = World::new(rules());
    world.create("a").await;
    world.ledger.tell_full(true);
    let (_, Told { unsaved, .. }) = telling(world.eval("a", "set v 1")).await;
    assert!(unsaved.is_none() && saved(&world).contains("\"v\":\"1\""), "it was tried, and went well");
    world.ledger.set_full(true);
    let (_, Told { unsaved, .. }) = telling(world.eval("a", "set v 2")).await;
    assert_eq!(unsaved.map(|error| error.code()), FULL);
    assert_eq!(world.sandboxes.trouble().map(|error| error.code()), FULL);
}

#[tokio::test(start_paused = true)]
async fn lif_05_an_end_saves_what_came_before_a_call_that_does_not_end() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let mut call = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut call).is_pending());
    assert_eq!(code(world.sandboxes.close().await), Some(ErrorCode::Busy));
    assert!(saved(&world).contains("\"v\":\"1\""), "{}", saved(&world));
}

/// A panic anywhere in what is done with time: it is told, and done again.
#[tokio::test(start_paused = true)]
async fn r_31_a_crash_is_not_the_end_of_upkeep() {
    let world = World::new(rules());
    world.create("a").await;
    let upkeep = world.sandboxes.keep_up();
    for call in 1..12 {
        world.eval("a", &format!("set v {call}")).await.unwrap();
        world.ledger.crash_at(call);
        // What fails is tried again later and later, by the sandboxes' clock.
        for _ in 0..40 {
            world.clock.advance(Duration::from_secs(3));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(world.ledger.has_crashed(), "{call}");
        assert!(saved(&world).contains(&format!("\"v\":\"{call}\"")), "{call}: {}", saved(&world));
        assert!(!upkeep.is_finished());
    }
    assert_eq!(world.variable("a", "v").await, "11");
}
