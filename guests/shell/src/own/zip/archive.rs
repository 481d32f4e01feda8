//! What lies in a zip archive, read and written whole by the crate `zip`.

use std::io::{Cursor, Read as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bashkit::FileType;
use flate2::Crc;
use zip::read::ZipReadOptions;
use zip::result::ZipResult;
use zip::write::{PreparedZipFile, SimpleFileOptions};
use zip::{CompressionMethod, DateTime, System, ZipArchive, ZipWriter};

use super::super::times::{Moment, day_number};
use super::plain;

/// The most that one entry may unpack to (1 GiB); the instance's memory is less.
const LARGEST: u64 = 1 << 30;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Its content is where it leads.
    Link,
}

impl Kind {
    pub(super) fn of(found: FileType) -> Self {
        match () {
            () if found.is_dir() => Self::Folder,
            () if found.is_symlink() => Self::Link,
            () => Self::File,
        }
    }

    /// Its bits of a Unix mode.
    fn bits(self) -> u32 {
        match self {
            Self::File => 0o100_000,
            Self::Folder => 0o040_000,
            Self::Link => LINK,
        }
    }
}

/// The bits of a Unix mode that say what a file is, and those of a link.
const TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// An entry.
pub(super) struct Entry {
    /// With a slash at its end for a folder.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
    pub(super) data: Vec<u8>,
    /// It was compressed in the archive that it was read from.
    pub(super) packed: bool,
}

/// All entries of an archive, by its directory at the end.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let bad = |_| "End-of-central-directory signature not found; this is no zip archive".to_owned();
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(bad)?;
    (0..archive.len()).map(|at| one(&mut archive, at)).collect()
}

fn one(archive: &mut ZipArchive<Cursor<&[u8]>>, at: usize) -> Result<Entry, String> {
    let cut = |_| "the archive is cut short or damaged".to_owned();
    let entry = archive.by_index_raw(at).map_err(cut)?;
    let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
    if entry.encrypted() {
        return Err(format!("{name}: encrypted entries are not supported"));
    }
    if !matches!(entry.compression(), CompressionMethod::Stored | CompressionMethod::Deflated) {
        #[expect(deprecated, reason = "there is no other way to the number")]
        let method = entry.compression().to_u16();
        return Err(format!("{name}: compression method {method} is not supported"));
    }
    let (size, sum, outer, modified) =
        (entry.size(), entry.crc32(), entry.external_attributes(), entry.last_modified());
    let packed = entry.compression() != CompressionMethod::Stored;
    drop(entry);
    // The sum is checked here, which can say both numbers.
    let options = ZipReadOptions::new().ignore_crc32(true);
    let file = archive.by_index_with_options(at, options).map_err(cut)?;
    let mut data = Vec::new();
    let read = file.take(size.min(LARGEST) + 1).read_to_end(&mut data);
    read.map_err(|error| format!("{name}: {error}"))?;
    let mut found = Crc::new();
    found.update(&data);
    if found.sum() != sum {
        return Err(format!("{name}: bad CRC {:08x} (should be {sum:08x})", found.sum()));
    }
    let kind = match outer >> 16 & TYPE {
        _ if name.ends_with('/') => Kind::Folder,
        LINK => Kind::Link,
        _ => Kind::File,
    };
    let usual = if kind == Kind::Folder { 0o755 } else { 0o644 };
    let mode = Some(outer >> 16 & 0o7777).filter(|mode| *mode != 0).unwrap_or(usual);
    let modified = moment(modified.unwrap_or_default());
    Ok(Entry { name, kind, mode, modified, data, packed })
}

/// An archive of these entries. What does not get smaller by compression is stored.
pub(super) fn write(entries: &[Entry], level: u32) -> ZipResult<Vec<u8>> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let (kind, folder) = (entry.kind.bits(), entry.kind == Kind::Folder);
        let stored = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .system(System::Unix)
            .external_attributes((kind | entry.mode & 0o7777) << 16 | u32::from(folder) << 4)
            .last_modified_time(stamp(entry.modified));
        let deflated =
            stored.compression_method(CompressionMethod::Deflated).compression_level(Some(level.into()));
        let mut file = None;
        if level > 0 && entry.kind == Kind::File && !entry.data.is_empty() {
            let packed = PreparedZipFile::from_data(&entry.name, deflated, &entry.data)?;
            file = Some(packed).filter(|packed| packed.compressed_size() < packed.uncompressed_size());
        }
        let file = match file {
            Some(packed) => packed,
            None => PreparedZipFile::from_data(&entry.name, stored, &entry.data)?,
        };
        archive.add_prepared_file(file)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// What `unzip -l` shows.
pub(super) fn listed(name: &str, entries: &[Entry]) -> String {
    let mut text =
        format!("Archive:  {name}\n  Length      Date    Time    Name\n---------  ---------- -----   ----\n");
    for entry in entries {
        let at = Moment::of(entry.modified);
        let time = format!("{} {:02}:{:02}", at.date(), at.hour, at.minute);
        text += &format!("{:>9}  {time}   {}\n", entry.data.len(), plain(&entry.name));
    }
    let total: usize = entries.iter().map(|entry| entry.data.len()).sum();
    let plural = if entries.len() == 1 { "" } else { "s" };
    text + &format!(
        "---------                     -------\n{total:>9}                     {} file{plural}\n",
        entries.len()
    )
}

/// Date and time as DOS wrote them: 1980 to 2107, even seconds.
fn stamp(time: SystemTime) -> DateTime {
    let at = Moment::of(time);
    let small = |number: i64| u8::try_from(number).unwrap_or(0);
    let year = u16::try_from(at.year.clamp(1980, 2107)).unwrap_or(1980);
    let date = [at.month, at.day, at.hour, at.minute, at.second].map(small);
    let [month, day, hour, minute, second] = date;
    DateTime::from_date_and_time(year, month, day, hour, minute, second).unwrap_or_default()
}

fn moment(at: DateTime) -> SystemTime {
    let days = day_number(at.year().into(), at.month().into(), at.day().into());
    let of_day = i64::from(at.hour()) * 3600 + i64::from(at.minute()) * 60 + i64::from(at.second());
    UNIX_EPOCH + Duration::from_secs(u64::try_from(days * 86_400 + of_day).unwrap_or(0))
}
