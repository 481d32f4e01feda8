//! The saved form: a root chunk of a mark and the root of the file tree.
//!
//! There is nothing else: what runs in a container cannot be saved.

use std::any::Any;
use std::sync::Arc;

use dormouse_core::sandbox::chunk::{self, damaged};
use dormouse_core::sandbox::{ChunkId, ChunkSink, ChunkSource, Reached, SavedState, Snapshot};
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_files::{Quota, Root, Tree};

/// First bytes of a root, with the version of the form.
pub(crate) const MARK: &[u8; 4] = b"dmd\x01";

/// The largest tree that is loaded; the sandbox's own quota bounds it when it is put into a container.
const LARGEST: Quota = Quota { bytes: 1 << 40, files: 4_000_000, depth: 4_096, name_bytes: 255 };

/// The files of a sandbox at one moment.
pub(crate) struct DockerSnapshot(pub(crate) Tree);

impl Snapshot for DockerSnapshot {
    fn save(&self, sink: &mut dyn ChunkSink) -> Result<SavedState> {
        let Root(files) = dormouse_files::save(&self.0, sink)?;
        let mut bytes = MARK.to_vec();
        bytes.extend_from_slice(files.as_bytes());
        let root = ChunkId::of(&bytes);
        if !sink.has(&root)? {
            sink.put(&root, &bytes)?;
        }
        Ok(SavedState { root, bytes: self.bytes() })
    }

    fn bytes(&self) -> u64 {
        self.0.usage().bytes
    }

    fn closed_files(&self) -> Vec<String> {
        Vec::new()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn files(&self) -> Option<&dyn Any> {
        Some(&self.0)
    }
}

/// The files of a state, of whichever provider.
///
/// # Errors
/// `invalid_state` when it has none.
pub(crate) fn tree(snapshot: &dyn Snapshot) -> Result<Tree> {
    let tree = snapshot.files().and_then(|files| files.downcast_ref::<Tree>());
    tree.cloned().ok_or_else(|| {
        Error::new(ErrorCode::InvalidState, "the state has no files, and nothing else of it fits a container")
            .with_hint("restore a checkpoint that includes files")
    })
}

/// Reads a saved state; the files' content is read when it is used.
///
/// # Errors
/// `state_damaged`.
pub(crate) fn load(state: &SavedState, chunks: Arc<dyn ChunkSource>) -> Result<DockerSnapshot> {
    let root = root(state, chunks.as_ref())?;
    Ok(DockerSnapshot(dormouse_files::load(root, chunks, LARGEST)?))
}

/// Notes the chunks of a saved state.
///
/// # Errors
/// `state_damaged`.
pub(crate) fn reach(state: &SavedState, chunks: &dyn ChunkSource, reached: &mut Reached) -> Result<()> {
    if !reached.branch(state.root) {
        return Ok(());
    }
    dormouse_files::reachable(root(state, chunks)?, chunks, reached)
}

fn root(state: &SavedState, chunks: &dyn ChunkSource) -> Result<Root> {
    let bytes = chunk::fetch(chunks, &state.root)?;
    match bytes.split_first_chunk() {
        Some((mark, rest)) if mark == MARK => {
            let id: [u8; 32] = rest.try_into().map_err(|_| damaged("its root has another form"))?;
            Ok(Root(ChunkId::from_bytes(id)))
        }
        Some(([b'd', b'm', b'd', version], _)) => Err(Error::new(
            ErrorCode::StateUnavailable,
            format!("the state is of version {version}, this installation reads version {}", MARK[3]),
        )
        .with_hint("use the installation that saved it")),
        _ => Err(damaged("its root is none")),
    }
}

#[cfg(test)]
mod tests {
    use dormouse_core::GuestPath;
    use dormouse_files::{Files, MemoryChunks};

    use super::*;

    #[test]
    fn files_come_back_from_what_was_saved_and_damage_is_named() {
        let path = GuestPath::parse("/workspace/a").unwrap();
        let files = Files::new(Tree::default());
        files.write(&path, b"content").unwrap();
        let mut chunks = MemoryChunks::default();
        let saved = DockerSnapshot(files.snapshot()).save(&mut chunks).unwrap();
        let chunks: Arc<dyn ChunkSource> = Arc::new(chunks);
        let loaded = load(&saved, chunks.clone()).unwrap();
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
