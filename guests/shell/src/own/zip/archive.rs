//! The zip format: what lies in an archive, read and written whole.

use std::io::{self, Read as _, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::Crc;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::super::times::{Moment, day_number};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// The most that one entry may unpack to (1 GiB); the instance's memory is less.
const LARGEST: u64 = 1 << 30;

/// A file or, with a slash at its end, a folder.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
    pub(super) data: Vec<u8>,
}

/// All entries of an archive, by its directory at the end.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let bad = || "End-of-central-directory signature not found; this is no zip archive".to_owned();
    let earliest = bytes.len().saturating_sub(22 + 0xffff);
    let end = (earliest..bytes.len().saturating_sub(21)).rev().find(|at| four(bytes, *at) == Some(END));
    let end = end.ok_or_else(bad)?;
    let count = two(bytes, end + 10).ok_or_else(bad)?;
    let mut at = four(bytes, end + 16).ok_or_else(bad)? as usize;
    let mut entries = Vec::with_capacity(count.into());
    for _ in 0..count {
        let (entry, next) = one(bytes, at)?;
        entries.push(entry);
        at = next;
    }
    Ok(entries)
}

fn one(bytes: &[u8], at: usize) -> Result<(Entry, usize), String> {
    let cut = || "the archive is cut short or damaged".to_owned();
    if four(bytes, at) != Some(CENTRAL) {
        return Err(cut());
    }
    let small = |offset: usize| two(bytes, at + offset).map(usize::from).ok_or_else(cut);
    let large = |offset: usize| four(bytes, at + offset).ok_or_else(cut);
    let (method, time, date) = (small(10)?, small(12)?, small(14)?);
    let (sum, packed, size) = (large(16)?, large(20)? as usize, u64::from(large(24)?));
    let (name, extra, comment) = (small(28)?, small(30)?, small(32)?);
    let (outer, local) = (large(38)?, large(42)? as usize);
    let name_bytes = bytes.get(at + 46..at + 46 + name).ok_or_else(cut)?;
    let text = String::from_utf8_lossy(name_bytes).into_owned();
    if small(8)? & 1 == 1 {
        return Err(format!("{text}: encrypted entries are not supported"));
    }
    let before = |offset: usize| two(bytes, local + offset).map(usize::from).ok_or_else(cut);
    let start = local + 30 + before(26)? + before(28)?;
    let packed = bytes.get(start..start.saturating_add(packed)).ok_or_else(cut)?;
    let mut data = Vec::new();
    match method {
        0 => data.extend_from_slice(packed),
        8 => {
            let read = DeflateDecoder::new(packed).take(size.min(LARGEST) + 1).read_to_end(&mut data);
            read.map_err(|error| format!("{text}: {error}"))?;
        }
        other => return Err(format!("{text}: compression method {other} is not supported")),
    }
    let mut found = Crc::new();
    found.update(&data);
    if found.sum() != sum {
        return Err(format!("{text}: bad CRC {:08x} (should be {sum:08x})", found.sum()));
    }
    let usual = if text.ends_with('/') { 0o755 } else { 0o644 };
    let mode = Some(outer >> 16 & 0o7777).filter(|mode| *mode != 0).unwrap_or(usual);
    let entry = Entry { name: text, mode, modified: moment(date, time), data };
    Ok((entry, at + 46 + name + extra + comment))
}

/// An archive of these entries.
pub(super) fn write(entries: &[Entry], level: u32) -> io::Result<Vec<u8>> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    let too_large = |_| io::Error::other("the archive is too large for its format");
    for entry in entries {
        let mut sum = Crc::new();
        sum.update(&entry.data);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(&entry.data)?;
        let packed = encoder.finish()?;
        let smaller = level > 0 && packed.len() < entry.data.len();
        let (method, packed) = if smaller { (8_u16, packed.as_slice()) } else { (0, entry.data.as_slice()) };
        let start = u32::try_from(archive.len()).map_err(too_large)?;
        let name = u16::try_from(entry.name.len()).map_err(too_large)?;
        let mut head = Vec::new();
        // The version that can read it, names in UTF-8, how it is packed, when it was changed.
        for number in [20, 1 << 11, method] {
            head.extend(number.to_le_bytes());
        }
        head.extend(stamp(entry.modified).to_le_bytes());
        for number in [sum.sum(), u32::try_from(packed.len()).map_err(too_large)?] {
            head.extend(number.to_le_bytes());
        }
        head.extend(u32::try_from(entry.data.len()).map_err(too_large)?.to_le_bytes());
        head.extend(name.to_le_bytes());
        head.extend(0_u16.to_le_bytes());
        archive.extend(LOCAL.to_le_bytes());
        archive.extend(&head);
        archive.extend(entry.name.bytes());
        archive.extend_from_slice(packed);
        let folder = entry.name.ends_with('/');
        let outer =
            (if folder { 0o040_000 } else { 0o100_000 } | entry.mode & 0o7777) << 16 | u32::from(folder) << 4;
        directory.extend(CENTRAL.to_le_bytes());
        // Made on Unix, by version 3.0 of the format.
        directory.extend((3_u16 << 8 | 30).to_le_bytes());
        directory.extend(&head);
        directory.extend([0; 6]);
        directory.extend(outer.to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend(entry.name.bytes());
    }
    let count = u16::try_from(entries.len()).map_err(too_large)?;
    let start = u32::try_from(archive.len()).map_err(too_large)?;
    let length = u32::try_from(directory.len()).map_err(too_large)?;
    archive.extend(directory);
    archive.extend(END.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([length.to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0; 2]);
    Ok(archive)
}

/// What `unzip -l` shows.
pub(super) fn listed(name: &str, entries: &[Entry]) -> String {
    let mut text =
        format!("Archive:  {name}\n  Length      Date    Time    Name\n---------  ---------- -----   ----\n");
    for entry in entries {
        let at = Moment::of(entry.modified);
        let time = format!("{} {:02}:{:02}", at.date(), at.hour, at.minute);
        text += &format!("{:>9}  {time}   {}\n", entry.data.len(), entry.name);
    }
    let total: usize = entries.iter().map(|entry| entry.data.len()).sum();
    let plural = if entries.len() == 1 { "" } else { "s" };
    text + &format!(
        "---------                     -------\n{total:>9}                     {} file{plural}\n",
        entries.len()
    )
}

/// Date and time as DOS wrote them: 1980 and later, even seconds.
fn stamp(time: SystemTime) -> u32 {
    let at = Moment::of(time);
    let year = (at.year - 1980).clamp(0, 127);
    let date = year << 9 | at.month << 5 | at.day;
    let clock = at.hour << 11 | at.minute << 5 | (at.second / 2);
    u32::try_from(date << 16 | clock).unwrap_or(0)
}

fn moment(date: usize, time: usize) -> SystemTime {
    let part = |number: usize, from: usize, bits: usize| {
        i64::try_from(number >> from & ((1 << bits) - 1)).unwrap_or(0)
    };
    let days = day_number(1980 + part(date, 9, 7), part(date, 5, 4), part(date, 0, 5));
    let seconds = days * 86_400 + part(time, 11, 5) * 3600 + part(time, 5, 6) * 60 + part(time, 0, 5) * 2;
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

fn two(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn four(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
