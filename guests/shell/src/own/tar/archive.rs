//! What lies in a tar archive, read and written whole by the crate `tar`, and how it is compressed.
//!
//! Written are GNU's headers, with its entries for long names; those of `pax` are read as well.

use std::io::{self, Cursor, Read, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bzip2::read::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Entry, EntryType, Header};

const BLOCK: usize = 512;
/// Bytes that GNU's tar writes at a time.
const RECORD: usize = 20 * BLOCK;
/// The most that an archive may unpack to (1 GiB); the instance's memory is less.
const LARGEST: u64 = 1 << 30;
/// Why what is no archive at all cannot be read.
pub(super) const NONE: &str = "This does not look like a tar archive";
/// Who owns what is packed.
const OWNER: (&str, u64) = ("sandbox", 1000);
/// Bytes of a name in a header; a longer one has an entry of its own.
const NAME: usize = 100;

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
    let (mut members, mut at) = (Vec::new(), 0);
    let mut archive = Archive::new(Cursor::new(bytes));
    for entry in archive.entries_with_seek().map_err(|_| NONE)? {
        let mut entry = entry.map_err(|error| match error.kind() {
            _ if at == 0 && !is_header(bytes) => NONE,
            io::ErrorKind::UnexpectedEof => CUT,
            _ if at + BLOCK > bytes.len() => CUT,
            _ => "An entry is damaged",
        })?;
        let place = |number: u64| usize::try_from(number).map_err(|_| CUT);
        let (start, size) = (place(entry.raw_file_position())?, place(entry.size())?);
        let end = start.checked_add(size).ok_or(CUT)?;
        let content = bytes.get(start..end).ok_or(CUT)?;
        at = end.checked_next_multiple_of(BLOCK).ok_or(CUT)?;
        if entry.header().entry_type() != EntryType::XGlobalHeader {
            members.push(member(&mut entry, content));
        }
    }
    match bytes.len() {
        0 => Err(NONE),
        length => Ok((members, at.min(length))),
    }
}

/// Whether the first block is a header or empty.
fn is_header(bytes: &[u8]) -> bool {
    let Some(block) = bytes.first_chunk::<BLOCK>() else { return false };
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(block);
    let written = header.cksum().ok();
    header.set_cksum();
    written.is_some() && written == header.cksum().ok()
}

fn member<'a>(entry: &mut Entry<'_, impl Read>, content: &'a [u8]) -> Member<'a> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut name = text(&entry.path_bytes());
    let link = entry.link_name_bytes().map(|link| text(&link)).unwrap_or_default();
    let header = entry.header();
    let kind = match header.entry_type() {
        EntryType::Regular | EntryType::Continuous if name.ends_with('/') => Kind::Folder,
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Link => Kind::HardLink,
        EntryType::Symlink => Kind::Link,
        EntryType::Directory => Kind::Folder,
        _ => Kind::Other,
    };
    if kind == Kind::Folder && !name.ends_with('/') {
        name.push('/');
    }
    let who = |name: Option<&[u8]>, number: io::Result<u64>| match name {
        Some(name) if !name.is_empty() => text(name),
        _ => number.unwrap_or(0).to_string(),
    };
    let user = who(header.username_bytes(), header.uid());
    let group = who(header.groupname_bytes(), header.gid());
    let mode = header.mode().map_or(0o644, |mode| mode & 0o7777);
    let seconds = header.mtime().ok();
    // The extensions of `pax` have times of their own.
    let said = entry.pax_extensions().ok().flatten().and_then(|all| {
        let mut times = all.flatten().filter(|one| one.key_bytes() == b"mtime");
        times.next()?.value().ok()?.split('.').next()?.parse().ok()
    });
    let moment = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
    let modified = said.or(seconds).and_then(moment).unwrap_or(UNIX_EPOCH);
    Member { name, kind, link, mode, modified, owner: format!("{user}/{group}"), content }
}

/// An archive that is being written.
pub(super) struct Writer(Builder<Vec<u8>>);

impl Writer {
    /// One that begins with these entries, as they lie in another archive.
    pub(super) fn behind(entries: Vec<u8>) -> Self {
        Self(Builder::new(entries))
    }

    /// Appends an entry.
    pub(super) fn push(&mut self, member: &Member<'_>) -> io::Result<()> {
        let kind = match member.kind {
            Kind::HardLink => EntryType::Link,
            Kind::Link => EntryType::Symlink,
            Kind::Folder => EntryType::Directory,
            Kind::File | Kind::Other => EntryType::Regular,
        };
        for (kind, long) in [(EntryType::GNULongName, &member.name), (EntryType::GNULongLink, &member.link)] {
            if long.len() > NAME {
                let content = [long.as_bytes(), &[0]].concat();
                self.block(kind, ["././@LongLink", ""], (0o644, UNIX_EPOCH), &content)?;
            }
        }
        let (mode, modified) = (member.mode & 0o7777, member.modified);
        self.block(kind, [&member.name, &member.link], (mode, modified), member.content)
    }

    /// A header and its content. Names are written as they are: those that lead out are refused where an archive is unpacked.
    fn block(
        &mut self,
        kind: EntryType,
        names: [&str; 2],
        (mode, modified): (u32, SystemTime),
        content: &[u8],
    ) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(OWNER.1);
        header.set_gid(OWNER.1);
        header.set_size(content.len() as u64);
        header.set_mtime(modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
        header.set_username(OWNER.0)?;
        header.set_groupname(OWNER.0)?;
        if let Some(gnu) = header.as_gnu_mut() {
            for (field, name) in [&mut gnu.name, &mut gnu.linkname].into_iter().zip(names) {
                let length = name.len().min(NAME);
                field[..length].copy_from_slice(&name.as_bytes()[..length]);
            }
        }
        header.set_cksum();
        self.0.append(&header, content)
    }

    /// The archive, with two empty blocks and as many more as fill a record.
    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        let mut archive = self.0.into_inner()?;
        archive.resize(archive.len().next_multiple_of(RECORD), 0);
        Ok(archive)
    }
}

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Packing {
    #[default]
    None,
    Gzip,
    Bzip2,
}

impl Packing {
    /// By the first bytes of an archive. An error: how it is compressed, which is not supported.
    pub(super) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        match bytes {
            [0x1f, 0x8b, ..] => Ok(Self::Gzip),
            [b'B', b'Z', b'h', ..] => Ok(Self::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Err("xz"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Err("zstd"),
            [b'L', b'Z', b'I', b'P', ..] if !is_header(bytes) => Err("lzip"),
            [0x5d, 0, 0, ..] if !is_header(bytes) => Err("lzma"),
            [0x1f, 0x9d, ..] => Err("compress"),
            _ => Ok(Self::None),
        }
    }

    /// By the end of an archive's name. An error: how it is to be compressed, which is not supported.
    pub(super) fn of_name(name: &str) -> Result<Self, &'static str> {
        match name.rsplit('.').next().unwrap_or_default() {
            "gz" | "tgz" | "taz" => Ok(Self::Gzip),
            "bz2" | "tbz" | "tbz2" | "tz2" => Ok(Self::Bzip2),
            "xz" | "txz" => Err("xz"),
            "zst" | "tzst" => Err("zstd"),
            "lz" => Err("lzip"),
            "lzma" | "tlz" => Err("lzma"),
            "Z" | "taZ" => Err("compress"),
            _ => Ok(Self::None),
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
