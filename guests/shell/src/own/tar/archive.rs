//! The format of tar: what lies in an archive, read and written whole, and how it is compressed.
//!
//! Written are POSIX's headers with GNU's entries for long names; those of `pax` are read as well.

use std::io::{self, Read, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bzip2::read::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

const BLOCK: usize = 512;
/// The most that an archive may unpack to (1 GiB); the instance's memory is less.
const LARGEST: u64 = 1 << 30;
/// Who owns what is packed.
const OWNER: (&str, u64) = ("sandbox", 1000);

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    /// Another name of an earlier entry.
    HardLink,
    Link,
    Folder,
    Other,
}

/// An entry.
#[derive(Debug)]
pub(super) struct Member<'a> {
    /// With a slash at its end for a folder.
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Where a link leads.
    pub(super) link: String,
    pub(super) mode: u32,
    pub(super) modified: SystemTime,
    /// `user/group`
    pub(super) owner: String,
    pub(super) content: &'a [u8],
}

/// All entries of an archive, and where they end.
pub(super) fn read(bytes: &[u8]) -> Result<(Vec<Member<'_>>, usize), &'static str> {
    const CUT: &str = "Unexpected EOF in archive";
    let mut members = Vec::new();
    let (mut at, mut said) = (0, Said::default());
    while let Some(header) = bytes.get(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            return Ok((members, at));
        }
        if number(&header[148..156]) != Some(sum(header)) {
            return Err(if at == 0 {
                "This does not look like a tar archive"
            } else {
                "An entry is damaged"
            });
        }
        let size = said.size.take().or_else(|| number(&header[124..136])).ok_or("Malformed header")?;
        let start = at + BLOCK;
        let end = usize::try_from(size).ok().and_then(|size| start.checked_add(size)).ok_or(CUT)?;
        let content = bytes.get(start..end).ok_or(CUT)?;
        let next = end.next_multiple_of(BLOCK);
        match header[156] {
            b'L' => said.name = Some(text(content)),
            b'K' => said.link = Some(text(content)),
            b'x' => said.records(content),
            b'g' => {}
            letter => members.push(member(header, letter, content, std::mem::take(&mut said))),
        }
        at = next;
    }
    match at {
        0 => Err("This does not look like a tar archive"),
        // The two empty blocks at the end are missing, and nothing else.
        _ if at >= bytes.len() => Ok((members, bytes.len())),
        _ => Err(CUT),
    }
}

/// What entries of their own say of the one that follows.
#[derive(Default)]
struct Said {
    name: Option<String>,
    link: Option<String>,
    modified: Option<SystemTime>,
    size: Option<u64>,
}

impl Said {
    /// Records of `pax`: `LENGTH NAME=VALUE` and a line feed.
    fn records(&mut self, mut content: &[u8]) {
        while let Some(space) = content.iter().position(|byte| *byte == b' ') {
            let length = text(&content[..space]).parse().unwrap_or(0);
            if length <= space + 1 || length > content.len() {
                return;
            }
            let (record, rest) = content.split_at(length);
            content = rest;
            let record = text(&record[space + 1..]);
            let Some((name, value)) = record.trim_end_matches('\n').split_once('=') else { continue };
            match name {
                "path" => self.name = Some(value.to_owned()),
                "linkpath" => self.link = Some(value.to_owned()),
                "size" => self.size = value.parse().ok(),
                "mtime" => {
                    let seconds = value.split('.').next().and_then(|whole| whole.parse().ok());
                    self.modified = seconds.and_then(moment);
                }
                _ => {}
            }
        }
    }
}

fn member<'a>(header: &[u8], letter: u8, content: &'a [u8], said: Said) -> Member<'a> {
    let mut name = said.name.unwrap_or_else(|| {
        let (prefix, name) = (text(&header[345..500]), text(&header[..100]));
        let posix = &header[257..263] == b"ustar\0" && !prefix.is_empty();
        if posix { format!("{prefix}/{name}") } else { name }
    });
    let kind = match letter {
        b'0' | 0 | b'7' if name.ends_with('/') => Kind::Folder,
        b'0' | 0 | b'7' => Kind::File,
        b'1' => Kind::HardLink,
        b'2' => Kind::Link,
        b'5' => Kind::Folder,
        _ => Kind::Other,
    };
    if kind == Kind::Folder && !name.ends_with('/') {
        name.push('/');
    }
    let who = |names: &[u8], numbers: &[u8]| match text(names) {
        name if name.is_empty() => number(numbers).unwrap_or(0).to_string(),
        name => name,
    };
    let (user, group) =
        (who(&header[265..297], &header[108..116]), who(&header[297..329], &header[116..124]));
    Member {
        name,
        kind,
        link: said.link.unwrap_or_else(|| text(&header[157..257])),
        mode: number(&header[100..108]).and_then(|mode| u32::try_from(mode & 0o7777).ok()).unwrap_or(0o644),
        modified: said.modified.or_else(|| moment(number(&header[136..148])?)).unwrap_or(UNIX_EPOCH),
        owner: format!("{user}/{group}"),
        content,
    }
}

