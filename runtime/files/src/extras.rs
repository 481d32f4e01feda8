//! What a container has that a tree does not hold: permission bits, links to absolute paths, FIFOs; which interpreters ran in
//! it; and what could not be kept at all.
//!
//! It lies in the tree as a file of its own, outside the folders of a sandbox, so that it goes wherever the tree goes: into
//! checkpoints and forks, and through another provider that knows nothing of it. Owns: its form. Does not own: who reads it.
//!
//! A guest may write that file as it may write any: what is read from it is no more than what it may do in its own container.

use std::collections::BTreeMap;

use dormouse_types::{ErrorCode, GuestName, GuestPath, Result};
use serde::{Deserialize, Serialize};

use crate::{Files, Kind, Tree};

/// Where it lies.
const PLACE: &str = "/.dormouse-container";
/// First bytes, with the version.
const MARK: &[u8; 4] = b"dmx\x01";
/// Largest that is read: 64 MiB.
const MOST: usize = 64 << 20;
/// Names that are told of what was left out.
const NAMED: usize = 16;
/// The bits of a mode that count: no set-user-id, no set-group-id.
const BITS: u16 = 0o1777;

/// What a tree does not hold of a container. Paths begin at the root, without a slash: `workspace/a`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extras {
    /// The mode of files that are not among `modes`.
    pub file_mode: u16,
    /// The mode of folders that are not among `modes`.
    pub folder_mode: u16,
    /// The modes of the others.
    pub modes: BTreeMap<String, u16>,
    /// Links to absolute paths, by where they are. One that leads to the sandbox's own files is in the tree as well, relative.
    pub links: BTreeMap<String, String>,
    /// FIFOs, with their modes.
    pub fifos: BTreeMap<String, u16>,
    /// Languages whose interpreters had run.
    pub languages: Vec<String>,
    /// How many names could not be kept.
    pub left_out: u64,
    /// Some of those names, as they are shown.
    pub named: Vec<String>,
}

impl Extras {
    /// With the modes that files and folders have by themselves.
    pub fn plain() -> Self {
        Self { file_mode: 0o644, folder_mode: 0o755, ..Self::default() }
    }

    /// Those of a tree, and whether a node of the tree is older than they are; none: the tree was never a container's, or
    /// they cannot be read.
    pub fn of(tree: &Tree) -> Option<(Self, Age)> {
        let files = Files::new(tree.clone());
        let path = GuestPath::parse(PLACE).ok()?;
        let stat = files.stat(&path).ok().filter(|stat| stat.kind == Kind::File)?;
        let bytes = files.read(&path, 0, MOST).ok()?;
        let rest = bytes.strip_prefix(MARK.as_slice())?;
        let mut read: Self = postcard::from_bytes(rest).ok()?;
        read.modes.values_mut().chain(read.fifos.values_mut()).for_each(|mode| *mode &= BITS);
        (read.file_mode, read.folder_mode) = (read.file_mode & BITS, read.folder_mode & BITS);
        Some((read, Age(stat.inode)))
    }

