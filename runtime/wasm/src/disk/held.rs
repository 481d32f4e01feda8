//! Descriptors that outlive their instance: what of the tree an instance has open, and what one that goes on from its state may
//! open again (`guests/driver/descriptors.c`).
//!
//! Owns: the words that a driver says in opens that no program can make. They give it what the saved state had open, for no
//! more than it was open for, so nobody gains by saying them. Does not own: who keeps the handles meanwhile
//! ([`crate::machine`]).

use std::collections::BTreeSet;

use dormouse_files::Handle;
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, OpenFlags};

/// Names of lost files that are told at most: as many as there are descriptors.
const MAX_LOST: usize = 128;

/// What an instance has open of its own tree, beside the folders that it was given.
#[derive(Default)]
pub(crate) struct Held {
    /// Numbers of the descriptors, in the table of resources.
    open: BTreeSet<u32>,
    /// What may be opened again.
    again: Vec<Handle>,
    /// What could not be.
    lost: Vec<String>,
}

/// What a driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// Opens the node of this number.
    Open(u64),
    /// A file could not be opened again.
    Lost(&'a str),
    /// Everything is open again.
    Done,
}

impl<'a> Word<'a> {
    /// The word, if flags and path are one.
    pub(super) fn of(how: OpenFlags, path: &'a str) -> Option<Self> {
        if how != OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE {
            return None;
        }
        match path.split_once(' ') {
            Some(("open", node)) => node.parse().ok().map(Self::Open),
            Some(("lost", path)) => Some(Self::Lost(path)),
            None if path == "done" => Some(Self::Done),
            _ => None,
        }
    }
}

impl Held {
    /// Counts a descriptor that the guest has opened.
    pub(super) fn opened(&mut self, descriptor: u32) {
        self.open.insert(descriptor);
    }

    /// Counts it no more.
    pub(super) fn closed(&mut self, descriptor: u32) {
        self.open.remove(&descriptor);
    }

    /// The descriptors that the guest has opened.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = u32> {
        self.open.iter().copied()
    }

    /// What may still be opened again.
    pub(super) fn waiting(&self) -> &[Handle] {
        &self.again
    }

    /// Lets a guest whose state had these open open them again.
    pub(crate) fn offer(&mut self, handles: Vec<Handle>) {
        self.again = handles;
    }

    /// What could not be opened again since this was last asked: paths as the guest has them.
    pub(crate) fn take_lost(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lost)
    }

    /// Answers a word. Only one that opens something has an answer; the others are done, and are an error to whoever says them.
    pub(super) fn answer(&mut self, word: Word<'_>, read: bool, write: bool) -> Result<Handle, ErrorCode> {
        match word {
            Word::Open(node) => {
                let found = self.again.iter().find(|held| held.is_open_as(node, read, write));
                return found.cloned().ok_or(ErrorCode::NoEntry);
            }
            Word::Lost(path) if self.lost.len() < MAX_LOST => self.lost.push(path.to_owned()),
            Word::Lost(_) => {}
            Word::Done => self.again = Vec::new(),
        }
        Err(ErrorCode::NoEntry)
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::{Access, GuestPath};
    use dormouse_files::{Files, Flags, Tree};

    use super::*;

    fn how() -> OpenFlags {
        OpenFlags::DIRECTORY | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE
    }

    #[test]
    fn a_word_is_an_open_that_no_program_can_make() {
        assert_eq!(Word::of(how(), "open 7"), Some(Word::Open(7)));
        assert_eq!(Word::of(how(), "lost /data/a b"), Some(Word::Lost("/data/a b")));
        assert_eq!(Word::of(how(), "done"), Some(Word::Done));
        for path in ["", "open", "open x", "open -1", "open 99999999999999999999", "done it", "a"] {
            assert_eq!(Word::of(how(), path), None, "{path}");
        }
        for other in [OpenFlags::empty(), OpenFlags::DIRECTORY, how() | OpenFlags::CREATE] {
            assert_eq!(Word::of(other, "open 7"), None);
        }
    }

    #[test]
    fn only_what_was_open_is_opened_again_for_just_what_it_was_open_for() {
        let files = Files::new(Tree::default());
        let at = |path| GuestPath::parse(path).unwrap();
        files.make_folder(&at("/w")).unwrap();
        files.write(&at("/w/a"), b"a").unwrap();
        files.write(&at("/w/b"), b"b").unwrap();
        let folder = files.open_folder(&at("/w"), Access::ReadWrite).unwrap();
        let open = |name| folder.open_at(name, true, Default::default(), Flags::default()).unwrap();
        let (a, b) = (open("a"), open("b"));
        let (node, other) = (a.stat().unwrap().inode, b.stat().unwrap().inode);
        let mut held = Held::default();
        held.offer(vec![a]);
        assert!(held.answer(Word::Open(node), true, false).unwrap().is_open_as(node, true, false));
        assert_eq!(held.answer(Word::Open(node), true, true).unwrap_err(), ErrorCode::NoEntry);
        assert_eq!(held.answer(Word::Open(other), true, false).unwrap_err(), ErrorCode::NoEntry);
        for n in 0..2 * MAX_LOST {
            held.answer(Word::Lost(&n.to_string()), false, false).unwrap_err();
        }
        assert_eq!(held.take_lost().len(), MAX_LOST);
        assert!(held.take_lost().is_empty());
        held.answer(Word::Done, false, false).unwrap_err();
        assert_eq!(held.answer(Word::Open(node), true, false).unwrap_err(), ErrorCode::NoEntry);
    }
}
