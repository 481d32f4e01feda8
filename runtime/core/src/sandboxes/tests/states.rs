//! Checkpoints, restores, forks, and files that are written together.

use std::time::Duration;

use super::fakes::{World, code, rules};
use crate::sandbox::{Handle, Include, Name, Owner, Quota, Sandbox, SandboxSpec, StopReason};
use crate::sandboxes::{Asked, Rules};
use crate::{ErrorCode, GuestPath, Policy};

const A: Handle<'static> = Handle::IdOrName("a");

fn path(path: &str) -> GuestPath {
    GuestPath::parse(path).unwrap()
}

#[tokio::test]
async fn a_restore_goes_back_and_each_refusal_has_its_code() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.create("b").await;
    world.eval("a", "set v 1").await.unwrap();
    let name = Some(Name::parse("before").unwrap());
    let (saved, _) = sandboxes.checkpoint(owner, &A, name, Include::Both).await.unwrap();
    let id = saved.label.id.as_str();
    world.eval("a", "set v 2").await.unwrap();
    sandboxes.restore(owner, &A, id).await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
    world.eval("a", "set v 3").await.unwrap();
    sandboxes.restore(owner, &A, "before").await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1", "a name does as well");

    let other = sandboxes.restore(owner, &Handle::IdOrName("b"), id).await;
    assert_eq!(code(other), Some(ErrorCode::CheckpointOfOtherSandbox));
    let stranger = Owner::parse("somebody").unwrap();
    assert_eq!(code(sandboxes.restore(&stranger, &A, id).await), Some(ErrorCode::UnknownSandbox));
    let made_up = format!("ckpt-{}", "a".repeat(26));
    for id in ["", "../x", &made_up, &"x".repeat(10_000)] {
        let error = sandboxes.restore(owner, &A, id).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::UnknownCheckpoint);
        assert!(error.message().len() < 200);
    }
    assert_eq!(sandboxes.checkpoints(owner, &A).await.unwrap(), std::slice::from_ref(&saved));
    let other = sandboxes.remove_checkpoint(owner, &Handle::IdOrName("b"), id).await;
    assert_eq!(code(other), Some(ErrorCode::CheckpointOfOtherSandbox));
    assert_eq!(code(sandboxes.remove_checkpoint(&stranger, &A, id).await), Some(ErrorCode::UnknownSandbox));
    assert_eq!(sandboxes.remove_checkpoint(owner, &A, "before").await.unwrap(), saved);
    let again = sandboxes.remove_checkpoint(owner, &A, id).await;
    assert_eq!(code(again), Some(ErrorCode::UnknownCheckpoint));
}

#[tokio::test]
async fn a_checkpoint_of_the_files_leaves_the_variables_and_their_number_is_bounded() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "write /x 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Files).await.unwrap();
    world.eval("a", "write /x 2").await.unwrap();
    world.eval("a", "set v new").await.unwrap();
    sandboxes.restore(owner, &A, saved.label.id.as_str()).await.unwrap();
    let bytes = sandboxes.read(owner, &A, path("/x"), 0, 9).await.unwrap().bytes;
    assert_eq!((bytes.as_slice(), world.variable("a", "v").await.as_str()), (&b"1"[..], "new"));
    for _ in 0..2 {
        sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    }
    let more = sandboxes.checkpoint(owner, &A, None, Include::Both).await;
    assert_eq!(code(more), Some(ErrorCode::QuotaExceeded));
}

#[tokio::test]
async fn forks_begin_alike_and_go_their_own_ways() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let forks = sandboxes.fork(owner, &A, 3, None).await.unwrap();
    let ids: Vec<&str> = forks.iter().map(|view| view.sandbox.id.as_str()).collect();
    world.eval(ids[0], "set v 2").await.unwrap();
    world.eval("a", "set v 3").await.unwrap();
    for (id, value) in [(ids[0], "2"), (ids[1], "1"), (ids[2], "1"), ("a", "3")] {
        assert_eq!(world.variable(id, "v").await, value, "{id}");
    }
    // What nobody has called here is known elsewhere.
    sandboxes.close().await.unwrap();
    assert_eq!(world.neighbour().variable(ids[1], "v").await, "1");

    for count in [0, 1_001] {
        assert_eq!(code(sandboxes.fork(owner, &A, count, None).await), Some(ErrorCode::ArgsInvalid));
    }
    assert_eq!(code(sandboxes.fork(owner, &A, 7, None).await), Some(ErrorCode::QuotaExceeded));
    assert_eq!(sandboxes.list(owner, None, None, 100).await.unwrap().len(), 4, "all or none");
}

/// Looking at what a stopped sandbox holds is no call of it.
#[tokio::test]
async fn a_stopped_sandbox_stays_stopped_when_it_is_copied() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let stopped = sandboxes.stop(owner, &A, StopReason::User).await.unwrap().sandbox;
    world.clock.advance(Duration::from_secs(60));
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    let forks = sandboxes.fork(owner, &A, 1, None).await.unwrap();
    let now = world.view("a").unwrap();
    assert_eq!((now.status, now.awake.len()), ("shutdown", 0));
    let times = |record: &Sandbox| (record.stopped_at, record.last_activity_at, record.stop_reason);
    assert_eq!(times(&now.sandbox), times(&stopped));
    assert_eq!(world.neighbour().view("a").unwrap().status, "shutdown");
    assert_eq!(world.variable(forks[0].sandbox.name.as_str(), "v").await, "1");
    world.eval("a", "set v 2").await.unwrap();
    assert_eq!(world.phase("a"), "running");
    sandboxes.restore(owner, &A, saved.label.id.as_str()).await.unwrap();
    assert_eq!(world.variable("a", "v").await, "1");
}

