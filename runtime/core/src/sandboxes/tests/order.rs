//! Whoever comes first is first, whatever each has to wait for.

use std::sync::Arc;

use async_trait::async_trait;
use futures::poll;

use super::fakes::{SOON, World, code, rules};
use crate::packages::{
    Fetched, Package, PackageFile, PackageManager, PackageProgress, PackageRequest, Packages,
};
use crate::sandbox::{Batch, Handle, Quota, Share};
use crate::sandboxes::{CommandLine, Rules};
use crate::testing::wait_until_async;
use crate::{Error, ErrorCode, GuestPath, Result};

const HANDLE: Handle<'_> = Handle::IdOrName("a");

fn path(name: &str) -> GuestPath {
    GuestPath::parse(name).unwrap()
}

/// A call that can make the sandbox grow looks at what is kept first; one that cannot does not.
#[tokio::test]
async fn a_call_that_has_to_look_first_is_not_overtaken() {
    let saved = Share { of_owner: Some(1 << 30), in_all: Some(1 << 30) };
    let world = World::new(Rules { quota: Quota { saved, ..rules().quota }, ..rules() });
    world.create("a").await;
    for round in 0..20usize {
        // Looked at anew, which takes a moment.
        world.clock.advance(std::time::Duration::from_secs(2));
        let text = format!("set v {}", "x".repeat(round));
        let (set, length) = tokio::join!(world.eval("a", &text), world.variable_now("a"));
        set.unwrap();
        assert_eq!(length, round);
    }
}

#[tokio::test]
async fn several_things_within_one_turn_have_nothing_between_them() {
    let world = World::new(rules());
    world.create("a").await;
    let both = world.sandboxes.at_one_turn(async {
        world.eval("a", "set v 1").await.unwrap();
        tokio::task::yield_now().await;
        world.eval("a", "wait").await.unwrap();
        world.variable("a", "v").await
    });
    let mut both = Box::pin(both);
    assert!(poll!(&mut both).is_pending());
    let mut between = Box::pin(world.eval("a", "set v 2"));
    assert!(poll!(&mut between).is_pending());
    world.provider.let_go(1);
    let (both, between) = tokio::join!(both, between);
    between.unwrap();
    assert_eq!(both, "1");
    assert_eq!(world.variable("a", "v").await, "2");
}

