//! The live files of one sandbox: a tree, and who has what open.
//!
//! Owns: the lock, the clock, the count of open handles, and that a file without a name lives as long as it is open.
//! Does not own: what handles do (`handle`), what tools do by path (`host`).

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use dormouse_types::{Access, GuestPath, Result};

use crate::block;
use crate::handle::Handle;
use crate::node::{Ino, Kind, ROOT};
use crate::tree::Tree;
use crate::{Errno, Held, Quota, Usage};

/// Bytes that count as in memory without a look, and that may come or go without another one (8 MiB).
const FEW: u64 = 8 << 20;

/// The files of a sandbox, shared by its interpreters and its tools. Clones are the same files.
///
/// Every call takes one short lock and waits for nothing else, except that the first use of a block of a loaded tree reads
/// it from its store.
#[derive(Clone)]
pub struct Files(Arc<Shared>);

struct Shared {
    live: Mutex<Live>,
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
}

/// What the lock guards.
pub(crate) struct Live {
    pub(crate) tree: Tree,
    /// Open handles by node.
    open: HashMap<Ino, usize>,
    /// How often the tree was replaced: handles of an earlier one are dead.
    era: u64,
    looked: Option<Looked>,
}

/// What was found of the tree in memory, and what there was then.
#[derive(Clone, Copy)]
struct Looked {
    era: u64,
    used: u64,
    /// Bytes that had come and gone, of all files of the process.
    moved: u64,
    in_memory: u64,
}

