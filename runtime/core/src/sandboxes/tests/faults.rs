//! Faults from outside: a full disk, a slow disk, a clock that jumps, callers that give up, an end in the middle of calls.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::ErrorCode;
use crate::sandbox::{Event, Handle, Include, Ledger as _, Phase, StopReason};
use crate::sandboxes::Clock as _;
use crate::testing::wait_until_async;

const A: Handle<'static> = Handle::IdOrName("a");
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);
const FULL: Option<ErrorCode> = Some(ErrorCode::StateUnavailable);

#[tokio::test]
async fn lif_02_a_full_disk_is_an_error_at_the_call_and_nothing_is_lost() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    world.eval("a", "set v 2").await.unwrap();

    world.ledger.set_full(true);
    assert_eq!(code(sandboxes.create(owner, Default::default()).await), FULL);
    assert_eq!(code(sandboxes.checkpoint(owner, &A, None, Include::Both).await), FULL);
    assert_eq!(code(sandboxes.restore(owner, &A, saved.label.id.as_str()).await), FULL);
    assert_eq!(world.variable("a", "v").await, "2", "what cannot be saved is not restored");
    assert_eq!(code(sandboxes.fork(owner, &A, 2, None).await), FULL);
    assert_eq!(code(sandboxes.stop(owner, &A, StopReason::User).await), FULL);
    assert_eq!(code(sandboxes.destroy(owner, &A).await), FULL);
    assert_eq!(code(sandboxes.sweep().await), FULL);
    world.pass(2 * MINUTE).await;
    world.eval("a", "set w 3").await.unwrap();
    assert_eq!((world.variable("a", "v").await.as_str(), world.phase("a")), ("2", "running"));

    world.ledger.set_full(false);
    world.pass(2 * MINUTE).await;
    let neighbour = world.neighbour();
    assert_eq!(
        (neighbour.variable("a", "v").await, neighbour.variable("a", "w").await),
        ("2".into(), "3".into())
    );
    neighbour.sandboxes.close().await.unwrap();
    sandboxes.restore(owner, &A, saved.label.id.as_str()).await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
    assert_eq!(sandboxes.checkpoints(owner, &A).await.unwrap().len(), 1);
    assert_eq!(sandboxes.list(owner, None, None, 9).await.unwrap().len(), 1, "no fork was half made");
}

#[tokio::test]
async fn lif_02_a_clock_that_jumps_loses_nothing() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    world.clock.put_back(DAY);
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.neighbour().variable("a", "v").await, "1", "it was saved though no time has passed");
    for _ in 0..2 {
        world.eval("a", "set v 2").await.unwrap();
        world.pass(Duration::from_secs(2)).await;
        world.clock.advance(DAY);
        world.pass(Duration::ZERO).await;
        assert!(matches!(world.phase("a"), "running" | "stopped"));
        assert_eq!(world.variable("a", "v").await, "2");
        world.clock.put_back(DAY);
        world.pass(Duration::from_secs(2)).await;
    }
    assert_eq!(world.neighbour().variable("a", "v").await, "2");
}

/// Whoever calls all the time loses no more by a kill than whoever calls now and then.
#[tokio::test]
async fn lif_01_a_sandbox_that_is_called_all_the_time_is_saved_all_the_same() {
    let world = World::new(rules());
    world.create("a").await;
    for turn in 0..30 {
        world.eval("a", &format!("set v {turn}")).await.unwrap();
        world.pass(Duration::from_millis(500)).await;
    }
    // As after a kill: nothing is saved on the way out.
    let state = world.ledger.find(&world.owner, &A).unwrap().state.unwrap();
    let saved = world.ledger.chunks().get(&state.root).unwrap().unwrap();
    let saved = String::from_utf8(saved).unwrap();
    assert!((18..30).any(|turn| saved.contains(&format!("\"v\":\"{turn}\""))), "{saved}");
}

