//! The checksum beside an artifact, `NAME.sum`: it tells an artifact that is whole from one that lost bytes to a failing disk, a
//! loss of power or a copy that was cut short. It does not tell forgery: for that, nobody else can write the folder.
//!
//! ```text
//! 2d3a…   BLAKE3 of the artifact, 64 hexadecimal digits
//! c9b2…   the mark: boot of the machine, inode, size, time of the last write and of the last change
//! ```
//!
//! Hashing an interpreter's artifact takes some ten milliseconds, too long for each start of a process. So it is hashed when
//! it is written, and then once per boot and file: the mark says which bytes have been found to fit, and as long as it holds
//! nobody has written to them.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;

use blake3::{Hash, Hasher};
use dormouse_core::{Error, Result};

use crate::private::{Durability, Folder};

/// A number that the kernel draws at each boot.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Longest checksum file that is read, in bytes.
const LONGEST: u64 = 1 << 10;

/// The name of an artifact's checksum.
pub(super) fn name(artifact: &str) -> String {
    format!("{}.sum", artifact.rsplit_once('.').map_or(artifact, |(stem, _)| stem))
}

/// Notes what an artifact that has just been written must be, once it has been read back and found to be that.
///
/// # Errors
/// `internal` when the file is not what was written, or when the checksum cannot be written.
pub(super) fn record(folder: &Folder, artifact: &str, file: &File, bytes: &[u8]) -> Result<()> {
    let wanted = blake3::hash(bytes);
    let found = hash(file).map_err(|error| Error::internal("the artifact cannot be read back", error))?;
    if found != wanted {
        let cause = io::Error::from(io::ErrorKind::InvalidData);
        return Err(Error::internal("the artifact is not what was written", cause)
            .with_hint("the disk loses bytes; set DORMOUSE_CACHE_DIR to a folder on another one"));
    }
    write(folder, artifact, wanted, mark(file))
}

/// A checksum file.
struct Sum {
    hash: Hash,
    /// Empty: the kernel does not tell the boot.
    mark: String,
}

impl Sum {
    /// That of an artifact, or what is wrong with it.
    fn read(folder: &Folder, artifact: &str) -> Result<std::result::Result<Self, &'static str>> {
        let Some(file) = folder.file(&name(artifact))? else { return Ok(Err("it has no checksum")) };
        let mut text = String::new();
        if file.take(LONGEST).read_to_string(&mut text).is_err() {
            return Ok(Err("its checksum cannot be read"));
        }
        let mut lines = text.lines();
        let hash = lines.next().and_then(|line| Hash::from_hex(line).ok());
        let mark = lines.next().unwrap_or_default().to_owned();
        Ok(hash.map(|hash| Self { hash, mark }).ok_or("its checksum is damaged"))
    }

    /// Whether the bytes have been hashed since the machine was started and since the file was last changed.
    fn holds(&self, now: Option<&str>) -> bool {
        now == Some(self.mark.as_str())
    }

    /// The same, where the marks are.
    fn is_marked(&self, marks: Marks<'_>, artifact: &str, now: Option<&str>) -> bool {
        match marks {
            Marks::Beside => self.holds(now),
            // What cannot be read is no mark.
            Marks::Elsewhere(Some(place)) => matches!(Sum::read(place, artifact),
                Ok(Ok(noted)) if noted.hash == self.hash && noted.holds(now)),
            Marks::Elsewhere(None) => false,
        }
    }
}

/// Where it is noted that an artifact has been hashed.
#[derive(Clone, Copy)]
pub(super) enum Marks<'a> {
    /// In its checksum.
    Beside,
    /// In a checksum of the same name in another folder, because nothing is written beside it; none: nowhere, there is no
    /// such folder.
    Elsewhere(Option<&'a Folder>),
}

/// Whether the artifact need not be hashed.
///
/// # Errors
/// `internal` when another user could have written the checksum.
pub(super) fn is_marked(folder: &Folder, marks: Marks<'_>, artifact: &str, file: &File) -> Result<bool> {
    let Ok(sum) = Sum::read(folder, artifact)? else { return Ok(false) };
    Ok(sum.is_marked(marks, artifact, mark(file).as_deref()))
}

/// Whether the artifact is what was written. If not, the reason.
///
/// # Errors
/// `internal` when another user could have written the checksum.
pub(super) fn check(
    folder: &Folder,
    marks: Marks<'_>,
    artifact: &str,
    file: &File,
) -> Result<Option<&'static str>> {
    let sum = match Sum::read(folder, artifact)? {
        Ok(sum) => sum,
        Err(why) => return Ok(Some(why)),
    };
    let now = mark(file);
    if sum.is_marked(marks, artifact, now.as_deref()) {
        return Ok(None);
    }
    match hash(file) {
        Ok(found) if found == sum.hash => {}
        Ok(_) => return Ok(Some("it does not fit its checksum")),
        Err(_) => return Ok(Some("it cannot be read")),
    }
    let place = match marks {
        Marks::Beside => Some(folder),
        Marks::Elsewhere(place) => place,
    };
    if let Some(place) = place
        && let Err(error) = write(place, artifact, sum.hash, now)
    {
        tracing::debug!(%error, "that an artifact is whole cannot be noted; the next process hashes it again");
    }
    Ok(None)
}

fn write(folder: &Folder, artifact: &str, hash: Hash, mark: Option<String>) -> Result<()> {
    let text = format!("{}\n{}\n", hash.to_hex(), mark.unwrap_or_default());
    folder.write(&name(artifact), text.as_bytes(), Durability::Synced).map(drop)
}

