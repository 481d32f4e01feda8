//! What goes from a folder of the cache: abandoned drafts, and the oldest files past a bound.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType};

/// How old a draft is that nobody writes any more. Writing one takes seconds.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// Files that differ only in their extension, such as an artifact and its checksum.
#[derive(Default)]
struct Group {
    /// When the youngest of them was written, in seconds since 1970.
    written: i64,
    bytes: u64,
    names: Vec<String>,
}

/// See [`super::Folder::tidy`]. What cannot be read or removed stays.
pub(super) fn tidy(folder: &OwnedFd, bound: Option<u64>, newest: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let abandoned = i64::try_from(now.saturating_sub(ABANDONED.as_secs())).unwrap_or(i64::MAX);
    let mut groups: HashMap<String, Group> = HashMap::new();
    for (name, written, bytes) in files(folder) {
        // Drafts of earlier versions began with a dot as well.
        if name.starts_with('.') {
            if written < abandoned {
                remove(folder, &name);
            }
            continue;
        }
        let group = groups.entry(stem(&name).to_owned()).or_default();
        group.written = group.written.max(written);
        group.bytes += bytes;
        group.names.push(name);
    }
    let Some(bound) = bound else { return };
    let mut total: u64 = groups.values().map(|group| group.bytes).sum();
    groups.remove(stem(newest));
    let mut oldest: Vec<Group> = groups.into_values().collect();
    oldest.sort_by_key(|group| group.written);
    for group in oldest {
        if total <= bound {
            return;
        }
        if group.names.iter().all(|name| remove(folder, name)) {
            total = total.saturating_sub(group.bytes);
        }
    }
}

/// Name, time of the last change and size of each plain file.
fn files(folder: &OwnedFd) -> Vec<(String, i64, u64)> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let examined = entries.filter_map(|entry| {
        let name = entry.ok()?.file_name().to_str().ok()?.to_owned();
        let status = rustix::fs::statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let plain = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
        plain.then(|| (name, status.st_mtime, u64::try_from(status.st_size).unwrap_or(0)))
    });
    examined.collect()
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn remove(folder: &OwnedFd, name: &str) -> bool {
    rustix::fs::unlinkat(folder, name, AtFlags::empty()).is_ok()
}
