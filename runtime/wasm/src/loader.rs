//! Loads guests: finds the component of a language, gets its machine code, links it. Once for all runs.
//!
//! Owns: which engines there are, and that a guest is loaded once on each. Does not own: what runs in it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use dormouse_core::{Error, ErrorCode, GuestInfo, GuestName, Result};
use wasmtime::component::Component;

use crate::Settings;
use crate::artifact::Artifacts;
use crate::engine::{EngineSlot, Metering};
use crate::guest::{Guest, Guests};
use crate::kept::{self, MOST_KEPT, Wake};
use crate::loaded::{self, Loaded};
use crate::once::Once;
use crate::ready::Ready;

/// The guests of a provider. Engines are set up and guests loaded on first use. Clones share them.
#[derive(Clone)]
pub(crate) struct Loader {
    parts: Arc<Parts>,
}

/// What clones share.
struct Parts {
    settings: Settings,
    guests: Guests,
    artifacts: Arc<Artifacts>,
    engines: Mutex<HashMap<Metering, Arc<EngineSlot>>>,
    loaded: Once<(GuestName, Metering), Ready>,
    /// Those of other releases, by SHA-256, for memory that was saved with them.
    kept: Once<(GuestName, String), Ready>,
}

impl Loader {
    /// Starts nothing and compiles nothing.
    pub(crate) fn new(settings: Settings) -> Self {
        let parts = Parts {
            guests: Guests::new(
                &settings.cache,
                settings.installed.as_deref(),
                &settings.kept,
                settings.manifests.clone(),
            ),
            artifacts: Arc::new(Artifacts::guests(&settings)),
            engines: Mutex::default(),
            loaded: Once::default(),
            kept: Once::default(),
            settings,
        };
        Self { parts: Arc::new(parts) }
    }

    /// What is known of every language, sorted.
    pub(crate) fn info(&self) -> Vec<GuestInfo> {
        self.parts.guests.info()
    }

    /// The guests that new interpreters and programs get, sorted.
    pub(crate) fn builds(&self) -> Vec<Guest> {
        self.parts.guests.current()
    }

    /// The guest of a language. Looking for it reads two files, which takes as long as a fresh instance.
    ///
    /// # Errors
    /// `unknown_language`, `guest_missing`, `guest_mismatch`.
    pub(crate) fn find(&self, language: &GuestName) -> Result<Guest> {
        self.parts.guests.find(language)
    }

    /// Whether there is a guest for a language, without loading it.
    ///
    /// # Errors
    /// As [`Loader::find`].
    pub(crate) fn speaks(&self, language: &GuestName) -> Result<()> {
        self.find(language).map(drop)
    }

    /// Compiles the guest of a language into the cache, with and without fuel, unless that is done already. Answers the artifacts.
    ///
    /// # Errors
    /// As [`Loader::find`] and [`Loader::engine`]; `internal` when the cache cannot be written.
    pub(crate) fn precompile(&self, language: &GuestName, metering: Metering) -> Result<PathBuf> {
        let guest = self.find(language)?;
        let (wasm, hash) = guest.read()?;
        let (slot, artifacts) = (self.engine(metering)?, &self.parts.artifacts);
        // What another architecture runs cannot be mapped here.
        let is_made = if self.parts.settings.processors.is_elsewhere() {
            artifacts.has(&slot.engine, &hash)?
        } else {
            artifacts.load(&slot.engine, &hash)?.is_some()
        };
        if !is_made {
            artifacts.store(&slot.engine, &hash, &wasm)?;
        }
        Ok(artifacts.path(&slot.engine, &hash))
    }

    /// See [`crate::WasmProvider::precompile_kept`].
    ///
    /// # Errors
    /// As [`Loader::wake`]; `bad_component`; `internal` when the cache cannot be written.
    pub(crate) fn precompile_kept(&self, language: &GuestName, hash: &str) -> Result<Option<PathBuf>> {
        if self.wake(language, hash)? == Wake::Current {
            return Ok(None);
        }
        let (guest, wake) = self.find_kept(language, hash)?;
        let (slot, artifacts) = (self.engine(Metering::Epoch)?, &self.parts.artifacts);
        if wake == Wake::Compiled {
            artifacts.store(&slot.engine, hash, &guest.read()?.0)?;
        }
        Ok(Some(artifacts.path(&slot.engine, hash)))
    }

    /// Whether the guest of a language has been compiled for this machine and this engine. Reads no machine code.
    ///
    /// # Errors
    /// As [`Loader::find`] and [`Loader::engine`]; `internal` when others can write the artifact.
    pub(crate) fn is_compiled(&self, language: &GuestName) -> Result<bool> {
        let hash = self.current(language)?;
        let slot = self.engine(Metering::Epoch)?;
        self.parts.artifacts.has(&slot.engine, &hash)
    }

    /// The engine of a metering, set up by the first who asks.
    ///
    /// # Errors
    /// `internal` when this machine refuses, for example its address space; `capability_unavailable` when its processor is older
    /// than the machine code.
    pub(crate) fn engine(&self, metering: Metering) -> Result<Arc<EngineSlot>> {
        let mut engines = self.parts.engines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = engines.get(&metering) {
            return Ok(slot.clone());
        }
        let slot = Arc::new(EngineSlot::new(metering, &self.parts.settings)?);
        engines.insert(metering, slot.clone());
        Ok(slot)
    }

