//! Clocks that are set, and sandboxes that cannot be opened: time destroys nothing that somebody may want.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::ErrorCode;
use crate::sandbox::{Handle, Phase, StopReason};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn stopped(world: &World, name: &str) {
    world.create(name).await;
    world.eval(name, "set v 1").await.unwrap();
    world.sandboxes.stop(&world.owner, &Handle::IdOrName(name), StopReason::User).await.unwrap();
}

#[tokio::test]
async fn r_15_a_clock_that_jumps_destroys_nothing() {
    let world = World::new(rules());
    stopped(&world, "a").await;
    world.create("never").await;
    world.clock.jump(400 * DAY);
    for _ in 0..30 {
        world.pass(MINUTE).await;
    }
    assert_eq!((world.phase("a"), world.phase("never")), ("stopped", "stopped"));
    // Somebody sets it right within the hour, and everything is as it was.
    world.clock.put_back(400 * DAY);
    world.pass(2 * 60 * MINUTE).await;
    assert_eq!(world.phase("a"), "stopped");
    assert_eq!(world.variable("a", "v").await, "1");
}

#[tokio::test]
async fn r_15_a_server_that_was_off_for_long_destroys_nothing_when_it_starts() {
    let world = World::new(rules());
    stopped(&world, "a").await;
    world.clock.advance(8 * DAY);
    let server = world.neighbour();
    server.pass(Duration::from_millis(250)).await;
    server.pass(59 * MINUTE).await;
    assert_eq!(server.phase("a"), "stopped", "it is marked");
    server.pass(2 * MINUTE).await;
    assert_eq!(server.phase("a"), "unknown_sandbox");
}

#[tokio::test]
async fn a_call_takes_the_mark_back() {
    let world = World::new(rules());
    stopped(&world, "a").await;
    world.pass(8 * DAY).await;
    assert_eq!(world.variable("a", "v").await, "1");
    world.pass(2 * 60 * MINUTE).await;
    assert_eq!(world.view("a").unwrap().sandbox.phase, Phase::Stopped, "stopped anew, with all its time");
}

#[tokio::test]
async fn what_is_kept_for_a_short_time_is_marked_for_a_shorter_one() {
    let world = World::new(rules());
    let spec = crate::sandbox::SandboxSpec { retention: 8 * MINUTE, ..Default::default() };
    let asked = crate::sandboxes::Asked {
        name: Some(crate::sandbox::Name::parse("short").unwrap()),
        spec: Some(spec),
        ..Default::default()
    };
    world.sandboxes.create(&world.owner, asked).await.unwrap();
    world.eval("short", "1").await.unwrap();
    world.sandboxes.stop(&world.owner, &Handle::IdOrName("short"), StopReason::User).await.unwrap();
    world.pass(8 * MINUTE).await;
    assert_eq!(world.phase("short"), "stopped");
    world.pass(MINUTE).await;
    assert_eq!(world.phase("short"), "unknown_sandbox");
}

#[tokio::test]
async fn r_3_calls_that_fail_count_and_what_cannot_be_opened_is_not_destroyed_by_time() {
    let world = World::new(rules());
    stopped(&world, "a").await;
    let saved = world.view("a").unwrap().sandbox;
    world.ledger.lose(&saved.state.unwrap().root);
    world.clock.advance(6 * DAY);
    let server = world.neighbour();
    assert_eq!(code(server.eval("a", "1").await), Some(ErrorCode::StateDamaged));
    let after = server.view("a").unwrap().sandbox;
    assert_eq!((after.phase, after.stopped_at), (Phase::Running, None));
    assert!(after.last_activity_at > saved.last_activity_at);
    // Nobody calls it any more; it is stopped, and kept all the same.
    for _ in 0..20 {
        server.pass(DAY).await;
    }
    assert_eq!(server.phase("a"), "stopped");
    let destroyed = server.sandboxes.destroy(&world.owner, &Handle::IdOrName("a")).await;
    assert!(destroyed.is_ok());
}

#[tokio::test]
async fn a_clock_that_is_set_puts_no_interpreter_down_and_forgets_no_step() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let is_awake = || !world.view("a").unwrap().awake.is_empty();
    let steps = async || world.sandboxes.history(&world.owner, &Handle::IdOrName("a")).await.unwrap().len();
    world.clock.jump(DAY);
    world.pass(Duration::from_secs(2)).await;
    assert!(is_awake(), "put down by a clock");
    world.eval("a", "set v 2").await.unwrap();
    world.clock.put_back(2 * DAY);
    world.pass(Duration::from_secs(2)).await;
    assert!(is_awake(), "put down by a clock");
    assert_eq!(steps().await, 2);
    assert_eq!(world.neighbour().variable("a", "v").await, "2", "it was saved all the same");
}
