//! The few places of the host that tools may read from and write to, as the operator named them.
//!
//! A path is first judged as text, then opened below its root without leaving it, and then judged again by where it led:
//! so neither links nor a change in between show anything else. What holds [keys] is refused even below a root (S3-07).

mod offered;

use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions, OpenOptionsExt as _};
use dormouse_core::{Error, ErrorCode, Result, keys};

use self::offered::Offered;

/// Longest path of the host, in bytes.
const MAX_PATH: usize = 4_096;
/// Where tools may read and write on the host. The default is nowhere.
#[derive(Clone, Default)]
pub struct HostFolders {
    roots: Vec<Arc<Root>>,
    offered: Option<Arc<Offered>>,
    downloads: Option<Arc<Downloads>>,
}

/// Where downloads go, and how many bytes there may be.
struct Downloads {
    root: Arc<Root>,
    most: u64,
    /// One comes after the other, so that all of them see what there is.
    turn: Mutex<()>,
}

struct Root {
    /// As the operator wrote it, and as it really is.
    names: [PathBuf; 2],
    folder: Dir,
}

impl Root {
    fn open(path: &Path) -> Result<Arc<Self>> {
        let refused = |error: io::Error| {
            let message = format!("the folder `{}` cannot be opened", path.display());
            Error::new(ErrorCode::PathDenied, message)
                .with_hint("name a folder that exists and that you can read")
                .with_source(error)
        };
        let real = path.canonicalize().map_err(refused)?;
        if keys::in_folder(&real) {
            return Err(secret(&path.display().to_string()));
        }
        let folder = Dir::open_ambient_dir(&real, ambient_authority()).map_err(refused)?;
        Ok(Arc::new(Self { names: [path.to_path_buf(), real], folder }))
    }

    /// The rest of a path that lies below this folder, judged by its text alone.
    fn below<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        if path.is_relative() {
            return Some(path);
        }
        self.names.iter().find_map(|name| path.strip_prefix(name).ok())
    }
}

/// A regular file of the host that was found, may be read, and is open.
#[derive(Debug)]
pub struct OpenFile {
    /// The last component of its path.
    pub name: String,
    file: std::fs::File,
}

impl OpenFile {
    /// The next bytes, at most `most`; none at its end.
    ///
    /// # Errors
    /// `path_denied` when it cannot be read any more.
    pub async fn piece(&mut self, most: u64) -> Result<Vec<u8>> {
        let file = self.file.try_clone().map_err(|error| outside(&self.name).with_source(error))?;
        let read = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            file.take(most).read_to_end(&mut bytes).map(|_| bytes)
        });
        let read = read.await.map_err(|error| Error::internal("the file was not read", error))?;
        read.map_err(|error| outside(&self.name).with_source(error))
    }
}

/// A file of the host that was found and read.
#[derive(Debug)]
pub struct HostFile {
    /// The last component of its path.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl HostFolders {
    /// Lets tools read below a folder.
    ///
    /// # Errors
    /// `path_denied` when it cannot be opened.
    pub fn readable(mut self, folder: &Path) -> Result<Self> {
        self.roots.push(Root::open(folder)?);
        Ok(self)
    }

    /// Lets tools read below the folder that the server was started in for as long as its client names it, or a folder that holds
    /// it, as a root of its own. What else the client names does not count.
    ///
    /// # Errors
    /// As [`HostFolders::readable`].
    pub fn offered(mut self, started_in: &Path) -> Result<Self> {
        self.offered = Some(Arc::new(Offered::new(Root::open(started_in)?)));
        Ok(self)
    }

    /// Whether it matters which roots the client has. The caller is going to ask it: calls wait a moment for the answer.
    pub(crate) fn ask_for_roots(&self) -> bool {
        self.offered.as_ref().inspect(|offered| offered.ask()).is_some()
    }

    /// The client's roots, as addresses `file:///…`; none where it has none.
    pub(crate) fn take_roots(&self, addresses: &[String]) {
        if let Some(offered) = &self.offered {
            offered.named(addresses);
        }
    }

    /// Whether downloads can be written.
    pub fn can_write(&self) -> bool {
        self.downloads.is_some()
    }

