//! Runs many small tests in sandboxes, one on each core.

use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use dormouse::{Access, Grants, GuestPath, Mount};
use dormouse_chores::progress::Progress;

/// Where a guest sees the tests.
pub(crate) const TESTS: &str = "/tests";

/// What a guest sees that reads a folder of tests.
pub(crate) fn reading(folder: &Path) -> Result<Grants> {
    let target = GuestPath::parse(TESTS)?;
    let mount = Mount { source: folder.to_path_buf(), target, access: Access::ReadOnly };
    Ok(Grants { mounts: vec![mount], ..Grants::default() })
}

/// Calls `test` for every item, as many at a time as there are cores; the results come in the order of the items.
pub(crate) fn each<T, R, F, Fut>(suite: &str, items: &[T], test: F) -> Result<Vec<R>>
where
    T: Sync,
    R: Send,
    F: Fn(usize) -> Fut + Sync,
    Fut: Future<Output = R>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let shown = Progress::new(suite).counted("running", items.len());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                runtime.block_on(async {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        if index >= items.len() {
                            break;
                        }
                        let result = test(index).await;
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                        shown.advance();
                    }
                });
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    (done.len() == items.len()).then_some(()).context("a test's thread died")?;
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// Whether a test belongs to the part of about one in `share` that is run for every change. The same tests each time.
pub(crate) fn is_in_share(name: &str, share: u32) -> bool {
    // FNV-1a: small, fixed, and spread well enough over names.
    let hash =
        name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) % share == 0
}

/// The first line of a text, cut to what a list of failures can show.
pub(crate) fn brief(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.chars().take(200).collect()
}