    /// Puts them into a tree, unless there is nothing to say and nothing was said before.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub fn put(&self, files: &Files) -> Result<()> {
        let path = GuestPath::parse(PLACE)?;
        if *self == Self::plain() {
            return match files.remove(&path, true) {
                Err(error) if error.code() != ErrorCode::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let mut bytes = MARK.to_vec();
        bytes.extend(postcard::to_stdvec(self).map_err(|error| {
            dormouse_types::Error::internal(
                "what a container has beside its files was not written down",
                error,
            )
        })?);
        files.write(&path, &bytes)
    }

    /// Makes the modes that most files and most folders have those that need not be said. `modes` are all, with whether each is
    /// a folder's.
    pub fn set_modes(&mut self, modes: impl Iterator<Item = (String, u16, bool)>) {
        let all: Vec<_> = modes.collect();
        let most = |folders: bool, usual: u16| {
            let mut counts = BTreeMap::<u16, usize>::new();
            all.iter()
                .filter(|(_, _, folder)| *folder == folders)
                .for_each(|(_, mode, _)| *counts.entry(*mode).or_default() += 1);
            let most = counts.values().max().copied().unwrap_or_default();
            let usual_count = counts.get(&usual).copied().unwrap_or_default();
            // A few more are no reason to change what goes without saying.
            if usual_count * 2 >= most { usual } else { most_of(&counts, usual) }
        };
        (self.file_mode, self.folder_mode) = (most(false, 0o644), most(true, 0o755));
        let (file, folder) = (self.file_mode, self.folder_mode);
        self.modes = all
            .into_iter()
            .filter(|(_, mode, is_folder)| *mode != if *is_folder { folder } else { file })
            .map(|(path, mode, _)| (path, mode))
            .collect();
    }

    /// The mode of a file or a folder.
    pub fn mode(&self, path: &str, folder: bool) -> u16 {
        let usual = if folder { self.folder_mode } else { self.file_mode };
        self.modes.get(path).copied().unwrap_or(usual)
    }

    /// Notes something that cannot be kept.
    pub fn leave_out(&mut self, name: &[u8]) {
        self.left_out += 1;
        if self.named.len() < NAMED {
            let shown: String = String::from_utf8_lossy(name).escape_debug().take(200).collect();
            self.named.push(shown);
        }
    }

    /// The languages.
    pub fn guests(&self) -> Vec<GuestName> {
        self.languages.iter().filter_map(|name| GuestName::parse(name).ok()).collect()
    }
}

fn most_of(counts: &BTreeMap<u16, usize>, usual: u16) -> u16 {
    counts.iter().max_by_key(|(_, count)| **count).map_or(usual, |(mode, _)| *mode)
}

/// When extras were written down, among the nodes of their tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Age(u64);

impl Age {
    /// Whether a node was there then: a newer one is of another provider, and nothing is said of it.
    pub fn knows(&self, inode: u64) -> bool {
        inode <= self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extras_go_with_their_tree_and_know_what_is_newer() {
        let files = Files::new(Tree::default());
        let path = |text: &str| GuestPath::parse(text).unwrap();
        files.write(&path("/workspace/old"), b"1").unwrap();
        let mut extras = Extras::plain();
        let mode = |path: &str, mode, folder| (path.to_owned(), mode, folder);
        extras.set_modes(
            [
                mode("workspace/old", 0o600, false),
                mode("workspace/b", 0o644, false),
                mode("workspace/d", 0o755, true),
            ]
            .into_iter(),
        );
        assert_eq!(extras.modes.len(), 1);
        extras.links.insert("workspace/python".into(), "/usr/bin/python3".into());
        extras.languages.push("python".into());
        extras.leave_out(b"workspace/\xff");
        extras.put(&files).unwrap();
        files.write(&path("/workspace/new"), b"2").unwrap();
        let (read, age) = Extras::of(&files.snapshot()).unwrap();
        assert_eq!(read, extras);
        assert_eq!((read.mode("workspace/old", false), read.mode("workspace/b", false)), (0o600, 0o644));
        let inode = |name: &str| files.stat(&path(name)).unwrap().inode;
        assert!(age.knows(inode("/workspace/old")) && !age.knows(inode("/workspace/new")));
        assert_eq!(read.guests(), [GuestName::python()]);
    }

    #[test]
    fn what_goes_without_saying_is_not_said_and_what_is_none_is_not_read() {
        let files = Files::new(Tree::default());
        Extras::plain().put(&files).unwrap();
        assert!(Extras::of(&files.snapshot()).is_none());
        for bytes in [&b"dmx\x02"[..], b"dmx\x01\xff\xff\xff\xff", b""] {
            files.write(&GuestPath::parse(PLACE).unwrap(), bytes).unwrap();
            assert!(Extras::of(&files.snapshot()).is_none());
        }
        let mut extras = Extras::plain();
        let all = (0..100).map(|n| (format!("workspace/{n}"), 0o600, false));
        extras.set_modes(all);
        assert_eq!((extras.file_mode, extras.modes.len()), (0o600, 0));
    }
}