/// What changes with the bytes of a file. None where the kernel does not tell the boot: then they are hashed each time.
fn mark(file: &File) -> Option<String> {
    let boot = std::fs::read_to_string(BOOT).ok()?;
    let about = file.metadata().ok()?;
    Some(format!(
        "{} {} {} {}.{:09} {}.{:09}",
        boot.trim(),
        about.ino(),
        about.size(),
        about.mtime(),
        about.mtime_nsec(),
        about.ctime(),
        about.ctime_nsec()
    ))
}

/// The hash of all bytes, wherever the file is being read.
fn hash(file: &File) -> io::Result<Hash> {
    use std::io::Seek as _;
    let mut file = file;
    file.rewind()?;
    let mut hasher = Hasher::new();
    hasher.update_reader(file)?;
    Ok(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(&place.path().join("artifacts")).unwrap();
        (place, folder)
    }

    fn marked(folder: &Folder) -> String {
        let mut text = String::new();
        folder.file("a.sum").unwrap().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn cmp_06_a_changed_byte_a_cut_and_a_missing_checksum_are_told() {
        let (_place, folder) = folder();
        let bytes = vec![7; 300_000];
        let put = |bytes: &[u8]| folder.write("a.cwasm", bytes, Durability::Unsynced).unwrap();
        let file = put(&bytes);
        assert_eq!(check(&folder, Marks::Beside, "a.cwasm", &file).unwrap(), Some("it has no checksum"));
        record(&folder, "a.cwasm", &file, &bytes).unwrap();
        assert_eq!(check(&folder, Marks::Beside, "a.cwasm", &file).unwrap(), None);
        let mut changed = bytes.clone();
        changed[123_456] ^= 1;
        for wrong in [&changed, &bytes[..299_999], &[]] {
            assert!(check(&folder, Marks::Beside, "a.cwasm", &put(wrong)).unwrap().is_some());
        }
        for damaged in ["", "\n\n", "xyz", &"0".repeat(64)] {
            folder.write("a.sum", damaged.as_bytes(), Durability::Unsynced).unwrap();
            assert!(check(&folder, Marks::Beside, "a.cwasm", &put(&bytes)).unwrap().is_some(), "{damaged:?}");
        }
        assert!(record(&folder, "a.cwasm", &put(&changed), &bytes).is_err(), "what was read back is other");
    }

    #[test]
    fn the_bytes_are_hashed_once_and_again_when_the_file_or_the_boot_is_another() {
        let (_place, folder) = folder();
        let bytes = vec![7; 1_000];
        let file = folder.write("a.cwasm", &bytes, Durability::Unsynced).unwrap();
        record(&folder, "a.cwasm", &file, &bytes).unwrap();
        let first = marked(&folder);
        assert_eq!(Some(first.lines().nth(1).unwrap().to_owned()), mark(&file));
        // What the mark says is believed: a wrong sum is not noticed.
        let wrong = format!("{}\n{}\n", "0".repeat(64), mark(&file).unwrap());
        folder.write("a.sum", wrong.as_bytes(), Durability::Unsynced).unwrap();
        assert_eq!(check(&folder, Marks::Beside, "a.cwasm", &file).unwrap(), None);
        let boot = std::fs::read_to_string(BOOT).unwrap();
        let other = wrong.replace(boot.trim(), "00000000-0000-0000-0000-000000000000");
        folder.write("a.sum", other.as_bytes(), Durability::Unsynced).unwrap();
        assert_eq!(
            check(&folder, Marks::Beside, "a.cwasm", &file).unwrap(),
            Some("it does not fit its checksum")
        );
        // The same bytes in another file are hashed, and then the mark is of that file.
        folder.write("a.sum", first.as_bytes(), Durability::Unsynced).unwrap();
        let again = folder.write("a.cwasm", &bytes, Durability::Unsynced).unwrap();
        assert_eq!(check(&folder, Marks::Beside, "a.cwasm", &again).unwrap(), None);
        assert!(marked(&folder) != first && marked(&folder).contains(&mark(&again).unwrap()));
    }

    #[test]
    fn where_nothing_is_written_beside_an_artifact_its_mark_is_elsewhere_or_nowhere() {
        let ((_installed, folder), (_cache, marks)) = (folder(), folder());
        let bytes = vec![7; 1_000];
        let file = folder.write("a.cwasm", &bytes, Durability::Unsynced).unwrap();
        let shipped = format!("{}\n", blake3::hash(&bytes).to_hex());
        folder.write("a.sum", shipped.as_bytes(), Durability::Unsynced).unwrap();
        let (with, without) = (Marks::Elsewhere(Some(&marks)), Marks::Elsewhere(None));
        for place in [with, without] {
            assert!(!is_marked(&folder, place, "a.cwasm", &file).unwrap());
            assert_eq!(check(&folder, place, "a.cwasm", &file).unwrap(), None);
        }
        assert_eq!(marked(&folder), shipped, "it was not written to");
        assert!(is_marked(&folder, with, "a.cwasm", &file).unwrap());
        assert!(!is_marked(&folder, without, "a.cwasm", &file).unwrap());
        // Another release's artifact of that name is no artifact that was marked.
        let other = folder.write("a.cwasm", &[8; 1_000], Durability::Unsynced).unwrap();
        assert_eq!(check(&folder, with, "a.cwasm", &other).unwrap(), Some("it does not fit its checksum"));
        let next = format!("{}\n", blake3::hash(&[8; 1_000]).to_hex());
        folder.write("a.sum", next.as_bytes(), Durability::Unsynced).unwrap();
        assert!(!is_marked(&folder, with, "a.cwasm", &other).unwrap());
        assert_eq!(check(&folder, with, "a.cwasm", &other).unwrap(), None);
    }
}
