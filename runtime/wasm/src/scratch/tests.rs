//! Folders come back empty or not at all, and nothing outlives its owner.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::Mode;

use super::{PREFIX, ScratchPool};

/// A pool in a folder that another pool removes afterwards.
fn nested() -> (ScratchPool, PathBuf, super::Scratch) {
    let outer = ScratchPool::new().unwrap().take().unwrap();
    let base = outer.path();
    (ScratchPool::under(base.clone()), base, outer)
}

/// Waits for the background, with a deadline: removing a folder takes milliseconds on a slow disk.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn an_untouched_folder_is_used_again() {
    let (pool, _, _outer) = nested();
    let first = pool.take().unwrap().path();
    assert_eq!(fs::metadata(&first).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(pool.take().unwrap().path(), first);
}

#[test]
fn two_runs_never_share_a_folder() {
    let (pool, _, _outer) = nested();
    let (one, other) = (pool.take().unwrap(), pool.take().unwrap());
    assert_ne!(one.path(), other.path());
}

#[test]
fn a_used_folder_is_removed_and_replaced() {
    let (pool, _, _outer) = nested();
    let used = pool.take().unwrap();
    let path = used.path();
    fs::write(path.join("secret"), "x").unwrap();
    drop(used);
    until("it is removed", || !path.exists());
    let next = pool.take().unwrap();
    assert_ne!(next.path(), path);
    assert_eq!(entries(&next.path()), 0);
}

#[test]
fn not_even_times_pass_from_one_run_to_the_next() {
    let (pool, _, _outer) = nested();
    let used = pool.take().unwrap();
    let path = used.path();
    fs::File::open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    drop(used);
    assert_ne!(pool.take().unwrap().path(), path);
}

#[test]
fn a_tree_of_ten_thousand_levels_is_removed() {
    let (pool, _, _outer) = nested();
    let used = pool.take().unwrap();
    let path = used.path();
    let mut level: OwnedFd = fs::File::open(&path).unwrap().into();
    for depth in 0..10_000 {
        rustix::fs::mkdirat(&level, "d", Mode::RWXU).unwrap();
        if depth % 100 == 0 {
            rustix::fs::mkdirat(&level, "side", Mode::RWXU).unwrap();
            rustix::fs::symlinkat("..", &level, "link").unwrap();
        }
        level = super::open_quietly(&level, "d").unwrap();
    }
    drop(level);
    drop(used);
    until("it is removed", || !path.exists());
    let run = path.parent().unwrap();
    until("nothing is left beside it", || entries(run) == 2);
    assert!(run.join(super::ROOT).exists(), "what is left is the root and the next run's folder");
}

#[test]
fn links_are_removed_and_not_followed() {
    let (pool, base, _outer) = nested();
    fs::create_dir(base.join("keep")).unwrap();
    fs::write(base.join("keep/file"), "x").unwrap();
    let used = pool.take().unwrap();
    let path = used.path();
    symlink(base.join("keep"), path.join("folder")).unwrap();
    symlink(base.join("keep/file"), path.join("file")).unwrap();
    drop(used);
    until("it is removed", || !path.exists());
    assert!(base.join("keep/file").exists());
}

#[test]
fn a_pool_leaves_nothing_behind() {
    let (pool, base, _outer) = nested();
    let folders: Vec<_> = (0..100).map(|_| pool.take().unwrap()).collect();
    for folder in &folders {
        fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
    }
    drop(pool);
    assert_eq!(entries(&base), 1, "folders in use outlive the pool");
    drop(folders);
    assert_eq!(entries(&base), 0);
}

#[test]
fn the_dead_are_swept_and_the_living_are_not() {
    let (pool, base, _outer) = nested();
    let dead = base.join(format!("{PREFIX}1-dead"));
    fs::create_dir_all(dead.join("s0/deep/er")).unwrap();
    fs::write(dead.join("s0/file"), "x").unwrap();
    fs::write(base.join(format!("{PREFIX}file")), "not a folder").unwrap();
    fs::create_dir(base.join("others")).unwrap();
    let living = ScratchPool::under(base.clone());
    let held = living.take().unwrap();

    let used = pool.take().unwrap();
    fs::write(used.path().join("a"), "x").unwrap();
    drop(used);
    until("the dead one is removed", || !dead.exists());
    assert!(held.path().exists() && base.join("others").exists());
}
