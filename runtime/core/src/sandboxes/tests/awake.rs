//! What sandboxes hold of the memory while they are awake, and who goes when it is too much.

use std::time::Duration;

use super::fakes::{SOON, World, rules};
use crate::sandbox::{Handle, Owner, Quota, Share};
use crate::sandboxes::{Asked, Rules};
use crate::testing::wait_until_async;
use crate::{ErrorCode, EvalRequest, Language};

fn bounded(of_owner: u64, in_all: u64) -> World {
    let awake = Share { of_owner: Some(of_owner), in_all: Some(in_all) };
    World::new(Rules { quota: Quota { awake, ..rules().quota }, ..rules() })
}

fn hold(bytes: usize) -> String {
    format!("set v {}", "x".repeat(bytes))
}

#[tokio::test]
async fn mem_07_what_rests_longest_is_put_down_and_wakes_as_it_was() {
    let world = bounded(100, 1_000);
    for (name, bytes) in [("a", 40), ("b", 50), ("c", 60)] {
        world.create(name).await;
        world.eval(name, &hold(bytes)).await.unwrap();
        world.clock.advance(Duration::from_millis(10));
    }
    assert_eq!(world.provider.machines(), 3, "what is too much is seen by the next call");
    world.eval("c", "get v").await.unwrap();
    assert_eq!(world.provider.machines(), 1, "a was not enough");
    world.clock.advance(Duration::from_millis(10));
    assert_eq!(world.variable("a", "v").await.len(), 40);
    world.clock.advance(Duration::from_millis(10));
    // Besides the calls as well.
    world.eval("b", "get v").await.unwrap();
    world.sandboxes.rest().await;
    assert_eq!(world.provider.machines(), 2, "c is enough");
    for (name, bytes) in [("a", 40), ("b", 50), ("c", 60)] {
        assert_eq!(world.variable(name, "v").await.len(), bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn mem_07_what_is_in_use_stays_and_further_calls_are_refused_by_name() {
    let world = bounded(100, 1_000);
    for name in ["a", "b", "c"] {
        world.create(name).await;
    }
    world.eval("a", &hold(60)).await.unwrap();
    let waits = world.eval("a", "wait");
    tokio::pin!(waits);
    assert!(futures::poll!(&mut waits).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    world.eval("b", &hold(50)).await.unwrap();
    // Its own sandbox that rests goes first; then there is room, and then there is not.
    world.eval("c", &hold(50)).await.unwrap();
    let refused = world.eval("c", "get v").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QuotaExceeded);
    assert!(refused.message().starts_with("your awake sandboxes hold 110 B"), "{refused}");
    assert!(refused.hint().unwrap().contains("--quota awake="));
    // Another owner has room of his own.
    let other = Owner::parse("other").unwrap();
    world.sandboxes.create(&other, Asked::default()).await.unwrap();
    let id = world.sandboxes.list(&other, None, None, 1).await.unwrap()[0].sandbox.id.clone();
    let request = EvalRequest::new(Language::python(), hold(90));
    world.sandboxes.eval(&other, &Handle::IdOrName(id.as_str()), request).await.unwrap();
    world.provider.let_go(1);
    waits.await.unwrap();
    assert_eq!(world.variable("c", "v").await.len(), 50);
}

#[tokio::test]
async fn mem_07_a_sandbox_that_is_alone_runs_within_its_own_limits() {
    let world = bounded(100, 100);
    world.create("a").await;
    world.eval("a", &hold(500)).await.unwrap();
    assert_eq!(world.variable("a", "v").await.len(), 500);
    world.sandboxes.rest().await;
    assert_eq!(world.provider.machines(), 0, "but it does not rest in memory");
    assert_eq!(world.variable("a", "v").await.len(), 500);
}

#[tokio::test]
async fn mem_07_of_all_the_owner_who_holds_most_makes_room() {
    let world = bounded(1_000, 200);
    let other = Owner::parse("other").unwrap();
    let eval = async |id: &str, text: &str| {
        let request = EvalRequest::new(Language::python(), text);
        world.sandboxes.eval(&other, &Handle::IdOrName(id), request).await.unwrap();
    };
    let made = world.sandboxes.create(&other, Asked::default()).await.unwrap().0.sandbox;
    let theirs = made.id.as_str();
    eval(theirs, &hold(50)).await;
    for name in ["a", "b"] {
        world.create(name).await;
        world.clock.advance(Duration::from_millis(10));
        world.eval(name, &hold(90)).await.unwrap();
    }
    // The longest resting is theirs, the most is ours.
    eval(theirs, "get v").await;
    assert!(world.view("a").unwrap().awake.is_empty() && world.provider.machines() == 2);
}

#[tokio::test]
async fn mem_07_who_holds_less_than_an_even_part_of_all_is_left_alone() {
    let world = bounded(1_000, 200);
    let other = Owner::parse("other").unwrap();
    for name in ["a", "b", "c"] {
        world.create(name).await;
    }
    world.eval("a", &hold(60)).await.unwrap();
    world.eval("b", &hold(60)).await.unwrap();
    let (one, two) = (world.eval("a", "wait"), world.eval("b", "wait"));
    tokio::pin!(one, two);
    assert!(futures::poll!(&mut one).is_pending() && futures::poll!(&mut two).is_pending());
    assert_eq!(world.provider.waiting(), 2);
    let theirs = async |text: &str| {
        let made = world.sandboxes.create(&other, Asked::default()).await.unwrap().0.sandbox;
        let request = EvalRequest::new(Language::python(), text);
        world.sandboxes.eval(&other, &Handle::IdOrName(made.id.as_str()), request).await.unwrap();
    };
    theirs(&hold(90)).await;
    let refused = world.eval("c", "get v").await.unwrap_err();
    assert!(refused.message().starts_with("all awake sandboxes together hold 210 B"), "{refused}");
    theirs("get v").await;
    assert_eq!(world.provider.machines(), 4, "nothing of theirs is put down either");
    world.provider.let_go(2);
    one.await.unwrap();
    two.await.unwrap();
}
