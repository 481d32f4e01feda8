//! Room in memory: who goes when there is none, and that nobody waits for what others make of it.

use std::time::Duration;

use super::fakes::{SOON, World, code, rules};
use crate::sandbox::{Handle, Owner, Quota};
use crate::sandboxes::{CommandLine, Rules};
use crate::testing::wait_until_async;
use crate::{ErrorCode, Language, Policy};

fn narrow(awake: usize) -> Rules {
    let quota = Quota { per_owner: 20, in_all: 100, checkpoints: 3, ..Quota::default() };
    Rules { awake, quota, history: 0, ..rules() }
}

fn awake(world: &World, owner: &Owner, name: &str) -> bool {
    !world.sandboxes.get(owner, &Handle::IdOrName(name)).unwrap().awake.is_empty()
}

#[tokio::test]
async fn own_01_who_rested_longest_is_put_down_and_the_call_goes_on() {
    let world = World::new(narrow(2));
    for name in ["a", "b", "c", "d"] {
        world.create(name).await;
        world.eval(name, &format!("set v {name}")).await.unwrap();
        world.clock.advance(Duration::from_millis(10));
    }
    let awake: Vec<_> = ["a", "b", "c", "d"].map(|name| awake(&world, &world.owner, name)).into();
    assert_eq!(awake, [false, false, true, true]);
    assert_eq!(world.provider.machines(), 2);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(world.variable(name, "v").await, name);
    }
}

#[tokio::test(start_paused = true)]
async fn own_01_room_is_waited_for_and_then_given_up() {
    let policy = Policy { max_wait: Duration::from_secs(2), ..Policy::default() };
    let world = World::with(policy, narrow(1));
    world.create("a").await;
    world.create("b").await;
    let mut run = Box::pin(world.eval("a", "wait"));
    assert!(futures::poll!(&mut run).is_pending());
    let begin = tokio::time::Instant::now();
    let refused = world.eval("b", "set v 1").await;
    assert_eq!((code(refused), begin.elapsed()), (Some(ErrorCode::Busy), Duration::from_secs(2)));
    let mut waits = Box::pin(world.eval("b", "set v 1"));
    assert!(futures::poll!(&mut waits).is_pending());
    world.provider.let_go(1);
    run.await.unwrap();
    waits.await.unwrap();
    assert_eq!(world.provider.machines(), 1);
}

/// Each of two calls has an interpreter and wants one more, and there is room for two in all.
#[tokio::test]
async fn own_01_nobody_holds_room_while_he_waits_for_more() {
    let world = World::new(narrow(2));
    let owner = &world.owner;
    for name in ["a", "b"] {
        world.create(name).await;
        world.eval(name, &format!("set v {name}")).await.unwrap();
    }
    let javascript = |name| world.eval_in(owner, name, Language::javascript(), "wait");
    let (mut first, mut second) = (Box::pin(javascript("a")), Box::pin(javascript("b")));
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    let both = futures::future::join(first, second);
    let let_go = async {
        wait_until_async("both runs wait", SOON, || world.provider.waiting() == 2).await;
        world.provider.let_go(2);
    };
    let ((first, second), ()) = futures::future::join(both, let_go).await;
    first.unwrap();
    second.unwrap();
    for name in ["a", "b"] {
        assert_eq!(world.variable(name, "v").await, name);
    }
}

#[tokio::test]
async fn own_01_a_greedy_owner_makes_room_of_his_own_and_leaves_some_to_others() {
    let policy = Policy { owners_share: true, ..Policy::default() };
    let world = World::with(policy, narrow(8));
    let (greedy, other) = (Owner::parse("greedy").unwrap(), Owner::parse("other").unwrap());
    world.create_for(&other, "o").await;
    world.eval_in(&other, "o", Language::python(), "set v 1").await.unwrap();
    let python = |name: String| async {
        let name = name;
        world.eval_in(&greedy, &name, Language::python(), &format!("set v {name}")).await.unwrap();
    };
    for number in 0..12 {
        world.clock.advance(Duration::from_millis(10));
        world.create_for(&greedy, &format!("g{number}")).await;
        python(format!("g{number}")).await;
        assert!(awake(&world, &other, "o"), "{number}");
    }
    let his = (0..12).filter(|number| awake(&world, &greedy, &format!("g{number}"))).count();
    assert_eq!(his, 4, "seven are not the other's, and what is free must be more than what he has");
    // Somebody new finds room at once, and nobody is put down for it.
    let (machines, newcomer) = (world.provider.machines(), Owner::parse("new").unwrap());
    world.create_for(&newcomer, "n").await;
    let mut run = Box::pin(world.eval_in(&newcomer, "n", Language::python(), "1"));
    assert!(futures::poll!(&mut run).is_ready());
    drop(run);
    assert_eq!(world.provider.machines(), machines + 1);
}

/// A sandbox that cannot be saved is passed over; without others it is waited for no longer than for anything else.
#[tokio::test]
async fn own_01_who_cannot_be_put_down_holds_up_nobody() {
    let world = World::new(narrow(3));
    for name in ["a", "b", "c", "d"] {
        world.create(name).await;
    }
    world.eval("a", "set hangs 1").await.unwrap();
    world.eval("b", "set hangs 1").await.unwrap();
    world.clock.advance(Duration::from_millis(10));
    world.eval("c", "set v 1").await.unwrap();
    let begin = std::time::Instant::now();
    world.eval("d", "set v 1").await.unwrap();
    assert!(begin.elapsed() < rules().patience, "{:?}", begin.elapsed());
    assert_eq!(world.variable("c", "v").await, "1");
}

#[tokio::test]
async fn a_sandbox_with_a_job_and_one_that_is_called_are_not_put_down() {
    let world = World::new(narrow(2));
    let (owner, handle) = (&world.owner, Handle::IdOrName("a"));
    for name in ["a", "b", "c"] {
        world.create(name).await;
    }
    world.eval("a", "set v 1").await.unwrap();
    let (_, job) = world.sandboxes.start_job(owner, &handle, CommandLine::new("wait")).await.unwrap();
    world.clock.advance(Duration::from_millis(10));
    world.eval("b", "set v 1").await.unwrap();
    world.eval("c", "set v 1").await.unwrap();
    assert!(awake(&world, owner, "a") && !awake(&world, owner, "b"));
    world.provider.let_go(1);
    job.wait().await;
    wait_until_async("the job ends", SOON, || job.ended().is_some()).await;
}