/// Appends an entry.
pub(super) fn push(archive: &mut Vec<u8>, member: &Member<'_>) {
    let letter = match member.kind {
        Kind::HardLink => b'1',
        Kind::Link => b'2',
        Kind::Folder => b'5',
        Kind::File | Kind::Other => b'0',
    };
    for (letter, long) in [(b'L', &member.name), (b'K', &member.link)] {
        if long.len() > 100 {
            let content = [long.as_bytes(), &[0]].concat();
            block(archive, letter, "././@LongLink", "", (0o644, UNIX_EPOCH), &content);
        }
    }
    block(archive, letter, &member.name, &member.link, (member.mode, member.modified), member.content);
}

/// Two empty blocks, and as many more as fill what GNU's tar writes at a time.
pub(super) fn finish(archive: &mut Vec<u8>) {
    archive.resize((archive.len() + 2 * BLOCK).next_multiple_of(20 * BLOCK), 0);
}

fn block(
    archive: &mut Vec<u8>,
    letter: u8,
    name: &str,
    link: &str,
    (mode, modified): (u32, SystemTime),
    content: &[u8],
) {
    let seconds = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &name.as_bytes()[..name.len().min(100)]);
    put(100, format!("{:07o}\0", mode & 0o7777).as_bytes());
    put(108, format!("{:07o}\0", OWNER.1).as_bytes());
    put(116, format!("{:07o}\0", OWNER.1).as_bytes());
    put(124, format!("{:011o}\0", content.len()).as_bytes());
    put(136, format!("{seconds:011o}\0").as_bytes());
    put(148, b"        ");
    put(156, &[letter]);
    put(157, &link.as_bytes()[..link.len().min(100)]);
    put(257, b"ustar  \0");
    put(265, OWNER.0.as_bytes());
    put(297, OWNER.0.as_bytes());
    let sum = sum(&header);
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    archive.extend_from_slice(&header);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
}

/// The checksum of a header: its bytes, with blanks in the sum's own place.
fn sum(header: &[u8]) -> u64 {
    let bytes = header.iter().enumerate();
    bytes.map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum()
}

/// Up to the first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Octal digits, or a number in binary, which begins with the highest bit.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] == 0x80 {
        return field[1..].iter().try_fold(0_u64, |all, byte| Some(all.checked_mul(256)? | u64::from(*byte)));
    }
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

fn moment(seconds: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// How an archive is compressed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    None,
    Gzip,
    Bzip2,
}

impl Packing {
    /// By the first bytes of an archive.
    pub(super) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', ..] => Self::Bzip2,
            _ => Self::None,
        }
    }

    /// By the end of an archive's name.
    pub(super) fn of_name(name: &str) -> Self {
        match name.rsplit('.').next() {
            Some("gz" | "tgz") => Self::Gzip,
            Some("bz2" | "tbz" | "tbz2") => Self::Bzip2,
            _ => Self::None,
        }
    }

    pub(super) fn pack(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes),
            Self::Gzip => {
                let mut writer = GzEncoder::new(Vec::new(), flate2::Compression::default());
                writer.write_all(&bytes)?;
                writer.finish()
            }
            Self::Bzip2 => {
                let mut writer = BzEncoder::new(Vec::new(), bzip2::Compression::best());
                writer.write_all(&bytes)?;
                writer.finish()
            }
        }
    }

    pub(super) fn unpack(self, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(bytes),
            Self::Gzip => bounded(MultiGzDecoder::new(bytes.as_slice())),
            Self::Bzip2 => bounded(MultiBzDecoder::new(bytes.as_slice())),
        }
    }
}

fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let size = reader.take(LARGEST + 1).read_to_end(&mut all)?;
    if size as u64 > LARGEST {
        Err(io::Error::other("the archive unpacks to more than 1 GiB"))
    } else {
        Ok(all)
    }
}
