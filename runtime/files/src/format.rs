//! The saved form, versions 1 and 2: what stands in the chunks that are not blocks.
//!
//! Owns: the records and their bytes (postcard: numbers of variable length, fields in order). Does not own: the walk over
//! a tree (`save`), or whether records make a tree (`load`).
//!
//! ```text
//! root chunk = "dmf" 1, Head { next, nodes }          nodes: the pages of all nodes by number
//!            | "dmf" 2, the same                      some of the files have no name; they were open
//! page chunk = Page::Leaf [record] | Page::Branch [id] at most 32 of either, in ascending order
//! map        = empty | its only page's records, if they are few | the id of its root page
//! ```

use dormouse_types::{Error, ErrorCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::MAX_CHUNK;
pub(crate) use dormouse_types::chunk::{damaged, fetch};

use crate::{ChunkId, Times};

/// The first bytes of a root chunk: a mark and the version.
const MARK: &[u8; 4] = b"dmf\x01";
/// The same of a tree in which files have no name, which version 1 does not know.
const MARK_UNNAMED: &[u8; 4] = b"dmf\x02";
/// A file of one block up to this many bytes stands in its node's record.
pub(crate) const SMALL: usize = 512;
/// A map of one page up to this many entries stands in the record that has it.
pub(crate) const FEW: usize = 4;

/// What the root chunk says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) next: u64,
    pub(crate) nodes: Pages<NodeRecord>,
}

/// A map.
#[derive(Serialize, Deserialize)]
pub(crate) enum Pages<R> {
    Empty,
    Few(Vec<R>),
    Root(ChunkId),
}

/// A page.
#[derive(Serialize, Deserialize)]
pub(crate) enum Page<R> {
    Leaf(Vec<R>),
    Branch(Vec<ChunkId>),
}

/// A node.
#[derive(Serialize, Deserialize)]
pub(crate) struct NodeRecord {
    pub(crate) ino: u64,
    pub(crate) links: u32,
    pub(crate) times: Times,
    pub(crate) body: BodyRecord,
}

#[derive(Serialize, Deserialize)]
pub(crate) enum BodyRecord {
    Folder { parent: u64, names: Pages<NameRecord> },
    File { size: u64, blocks: Pages<BlockRecord> },
    Small { size: u64, bytes: Vec<u8> },
    Link { target: String },
}

/// A name in a folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct NameRecord {
    pub(crate) name: String,
    pub(crate) ino: u64,
    pub(crate) kind: crate::Kind,
}

/// A block of a file.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct BlockRecord {
    pub(crate) index: u32,
    pub(crate) id: ChunkId,
}

/// The bytes of a record.
pub(crate) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>, Error> {
    let bytes = postcard::to_stdvec(record)
        .map_err(|error| Error::internal("the files could not be written down", error))?;
    if bytes.len() > MAX_CHUNK {
        return Err(Error::new(ErrorCode::Internal, "a record of the files is larger than a chunk"));
    }
    Ok(bytes)
}

/// The bytes of a root chunk; `unnamed`: files of the tree have no name.
pub(crate) fn encode_head(head: &Head, unnamed: bool) -> Result<Vec<u8>, Error> {
    let mut bytes = if unnamed { MARK_UNNAMED } else { MARK }.to_vec();
    bytes.extend(encode(head)?);
    Ok(bytes)
}

/// Reads a root chunk, and whether files of the tree may have no name.
pub(crate) fn decode_head(bytes: &[u8], id: &ChunkId) -> Result<(Head, bool), Error> {
    match bytes.split_at_checked(MARK.len()) {
        Some((mark, rest)) if mark == MARK => Ok((decode(rest, id)?, false)),
        Some((mark, rest)) if mark == MARK_UNNAMED => Ok((decode(rest, id)?, true)),
        Some(([b'd', b'm', b'f', version], _)) => Err(damaged(format!(
            "they are of version {version}, this installation reads up to version {}",
            MARK_UNNAMED[3]
        ))),
        _ => Err(damaged(format!("chunk {id} is no root"))),
    }
}

/// Reads a record, all of it.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8], id: &ChunkId) -> Result<T, Error> {
    match postcard::take_from_bytes(bytes) {
        Ok((record, [])) => Ok(record),
        Ok(_) => Err(damaged(format!("chunk {id} goes on after its end"))),
        Err(error) => Err(damaged(format!("chunk {id} has another form")).with_source(error)),
    }
}
