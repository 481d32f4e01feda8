//! Downloads that are kept: files by their hash, pages of indexes by their address. What is read is checked first.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use dormouse_core::{Error, Result};

use crate::digest::{Digest, hex};

/// A folder of downloads.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    most: u64,
}

/// A page of an index as it was kept.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) kind: String,
    pub(crate) url: String,
    pub(crate) body: Vec<u8>,
    /// How long ago it was fetched.
    pub(crate) age: Duration,
}

impl Cache {
    pub(crate) fn new(folder: &Path, most: u64) -> Result<Self> {
        fs::create_dir_all(folder)
            .map_err(|error| Error::internal("the folder of the package cache cannot be made", error))?;
        Ok(Self { folder: folder.to_owned(), most })
    }

    /// A file with this hash. One that is damaged is removed.
    pub(crate) fn file(&self, digest: &Digest) -> Option<Vec<u8>> {
        let path = self.folder.join(digest.key());
        let bytes = fs::read(&path).ok()?;
        if !digest.fits(&bytes) {
            tracing::warn!(path = %path.display(), "a cached package was damaged");
            let _ = fs::remove_file(&path);
            return None;
        }
        // It is young again: what is not used goes first.
        let _ = fs::File::options().append(true).open(&path).map(|file| file.set_modified(SystemTime::now()));
        Some(bytes)
    }

    pub(crate) fn keep_file(&self, digest: &Digest, bytes: &[u8]) {
        self.keep(&digest.key(), bytes);
    }

    /// A page of an index, if it is whole.
    pub(crate) fn page(&self, asked: &str) -> Option<Page> {
        let path = self.folder.join(page_key(asked));
        let kept = fs::read(&path).ok()?;
        let age = fs::metadata(&path).ok()?.modified().ok()?.elapsed().unwrap_or_default();
        let (sum, rest) = split(&kept)?;
        if sum != hex(rest) {
            let _ = fs::remove_file(&path);
            return None;
        }
        let (kind, rest) = split(rest)?;
        let (url, body) = split(rest)?;
        Some(Page { kind: kind.into(), url: url.into(), body: body.to_vec(), age })
    }

    pub(crate) fn keep_page(&self, asked: &str, kind: &str, url: &str, body: &[u8]) {
        let mut rest = format!("{}\n{url}\n", kind.replace('\n', " ")).into_bytes();
        rest.extend_from_slice(body);
        let mut whole = format!("{}\n", hex(&rest)).into_bytes();
        whole.append(&mut rest);
        self.keep(&page_key(asked), &whole);
    }

    /// Written aside and moved into place. A cache that cannot be written is none.
    fn keep(&self, key: &str, bytes: &[u8]) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        if bytes.len() as u64 > self.most {
            return;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = self.folder.join(format!("{key}.{}.{count}.part", std::process::id()));
        let written = fs::File::create(&part)
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&part, self.folder.join(key)));
        if let Err(error) = written {
            tracing::warn!(%error, "a package could not be kept in the cache");
            let _ = fs::remove_file(&part);
        }
    }

    /// Removes the oldest files past the bound.
    pub(crate) fn tidy(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| {
                let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, size, path) in files {
            if bytes <= self.most {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                bytes -= size;
            }
        }
    }
}

fn page_key(asked: &str) -> String {
    format!("page-{}", hex(asked.as_bytes()))
}

/// A line, and what follows.
fn split(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_damaged_is_not_read_and_the_oldest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 25).unwrap();
        let digest = |bytes: &[u8]| Digest::sha256(&hex(bytes)).unwrap();
        let (one, two, three) = ([1; 10], [2; 10], [3; 10]);
        cache.keep_file(&digest(&one), &one);
        cache.keep_file(&digest(&two), &two);
        let old = fs::File::options().append(true).open(folder.path().join(digest(&one).key())).unwrap();
        old.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        cache.keep_file(&digest(&three), &three);
        cache.tidy();
        assert_eq!(cache.file(&digest(&one)), None);
        assert_eq!(cache.file(&digest(&two)), Some(two.to_vec()));
        fs::write(folder.path().join(digest(&two).key()), b"changed").unwrap();
        assert_eq!(cache.file(&digest(&two)), None);
        assert!(!folder.path().join(digest(&two).key()).exists());
        let cache = Cache::new(folder.path(), 1 << 20).unwrap();
        cache.keep_page("a", "text/html", "http://h/", b"body\nmore");
        let page = cache.page("a").unwrap();
        assert_eq!(
            (page.kind.as_str(), page.url.as_str(), &page.body[..]),
            ("text/html", "http://h/", &b"body\nmore"[..])
        );
        assert!(cache.page("b").is_none());
    }
}
