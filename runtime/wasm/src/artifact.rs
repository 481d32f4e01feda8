//! Compiled guests: made once, kept in the cache folder, mapped into memory ever after.
//!
//! An artifact's name binds the guest's content, the form of what is done to it first ([`crate::pieces`]), the engine's version
//! and settings and this machine's instruction set, so that a stale one is never found. Machine code cannot be verified after
//! the fact. Two things protect it: nobody but this user can write the folder ([`crate::private`]), and a checksum tells that
//! the bytes are still those that were written ([`sum`]).

mod sum;

use std::fs::File;
use std::hash::{Hash as _, Hasher};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use rustix::fs::{Advice, fadvise};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use self::sum::Marks;
use crate::hex::hex;
use crate::pieces;
use crate::private::{Durability, Folder};
use crate::settings::Settings;

/// Bytes of programs' artifacts that are kept; the oldest go first.
const PROGRAMS: u64 = 1 << 30;

/// The descriptors of this process, as files.
const DESCRIPTORS: &str = "/proc/self/fd";

/// The folder of guests' artifacts in the cache folder, and in what was installed with the program.
const ARTIFACTS: &str = "artifacts";

/// A folder of artifacts below a cache folder.
pub(crate) struct Artifacts {
    folder: PathBuf,
    /// Where further ones are, which are read alone: those that were installed with the program.
    installed: Option<PathBuf>,
    /// The same of other releases. What of it cannot be used is none.
    kept: Vec<PathBuf>,
    /// Bytes that are kept; none: everything, because guests are few.
    bound: Option<u64>,
}

impl Artifacts {
    /// The artifacts of guests.
    pub(crate) fn guests(settings: &Settings) -> Self {
        let installed = settings.installed.as_ref().map(|folder| folder.join(ARTIFACTS));
        let kept = settings.kept.iter().map(|folder| folder.join(ARTIFACTS)).collect();
        Self { folder: settings.cache.join(ARTIFACTS), installed, kept, bound: None }
    }

    /// The artifacts of users' programs, of which there is no end.
    pub(crate) fn programs(cache: &Path) -> Self {
        Self { folder: cache.join("programs"), installed: None, kept: Vec::new(), bound: Some(PROGRAMS) }
    }

    /// Where the artifact of a guest lies, whether it exists or not.
    pub(crate) fn path(&self, engine: &Engine, guest: &str) -> PathBuf {
        self.folder.join(name(engine, guest))
    }

    /// Whether there is an artifact that can be used. Reads no machine code.
    ///
    /// # Errors
    /// As [`Artifacts::load`].
    pub(crate) fn has(&self, engine: &Engine, guest: &str) -> Result<bool> {
        let name = name(engine, guest);
        let is_in =
            |folder: &Folder| Ok(folder.file(&name)?.is_some() && folder.file(&sum::name(&name))?.is_some());
        if let Some(folder) = Folder::open(&self.folder)?
            && is_in(&folder)?
        {
            return Ok(true);
        }
        if self.installed()?.as_ref().map_or(Ok(false), is_in)? {
            return Ok(true);
        }
        Ok(self.kept().any(|folder| is_in(&folder).unwrap_or(false)))
    }

    /// Whether the artifact only needs to be mapped: it is there, and has been compared with its checksum since it was written
    /// and since the machine was started.
    pub(crate) fn is_ready(&self, engine: &Engine, guest: &str) -> bool {
        let name = name(engine, guest);
        let look = || -> Result<bool> {
            let own = Folder::open(&self.folder)?;
            if let Some(folder) = &own
                && let Some(file) = folder.file(&name)?
            {
                return sum::is_marked(folder, Marks::Beside, &name, &file);
            }
            for folder in self.installed()?.into_iter().chain(self.kept()) {
                if let Some(file) = folder.file(&name)? {
                    return sum::is_marked(&folder, Marks::Elsewhere(own.as_ref()), &name, &file);
                }
            }
            Ok(false)
        };
        // What must not be used is refused where it is loaded.
        look().unwrap_or(false)
    }

    /// The component, if it has been compiled. An artifact that is damaged, or without its checksum, is none.
    ///
    /// # Errors
    /// `internal` when the artifact, its checksum or their folder could have been written by somebody else.
    pub(crate) fn load(&self, engine: &Engine, guest: &str) -> Result<Option<Component>> {
        let name = name(engine, guest);
        let (own, installed) = (Folder::open(&self.folder), self.installed()?);
        let own = match own {
            // A cache folder that cannot be used is none where it is not needed.
            Err(error) if installed.is_some() => {
                tracing::debug!(%error, "the cache folder is not used");
                None
            }
            own => own?,
        };
        if let Some(folder) = own
            && let Some(component) = Self::from(&folder, Marks::Beside, engine, &name)?
        {
            return Ok(Some(component));
        }
        for folder in installed.into_iter().chain(self.kept()) {
            // Where nothing can be written, the artifact is hashed by each process.
            let marks = Folder::make(&self.folder).ok();
            if let Some(component) = Self::from(&folder, Marks::Elsewhere(marks.as_ref()), engine, &name)? {
                return Ok(Some(component));
            }
        }
        Ok(None)
    }

