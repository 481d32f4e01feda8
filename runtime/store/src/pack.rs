//! A chunk as it lies on the disk: compressed where that helps, and unpacked only as far as it may be.

use dormouse_core::sandbox::ChunkId;
use dormouse_core::sandbox::chunk::{MAX_CHUNK, damaged_chunk};
use dormouse_core::{Error, ErrorCode, Result};
use zstd::bulk::{Compressor, Decompressor};

/// The bytes themselves.
const RAW: i64 = 0;
/// A frame of Zstandard.
const ZSTD: i64 = 1;
/// Level 1 of Zstandard packs as quickly as simpler methods and to two thirds of what they leave; see docs/state.md.
const LEVEL: i32 = 1;

/// A chunk, packed.
#[derive(Debug)]
pub(crate) struct Packed {
    /// How it is packed.
    pub(crate) form: i64,
    /// Bytes when unpacked.
    pub(crate) size: usize,
    /// The packed bytes.
    pub(crate) data: Vec<u8>,
}

/// Packs chunks, one after the other.
pub(crate) struct Packer(Compressor<'static>);

impl Packer {
    pub(crate) fn new() -> Result<Self> {
        let compressor = Compressor::new(LEVEL).map_err(|error| Error::internal("no packer", error))?;
        Ok(Self(compressor))
    }

    /// Packs a chunk, which must be what its name says.
    pub(crate) fn pack(&mut self, id: ChunkId, bytes: &[u8]) -> Result<Packed> {
        if bytes.len() > MAX_CHUNK {
            return Err(Error::new(
                ErrorCode::Internal,
                format!("a chunk has {} bytes, at most {MAX_CHUNK} are possible", bytes.len()),
            ));
        }
        if ChunkId::of(bytes) != id {
            return Err(Error::new(ErrorCode::Internal, format!("the chunk {id} has another's name")));
        }
        let size = bytes.len();
        Ok(match self.0.compress(bytes) {
            Ok(data) if data.len() < size => Packed { form: ZSTD, size, data },
            _ => Packed { form: RAW, size, data: bytes.to_vec() },
        })
    }
}

/// Unpacks chunks, one after the other.
pub(crate) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self(Decompressor::new().map_err(|error| Error::internal("no unpacker", error))?))
    }

    /// The bytes of a chunk, if they are what its name says.
    ///
    /// # Errors
    /// `state_damaged`, naming the chunk.
    pub(crate) fn unpack(&mut self, id: &ChunkId, form: i64, size: i64, data: &[u8]) -> Result<Vec<u8>> {
        let not = || damaged_chunk(*id, "is not what it was");
        let size = usize::try_from(size).ok().filter(|size| *size <= MAX_CHUNK).ok_or_else(not)?;
        let bytes = match form {
            RAW if data.len() == size => data.to_vec(),
            // The room is of the size that was noted: a frame that holds more does not fit.
            ZSTD => self.0.decompress(data, size).map_err(|_| not())?,
            _ => return Err(not()),
        };
        if ChunkId::of(&bytes) != *id { Err(not()) } else { Ok(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> (ChunkId, Packed) {
        let id = ChunkId::of(bytes);
        (id, Packer::new().unwrap().pack(id, bytes).unwrap())
    }

    fn unpacked(id: &ChunkId, form: i64, size: usize, data: &[u8]) -> Result<Vec<u8>> {
        Unpacker::new().unwrap().unpack(id, form, i64::try_from(size).unwrap(), data)
    }

    #[test]
    fn what_is_packed_comes_back() {
        let mut noise = vec![0; 5000];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        for (bytes, form) in [
            (vec![], RAW),
            (vec![7], RAW),
            (noise, RAW),
            (vec![0; 65_536], ZSTD),
            (vec![b'x'; MAX_CHUNK], ZSTD),
        ] {
            let (id, packed) = packed(&bytes);
            assert_eq!(packed.form, form, "{} bytes", bytes.len());
            assert!(packed.data.len() <= bytes.len());
            assert_eq!(unpacked(&id, packed.form, packed.size, &packed.data).unwrap(), bytes);
        }
    }

    #[test]
    fn a_chunk_that_is_too_large_or_misnamed_is_not_taken() {
        let mut packer = Packer::new().unwrap();
        let large = vec![0; MAX_CHUNK + 1];
        assert!(packer.pack(ChunkId::of(&large), &large).is_err());
        assert!(packer.pack(ChunkId::of(b"a"), b"b").is_err());
    }

    #[test]
    fn a_chunk_that_was_changed_is_named_and_never_given() {
        let (id, packed) = packed(&vec![b'y'; 300]);
        for at in 0..packed.data.len() * 8 {
            let mut data = packed.data.clone();
            data[at / 8] ^= 1 << (at % 8);
            // A bit of the frame that means nothing may be changed; the bytes then are the right ones.
            match unpacked(&id, packed.form, packed.size, &data) {
                Ok(bytes) => assert_eq!(ChunkId::of(&bytes), id),
                Err(error) => {
                    assert_eq!(error.code(), ErrorCode::StateDamaged);
                    assert!(error.message().contains(&id.to_string()));
                }
            }
        }
    }

    #[test]
    fn a_frame_that_swells_is_stopped_at_its_noted_size() {
        let bomb = vec![0; 64 << 20];
        let data = zstd::bulk::compress(&bomb, 19).unwrap();
        assert!(data.len() < 20_000);
        for size in [0, 100, MAX_CHUNK, MAX_CHUNK + 1, bomb.len()] {
            let error = unpacked(&ChunkId::of(&bomb), ZSTD, size, &data).unwrap_err();
            assert_eq!(error.code(), ErrorCode::StateDamaged, "{size}");
        }
    }
}
