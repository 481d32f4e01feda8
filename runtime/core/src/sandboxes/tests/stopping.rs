//! A stop that finds calls under way.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::sandbox::{Handle, Phase, StopReason};
use crate::sandboxes::CommandLine;
use crate::testing::wait_until_async;
use crate::{ErrorCode, GuestPath};

const SECOND: Duration = Duration::from_secs(1);

impl World {
    async fn stop(&self, grace: Duration) -> Phase {
        let handle = Handle::IdOrName("a");
        let stopping = self.sandboxes.stop_within(&self.owner, &handle, StopReason::User, grace);
        stopping.await.unwrap().sandbox.phase
    }
}

/// LIF-08: however long the call that runs and those that wait.
#[tokio::test(start_paused = true)]
async fn lif_08_a_stop_waits_for_a_moment_and_then_ends_the_calls_before_it() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (first, second) = (world.eval("a", "wait"), world.eval("a", "wait"));
    let (mut first, mut second) = (Box::pin(first), Box::pin(second));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    let begin = tokio::time::Instant::now();
    let (phase, first, second) = futures::join!(world.stop(5 * SECOND), first, second);
    assert_eq!((phase, world.provider.machines()), (Phase::Stopped, 0));
    assert_eq!((code(first), code(second)), (Some(ErrorCode::Cancelled), Some(ErrorCode::Cancelled)));
    assert!((5 * SECOND..6 * SECOND).contains(&begin.elapsed()), "{:?}", begin.elapsed());
    // Who comes afterwards wakes it.
    assert_eq!(world.variable("a", "v").await, "1");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_time_is_not_ended_and_those_behind_the_stop_go_on() {
    let world = World::new(rules());
    world.create("a").await;
    let mut running = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut running).is_pending());
    let mut stopping = Box::pin(world.stop(5 * SECOND));
    assert!(futures::poll!(&mut stopping).is_pending());
    let behind = world.eval("a", "set v 2");
    world.provider.let_go(1);
    let (running, phase, behind) = futures::join!(running, stopping, behind);
    assert_eq!((code(running), phase, code(behind)), (None, Phase::Stopped, None));
    assert_eq!(world.variable("a", "v").await, "2");
}

#[tokio::test]
async fn a_stop_is_not_refused_for_want_of_a_place_in_the_queue() {
    let world = World::new(rules());
    world.create("a").await;
    let mut calls: Vec<_> = (0..3).map(|_| Box::pin(world.eval("a", "wait"))).collect();
    for call in &mut calls {
        assert!(futures::poll!(call).is_pending());
    }
    assert_eq!(code(world.eval("a", "1").await), Some(ErrorCode::Busy));
    let (phase, ended) = futures::join!(world.stop(Duration::ZERO), futures::future::join_all(calls));
    assert_eq!(phase, Phase::Stopped);
    assert!(ended.into_iter().all(|call| code(call) == Some(ErrorCode::Cancelled)));
}

/// What a job has written until its end is saved.
#[tokio::test]
async fn lif_08_jobs_end_before_the_sandbox_is_saved() {
    let world = World::new(rules());
    world.create("a").await;
    let handle = Handle::IdOrName("a");
    let line = CommandLine::new("wait");
    let (_, job) = world.sandboxes.start_job(&world.owner, &handle, line).await.unwrap();
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    let file = GuestPath::parse("/workspace/f").unwrap();
    world.sandboxes.write(&world.owner, &handle, file.clone(), b"x".to_vec()).await.unwrap();
    assert_eq!(world.stop(5 * SECOND).await, Phase::Stopped);
    assert_eq!(world.provider.waiting(), 0);
    let (ended, _) = job.ended().expect("it has ended");
    assert_eq!(ended.as_ref().as_ref().map(|_| ()).map_err(|error| error.code()), Err(ErrorCode::Cancelled));
    let other = world.neighbour();
    assert_eq!(other.sandboxes.read(&world.owner, &handle, file, 0, 9).await.unwrap().bytes, b"x");
}
