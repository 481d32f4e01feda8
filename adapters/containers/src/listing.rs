//! What a container's folders hold, without the content: one program of ours that tells of each name what stamps it has.
//!
//! Owns: the program, and reading what it says. Does not own: what is made of it ([`crate::merge`], [`crate::saving`]).
//!
//! A file whose stamp is as it was has not changed, with two exceptions. One whose stamp is as young as the clock's tick may be
//! changed again within that tick. One that a process has mapped for writing changes without a stamp: the kernel sets it at the first
//! write through a mapping alone.

use std::collections::{BTreeMap, HashSet};

use dormouse_core::{GuestPath, Result};

use crate::number::random;
use crate::paths::{MOVED, is_below};
use crate::port::Container;
use crate::sweep::{LOOK, spaced};

/// Most bytes of a listing: 256 MiB, some two million names.
const MOST: u64 = 256 << 20;
/// Nanoseconds of a tick, with some room: what is younger may change without a new stamp.
const TICK: u64 = 30_000_000;
/// The same where the image's tools tell whole seconds.
const COARSE: u64 = 2_000_000_000;

/// `$1` the sessions of ours, `$2` that of the container's own main process, or nothing, `$3` a mark, then the folders. Answers lines of a header (`at`, `works`, `map`), then names.
///
/// `works` is how many processes of the sandbox there are beside ours: in a session of ours is what the session's leader started,
/// and an interpreter is in the one that its relay began.
const LIST: &str = r#"
keep=$1 main=$2 mark=$3
shift 3
command -v grep >/dev/null 2>&1 && command -v find >/dev/null 2>&1 || exit 3
echo "at $(date +%s.%N)"
look
found=0
for entry in $table; do
  session=${entry#*:}
  [ "${session%:*}" = "$main" ] && continue
  case "$kept" in *" ${session%:*} "*) continue ;; esac
  [ -O "/proc/${entry%%:*}" ] && found=$((found + 1))
done
echo "works $found"
grep -h ' .w.s ' /proc/[0-9]*/maps 2>/dev/null | while read -r range bits offset device inode rest; do echo "map $inode"; done
if find / -maxdepth 0 -printf '' 2>/dev/null; then
  echo names fine
  find "$@" -xdev -printf '%y %m %s %T@ %C@ %i %n\0%p\0%l\0'
else
  command -v stat >/dev/null 2>&1 || exit 3
  echo names plain
  find "$@" -xdev -exec stat -c "$mark %f %s %Y %Z %i %h %n" {} +
fi
"#;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    File,
    Folder,
    Link,
    Fifo,
    /// A socket or a device.
    Other,
}

/// All that tells whether a name is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) what: What,
    pub(crate) mode: u16,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: u64,
    pub(crate) changed: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
    /// Where a link leads, if the image's tools tell.
    pub(crate) target: Option<String>,
}

/// What the folders held at one moment. Paths are as in [`dormouse_files::Extras`].
#[derive(Debug, Default)]
pub(crate) struct Listing {
    pub(crate) names: BTreeMap<String, Stamp>,
    /// Names that no path can be.
    pub(crate) odd: Vec<Vec<u8>>,
    /// When it began, by the container's clock.
    at: u64,
    /// Whether its times are whole seconds.
    coarse: bool,
    /// How many processes work on that no call waits for.
    pub(crate) works: usize,
    /// The inodes of files that are mapped for writing.
    pub(crate) mapped: HashSet<u64>,
}

impl Listing {
    /// Asks a container. None: its image has no tools for it, or what it has could not be looked through.
    ///
    /// # Errors
    /// `provider_unavailable`.
    pub(crate) async fn of(
        container: &dyn Container,
        sessions: &[u32],
        without: &[String],
    ) -> Result<Option<Self>> {
        let mark = random()?;
        let (program, keep) = (format!("{LOOK}{LIST}"), spaced(sessions));
        let main = container.main_session().map(|main| main.to_string()).unwrap_or_default();
        let mut argv: Vec<String> =
            ["sh", "-c", &program, "dormouse", &keep, &main, &mark].map(str::to_owned).into();
        argv.extend(MOVED.map(str::to_owned));
        let said = container.insist(argv, Vec::new(), MOST).await?;
        if said.code != Some(0) || said.stdout.total > MOST {
            tracing::debug!(container = container.id(), code = said.code, "the files are not listed");
            return Ok(None);
        }
        Ok(Self::read(&said.stdout.bytes, &mark, without))
    }