/// A caller that gives up while the disk writes: what comes next is neither lost nor refused.
#[tokio::test]
async fn mcp_05_a_save_that_nobody_waits_for_ends_all_the_same() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    world.eval("a", "set v 2").await.unwrap();
    for verb in ["stop", "restore", "fork", "checkpoint"] {
        world.ledger.hold(true);
        let mut call: futures::future::BoxFuture<'_, ()> = match verb {
            "stop" => Box::pin(async { drop(sandboxes.stop(owner, &A, StopReason::User).await) }),
            "restore" => {
                Box::pin(async { drop(sandboxes.restore(owner, &A, saved.label.id.as_str()).await) })
            }
            "fork" => Box::pin(async { drop(sandboxes.fork(owner, &A, 1, None).await) }),
            _ => Box::pin(async { drop(sandboxes.checkpoint(owner, &A, None, Include::Both).await) }),
        };
        tokio::select! {
            () = &mut call => panic!("{verb} does not wait for the disk"),
            () = wait_until_async("the ledger is written to", SOON, || world.ledger.waiting() == 1) => {}
        }
        drop(call);
        // The next call comes while the disk still writes.
        let (next, ()) = tokio::join!(world.eval("a", "set v 3"), async { world.ledger.hold(false) });
        next.unwrap();
        assert_eq!(world.variable("a", "v").await, "3", "{verb}");
        world.pass(2 * MINUTE).await;
        assert_eq!(world.neighbour().variable("a", "v").await, "3", "{verb}");
        world.eval("a", "set v 2").await.unwrap();
    }
}

#[tokio::test]
async fn lif_05_the_idle_time_does_not_run_out_during_a_call() {
    let world = World::new(rules());
    world.create("a").await;
    let mut call = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut call).is_pending());
    world.pass(16 * MINUTE).await;
    assert_eq!(world.phase("a"), "running");
    // Somebody saw that it was idle just before the call: the stop waits, looks again, and lets it be.
    let record = world.ledger.find(&world.owner, &A).unwrap();
    let mut stop = Box::pin(world.sandboxes.put_away(record, StopReason::Idle, |record| {
        record.last_activity_at.after(record.spec.idle) <= world.clock.now()
    }));
    assert!(futures::poll!(&mut stop).is_pending());
    world.provider.let_go(1);
    let mut next = Box::pin(world.eval("a", "set v 1"));
    assert!(futures::poll!(&mut next).is_pending());
    call.await.unwrap();
    drop(next);
    assert!(stop.await.unwrap().is_none(), "the call has just ended, though it began 16 minutes ago");
    world.eval("a", "set v 1").await.unwrap();
    assert_eq!(world.phase("a"), "running");
    let record = world.ledger.find(&world.owner, &A).unwrap();
    let stopped = world.sandboxes.put_away(record, StopReason::Idle, |record| {
        record.last_activity_at.after(record.spec.idle) <= world.clock.now()
    });
    assert!(stopped.await.unwrap().is_none(), "it has just been called");
    assert_eq!((world.phase("a"), world.variable("a", "v").await.as_str()), ("running", "1"));
}

#[tokio::test]
async fn lif_05_retention_does_not_end_what_is_being_restored() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    sandboxes.stop(owner, &A, StopReason::User).await.unwrap();
    world.clock.advance(8 * DAY);
    sandboxes.live().await.unwrap();
    world.clock.advance(DAY);
    world.ledger.hold(true);
    let mut restore = Box::pin(sandboxes.restore(owner, &A, saved.label.id.as_str()));
    tokio::select! {
        _ = &mut restore => panic!("it does not wait for the disk"),
        () = wait_until_async("the ledger is written to", SOON, || world.ledger.waiting() == 1) => {}
    }
    sandboxes.live().await.unwrap();
    world.ledger.hold(false);
    restore.await.unwrap();
    sandboxes.live().await.unwrap();
    assert_eq!((world.phase("a"), world.variable("a", "v").await.as_str()), ("running", "1"));
}