    /// The component of an artifact in a folder. One that is damaged, or without its checksum, is none.
    fn from(folder: &Folder, marks: Marks<'_>, engine: &Engine, name: &str) -> Result<Option<Component>> {
        let Some(file) = folder.file(name)? else { return Ok(None) };
        let why = match sum::check(folder, marks, name, &file)? {
            None => match map(engine, &file) {
                Ok(component) => return Ok(Some(component)),
                Err(error) => format!("{error:#}"),
            },
            Some(why) => why.to_owned(),
        };
        let path = folder.path().join(name);
        match marks {
            Marks::Beside => {
                tracing::warn!(path = %path.display(), %why, "an artifact is not used and is made anew");
            }
            Marks::Elsewhere(_) => {
                tracing::warn!(path = %path.display(), %why, "an installed artifact is not used")
            }
        }
        Ok(None)
    }

    fn installed(&self) -> Result<Option<Folder>> {
        self.installed.as_deref().map_or(Ok(None), Folder::installed)
    }

    /// The folders of other releases, opened one at a time.
    fn kept(&self) -> impl Iterator<Item = Folder> {
        self.kept.iter().filter_map(|path| {
            let opened = Folder::installed(path);
            let refused = opened.as_ref().err();
            if let Some(error) = refused {
                tracing::warn!(path = %path.display(), %error, "machine code of another release is not used");
            }
            opened.ok().flatten()
        })
    }

    /// Compiles a component, keeps the result and maps it.
    ///
    /// # Errors
    /// As [`Artifacts::store`]; `bad_component` when it asks for more than a place of the pool has.
    pub(crate) fn make(&self, engine: &Engine, guest: &str, wasm: &[u8]) -> Result<Component> {
        let (folder, file) = self.write(engine, guest, wasm)?;
        map(engine, &file).map_err(|error| {
            let name = name(engine, guest);
            folder.remove(&sum::name(&name));
            folder.remove(&name);
            if !Path::new(DESCRIPTORS).exists() {
                return Error::internal(
                    "machine code cannot be mapped without /proc",
                    std::io::Error::other(error),
                );
            }
            Error::new(ErrorCode::BadComponent, format!("the component does not fit: {error:#}"))
                .with_hint("it asks for more memories, tables or instances than a sandbox has")
        })
    }

    /// Compiles a component and keeps the result. Takes seconds for an interpreter.
    ///
    /// # Errors
    /// `bad_component` when the bytes are no component of ours, `internal` when the cache cannot be written.
    pub(crate) fn store(&self, engine: &Engine, guest: &str, wasm: &[u8]) -> Result<PathBuf> {
        self.write(engine, guest, wasm)?;
        Ok(self.path(engine, guest))
    }

    fn write(&self, engine: &Engine, guest: &str, wasm: &[u8]) -> Result<(Folder, File)> {
        let code = compile(engine, wasm)?;
        let name = name(engine, guest);
        let folder = Folder::make(&self.folder)?;
        let file = folder.write(&name, &code, Durability::Synced)?;
        sum::record(&folder, &name, &file, &code)?;
        // The system keeps what was just written in larger pieces than what it has read. More pages of them come to be mapped, which
        // each run's end looks through: 5 µs of 32 of a JavaScript's.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        folder.tidy(self.bound, &name);
        Ok((folder, file))
    }
}

/// Machine code that comes back to the engine between two pieces of a bulk operation.
fn compile(engine: &Engine, wasm: &[u8]) -> Result<Vec<u8>> {
    let bad = || Error::new(ErrorCode::BadComponent, "the guest does not compile");
    match pieces::rewrite(wasm) {
        Ok(wasm) => engine.precompile_component(&wasm).map_err(|error| bad().with_source(error)),
        // The engine says better what is wrong. What only it could read would not be in pieces.
        Err(unread) => Err(match engine.precompile_component(wasm) {
            Err(error) => bad().with_source(error),
            Ok(_) => bad().with_source(unread),
        }),
    }
}

/// Maps an artifact of our own making. The engine opens files by name only; this name is the descriptor's own.
fn map(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    let path = format!("{DESCRIPTORS}/{}", file.as_raw_fd());
    #[allow(unsafe_code, reason = "the engine takes its own machine code back only this way")]
    // SAFETY: The bytes were made by `Engine::precompile_component` of an engine with the same fingerprint, which is in the
    // file's name, and written by `Folder::write`, or installed with this program. Nobody but this user, or root, can have put
    // others there: `Folder` has seen, on the descriptors themselves, who owns the file and its folder and that nobody else
    // can write either; and the path leads to the inode behind the descriptor, whatever has the name by now. They are whole:
    // `sum` has compared them with the hash that was noted when they were written, in this boot of the machine and since the
    // inode's last change. They stay what they are while they are mapped: a file that has its name is replaced by a rename and
    // never written to, by us and by whoever installs packages.
    unsafe {
        Component::deserialize_file(engine, path)
    }
}

/// The name of a guest's artifact for an engine.
fn name(engine: &Engine, guest: &str) -> String {
    format!("{}-{}.cwasm", short(guest), fingerprint(engine))
}

fn short(hash: &str) -> &str {
    hash.get(..24).unwrap_or(hash)
}

/// Names everything but the guest that machine code depends on: the engine, and what is done to a guest before.
fn fingerprint(engine: &Engine) -> String {
    struct Feed(Sha256);
    impl Hasher for Feed {
        fn finish(&self) -> u64 {
            0
        }
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
    }
    let mut feed = Feed(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut feed);
    feed.write(pieces::FORM.as_bytes());
    hex(&feed.0.finalize()[..8])
}
