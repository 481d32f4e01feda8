//! Sandboxes that begin with something: whole or not at all, and one outcome for all who ask.

use futures::poll;

use super::fakes::{SOON, World, code, rules};
use crate::sandbox::{
    Created, Executed, Handle, Ledger as _, Name, Phase, ProviderName, Sandbox, SessionKey,
};
use crate::sandboxes::life::Asked;
use crate::sandboxes::{Beginning, CommandLine, View};
use crate::testing::wait_until_async;
use crate::{Error, ErrorCode, Result};

fn begins(line: &str) -> Option<Beginning> {
    let judge = |executed: Executed| match executed.outcome.exit_code() {
        0 => Ok(()),
        status => Err(Error::args_invalid(format!("it ended with {status}")).with_hint("none is left")),
    };
    Some(Beginning { line: CommandLine::new(line), judge })
}

fn asked(name: &str) -> Asked {
    let key = SessionKey::parse(&format!("key-{name}")).unwrap();
    Asked { name: Some(Name::parse(name).unwrap()), session_key: Some(key), ..Asked::default() }
}

async fn make(world: &World, name: &str, line: &str) -> Result<(View, bool)> {
    world.sandboxes.create_with(&world.owner, asked(name), begins(line)).await
}

#[tokio::test]
async fn mcp_08_all_who_ask_for_one_that_is_being_made_wait_for_it_and_get_it() {
    let world = World::new(rules());
    let mut first = Box::pin(make(&world, "a", "wait"));
    assert!(poll!(&mut first).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    assert_eq!((world.phase("a"), world.view("a").unwrap().status), ("creating", "provisioning"));
    assert_eq!(code(world.eval("a", "1").await), Some(ErrorCode::InvalidState));
    let (mut second, mut third) =
        (Box::pin(make(&world, "a", "exit 1")), Box::pin(world.sandboxes.create(&world.owner, asked("a"))));
    // Time and again: the third finds no key of another owner's, and nothing of the second is run.
    for _ in 0..100 {
        assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
        tokio::task::yield_now().await;
    }
    // Another process waits as well.
    let neighbour = world.neighbour();
    let mut fourth = Box::pin(neighbour.sandboxes.create(&world.owner, asked("a")));
    assert!(poll!(&mut fourth).is_pending());
    world.provider.let_go(1);
    let (first, second, third, fourth) = tokio::join!(first, second, third, fourth);
    let (first, others) = (first.unwrap(), [second.unwrap(), third.unwrap(), fourth.unwrap()]);
    assert!(first.1 && first.0.sandbox.phase == Phase::Running);
    for (view, is_new) in others {
        assert_eq!((&view.sandbox.id, is_new), (&first.0.sandbox.id, false));
    }
    world.eval("a", "set v 1").await.unwrap();
}

#[tokio::test]
async fn mcp_08_one_that_cannot_be_made_is_not_there_and_all_are_told_why() {
    let world = World::new(rules());
    let both = futures::future::join(make(&world, "a", "exit 3"), make(&world, "a", "exit 3")).await;
    for refused in [both.0, both.1] {
        let error = refused.err().unwrap();
        assert_eq!((error.code(), error.hint()), (ErrorCode::ArgsInvalid, Some("none is left")));
    }
    assert_eq!((world.phase("a"), world.provider.machines()), ("unknown_sandbox", 0));
    assert!(make(&world, "a", "echo 1").await.unwrap().1, "its name and its key are free");
}

#[tokio::test]
async fn mcp_05_one_that_nobody_waits_for_any_more_is_removed() {
    let world = World::new(rules());
    let (mut first, mut second) = (Box::pin(make(&world, "a", "wait")), Box::pin(make(&world, "a", "wait")));
    assert!(poll!(&mut first).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    while world.sandboxes.inner.makings.callers() < 2 {
        assert!(poll!(&mut second).is_pending());
        tokio::task::yield_now().await;
    }
    drop(first);
    for _ in 0..100 {
        assert!(poll!(&mut second).is_pending(), "somebody waits for it");
        tokio::task::yield_now().await;
    }
    assert_eq!((world.phase("a"), world.provider.waiting()), ("creating", 1));
    drop(second);
    wait_until_async("the sandbox is removed", SOON, || {
        world.phase("a") == "unknown_sandbox" && world.provider.machines() == 0
    })
    .await;
    assert!(make(&world, "a", "echo 1").await.unwrap().1);
}

#[tokio::test]
async fn mcp_05_the_name_of_one_that_nobody_waits_for_any_more_is_free_at_once() {
    let world = World::new(rules());
    for _ in 0..10 {
        let mut first = Box::pin(make(&world, "a", "wait"));
        assert!(poll!(&mut first).is_pending());
        wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
        drop(first);
        let by_name = Asked { session_key: None, ..asked("a") };
        assert!(world.sandboxes.create(&world.owner, by_name).await.unwrap().1);
        world.sandboxes.destroy(&world.owner, &Handle::IdOrName("a")).await.unwrap();
    }
    // And a process that ends leaves nothing of it.
    let mut last = Box::pin(make(&world, "a", "wait"));
    assert!(poll!(&mut last).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    drop(last);
    world.sandboxes.close().await.unwrap();
    assert_eq!(world.phase("a"), "unknown_sandbox");
}

#[tokio::test]
async fn mcp_08_destroying_one_that_is_being_made_ends_its_making() {
    let world = World::new(rules());
    let mut making = Box::pin(make(&world, "a", "wait"));
    assert!(poll!(&mut making).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    let destroy = world.sandboxes.destroy(&world.owner, &Handle::IdOrName("a"));
    let (made, destroyed) = tokio::join!(making, destroy);
    assert_eq!(code(made), Some(ErrorCode::Cancelled));
    destroyed.unwrap();
    assert_eq!((world.phase("a"), world.provider.machines()), ("unknown_sandbox", 0));
}

/// What a process leaves that is killed while it makes one.
async fn left(world: &World, name: &str) -> Sandbox {
    let draft = world.sandboxes.draft(&world.owner, asked(name)).await.unwrap();
    match world.ledger.create(&draft, &rules().quota).unwrap() {
        Created::New(sandbox) => sandbox,
        Created::Existing(_) => panic!("there was one"),
    }
}

#[tokio::test]
async fn lif_01_what_a_killed_process_was_making_keeps_neither_its_name_nor_its_key() {
    let world = World::new(rules());
    let old = left(&world, "a").await;
    let by_name = Asked { session_key: None, ..asked("a") };
    let (made, is_new) = world.sandboxes.create(&world.owner, by_name).await.unwrap();
    assert!(is_new && made.sandbox.id != old.id);
    let old = left(&world, "b").await;
    let by_key = Asked { name: None, ..asked("b") };
    let (made, is_new) = world.sandboxes.create(&world.owner, by_key).await.unwrap();
    assert!(is_new && made.sandbox.id != old.id);
    left(&world, "c").await;
    assert!(make(&world, "c", "echo 1").await.unwrap().1);
    left(&world, "d").await;
    assert_eq!(code(world.eval("d", "1").await), Some(ErrorCode::UnknownSandbox), "nobody will make it");
}

#[tokio::test]
async fn one_that_cannot_be_saved_is_not_made() {
    let world = World::new(rules());
    let mut making = Box::pin(make(&world, "a", "wait"));
    assert!(poll!(&mut making).is_pending());
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    world.ledger.set_full(true);
    world.provider.let_go(1);
    assert_eq!(code(making.await), Some(ErrorCode::StateUnavailable));
    world.ledger.set_full(false);
    assert!(make(&world, "a", "echo 1").await.unwrap().1, "what is left of it is nobody's");
}

#[tokio::test]
async fn it_runs_where_it_was_to_run() {
    let world = World::new(rules());
    let (made, _) = make(&world, "a", "echo 1").await.unwrap();
    let asked = rules().defaults;
    assert_eq!((made.sandbox.spec.provider, made.sandbox.spec.memory), (ProviderName::Wasm, asked.memory));
}
