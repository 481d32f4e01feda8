//! Zip archives: the table of contents, and its entries in their order.

use std::io::Cursor;

use dormouse_core::Result;

use crate::{Entry, Kind, MAX_ENTRIES, Rules, read, text};

/// How the end of a zip's table of contents begins (APPNOTE 4.3.16); the number of entries follows 10 bytes from there.
const ZIP_END: &[u8] = b"PK\x05\x06";
/// How each entry begins in a zip's table of contents.
const ZIP_ENTRY: &[u8] = b"PK\x01\x02";
/// The bits of a Unix mode that say what a file is, and those of a regular one.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
/// The bits of a Unix mode that allow to execute a file.
const EXECUTABLE: u32 = 0o111;

/// A zip whose table of contents was read.
pub struct Zip<'a> {
    packed: &'a [u8],
    archive: zip::ZipArchive<Cursor<&'a [u8]>>,
    rules: &'a dyn Rules,
}

impl<'a> Zip<'a> {
    /// Reads the table of contents.
    ///
    /// # Errors
    /// [`Rules::too_many`], before a table of any size is read; [`Rules::damaged`].
    pub fn open(packed: &'a [u8], rules: &'a dyn Rules) -> Result<Self> {
        let entries = packed.windows(ZIP_ENTRY.len()).filter(|window| *window == ZIP_ENTRY).count();
        if entries > MAX_ENTRIES {
            return Err(rules.too_many());
        }
        let archive =
            zip::ZipArchive::new(Cursor::new(packed)).map_err(|error| rules.damaged(error.into()))?;
        Ok(Self { packed, archive, rules })
    }

    /// Whether the end of the table tells of more entries than were read: of those with one name only the last is.
    pub fn hides_entries(&self) -> bool {
        self.told().is_some_and(|entries| entries > self.archive.len())
    }

    /// How many entries the end of the table tells, where that is no number of its larger form.
    fn told(&self) -> Option<usize> {
        let at = self.packed.windows(ZIP_END.len()).rposition(|window| window == ZIP_END)?;
        let count = self.packed.get(at + 10..at + 12)?;
        let count = u16::from_le_bytes([count[0], count[1]]);
        (count < u16::MAX).then_some(count.into())
    }

    /// Hands each entry to `take`, in their order.
    ///
    /// # Errors
    /// Those of `take`; [`Rules::refused`] for what is encrypted, no regular file or folder, or has a name that is no text;
    /// [`Rules::damaged`].
    pub fn each(mut self, mut take: impl FnMut(&mut Entry<'_>) -> Result<()>) -> Result<()> {
        let rules = self.rules;
        for index in 0..self.archive.len() {
            let mut entry = self.archive.by_index(index).map_err(|error| rules.damaged(error.into()))?;
            let name = text(entry.name_raw(), rules)?;
            let mode = entry.unix_mode().unwrap_or_default();
            if entry.encrypted() {
                return Err(rules.refused(&name, "is encrypted"));
            }
            let kind = match mode & KIND {
                _ if entry.is_dir() => Kind::Folder,
                0 | REGULAR => Kind::File,
                _ => return Err(rules.refused(&name, "is a link or a device")),
            };
            let (size, executable) = (entry.size(), mode & EXECUTABLE != 0);
            take(&mut Entry { name, kind, size, executable, content: &mut entry, rules })?;
        }
        Ok(())
    }

    /// The bytes of the first entry that `wanted` takes, which may have `most`. Errors call it `name`. None: there is no such
    /// entry.
    ///
    /// # Errors
    /// [`Rules::too_large`], [`Rules::damaged`], [`Rules::refused`].
    pub fn one(mut self, name: &str, most: u64, wanted: impl Fn(&str) -> bool) -> Result<Option<Vec<u8>>> {
        let rules = self.rules;
        let mut names = self.archive.file_names().flatten();
        let Some(found) = names.find(|path| wanted(path)).map(std::borrow::Cow::into_owned) else {
            return Ok(None);
        };
        drop(names);
        let mut entry = self.archive.by_name(&found).map_err(|error| rules.damaged(error.into()))?;
        read(&mut entry, most, name, rules).map(Some)
    }
}
