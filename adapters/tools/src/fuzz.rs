//! Private readers for the fuzz targets of `tests/fuzz`. No part of the crate's interface: it changes with them.

use dormouse_core::{GuestPath, Result};

use crate::{archive, resource};

/// Folders, and files with what they hold.
pub type Unpacked = (Vec<GuestPath>, Vec<(GuestPath, Vec<u8>)>);

/// The folders and the files of an uploaded archive that is unpacked below `target`, in their order.
///
/// # Errors
/// As an upload's.
pub fn unpack(packed: &[u8], target: &GuestPath) -> Result<Unpacked> {
    archive::unpack(packed, target).map(|unpacked| (unpacked.folders, unpacked.files))
}

/// The most bytes that an archive of this size may unpack to.
pub fn most(packed: usize) -> u64 {
    archive::most(packed)
}

/// The sandbox and the path of a resource's address.
pub fn resource(uri: &str) -> Option<(String, GuestPath)> {
    resource::parse(uri)
}
