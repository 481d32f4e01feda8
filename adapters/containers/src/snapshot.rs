//! The saved form: the file tree alone. What runs in a container cannot be saved; what of its files a tree does not hold
//! lies in the tree as [`Extras`].

use std::sync::{Arc, OnceLock};

use dormouse_core::sandbox::chunk::{self, damaged};
use dormouse_core::sandbox::{ChunkId, ChunkSink, ChunkSource, Include, Reached, SavedState, Snapshot};
use dormouse_core::{Error, ErrorCode, GuestName, Result};
use dormouse_files::{Extras, Quota, Root, Tree};

use crate::variables::Variables;

/// What a saved state of this kind begins with.
pub use dormouse_files::ALONE as MARK;

/// The largest tree that is loaded; the sandbox's own quota bounds it when it is put into a container.
const LARGEST: Quota = Quota { bytes: 1 << 40, files: 4_000_000, depth: 4_096, name_bytes: 255 };

/// The chunk that files are saved under, once they are. It is the hash of all of them. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Saved(Arc<OnceLock<ChunkId>>);

impl Saved {
    /// The chunk; none: they are not saved yet.
    pub(crate) fn root(&self) -> Option<ChunkId> {
        self.0.get().copied()
    }

    fn note(&self, root: ChunkId) {
        // The same files have the same chunk.
        let _again = self.0.set(root);
    }
}

/// The files of a sandbox at one moment.
pub struct FilesSnapshot {
    tree: Tree,
    pub(crate) saved: Saved,
}

impl FilesSnapshot {
    /// Of files that are not saved yet.
    pub(crate) fn new(tree: Tree) -> Self {
        Self { tree, saved: Saved::default() }
    }
}

impl Snapshot for FilesSnapshot {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let saved = dormouse_files::save_alone(&self.tree, sink)?;
        self.saved.note(saved.root);
        Ok(saved)
    }

    fn bytes(&self) -> u64 {
        self.tree.usage().bytes
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }

    fn files(&self) -> Option<&Tree> {
        Some(&self.tree)
    }

    fn guests(&self) -> Vec<GuestName> {
        Extras::of(&self.tree).map(|(extras, _)| extras.guests()).unwrap_or_default()
    }

    fn holds(&self) -> Vec<GuestName> {
        Variables::of(&self.tree).are_kept().then(GuestName::python).into_iter().collect()
    }
}

/// The chunk that a state of a container is saved under. None: it is not saved yet, or is another provider's.
pub fn saved_under(state: &dyn Snapshot) -> Option<ChunkId> {
    state.of::<FilesSnapshot>()?.saved.root()
}

/// What a state of a container can hold.
pub(crate) fn check_include(provider: &str, include: Include) -> Result<()> {
    if include == Include::Memory {
        return Err(Error::new(
            ErrorCode::CapabilityUnavailable,
            format!("the {provider} provider cannot save interpreters, only files"),
        )
        .with_hint("save `files` or `both`; variables last as long as the container"));
    }
    Ok(())
}

/// The files of a state, of whichever provider.
///
/// # Errors
/// `invalid_state` when it has none.
pub(crate) fn tree(snapshot: &dyn Snapshot) -> Result<Tree> {
    let tree = snapshot.files();
    tree.cloned().ok_or_else(|| {
        Error::new(ErrorCode::InvalidState, "the state has no files, and nothing else of it fits a container")
            .with_hint("restore a checkpoint that includes files")
    })
}

/// Reads a saved state; the files' content is read when it is used.
///
/// # Errors
/// `state_damaged`.
pub fn load(state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<FilesSnapshot> {
    let root = root(state, chunks.as_ref())?;
    let loaded = FilesSnapshot::new(dormouse_files::load(root, chunks, LARGEST)?);
    loaded.saved.note(state.root);
    Ok(loaded)
}

/// Notes the chunks of a saved state.
///
/// # Errors
/// `state_damaged`.
pub fn reach(state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
    if !reached.branch(state.root) {
        return Ok(());
    }
    let Some(root) = reached.follow(|| root(state, chunks))? else { return Ok(()) };
    dormouse_files::reachable(root, chunks, reached)
}

fn root(state: &SavedState, chunks: &dyn ChunkSource) -> Result<Root> {
    dormouse_files::root_alone(&chunk::fetch(chunks, &state.root)?)?
        .ok_or_else(|| damaged("its root is none"))
}

#[cfg(test)]
mod tests {
    use dormouse_core::GuestPath;
    use dormouse_core::sandbox::ChunkId;
    use dormouse_files::{Files, MemoryChunks};

    use super::*;

    #[test]
    fn files_come_back_from_what_was_saved_and_damage_is_named() {
        let path = GuestPath::parse("/workspace/a").unwrap();
        let files = Files::new(Tree::default());
        files.write(&path, b"content").unwrap();
        let mut chunks = MemoryChunks::default();
        let snapshot = FilesSnapshot::new(files.snapshot());
        assert_eq!(snapshot.saved.root(), None);
        let saved = snapshot.save(&mut chunks).unwrap();
        let chunks: Arc<dyn ChunkSource> = Arc::new(chunks);
        let loaded = load(&saved, chunks.clone()).unwrap();
        assert_eq!((snapshot.saved.root(), loaded.saved.root()), (Some(saved.root), Some(saved.root)));
        let again = Files::new(tree(&loaded).unwrap());
        assert_eq!(again.read(&path, 0, 100).unwrap(), b"content");
        let mut reached = Reached::default();
        reach(&saved, chunks.as_ref(), &mut reached).unwrap();
        assert!(reached.has(&saved.root));
        for bad in [&b"dmd\x02"[..], b"dmd\x01short", b"other"] {
            let mut chunks = MemoryChunks::default();
            let root = ChunkId::of(bad);
            chunks.put(&root, bad).unwrap();
            assert!(load(&SavedState { root, bytes: 0 }, Arc::new(chunks)).is_err());
        }
    }
}
