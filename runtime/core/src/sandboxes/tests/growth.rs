//! What may be saved, and what an owner can do who has saved too much.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::sandbox::{Handle, Include, Quota, Share};
use crate::sandboxes::Rules;
use crate::{ErrorCode, GuestPath};

const A: Handle<'static> = Handle::IdOrName("a");

fn bounded(of_owner: Option<u64>, in_all: Option<u64>) -> World {
    let saved = Share { of_owner, in_all };
    World::new(Rules { quota: Quota { saved, ..rules().quota }, ..rules() })
}

fn hold(seed: char, bytes: usize) -> String {
    format!("set v {}", seed.to_string().repeat(bytes))
}

#[tokio::test]
async fn own_02_nothing_that_was_answered_is_lost_and_nothing_more_is_begun() {
    let world = bounded(Some(1_000), None);
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    let path = || GuestPath::parse("/f").unwrap();
    world.create("a").await;
    world.eval("a", &hold('x', 600)).await.unwrap();
    sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    // This one goes past the quota; it is saved.
    world.eval("a", &hold('y', 700)).await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    assert_eq!(world.neighbour().variable_now("a").await, 700);
    world.clock.advance(Duration::from_secs(2));
    for refused in [
        code(world.eval("a", "set v 1").await),
        code(sandboxes.write(owner, &A, path(), vec![1]).await),
        code(sandboxes.append(owner, &A, path(), vec![1]).await),
        code(sandboxes.upload(owner, &A, Vec::new(), vec![(path(), vec![1])]).await),
        code(sandboxes.checkpoint(owner, &A, None, Include::Both).await),
        code(sandboxes.fork(owner, &A, 1, None).await),
        code(sandboxes.create(owner, Default::default()).await),
    ] {
        assert_eq!(refused, Some(ErrorCode::QuotaExceeded));
    }
    // What looks, goes back, puts away and removes is taken.
    sandboxes.list_files(owner, &A, GuestPath::parse("/").unwrap(), true, 9).await.unwrap();
    sandboxes.stop(owner, &A, crate::sandbox::StopReason::User).await.unwrap();
    sandboxes.resume(owner, &A).await.unwrap();
    let checkpoints = sandboxes.checkpoints(owner, &A).await.unwrap();
    sandboxes.remove_checkpoint(owner, &A, checkpoints[0].label.id.as_str()).await.unwrap();
    world.eval("a", "set v 1").await.unwrap();
}

#[tokio::test]
async fn own_02_what_nobody_needs_any_more_is_swept_before_anybody_is_refused() {
    let world = bounded(None, Some(3_500));
    world.create("a").await;
    for seed in ['1', '2', '3', '4', '5', '6'] {
        world.eval("a", &hold(seed, 700)).await.unwrap();
        world.pass(Duration::from_secs(2)).await;
    }
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    for seed in ['a', 'b', 'c'] {
        world.eval("a", &hold(seed, 700)).await.unwrap();
        sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
        world.clock.advance(Duration::from_secs(2));
    }
    // Three checkpoints and the sandbox's own state: the room is really taken.
    world.eval("a", &hold('d', 1_500)).await.unwrap();
    world.pass(Duration::from_secs(2)).await;
    let refused = world.eval("a", "set v 1").await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QuotaExceeded);
    assert!(refused.message().contains("all owners"), "{refused}");
}