#[tokio::test]
async fn a_fork_of_a_checkpoint_begins_where_that_was() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let (saved, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    world.eval("a", "set v 2").await.unwrap();
    let forks = sandboxes.fork(owner, &A, 1, Some(saved.label.id.as_str())).await.unwrap();
    assert_eq!(world.variable(forks[0].sandbox.id.as_str(), "v").await, "1");
}

#[tokio::test]
async fn an_upload_that_does_not_fit_leaves_the_files_as_they_were() {
    let defaults = SandboxSpec { disk: 10, ..SandboxSpec::default() };
    let quota = Quota { per_owner: 2, in_all: 2, checkpoints: 1, ..Quota::default() };
    let world = World::new(Rules { defaults, quota, ..rules() });
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "write /x old").await.unwrap();
    let files = vec![(path("/x"), b"new".to_vec()), (path("/y"), vec![0; 20])];
    let refused = sandboxes.upload(owner, &A, vec![path("/f")], files).await;
    assert_eq!(code(refused), Some(ErrorCode::LimitDisk));
    let (entries, _) = sandboxes.list_files(owner, &A, path("/"), true, 10).await.unwrap();
    assert_eq!(entries.iter().map(|entry| entry.path.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(sandboxes.read(owner, &A, path("/x"), 0, 9).await.unwrap().bytes, b"old");
    assert_eq!(sandboxes.append(owner, &A, path("/x"), b"er".to_vec()).await.unwrap(), 5);
    assert_eq!(sandboxes.append(owner, &A, path("/z"), b"1".to_vec()).await.unwrap(), 1);
    let rest = sandboxes.read(owner, &A, path("/x"), 1, 99).await.unwrap();
    assert_eq!((&rest.bytes[..], rest.size), (&b"lder"[..], 5));
}

#[tokio::test]
async fn a_file_longer_than_one_read_comes_whole() {
    let world = World::new(rules());
    world.create("a").await;
    let bytes: Vec<u8> = (0..3u32 << 20).map(|at| at.to_le_bytes()[1]).collect();
    world.sandboxes.write(&world.owner, &A, path("/big"), bytes.clone()).await.unwrap();
    let read = world.sandboxes.read(&world.owner, &A, path("/big"), 1, u64::MAX).await.unwrap();
    assert_eq!((read.size, read.bytes == bytes[1..]), (3 << 20, true));
}

/// S2-22: what one owner has prepared is where another's sandbox begins, if the operator says so.
#[tokio::test]
async fn an_image_is_a_checkpoint_that_is_offered_to_all() {
    let world = World::new(rules());
    let (sandboxes, owner) = (&world.sandboxes, &world.owner);
    world.create("a").await;
    world.eval("a", "set v prepared").await.unwrap();
    let (both, _) = sandboxes.checkpoint(owner, &A, None, Include::Both).await.unwrap();
    let (memory, _) = sandboxes.checkpoint(owner, &A, None, Include::Memory).await.unwrap();
    world.eval("a", "set v later").await.unwrap();
    let images = [("data", &both), ("bare", &memory)];
    let images = images.map(|(name, checkpoint)| (name.to_owned(), checkpoint.label.id.clone())).into();
    let offering = world.neighbour_with(Policy::default(), Rules { images, ..rules() });
    let stranger = Owner::parse("stranger").unwrap();
    let asked = |image: &str| {
        let spec = SandboxSpec { image: Some(image.to_owned()), ..SandboxSpec::default() };
        Asked { spec: Some(spec), name: Some(Name::parse(image).unwrap()), ..Asked::default() }
    };
    let (made, _) = offering.sandboxes.create(&stranger, asked("data")).await.unwrap();
    assert_eq!(made.sandbox.owner, stranger);
    let seen = offering.eval_in(&stranger, "data", crate::Language::python(), "get v").await.unwrap();
    assert!(format!("{:?}", seen.status).contains("prepared"), "{:?}", seen.status);
    assert_eq!(world.variable("a", "v").await, "later");

    let refused = |image: &str| {
        let made = offering.sandboxes.create(&stranger, asked(image));
        async { code(made.await) }
    };
    assert_eq!(refused("other").await, Some(ErrorCode::ArgsInvalid));
    assert_eq!(refused("bare").await, Some(ErrorCode::CapabilityUnavailable), "it holds no files");
    assert_eq!(code(world.sandboxes.create(owner, asked("data")).await), Some(ErrorCode::ArgsInvalid));
    sandboxes.remove_checkpoint(owner, &A, both.label.id.as_str()).await.unwrap();
    let again = Asked { name: None, ..asked("data") };
    let gone = offering.sandboxes.create(&stranger, again).await;
    assert_eq!(code(gone), Some(ErrorCode::CapabilityUnavailable));
    let kept = offering.eval_in(&stranger, "data", crate::Language::python(), "get v").await.unwrap();
    assert!(format!("{:?}", kept.status).contains("prepared"), "what was made of it stays");
}
