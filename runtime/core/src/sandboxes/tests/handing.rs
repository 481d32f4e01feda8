//! Processes that want one sandbox: who has it says so, and gives it up when it rests.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::ErrorCode;
use crate::sandbox::{Handle, StopReason};
use crate::testing::wait_until_async;

const A: Handle<'static> = Handle::IdOrName("a");

#[tokio::test]
async fn who_rests_gives_the_sandbox_up_when_another_asks() {
    let (world, begin) = (World::new(rules()), std::time::Instant::now());
    let neighbour = world.neighbour();
    let _looks = [world.sandboxes.keep_up(), neighbour.sandboxes.keep_up()];
    world.create("a").await;
    // The clock stands still: no time saves it.
    for (turn, process) in (0..10).zip([&world, &neighbour].into_iter().cycle()) {
        process.eval("a", &format!("set v {turn}")).await.unwrap();
    }
    assert_eq!(world.variable("a", "v").await, "9");
    assert!(begin.elapsed() < rules().patience, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn calls_without_a_pause_let_another_process_in() {
    let world = World::new(rules());
    let neighbour = world.neighbour();
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    // Nobody looks after the sandboxes of the first one, so only its calls can give it up.
    let calls = async {
        loop {
            world.eval("a", "1").await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = calls => {}
        set = neighbour.eval("a", "set v 2") => drop(set.unwrap()),
    }
    neighbour.sandboxes.close().await.unwrap();
    assert_eq!(world.variable("a", "v").await, "2");
}

#[tokio::test]
async fn what_is_in_use_is_not_given_up() {
    let world = World::new(rules());
    let neighbour = world.neighbour();
    let _looks = world.sandboxes.keep_up();
    world.create("a").await;
    let mut call = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut call).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    assert_eq!(code(neighbour.eval("a", "1").await), Some(ErrorCode::Busy));
    world.provider.let_go(1);
    call.await.unwrap();
    neighbour.eval("a", "1").await.unwrap();
}

#[tokio::test]
async fn each_process_tells_the_same_status() {
    let world = World::new(rules());
    let neighbour = world.neighbour();
    let told = || [&world, &neighbour].map(|process| process.view("a").unwrap().status);
    world.create("a").await;
    assert_eq!(told(), ["running"; 2], "it was made just now");
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(told(), ["warm"; 2]);
    world.eval("a", "set v 1").await.unwrap();
    world.clock.advance(Duration::from_secs(2));
    assert_eq!(told(), ["running"; 2], "it is not saved yet");
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(told(), ["warm"; 2]);
    world.sandboxes.stop(&world.owner, &A, StopReason::User).await.unwrap();
    assert_eq!(told(), ["shutdown"; 2]);
    neighbour.eval("a", "1").await.unwrap();
    assert_eq!(told(), ["running"; 2], "a call has woken it");
    let phases = [&world, &neighbour].map(|process| process.phase("a"));
    assert_eq!(phases, ["running"; 2]);
}

#[tokio::test]
async fn nobody_comes_between_what_is_done_in_one_turn() {
    let world = World::new(rules());
    let neighbour = world.neighbour();
    let _looks = world.sandboxes.keep_up();
    world.create("a").await;
    let (begun, begins) = tokio::sync::oneshot::channel();
    let turn = world.sandboxes.at_one_turn(async {
        world.eval("a", "set v 1").await.unwrap();
        begun.send(()).unwrap();
        // Time for the other to come in between, which it must not.
        tokio::time::sleep(Duration::from_millis(200)).await;
        world.variable("a", "v").await
    });
    let other = async {
        begins.await.unwrap();
        neighbour.eval("a", "set v 2").await
    };
    let (seen, other) = tokio::join!(turn, other);
    assert_eq!(seen, "1");
    other.unwrap();
    neighbour.sandboxes.close().await.unwrap();
    assert_eq!(world.variable("a", "v").await, "2");
}
