//! Compiled guests: made once, kept in the cache folder, mapped into memory ever after.
//!
//! An artifact's name binds the guest's content, the engine's version and settings and this machine's instruction
//! set, so that a stale one is never found. Machine code cannot be verified after the fact: the only protection is
//! that nobody but this user can write the folder, which is checked before anything is mapped.

use std::fs;
use std::hash::{Hash as _, Hasher};
use std::path::{Path, PathBuf};

use dormouse_core::{Error, ErrorCode, Result};
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::private;

/// Bytes of programs' artifacts that are kept; the oldest go first.
const PROGRAMS: u64 = 1 << 30;

/// A folder of artifacts below a cache folder.
pub(crate) struct Artifacts {
    folder: PathBuf,
    /// Bytes that are kept; none: everything, because guests are few.
    bound: Option<u64>,
}

impl Artifacts {
    /// The artifacts of guests.
    pub(crate) fn guests(cache: &Path) -> Self {
        Self { folder: cache.join("artifacts"), bound: None }
    }

    /// The artifacts of users' programs, of which there is no end.
    pub(crate) fn programs(cache: &Path) -> Self {
        Self { folder: cache.join("programs"), bound: Some(PROGRAMS) }
    }

    /// Where the artifact of a guest lies, whether it exists or not.
    pub(crate) fn path(&self, engine: &Engine, guest: &str) -> PathBuf {
        self.folder.join(format!("{}-{}.cwasm", short(guest), fingerprint(engine)))
    }

    /// The component, if it has been compiled.
    ///
    /// # Errors
    /// `internal` when the artifact or its folder could have been written by somebody else.
    pub(crate) fn load(&self, engine: &Engine, guest: &str) -> Result<Option<Component>> {
        let path = self.path(engine, guest);
        if !path.exists() {
            return Ok(None);
        }
        for part in [&self.folder, &path] {
            private::check(part)?;
        }
        match map(engine, &path) {
            Ok(component) => Ok(Some(component)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "an artifact does not load and is made anew");
                Ok(None)
            }
        }
    }

    /// Compiles a component, keeps the result and maps it.
    ///
    /// # Errors
    /// As [`Artifacts::store`]; `bad_component` when it asks for more than a place of the pool has.
    pub(crate) fn make(&self, engine: &Engine, guest: &str, wasm: &[u8]) -> Result<Component> {
        let path = self.store(engine, guest, wasm)?;
        map(engine, &path).map_err(|error| {
            let _ = fs::remove_file(&path);
            Error::new(ErrorCode::BadComponent, format!("the component does not fit: {error:#}"))
                .with_hint("it asks for more memories, tables or instances than a sandbox has")
        })
    }

    /// Compiles a component and keeps the result. Takes seconds for an interpreter.
    ///
    /// # Errors
    /// `bad_component` when the bytes are no component of ours, `internal` when the cache cannot be written.
    pub(crate) fn store(&self, engine: &Engine, guest: &str, wasm: &[u8]) -> Result<PathBuf> {
        let code = engine.precompile_component(wasm).map_err(|error| {
            Error::new(ErrorCode::BadComponent, "the guest does not compile").with_source(error)
        })?;
        let failed = |error: std::io::Error| {
            Error::internal(
                format!("the artifact cannot be written below `{}`", self.folder.display()),
                error,
            )
            .with_hint("check free space and permissions, or set DORMOUSE_CACHE_DIR")
        };
        let path = self.path(engine, guest);
        private::write(&path, &code, self.bound).map_err(failed)?;
        Ok(path)
    }
}

/// Maps an artifact of our own making.
fn map(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    #[allow(unsafe_code, reason = "the engine takes its own machine code back only this way")]
    // SAFETY: The bytes were made by `Artifacts::store`, from `Engine::precompile_component` of an engine with the same
    // fingerprint, in a folder of mode 0700. Before a file of an earlier process is mapped, `private::check` has seen that
    // this user owns it and its folder and that nobody else can write either: nobody but this user can have replaced it.
    unsafe {
        Component::deserialize_file(engine, path)
    }
}

fn short(hash: &str) -> &str {
    hash.get(..24).unwrap_or(hash)
}

/// Names everything about an engine that machine code depends on.
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
    hex(&feed.0.finalize()[..8])
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
