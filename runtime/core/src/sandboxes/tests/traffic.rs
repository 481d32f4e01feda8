//! Calls that meet: queues, keys, leases, places in memory.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::ErrorCode;
use crate::sandbox::{Handle, StopReason};
use crate::sandboxes::Rules;
use crate::testing::wait_until_async;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn calls_come_one_at_a_time_and_only_so_many_wait() {
    let world = World::new(rules());
    world.create("a").await;
    let mut calls: Vec<_> = (0..4).map(|_| Box::pin(world.eval("a", "wait"))).collect();
    // One runs, two wait, the fourth is refused.
    for call in &mut calls[..3] {
        assert!(futures::poll!(call).is_pending());
    }
    let refused = calls.pop().unwrap().await;
    assert_eq!(code(refused), Some(ErrorCode::Busy));
    assert_eq!((world.provider.waiting(), world.view("a").unwrap().status), (1, "running"));
    world.provider.let_go(3);
    for call in calls {
        call.await.unwrap();
    }
    world.eval("a", "1").await.unwrap();
}

/// S2-16: one sandbox of a key, whoever comes first; another owner has another.
#[tokio::test]
async fn mcp_08_a_session_key_means_one_sandbox() {
    let world = World::new(rules());
    let both = futures::future::join(world.with_key("k"), world.with_key("k"));
    let ((one, first), (two, second)) = both.await;
    assert_eq!(one.sandbox.id, two.sandbox.id);
    assert!(first != second);
    let mut other = world.neighbour();
    assert_eq!(other.with_key("k").await.0.sandbox.id, one.sandbox.id);
    other.owner = crate::sandbox::Owner::parse("somebody").unwrap();
    assert_ne!(other.with_key("k").await.0.sandbox.id, one.sandbox.id);

    let handle = Handle::SessionKey("k");
    world.sandboxes.stop(&world.owner, &handle, StopReason::User).await.unwrap();
    let (resumed, new) = world.with_key("k").await;
    assert_eq!((resumed.sandbox.phase.as_str(), new), ("running", false));
}

#[tokio::test(start_paused = true)]
async fn another_process_is_waited_for_and_then_given_up() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let neighbour = world.neighbour();
    // Until it is saved, the other process has it.
    let begin = tokio::time::Instant::now();
    assert_eq!(code(neighbour.eval("a", "1").await), Some(ErrorCode::Busy));
    assert!(begin.elapsed() >= rules().patience);
    world.pass(2 * SECOND).await;
    assert_eq!(neighbour.variable("a", "v").await, "1");

    neighbour.eval("a", "set v 2").await.unwrap();
    let handover = async {
        tokio::time::sleep(SECOND).await;
        neighbour.pass(2 * SECOND).await;
    };
    let (seen, ()) = futures::future::join(world.variable("a", "v"), handover).await;
    assert_eq!(seen, "2", "what was in memory here is older");
}

#[tokio::test]
async fn mcp_08_destroying_ends_the_run_and_those_that_wait() {
    let world = World::new(rules());
    world.create("a").await;
    let (mut run, mut next) = (Box::pin(world.eval("a", "wait")), Box::pin(world.eval("a", "wait")));
    let mut last = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut run).is_pending());
    assert!(futures::poll!(&mut next).is_pending() && futures::poll!(&mut last).is_pending());
    let destroy = world.sandboxes.destroy(&world.owner, &Handle::IdOrName("a"));
    let (run, next, last, destroyed) = tokio::join!(run, next, last, destroy);
    destroyed.unwrap();
    let ended = run.unwrap_err();
    assert_eq!(ended.code(), ErrorCode::Cancelled);
    assert!(ended.hint().is_some_and(|hint| hint.contains("sandbox_create")), "{:?}", ended.hint());
    for late in [next, last] {
        let code = code(late);
        assert!(matches!(code, Some(ErrorCode::Cancelled | ErrorCode::UnknownSandbox)), "{code:?}");
    }
    assert_eq!((world.provider.machines(), world.phase("a")), (0, "unknown_sandbox"));
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_that_could_not_be_destroyed_goes_on() {
    let world = World::new(rules());
    world.create("a").await;
    let neighbour = world.neighbour();
    neighbour.eval("a", "set v 1").await.unwrap();
    let refused = world.sandboxes.destroy(&world.owner, &Handle::IdOrName("a")).await;
    assert_eq!(code(refused), Some(ErrorCode::Busy));
    neighbour.sandboxes.close().await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_the_sandbox_to_the_next() {
    let world = World::new(rules());
    world.create("a").await;
    let mut run = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut run).is_pending());
    drop(run);
    wait_until_async("the run is dropped", SOON, || world.provider.waiting() == 0).await;
    world.eval("a", "set v 1").await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
}

#[tokio::test]
async fn who_sleeps_wakes_with_what_was_saved() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    world.pass(2 * SECOND).await;
    assert_eq!((world.provider.machines(), world.view("a").unwrap().status), (1, "warm"));
    world.pass(61 * SECOND).await;
    assert_eq!((world.provider.machines(), world.view("a").unwrap().status), (0, "warm"));
    assert_eq!((world.variable("a", "v").await.as_str(), world.provider.woken()), ("1", 2));
    world.sandboxes.close().await.unwrap();
    assert_eq!((world.provider.machines(), world.neighbour().variable("a", "v").await.as_str()), (0, "1"));
}

#[tokio::test]
async fn only_so_many_are_in_memory_and_the_last_called_stay() {
    let world = World::new(Rules { awake: 2, ..rules() });
    for name in ["a", "b", "c"] {
        world.create(name).await;
        world.eval(name, &format!("set v {name}")).await.unwrap();
        world.clock.advance(Duration::from_millis(10));
    }
    world.sandboxes.rest().await;
    let awake = |name| !world.view(name).unwrap().awake.is_empty();
    assert_eq!((awake("a"), awake("b"), awake("c")), (false, true, true));
    assert_eq!(world.variable("a", "v").await, "a");
    world.sandboxes.rest().await;
    assert_eq!((awake("a"), awake("b"), awake("c")), (true, false, true));
}