    /// Bytes of downloads that a folder may hold when the operator says nothing: 10 GiB.
    pub const DOWNLOADS: u64 = 10 << 30;

    /// Lets downloads be written below a folder, as long as it holds at most so many bytes; whoever takes them from there makes
    /// room.
    ///
    /// # Errors
    /// `path_denied` when it cannot be opened.
    pub fn downloads(mut self, folder: &Path, most: u64) -> Result<Self> {
        self.downloads =
            Some(Arc::new(Downloads { root: Root::open(folder)?, most, turn: Mutex::default() }));
        Ok(self)
    }

    /// Reads one regular file of at most `most` bytes. A relative path is looked for below each root in turn.
    ///
    /// # Errors
    /// `path_denied` for what lies elsewhere or holds secrets; `args_invalid` for a glob or what is no file; `not_found`;
    /// `too_large`.
    pub async fn read(&self, path: String, most: u64) -> Result<HostFile> {
        let mut found = self.open(path.clone()).await?;
        let bytes = found.piece(most.saturating_add(1)).await?;
        if bytes.len() as u64 > most {
            let message = format!("`{}` has more than {most} bytes", shown(&path));
            return Err(Error::new(ErrorCode::TooLarge, message)
                .with_hint("mount its folder into the sandbox instead"));
        }
        Ok(HostFile { name: found.name, bytes })
    }

    /// Opens one regular file of any size, as [`HostFolders::read`] finds it.
    ///
    /// # Errors
    /// As [`HostFolders::read`], without `too_large`.
    pub async fn open(&self, path: String) -> Result<OpenFile> {
        if let Some(offered) = &self.offered {
            offered.settled().await;
        }
        let folders = self.clone();
        tokio::task::spawn_blocking(move || folders.open_now(&path))
            .await
            .map_err(|error| Error::internal("the file was not opened", error))?
    }

    fn open_now(&self, path: &str) -> Result<OpenFile> {
        let roots = self.roots.iter().chain(self.offered.as_ref().and_then(|offered| offered.root()));
        let roots: Vec<&Arc<Root>> = roots.collect();
        if roots.is_empty() {
            return Err(Error::new(ErrorCode::PathDenied, "no host folder can be read here")
                .with_hint("the operator allows folders with `--root`"));
        }
        let asked = judged(path)?;
        let mut found = None;
        for root in roots {
            let Some(below) = root.below(&asked) else { continue };
            match open(&root.folder, below) {
                Ok(file) => {
                    found = Some((file, root, below));
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    found = None;
                    if asked.is_absolute() {
                        return Err(missing(path));
                    }
                }
                Err(error) => return Err(outside(path).with_source(error)),
            }
        }
        let Some((file, root, below)) = found else {
            return Err(if asked.is_relative() { missing(path) } else { outside(path) });
        };
        let real = real_path(&file, root, below).map_err(|error| outside(path).with_source(error))?;
        if keys::is_key(&real) {
            return Err(secret(path));
        }
        let about = file.metadata().map_err(|error| outside(path).with_source(error))?;
        if !about.is_file() {
            return Err(Error::args_invalid(format!("`{}` is not a regular file", shown(path)))
                .with_hint("name one file; a folder is not loaded as a whole"));
        }
        let name = asked.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(OpenFile { name, file: file.into_std() })
    }

    /// Writes a download and answers its path: `FOLDER/SANDBOX/NAME`, with a number when there is one already.
    ///
    /// # Errors
    /// `capability_unavailable` when the operator named no folder; `quota_exceeded` when it holds too much; `state_unavailable`
    /// when it cannot be written.
    pub async fn save(&self, sandbox: String, name: String, bytes: Vec<u8>) -> Result<PathBuf> {
        let downloads = self.downloads.clone().ok_or_else(|| {
            Error::new(ErrorCode::CapabilityUnavailable, "downloads cannot be saved on the host here")
                .with_hint("read the file in pieces with sandbox_read; the operator names a folder with `--downloads`")
        })?;
        tokio::task::spawn_blocking(move || {
            let failed = |error: io::Error| {
                Error::new(ErrorCode::StateUnavailable, "the download cannot be written")
                    .with_hint("have the operator check the downloads folder: free space and permissions")
                    .with_source(error)
            };
            let _turn = downloads.turn.lock().unwrap_or_else(PoisonError::into_inner);
            downloads.check(bytes.len() as u64, held(&downloads.root.folder).map_err(failed)?)?;
            save_now(&downloads.root, &sandbox, &name, &bytes).map_err(failed)
        })
        .await
        .map_err(|error| Error::internal("the download was not written", error))?
    }
}