/// What a server does that is told to end: its calls are dropped, then everything is saved.
#[tokio::test(start_paused = true)]
async fn lif_05_an_end_with_fifty_calls_under_way_loses_nothing() {
    let mut rules = rules();
    rules.quota.per_owner = 50;
    rules.quota.in_all = 50;
    let world = World::new(rules);
    let names: Vec<String> = (0..50).map(|number| format!("box-{number}")).collect();
    let mut calls = Vec::new();
    for name in &names {
        world.create(name).await;
        world.eval(name, "set v 1").await.unwrap();
        let mut call = Box::pin(world.eval(name, "wait"));
        assert!(futures::poll!(&mut call).is_pending());
        calls.push(call);
    }
    // Calls that go on keep an end waiting for so long and no longer.
    let begin = tokio::time::Instant::now();
    assert_eq!(code(world.sandboxes.close().await), Some(ErrorCode::Busy));
    assert_eq!(begin.elapsed().as_secs(), world.sandboxes.rules().patience.as_secs());
    drop(calls);
    world.sandboxes.close().await.unwrap();
    assert_eq!((world.provider.machines(), world.provider.waiting()), (0, 0));
    let neighbour = world.neighbour();
    for name in &names {
        assert_eq!(neighbour.variable(name, "v").await, "1");
    }
}

#[tokio::test]
async fn lif_06_what_another_process_uses_is_neither_stopped_nor_destroyed() {
    let world = World::new(rules());
    let neighbour = world.neighbour();
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    world.clock.advance(30 * DAY);
    let begin = std::time::Instant::now();
    neighbour.sandboxes.live().await.unwrap();
    assert!(begin.elapsed() < rules().patience, "it is left, not waited for");
    assert_eq!((neighbour.phase("a"), world.variable("a", "v").await.as_str()), ("running", "1"));
    world.sandboxes.close().await.unwrap();
    neighbour.sandboxes.live().await.unwrap();
    assert_eq!(neighbour.phase("a"), "running", "it has just been called");
}

/// S2-08: every event in every phase that a caller can bring about, each said twice.
#[tokio::test]
async fn mcp_08_what_is_said_twice_is_as_said_once() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    let id = saved.label.id.as_str();
    for _ in 0..2 {
        assert_eq!(sandboxes.resume(owner, &A).await.unwrap().sandbox.phase, Phase::Running);
    }
    let first = sandboxes.stop(owner, &A, StopReason::User).await.unwrap().sandbox.stopped_at;
    world.clock.advance(MINUTE);
    assert_eq!(sandboxes.stop(owner, &A, StopReason::User).await.unwrap().sandbox.stopped_at, first);
    for _ in 0..2 {
        sandboxes.restore(owner, &A, id).await.unwrap();
        assert_eq!((world.phase("a"), world.variable("a", "v").await.as_str()), ("running", "1"));
    }
    // A restore waits for the run, as any call does; so do a stop and a resume.
    let mut run = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut run).is_pending());
    let mut restore = Box::pin(sandboxes.restore(owner, &A, id));
    assert!(futures::poll!(&mut restore).is_pending());
    let mut resume = Box::pin(sandboxes.resume(owner, &A));
    assert!(futures::poll!(&mut resume).is_pending());
    world.provider.let_go(1);
    run.await.unwrap();
    restore.await.unwrap();
    assert_eq!(resume.await.unwrap().sandbox.phase, Phase::Running);
    sandboxes.destroy(owner, &A).await.unwrap();
    let gone = Some(ErrorCode::UnknownSandbox);
    assert_eq!(code(sandboxes.destroy(owner, &A).await), gone);
    assert_eq!(code(sandboxes.stop(owner, &A, StopReason::User).await), gone);
    assert_eq!(code(sandboxes.resume(owner, &A).await), gone);
    assert_eq!(code(sandboxes.restore(owner, &A, id).await), gone);
    assert_eq!(code(sandboxes.checkpoint(owner, &A, None, Include::Both).await), gone);
    assert_eq!(code(sandboxes.fork(owner, &A, 1, Some(id)).await), gone);
    assert_eq!(code(world.eval("a", "1").await), gone);
    assert_eq!(Phase::Destroyed.after(Event::Call).unwrap_err().code(), ErrorCode::UnknownSandbox);
}
