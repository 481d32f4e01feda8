//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use dormouse_core::Result;
use dormouse_core::sandbox::ChunkId;

use crate::pack::{Packer, Unpacker};

/// A chunk as it lies in the database: how it is packed, bytes when unpacked, the packed bytes.
///
/// # Errors
/// `internal` for a chunk that is too large or has another's name.
pub fn pack(id: ChunkId, bytes: &[u8]) -> Result<(i64, usize, Vec<u8>)> {
    Packer::new()?.pack(id, bytes).map(|packed| (packed.form, packed.size, packed.data))
}

/// The bytes of such a chunk.
///
/// # Errors
/// `state_damaged`.
pub fn unpack(id: &ChunkId, form: i64, size: i64, data: &[u8]) -> Result<Vec<u8>> {
    Unpacker::new()?.unpack(id, form, size, data)
}