/// FS-09 holds when nobody waits any more.
#[tokio::test]
async fn fs_09_an_upload_that_is_given_up_is_whole_or_not_there() {
    let world = World::new(rules());
    world.create("a").await;
    let files = || (0..10).map(|at| (path(&format!("/workspace/{at}")), vec![1])).collect::<Vec<_>>();
    for looks in 1..12 {
        let mut upload = Box::pin(world.sandboxes.upload(&world.owner, &HANDLE, Vec::new(), files()));
        for _ in 0..looks {
            if poll!(&mut upload).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(upload);
        let listed = world.sandboxes.list_files(&world.owner, &HANDLE, path("/workspace"), false, 100).await;
        let count = listed.unwrap().0.len();
        assert!([0, 10].contains(&count), "after {looks} looks: {count}");
        world.sandboxes.reset(&world.owner, &HANDLE).await.unwrap();
        for at in 0..10 {
            let _ = world
                .sandboxes
                .remove_file(&world.owner, &HANDLE, path(&format!("/workspace/{at}")), false)
                .await;
        }
    }
}

/// Whoever unpacks an archive begins when the sandbox is there for it: nothing lies in memory meanwhile.
#[tokio::test]
async fn contents_that_have_to_be_made_are_made_when_the_turn_has_come() {
    let world = World::new(rules());
    world.create("a").await;
    let mut running = Box::pin(world.eval("a", "wait"));
    assert!(poll!(&mut running).is_pending());
    let (made, are_made) = tokio::sync::oneshot::channel();
    let contents = async move {
        made.send(()).unwrap();
        Ok(Batch { folders: Vec::new(), files: vec![(path("/workspace/f"), vec![1, 2])] })
    };
    let mut upload = Box::pin(world.sandboxes.upload_at_its_turn(&world.owner, &HANDLE, contents));
    let mut are_made = Box::pin(are_made);
    for _ in 0..20 {
        assert!(poll!(&mut upload).is_pending() && poll!(&mut are_made).is_pending());
        tokio::task::yield_now().await;
    }
    world.provider.let_go(1);
    let (running, uploaded) = tokio::join!(running, upload);
    running.unwrap();
    assert_eq!(uploaded.unwrap(), (1, 2));

    let refused = async { Err(Error::args_invalid("no archive")) };
    let refused = world.sandboxes.upload_at_its_turn(&world.owner, &HANDLE, refused).await;
    assert_eq!(code(refused), Some(ErrorCode::ArgsInvalid));
    let listed = world.sandboxes.list_files(&world.owner, &HANDLE, path("/workspace"), false, 100).await;
    assert_eq!(listed.unwrap().0.len(), 1);
}

/// Ten packages of one file each, that take a moment to come.
struct Ten;

#[async_trait]
impl Packages for Ten {
    async fn fetch(&self, _: &PackageRequest, _: PackageProgress<'_>) -> Result<Fetched> {
        tokio::task::yield_now().await;
        let package = |at| {
            let (name, path) = (format!("p{at}"), format!("node_modules/p{at}"));
            let file =
                PackageFile { path: format!("{path}/index.js"), bytes: b"1".to_vec(), executable: false };
            let version = "1.0.0".to_owned();
            Package { name, version, path, sha256: String::new(), files: vec![file] }
        };
        Ok(Fetched { packages: (0..10).map(package).collect(), ..Fetched::default() })
    }
}

/// The same of an installation, whether it is given up while packages come or while they are written.
#[tokio::test]
async fn fs_09_an_installation_that_is_given_up_is_whole_or_not_there() {
    let (mut none, mut all) = (0, 0);
    for looks in 0..60 {
        let world = World::new(rules());
        world.sandboxes.supply(Arc::new(Ten), "3.14.0");
        world.create("a").await;
        let names = (0..10).map(|at| format!("p{at}")).collect();
        let (manager, silent) = (PackageManager::Npm, |_| ());
        let mut installation =
            Box::pin(world.sandboxes.install(&world.owner, &HANDLE, manager, names, false, &silent));
        for _ in 0..looks {
            if poll!(&mut installation).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(installation);
        let listed = world.sandboxes.list_files(&world.owner, &HANDLE, path("/workspace"), true, 100).await;
        let entries = listed.unwrap().0;
        let files = entries.iter().filter(|entry| entry.path.ends_with("index.js")).count();
        let named = entries.iter().any(|entry| entry.path.ends_with("package.json"));
        match (files, named) {
            (0, false) => none += 1,
            (10, true) => all += 1,
            half => panic!("after {looks} looks: {half:?}"),
        }
    }
    assert!(none > 1 && all > 1, "{none} without and {all} with packages");
}

/// Jobs end with what they run on, and that goes on when a restore cannot be saved.
#[tokio::test]
async fn a_restore_that_cannot_be_saved_leaves_jobs_running() {
    let world = World::new(rules());
    world.create("a").await;
    world.eval("a", "set v 1").await.unwrap();
    let include = crate::sandbox::Include::Both;
    let (kept, _) = world.sandboxes.checkpoint(&world.owner, &HANDLE, None, include).await.unwrap();
    let (_, job) = world.sandboxes.start_job(&world.owner, &HANDLE, CommandLine::new("wait")).await.unwrap();
    wait_until_async("the run waits", SOON, || world.provider.waiting() == 1).await;
    world.ledger.set_full(true);
    let restore = || world.sandboxes.restore(&world.owner, &HANDLE, kept.label.id.as_str());
    assert_eq!(code(restore().await), Some(ErrorCode::StateUnavailable));
    assert!(job.ended().is_none());
    world.ledger.set_full(false);
    restore().await.unwrap();
    job.wait().await;
    assert!(job.ended().unwrap().0.is_err());
}
