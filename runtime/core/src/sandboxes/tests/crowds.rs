//! Very many sandboxes, and very many calls at once.

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::task::JoinSet;

use super::fakes::{World, code, rules};
use crate::sandbox::{Handle, Quota};
use crate::sandboxes::Rules;
use crate::{ErrorCode, GuestPath};

const MANY: usize = 1_000;

fn many() -> Rules {
    Rules {
        quota: Quota { per_owner: 1_000, in_all: 1_000, checkpoints: 1, ..Quota::default() },
        waiting: 32,
        ..rules()
    }
}

#[tokio::test]
async fn mcp_06_a_thousand_sandboxes_and_ten_thousand_calls() {
    let world = World::new(many());
    let names: Vec<String> = (0..MANY).map(|number| format!("box-{number}")).collect();
    for name in &names {
        world.create(name).await;
    }
    let refused = world.sandboxes.create(&world.owner, Default::default()).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QuotaExceeded);
    assert!(refused.message().contains("1000"), "{refused}");

    let mut calls: FuturesUnordered<_> =
        (0..10).flat_map(|_| &names).map(|name| world.eval(name, "wait")).collect();
    assert!(futures::poll!(calls.next()).is_pending());
    // 64 run; the others wait, and each wait has its bound.
    assert!((1..=64).contains(&world.provider.waiting()), "{}", world.provider.waiting());
    world.provider.let_go(10 * MANY);
    let (mut done, mut busy) = (0, 0);
    while let Some(answer) = calls.next().await {
        match answer.map_err(|error| error.code()) {
            Ok(_) => done += 1,
            Err(ErrorCode::Busy) => busy += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(done + busy, 10 * MANY);
    assert!(done >= 64, "{done} of them ran");
    drop(calls);
    for name in &names {
        world.eval(name, "set v 1").await.unwrap();
    }
    world.sandboxes.destroy(&world.owner, &Handle::IdOrName("box-7")).await.unwrap();
    world.create("in its place").await;
}

#[tokio::test]
async fn mcp_06_a_thousand_calls_on_one_sandbox() {
    let world = World::new(many());
    world.create("a").await;
    let mut calls: FuturesUnordered<_> = (0..MANY).map(|_| world.eval("a", "wait")).collect();
    let mut busy = 0;
    while let std::task::Poll::Ready(Some(answer)) = futures::poll!(calls.next()) {
        let error = answer.unwrap_err();
        assert!(error.message().starts_with("32 calls are already waiting"), "{error}");
        assert_eq!(error.code(), ErrorCode::Busy);
        busy += 1;
    }
    assert_eq!((busy, world.provider.waiting()), (MANY - 33, 1));
    world.provider.let_go(33);
    while let Some(answer) = calls.next().await {
        answer.unwrap();
    }
    drop(calls);
    assert_eq!(code(world.eval("a", "1").await), None);
}

/// One of the contents that were written, never a mix.
#[tokio::test]
async fn fs_10_writes_of_one_file_at_once_come_one_after_the_other() {
    let world = World::new(many());
    world.create("a").await;
    let handle = Handle::IdOrName("a");
    let path = || GuestPath::parse("/workspace/f").unwrap();
    let mut writes = JoinSet::new();
    for byte in 0..20u8 {
        let (sandboxes, owner) = (world.sandboxes.clone(), world.owner.clone());
        let files = vec![(path(), vec![byte; 1 << 20])];
        writes
            .spawn(async move { sandboxes.upload(&owner, &Handle::IdOrName("a"), Vec::new(), files).await });
    }
    while let Some(written) = writes.join_next().await {
        written.unwrap().unwrap();
        let read = world.sandboxes.read(&world.owner, &handle, path(), 0, u64::MAX).await.unwrap().bytes;
        assert!(read.len() == 1 << 20 && read.iter().all(|byte| *byte == read[0]));
    }
    // Destroyed in the middle of an upload, it is gone as a whole.
    let upload = world.sandboxes.upload(&world.owner, &handle, Vec::new(), vec![(path(), vec![1; 10])]);
    let (upload, destroyed) = tokio::join!(upload, world.sandboxes.destroy(&world.owner, &handle));
    destroyed.unwrap();
    let upload = code(upload);
    assert!(matches!(upload, None | Some(ErrorCode::UnknownSandbox | ErrorCode::Cancelled)), "{upload:?}");
    assert_eq!(world.phase("a"), "unknown_sandbox");
    world.sandboxes.sweep().await.unwrap();
}