    /// Whether the guest of a language is loaded.
    pub(crate) fn is_loaded(&self, language: &GuestName, metering: Metering) -> bool {
        self.parts.loaded.made(&(language.clone(), metering)).is_some()
    }

    /// The loaded guest of a language; the first caller loads it, the others wait.
    ///
    /// # Errors
    /// As [`Loader::find`] and [`Loader::engine`]; what keeps it from being loaded.
    pub(crate) async fn ready(&self, language: &GuestName, metering: Metering) -> Result<Arc<Ready>> {
        let key = (language.clone(), metering);
        if let Some(ready) = self.parts.loaded.made(&key) {
            return Ok(ready);
        }
        // What nobody speaks leaves no trace: callers can make up any number of names.
        self.speaks(language)?;
        let load = async {
            let loaded = self.load(language, metering, Loaded::link).await?;
            Ok(Ready::new(loaded, self.parts.settings.ready))
        };
        self.parts.loaded.get(key, load).await
    }

    /// SHA-256 of the current guest of a language.
    ///
    /// # Errors
    /// As [`Loader::find`].
    pub(crate) fn current(&self, language: &GuestName) -> Result<String> {
        let guest = self.find(language)?;
        match guest.sha256.clone() {
            Some(hash) => Ok(hash),
            None => guest.read().map(|(_, hash)| hash),
        }
    }

    /// How memory that was saved with the guest of this SHA-256 is woken. Loads nothing.
    ///
    /// # Errors
    /// As [`kept::find`] and [`Loader::engine`]; `state_unavailable` when the current guest is there and cannot be read.
    pub(crate) fn wake(&self, language: &GuestName, hash: &str) -> Result<Wake> {
        match self.current(language) {
            Ok(current) if current == hash => return Ok(Wake::Current),
            Err(error) if error.code() == ErrorCode::StateUnavailable => return Err(error),
            _ => {}
        }
        self.find_kept(language, hash).map(|(_, wake)| wake)
    }

    fn find_kept(&self, language: &GuestName, hash: &str) -> Result<(Guest, Wake)> {
        let slot = self.engine(Metering::Epoch)?;
        kept::find(&self.parts.guests, &self.parts.artifacts, (language, hash), &slot)
    }

    /// The loaded guest of this SHA-256, for memory that was saved with it: the current one, or one of another release.
    ///
    /// # Errors
    /// As [`Loader::ready`] and [`Loader::wake`]; `busy` when [`MOST_KEPT`] others are loaded.
    pub(crate) async fn ready_of(&self, language: &GuestName, hash: &str) -> Result<Arc<Ready>> {
        if let Some(ready) = self.parts.loaded.made(&(language.clone(), Metering::Epoch))
            && ready.loaded().hash == hash
        {
            return Ok(ready);
        }
        let key = (language.clone(), hash.to_owned());
        if let Some(ready) = self.parts.kept.made(&key) {
            return Ok(ready);
        }
        if self.wake(language, hash)? == Wake::Current {
            let ready = self.ready(language, Metering::Epoch).await?;
            if ready.loaded().hash == hash {
                return Ok(ready);
            }
        }
        let (guest, _) = self.find_kept(language, hash)?;
        if self.parts.kept.count() >= MOST_KEPT {
            return Err(Error::new(
                ErrorCode::Busy,
                format!("{MOST_KEPT} guests of other releases are in use, and one process has no more"),
            )
            .with_hint("use the sandbox with another process, or move sandboxes to the current guests with `dormouse state migrate`"));
        }
        let load = async {
            let loaded = self.load_guest(guest, Metering::Epoch, Loaded::link).await?;
            Ok(Ready::new(loaded, 0))
        };
        self.parts.kept.get(key, load).await
    }

    /// Maps the machine code of a language's guest, or makes it first, and links it.
    ///
    /// # Errors
    /// As [`Loader::find`] and [`Loader::engine`]; what keeps it from being compiled; those of `link`.
    pub(crate) async fn load<T: Send + 'static>(
        &self,
        language: &GuestName,
        metering: Metering,
        link: impl FnOnce(&Guest, String, Arc<EngineSlot>, &Component) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.load_guest(self.find(language)?, metering, link).await
    }

    async fn load_guest<T: Send + 'static>(
        &self,
        guest: Guest,
        metering: Metering,
        link: impl FnOnce(&Guest, String, Arc<EngineSlot>, &Component) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let slot = self.engine(metering)?;
        let artifacts = self.parts.artifacts.clone();
        let ready = guest.sha256.as_ref().is_some_and(|hash| artifacts.is_ready(&slot.engine, hash));
        let load = move || {
            let (component, hash) = loaded::component(&guest, &slot, &artifacts)?;
            link(&guest, hash, slot, &component)
        };
        // Mapping an artifact takes 2 ms, less than it costs to move it to another thread; hashing it takes tens, compiling
        // seconds.
        if ready {
            return load();
        }
        tokio::task::spawn_blocking(load)
            .await
            .map_err(|error| Error::internal("the compilation did not end", error))?
    }
}