    /// Reads what the program says. `without` are places of other file systems.
    pub(crate) fn read(said: &[u8], mark: &str, without: &[String]) -> Option<Self> {
        let mut listing = Self::default();
        let mut rest = said;
        loop {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let (line, after) = (rest.get(..end)?, rest.get(end + 1..)?);
            rest = after;
            let line = std::str::from_utf8(line).ok()?;
            match line.split_once(' ')? {
                ("at", time) => (listing.at, listing.coarse) = time_of(time)?,
                ("works", count) => listing.works = count.parse().ok()?,
                ("map", inode) => {
                    listing.mapped.insert(inode.parse().unwrap_or_default());
                }
                ("names", "fine") => {
                    let mut parts = rest.split(|byte| *byte == 0);
                    while let Some(stamp) = parts.next().filter(|part| !part.is_empty()) {
                        let (path, target) = (parts.next()?, parts.next()?);
                        listing.add(fine(std::str::from_utf8(stamp).ok()?, target)?, path, without);
                    }
                    return Some(listing);
                }
                ("names", "plain") => {
                    listing.coarse = true;
                    let begin = format!("{mark} ");
                    for entry in split(rest, begin.as_bytes()) {
                        let (stamp, path) = plain(entry)?;
                        listing.add(stamp, path, without);
                    }
                    return Some(listing);
                }
                _ => return None,
            }
        }
    }

    fn add(&mut self, stamp: Stamp, path: &[u8], without: &[String]) {
        let parsed = std::str::from_utf8(path).ok().filter(|path| GuestPath::parse(path).is_ok());
        let Some(path) = parsed.and_then(|path| path.strip_prefix('/')) else {
            self.odd.push(path.to_vec());
            return;
        };
        // The folders themselves are as they are made.
        if path.contains('/') && !is_below(path, without) {
            self.names.insert(path.to_owned(), stamp);
        }
    }

    /// Whether a name's stamp may stand for more than one content.
    pub(crate) fn is_young(&self, stamp: &Stamp) -> bool {
        let window = if self.coarse { COARSE } else { TICK };
        stamp.changed.saturating_add(window) >= self.at
    }

    /// Whether a file is mapped for writing.
    pub(crate) fn is_mapped(&self, stamp: &Stamp) -> bool {
        stamp.what == What::File && self.mapped.contains(&stamp.inode)
    }

    /// Whether nothing has changed since another one was taken, for sure.
    pub(crate) fn is_still(&self, before: &Self) -> bool {
        let sure = |stamp: &Stamp| {
            stamp.what != What::File
                || !(before.is_young(stamp) || before.is_mapped(stamp) || self.is_mapped(stamp))
        };
        self.names == before.names && self.odd == before.odd && before.names.values().all(sure)
    }
}

/// Seconds with a fraction as nanoseconds; whether the fraction is missing.
fn time_of(text: &str) -> Option<(u64, bool)> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: u64 = seconds.parse().ok()?;
    let digits: String = fraction.chars().take_while(char::is_ascii_digit).take(9).collect();
    let whole = digits.is_empty();
    let nanos: u64 = format!("{digits:0<9}").parse().ok()?;
    Some((seconds.saturating_mul(1_000_000_000).saturating_add(nanos), whole))
}

/// A stamp as GNU find tells it: `f 644 12 1700000000.1234567890 1700000000.1234567890 77 1`.
fn fine(text: &str, target: &[u8]) -> Option<Stamp> {
    let words: Vec<&str> = text.split(' ').collect();
    let [what, mode, size, modified, changed, inode, links] = words.as_slice() else { return None };
    let what = match *what {
        "f" => What::File,
        "d" => What::Folder,
        "l" => What::Link,
        "p" => What::Fifo,
        _ => What::Other,
    };
    // A time before 1970 is no time of ours.
    let time = |text: &str| time_of(text).map_or(0, |(time, _)| time);
    Some(Stamp {
        what,
        mode: u16::from_str_radix(mode, 8).ok()? & 0o7777,
        size: size.parse().ok()?,
        modified: time(modified),
        changed: time(changed),
        inode: inode.parse().ok()?,
        links: links.parse().ok()?,
        target: (what == What::Link).then(|| String::from_utf8(target.to_vec()).unwrap_or_default()),
    })
}

/// A stamp and a path as `stat` tells them, whose times are whole seconds.
fn plain(entry: &[u8]) -> Option<(Stamp, &[u8])> {
    let mut words = entry.splitn(7, |byte| *byte == b' ');
    let mut word = || std::str::from_utf8(words.next()?).ok();
    let mode = u32::from_str_radix(word()?, 16).ok()?;
    let size = word()?.parse().ok()?;
    let mut time = || word()?.parse::<i64>().ok();
    let (modified, changed) = (time()?, time()?);
    let (inode, links) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let path = words.next()?.strip_suffix(b"\n")?;
    let nanos = |seconds: i64| u64::try_from(seconds).unwrap_or_default().saturating_mul(1_000_000_000);
    let what = match mode & 0o170_000 {
        0o100_000 => What::File,
        0o040_000 => What::Folder,
        0o120_000 => What::Link,
        0o010_000 => What::Fifo,
        _ => What::Other,
    };
    let mode = u16::try_from(mode & 0o7777).ok()?;
    let (modified, changed) = (nanos(modified), nanos(changed));
    Some((Stamp { what, mode, size, modified, changed, inode, links, target: None }, path))
}

