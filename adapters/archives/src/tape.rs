//! Tar archives, and gzip around them.

use std::io::Read;

use dormouse_core::Result;

use crate::{Entry, Kind, MAX_ENTRIES, Rules, read, text};

/// Bytes that a tar's own blocks may have besides its files, in all entries together.
pub const TAR_BLOCKS: u64 = MAX_ENTRIES as u64 * 1024;
/// The bits of a Unix mode that allow to execute a file.
const EXECUTABLE: u32 = 0o111;

/// Hands each entry of a tar to `take`, in their order. Headers that hold for the whole archive are passed over.
///
/// # Errors
/// Those of `take`; [`Rules::refused`] for what is no regular file or folder, or has a name that is no text;
/// [`Rules::damaged`].
pub fn tar(
    plain: impl Read,
    rules: &dyn Rules,
    mut take: impl FnMut(&mut Entry<'_>) -> Result<()>,
) -> Result<()> {
    let mut archive = tar::Archive::new(plain);
    for entry in archive.entries().map_err(|error| rules.damaged(error.into()))? {
        let mut entry = entry.map_err(|error| rules.damaged(error.into()))?;
        let name = text(&entry.path_bytes(), rules)?;
        let kind = match entry.header().entry_type() {
            tar::EntryType::XGlobalHeader => continue,
            tar::EntryType::Directory => Kind::Folder,
            tar::EntryType::Regular => Kind::File,
            tar::EntryType::Continuous if rules.takes_contiguous() => Kind::File,
            _ => return Err(rules.refused(&name, "is a link, a device or another special file")),
        };
        let (size, mode) = (entry.size(), entry.header().mode().unwrap_or_default());
        let executable = mode & EXECUTABLE != 0;
        take(&mut Entry { name, kind, size, executable, content: &mut entry, rules })?;
    }
    Ok(())
}

/// What the first member of a gzip unpacks to, at most `most` bytes.
///
/// # Errors
/// [`Rules::too_large`]; [`Rules::refused`] for what cannot be unpacked, of an entry `name`.
pub fn gunzip(packed: &[u8], most: u64, name: &str, rules: &dyn Rules) -> Result<Vec<u8>> {
    read(flate2::read::GzDecoder::new(packed), most, name, rules)
}

/// What all members of a gzip unpack to, as a stream that ends one byte after `most`.
pub fn gunzipped(packed: &[u8], most: u64) -> impl Read {
    flate2::read::MultiGzDecoder::new(packed).take(most.saturating_add(1))
}