impl Downloads {
    fn check(&self, more: u64, held: u64) -> Result<()> {
        if held.saturating_add(more) <= self.most {
            return Ok(());
        }
        let message = format!(
            "the folder for downloads holds {held} bytes, {more} more are asked for, at most {} are allowed",
            self.most
        );
        Err(Error::new(ErrorCode::QuotaExceeded, message).with_hint(
            "have the operator take downloads out of the folder, or raise the quota (`--quota downloads=SIZE`)",
        ))
    }
}

/// Bytes of the files in the folders of a folder. What is no file, or goes meanwhile, does not count.
fn held(folder: &Dir) -> io::Result<u64> {
    let mut sum = 0u64;
    for sandbox in folder.entries()?.flatten() {
        if !sandbox.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let Ok(files) = sandbox.open_dir().and_then(|folder| folder.entries()) else { continue };
        let sizes = files.flatten().filter_map(|file| Some(file.metadata().ok()?.len()));
        sum = sum.saturating_add(sizes.sum());
    }
    Ok(sum)
}

fn save_now(root: &Root, sandbox: &str, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    root.folder.create_dir_all(sandbox)?;
    let folder = root.folder.open_dir(sandbox)?;
    let name = plain(name);
    for number in 1..1000 {
        let name = if number == 1 { name.clone() } else { format!("{number}-{name}") };
        match folder.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
            Ok(mut file) => {
                file.write_all(bytes)?;
                return Ok(root.names[1].join(sandbox).join(name));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// A file name that is harmless everywhere: the sandbox chose it.
fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(safe).take(100).collect();
    match name.trim_start_matches('.') {
        "" => "download".into(),
        name => name.into(),
    }
}

/// What can be told of a path from its text.
fn judged(path: &str) -> Result<PathBuf> {
    if path.len() > MAX_PATH || path.contains('\0') {
        return Err(outside(path));
    }
    let asked = Path::new(path);
    let up = asked.components().any(|part| matches!(part, Component::ParentDir));
    if up || path.is_empty() {
        return Err(outside(path));
    }
    if keys::is_key(asked) {
        return Err(secret(path));
    }
    if path.contains(['*', '?']) {
        return Err(Error::args_invalid(format!("`{}` is a pattern, not a path", shown(path)))
            .with_hint("name one file; patterns are not expanded"));
    }
    Ok(asked.to_path_buf())
}

/// Opens without waiting for the other end of a pipe.
fn open(folder: &Dir, below: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    options.read(true).custom_flags(i32::try_from(flags).unwrap_or_default());
    folder.open_with(below, &options)
}

/// Where the open file really lies.
fn real_path(file: &File, root: &Root, below: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    match std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
        Ok(path) => Ok(path),
        Err(_) => Ok(root.names[1].join(root.folder.canonicalize(below)?)),
    }
}

/// The same words whether there is such a file or not.
fn outside(path: &str) -> Error {
    let message = format!("`{}` is not below a folder that tools may read", shown(path));
    Error::new(ErrorCode::PathDenied, message)
        .with_hint("name a file below a folder that the operator allows (`--root`)")
}

/// The same words whether there is such a file or not.
fn secret(path: &str) -> Error {
    let message = format!("`{}` may hold keys, and tools do not read it", shown(path));
    Error::new(ErrorCode::PathDenied, message).with_hint("copy what is needed into a file with another name")
}

fn missing(path: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("there is no file `{}`", shown(path)))
        .with_hint("look at its name: files are named below the folders that the operator allows (`--root`)")
}

fn shown(path: &str) -> String {
    path.escape_debug().take(128).collect()
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