/// The pieces that each begin with a mark; what is before the first is none.
fn split<'a>(bytes: &'a [u8], mark: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= mark.len()) {
        if rest.starts_with(mark) {
            starts.push(at);
            at += mark.len();
        } else {
            let next = rest.iter().skip(1).position(|byte| Some(byte) == mark.first());
            at += next.map_or(rest.len(), |next| next + 1);
        }
    }
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([bytes.len()]).collect();
    starts.into_iter().zip(ends).filter_map(move |(start, end)| bytes.get(start + mark.len()..end))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One of `KIND MODE SIZE MODIFIED CHANGED INODE LINKS PATH [TARGET]`.
    pub(crate) fn listing(at: &str, names: &[(&str, &str, &str)]) -> Listing {
        let mut said = format!("at {at}\nworks 0\nnames fine\n").into_bytes();
        for (stamp, path, target) in names {
            said.extend(format!("{stamp}\0{path}\0{target}\0").into_bytes());
        }
        Listing::read(&said, "M", &["workspace/skills".to_owned()]).unwrap()
    }

    #[test]
    fn both_kinds_of_tools_are_understood() {
        let fine = listing(
            "1700000010.500000000",
            &[
                ("d 755 40 1700000000.0000000000 1700000000.0000000000 1 3", "/workspace", ""),
                ("f 4755 5 1700000000.1234567890 1700000001.0000000000 7 2", "/workspace/a\nb c", ""),
                ("l 777 9 1700000000.0 1700000000.0 8 1", "/workspace/l", "/usr/bin/x"),
                ("f 644 1 1700000000.0 1700000000.0 9 1", "/workspace/skills/pdf", ""),
                ("d 755 1 1700000000.0 1700000000.0 9 1", "/workspace/skillset", ""),
            ],
        );
        assert_eq!(
            fine.names.keys().collect::<Vec<_>>(),
            ["workspace/a\nb c", "workspace/l", "workspace/skillset"]
        );
        let file = &fine.names["workspace/a\nb c"];
        assert_eq!((file.mode, file.size, file.modified), (0o4755, 5, 1_700_000_000_123_456_789));
        assert_eq!(fine.names["workspace/l"].target.as_deref(), Some("/usr/bin/x"));
        let said = b"at 1700000010.\nworks 2\nmap 77\nnames plain\nM 41ed 40 1 1 1 3 /workspace\n\
            M 81a4 5 1700000000 1700000001 7 1 /workspace/a\nM x\nM 11a4 0 5 6 8 1 /tmp/p\n";
        let plain = Listing::read(said, "M", &[]);
        // A name with the mark in it would need the mark: it is random.
        assert!(plain.is_none());
        let said = b"at 1700000010.\nworks 2\nmap 77\nnames plain\nM 41ed 40 1 1 1 3 /workspace\n\
            M 81a4 5 1700000000 1700000001 7 1 /workspace/a\nN x\nM 11a4 0 5 6 8 1 /tmp/p\n";
        let plain = Listing::read(said, "M", &[]).unwrap();
        assert_eq!(plain.names["workspace/a\nN x"].changed, 1_700_000_001_000_000_000);
        assert_eq!(plain.names["tmp/p"].what, What::Fifo);
        assert_eq!((plain.works, plain.mapped.contains(&77), plain.coarse), (2, true, true));
    }

    #[test]
    fn a_name_that_is_no_text_is_noted_and_a_broken_listing_is_none() {
        let said = b"at 1.5\nworks 0\nnames fine\nf 644 1 1.0 1.0 2 1\0/workspace/\xff\0\0";
        let read = Listing::read(said, "M", &[]).unwrap();
        assert_eq!(read.odd, [b"/workspace/\xff".to_vec()]);
        for bad in [
            &b"at 1.5\n"[..],
            b"",
            b"names fine\nf 644\0/workspace/a\0\0",
            b"names fine\nf 644 1 1.0 1.0 2 1\0/x",
        ] {
            assert!(Listing::read(bad, "M", &[]).is_none());
        }
    }

    #[test]
    fn what_is_as_young_as_the_clocks_tick_may_change_again_unseen() {
        let stamp = |changed: &str| format!("f 644 1 1700000000.0 {changed} 7 1");
        let old = stamp("1700000009.900000000");
        let young = stamp("1700000009.990000000");
        let listing = listing(
            "1700000010.000000000",
            &[(&old, "/workspace/old", ""), (&young, "/workspace/young", "")],
        );
        assert!(!listing.is_young(&listing.names["workspace/old"]));
        assert!(listing.is_young(&listing.names["workspace/young"]));
    }
}
