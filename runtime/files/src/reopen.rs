//! Handles that last: what a handle stands for in words that can be saved, and a handle made of them.
//!
//! Owns: that a file is the same one again, whatever its name is now, and open for no more than it was. Does not own: what
//! is saved with them (the provider's snapshots), or who may ask.

use serde::{Deserialize, Serialize};

use crate::handle::{Flags, Handle};
use crate::node::{Ino, Kind};
use crate::{Errno, Files};

/// What a handle has open. It means something to the tree that the handle was of, to its forks, and to the same tree saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    node: Ino,
    kind: Kind,
    read: bool,
    write: bool,
    granted: bool,
}

impl Held {
    /// Whether it is that node.
    pub(crate) fn is(&self, ino: Ino) -> bool {
        self.node == ino
    }
}

impl Handle {
    /// What it has open.
    pub fn held(&self) -> Held {
        let Flags { read, write, .. } = self.flags;
        Held { node: self.ino, kind: self.kind, read, write, granted: self.granted }
    }

    /// Whether it is open on the node of that number ([`Handle::stat`]), for just this, and its tree is still there. A folder
    /// is open for all that a folder is.
    pub fn is_open_as(&self, inode: u64, read: bool, write: bool) -> bool {
        let same = self.kind == Kind::Folder || (self.flags.read, self.flags.write) == (read, write);
        self.ino == inode && same && self.stat().is_ok()
    }
}

impl Files {
    /// A handle on what was open, which keeps it also when it has no name.
    ///
    /// # Errors
    /// `NoEntry` when the tree does not have it.
    pub fn hold(&self, held: &Held) -> Result<Handle, Errno> {
        self.with(|live, _| {
            let node = live.tree.nodes.get(&held.node).ok_or(Errno::NoEntry)?;
            if node.kind() != held.kind || held.kind == Kind::Link {
                return Err(Errno::NoEntry);
            }
            if held.kind == Kind::Folder {
                return Ok(Handle::folder(self, live, held.node, held.granted));
            }
            let flags =
                Flags { read: held.read || !held.write, write: held.write && held.granted, mutate: false };
            let era = live.open(held.node);
            Ok(Handle {
                files: self.clone(),
                ino: held.node,
                era,
                kind: held.kind,
                flags,
                granted: held.granted,
            })
        })
    }
}