impl Looked {
    /// Whether little can have changed since.
    fn holds(&self, era: u64, used: u64, moved: u64) -> bool {
        self.era == era && self.used.abs_diff(used) <= FEW && moved.wrapping_sub(self.moved) <= FEW
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl Files {
    /// Opens a tree, with the host's clock for its times.
    pub fn new(tree: Tree) -> Self {
        Self::with_clock(tree, || {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        })
    }

    /// Opens a tree whose times are read from `clock`, in nanoseconds since 1970: for reproducible runs.
    pub fn with_clock(tree: Tree, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let live = Mutex::new(Live { tree, open: HashMap::new(), era: 0, looked: None });
        Self(Arc::new(Shared { live, clock: Box::new(clock) }))
    }

    /// The tree as it is now: a checkpoint, or the start of a fork. Takes constant time, and a little for each open handle.
    /// Files that have no name, only handles, are not in it.
    pub fn snapshot(&self) -> Tree {
        self.snapshot_with(&[])
    }

    /// The same, with the files that have no name but are held open by one of these; see [`Files::hold`].
    pub fn snapshot_with(&self, held: &[Held]) -> Tree {
        self.with(|live, _| {
            let mut tree = live.tree.clone();
            let open = live.open.keys().copied().filter(|ino| live.tree.is_unnamed(*ino));
            let unnamed: HashSet<Ino> = open.chain(live.tree.unnamed_nodes()).collect();
            tree.unnamed = 0;
            for ino in unnamed {
                if held.iter().any(|one| one.is(ino)) {
                    tree.unnamed += 1;
                } else {
                    tree.forget(ino);
                }
            }
            tree
        })
    }

    /// Puts another tree in place. Open handles answer `BadDescriptor` from now on.
    pub fn restore(&self, tree: Tree) {
        self.with(|live, _| {
            live.open.clear();
            live.era += 1;
            live.tree = tree;
        });
    }

    /// What the tree may hold.
    pub fn quota(&self) -> Quota {
        self.with(|live, _| live.tree.quota())
    }

    /// Lets go of the files of a tree just put in place that have no name, unless a handle holds them.
    pub fn forget_unheld(&self) {
        self.with(|live, _| {
            for ino in live.tree.unnamed_nodes() {
                live.release(Some(ino));
            }
            live.tree.unnamed = 0;
        });
    }

    /// Changes what the tree may hold; see [`Tree::with_quota`].
    pub fn set_quota(&self, quota: Quota) {
        self.with(|live, _| live.tree = live.tree.clone().with_quota(quota));
    }

    /// What the tree holds, open files without a name included.
    pub fn usage(&self) -> Usage {
        self.with(|live, _| live.tree.usage())
    }

    /// Bytes of the tree's files that are in memory, to within 16 MiB. Takes no lock while it looks through the tree, which it does
    /// only where more than 8 MiB have come or gone since it did.
    pub fn in_memory(&self) -> u64 {
        let moved = block::moved();
        let (tree, era) = self.with(|live, _| {
            let used = live.tree.used.bytes;
            match live.looked.filter(|looked| looked.holds(live.era, used, moved)) {
                Some(looked) => (Err(looked.in_memory), live.era),
                // What little there is need not be looked through.
                None if used <= FEW => (Err(used), live.era),
                None => (Ok(live.tree.clone()), live.era),
            }
        });
        let tree = match tree {
            Ok(tree) => tree,
            Err(known) => return known,
        };
        let (used, in_memory) = (tree.used.bytes, tree.in_memory());
        self.with(|live, _| live.looked = Some(Looked { era, used, moved, in_memory }));
        in_memory
    }

    /// Number of open handles.
    pub fn handles(&self) -> usize {
        self.with(|live, _| live.open.values().sum())
    }

    /// A handle on a folder, to be given to a guest as one of its first: nothing above it can be reached through it.
    ///
    /// # Errors
    /// `not_found`; `args_invalid` when it is not a folder.
    pub fn open_folder(&self, path: &GuestPath, access: Access) -> Result<Handle> {
        let opened = self.with(|live, _| {
            let found = live.tree.resolve(ROOT, relative(path), true)?.found()?;
            if found.kind != Kind::Folder {
                return Err(Errno::NotDirectory);
            }
            Ok(Handle::folder(self, live, found.ino, access == Access::ReadWrite))
        });
        opened.map_err(|errno| errno.at(path))
    }

    /// Works under the lock, with the time.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Live, u64) -> T) -> T {
        let now = (self.0.clock)();
        work(&mut self.0.live.lock().unwrap_or_else(PoisonError::into_inner), now)
    }

    /// Whether these are the same files.
    pub(crate) fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Live {
    /// Counts one more handle on a node; answers the era it belongs to.
    pub(crate) fn open(&mut self, ino: Ino) -> u64 {
        *self.open.entry(ino).or_default() += 1;
        self.era
    }

    /// Refuses a handle of an earlier tree.
    pub(crate) fn alive(&self, era: u64) -> Result<(), Errno> {
        if era == self.era { Ok(()) } else { Err(Errno::BadDescriptor) }
    }

    /// Counts one handle less; lets go of a node that has no name and no other handle.
    pub(crate) fn close(&mut self, ino: Ino, era: u64) {
        if era != self.era {
            return;
        }
        if let Some(count) = self.open.get_mut(&ino) {
            *count -= 1;
            if *count == 0 {
                self.open.remove(&ino);
                self.tree.forget(ino);
            }
        }
    }

    /// Lets go of a node that lost its last name, unless it is open.
    pub(crate) fn release(&mut self, gone: Option<Ino>) {
        if let Some(ino) = gone
            && !self.open.contains_key(&ino)
        {
            self.tree.forget(ino);
        }
    }

    /// Does all of it or nothing.
    pub(crate) fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let before = self.tree.clone();
        let done = work(self);
        if done.is_err() {
            self.tree = before;
        }
        done
    }

    /// Checks everything about the tree; for tests.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        self.tree.audit(self.open.len()).unwrap();
    }
}

/// A sandbox path as one that starts at `/`.
pub(crate) fn relative(path: &GuestPath) -> &str {
    match path.as_str().trim_start_matches('/') {
        "" => ".",
        path => path,
    }
}
