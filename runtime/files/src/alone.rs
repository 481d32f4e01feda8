//! A saved state that is files alone: a root chunk of a mark and the root of the tree.
//!
//! It is what containers are saved as. Owns: the mark and the root's form, so that whoever has files can read them, also where
//! no container can be had. Does not own: the tree's own form (`format`).

use dormouse_types::SavedState;
use dormouse_types::chunk::damaged;
use dormouse_types::{Error, ErrorCode, Result};

use crate::{ChunkId, ChunkSink, Root, Tree};

/// First bytes of a root, with the version of the form.
pub const ALONE: &[u8; 4] = b"dmd\x01";

/// Saves a tree as a state of its own.
///
/// # Errors
/// As [`save()`](crate::save()).
pub fn save_alone(tree: &Tree, sink: &mut dyn ChunkSink) -> Result<SavedState> {
    let Root(files) = crate::save(tree, sink)?;
    let mut bytes = ALONE.to_vec();
    bytes.extend_from_slice(files.as_bytes());
    let root = ChunkId::of(&bytes);
    if !sink.has(&root)? {
        sink.put(&root, &bytes)?;
    }
    Ok(SavedState { root, bytes: tree.usage().bytes })
}

/// The tree's root, from the root chunk of a state that is files alone. None: the state is another's.
///
/// # Errors
/// `state_damaged`; `state_unavailable` for another version.
pub fn root_alone(bytes: &[u8]) -> Result<Option<Root>> {
    match bytes.split_first_chunk() {
        Some((mark, rest)) if mark == ALONE => {
            let id: [u8; 32] = rest.try_into().map_err(|_| damaged("its root has another form"))?;
            Ok(Some(Root(ChunkId::from_bytes(id))))
        }
        Some(([b'd', b'm', b'd', version], _)) => Err(Error::new(
            ErrorCode::StateUnavailable,
            format!("the state is of version {version}, this installation reads version {}", ALONE[3]),
        )
        .with_hint("use the installation that saved it")),
        _ => Ok(None),
    }
}
