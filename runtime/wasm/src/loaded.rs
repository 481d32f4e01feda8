//! A guest that is ready to be instantiated: compiled, linked, its exports looked up, once for all runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, GuestName, Result};
use wasmtime::component::{Component, InstancePre};
use wasmtime::{PoolConcurrencyLimitError, Store};

use crate::artifact::Artifacts;
use crate::bindings::{CONTRACT, GuestIndices};
use crate::calls::{DoorIndices, Exports};
use crate::engine::EngineSlot;
use crate::entry::{Entry, Left, Start};
use crate::guest::{self, Guest};
use crate::instance::Instance;
use crate::state::Host;
use crate::waiting::WaitingIndices;

/// Memory that an instance may take before its run is known: the image of the largest interpreter fits.
pub(crate) const IMAGE_MEMORY: usize = 512 << 20;
/// How long a place in the pool is waited for, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// A guest on one engine.
pub(crate) struct Loaded {
    pub(crate) slot: Arc<EngineSlot>,
    pub(crate) language: GuestName,
    /// SHA-256 of the component.
    pub(crate) hash: String,
    /// Where the doors of [`crate::doors`] are.
    pub(crate) doors: Option<DoorIndices>,
    /// Where those of [`crate::waiting`] are.
    waiting: Option<Arc<WaitingIndices>>,
    pre: InstancePre<Host>,
    exports: GuestIndices,
}

impl Loaded {
    /// Links the component of a guest, of that SHA-256, with the host.
    ///
    /// # Errors
    /// `guest_mismatch` when it speaks another contract, `bad_component` when it is no guest.
    pub(crate) fn link(
        guest: &Guest,
        hash: String,
        slot: Arc<EngineSlot>,
        component: &Component,
    ) -> Result<Self> {
        check_exports(&guest.language, &slot, component)?;
        let bad = |error: wasmtime::Error| {
            Error::new(
                ErrorCode::BadComponent,
                format!("the {} guest does not link: {error:#}", guest.language),
            )
        };
        let pre = slot.linker.instantiate_pre(component).map_err(bad)?;
        let exports = GuestIndices::new(&pre).map_err(bad)?;
        let doors = DoorIndices::find(component);
        let waiting = WaitingIndices::find(component).map(Arc::new);
        Ok(Self { slot, language: guest.language.clone(), hash, doors, waiting, pre, exports })
    }

    /// A new instance that has not run anything. Admission lets nobody in for whom there is no place in the pool, but one
    /// that is just being given back may not be free yet: that is waited for.
    ///
    /// # Errors
    /// `busy` when none comes free in time, or the machine is out of memory.
    pub(crate) async fn instantiate(&self) -> Result<Instance> {
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            match self.try_instantiate().await? {
                Some(instance) => return Ok(instance),
                None if tokio::time::Instant::now() >= until => return Err(full()),
                None => tokio::time::sleep(ASK_AGAIN).await,
            }
        }
    }

    /// The same, if there is a place now.
    ///
    /// # Errors
    /// `busy` when the machine is out of memory; `bad_component` when its start code does not end.
    pub(crate) async fn try_instantiate(&self) -> Result<Option<Instance>> {
        match Entry::start(self.slot.clone(), Host::idle(IMAGE_MEMORY), self).await {
            Ok(entry) => Ok(Some(Instance::new(entry, self.waiting.clone()))),
            Err(Left::Failed(error)) if error.is::<PoolConcurrencyLimitError>() => Ok(None),
            Err(left) => Err(not_started(left, &self.language)),
        }
    }
}

impl Start<Exports> for &Loaded {
    async fn start(self, store: &mut Store<Host>) -> wasmtime::Result<Exports> {
        let raw = self.pre.instantiate_async(&mut *store).await?;
        Ok(Exports { guest: self.exports.load(store, &raw)?, raw })
    }
}

/// Maps the artifact of a guest, or makes it first: that takes seconds, and is said on the log. With its SHA-256.
pub(crate) fn component(
    guest: &Guest,
    slot: &EngineSlot,
    artifacts: &Artifacts,
) -> Result<(Component, String)> {
    if let Some(hash) = &guest.sha256
        && let Some(component) = artifacts.load(&slot.engine, hash)?
    {
        return Ok((component, hash.clone()));
    }
    let (wasm, hash) = guest.read()?;
    // A guest whose hash was known has been looked for already.
    let found = match &guest.sha256 {
        Some(_) => None,
        None => artifacts.load(&slot.engine, &hash)?,
    };
    let component = match found {
        Some(component) => component,
        None => compile(guest, &hash, &wasm, slot, artifacts)?,
    };
    Ok((component, hash))
}

fn compile(
    guest: &Guest,
    hash: &str,
    wasm: &[u8],
    slot: &EngineSlot,
    artifacts: &Artifacts,
) -> Result<Component> {
    let begin = Instant::now();
    let language = &guest.language;
    tracing::warn!("the {language} guest is compiled for this machine, once; this takes some seconds");
    let component = artifacts.make(&slot.engine, hash, wasm)?;
    tracing::warn!("the {language} guest is compiled; it took {:.1} s", begin.elapsed().as_secs_f32());
    Ok(component)
}

/// Tells a guest of another contract from one that is no guest at all.
fn check_exports(language: &GuestName, slot: &EngineSlot, component: &Component) -> Result<()> {
    let (package, version) = CONTRACT.split_once('@').unwrap_or((CONTRACT, ""));
    let wanted = format!("{package}/interpreter@{version}");
    if component.get_export_index(None, wanted.as_str()).is_some() {
        return Ok(());
    }
    let prefix = format!("{package}/interpreter@");
    let ty = component.component_type();
    let found =
        ty.exports(&slot.engine).map(|(name, _)| name.to_owned()).find(|name| name.starts_with(&prefix));
    match found {
        Some(other) => Err(guest::mismatch(language, &other)),
        None => Err(Error::new(
            ErrorCode::BadComponent,
            format!("the {language} guest does not export `{wanted}`"),
        )
        .with_hint("a guest is a component of the world `guest` in wit/world.wit")),
    }
}

/// Why there is no instance of a language's guest.
pub(crate) fn not_started(left: Left, language: &GuestName) -> Error {
    match left {
        Left::Failed(error) if error.is::<PoolConcurrencyLimitError>() => full(),
        Left::Failed(error) => exhausted(error),
        _ => Error::new(
            ErrorCode::BadComponent,
            format!("the {language} guest does not come to the end of its start code"),
        )
        .with_hint("a guest is initialised when it is built, and runs nothing when it is instantiated"),
    }
}

/// The error of a pool in which no place came free.
pub(crate) fn full() -> Error {
    Error::new(ErrorCode::Busy, "no place for another instance")
        .with_hint("try again later, or set up a larger pool")
}

/// The machine is out of memory.
fn exhausted(error: wasmtime::Error) -> Error {
    Error::new(ErrorCode::Busy, "no memory for another instance")
        .with_hint("try again later")
        .with_source(error)
}
