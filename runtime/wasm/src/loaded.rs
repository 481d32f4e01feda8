//! A guest that is ready to be instantiated: compiled, linked, its exports looked up, once for all runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dormouse_core::{Error, ErrorCode, Language, Result};
use wasmtime::component::{Component, InstancePre};
use wasmtime::{PoolConcurrencyLimitError, Store};

use crate::artifact::Artifacts;
use crate::bindings::{CONTRACT, GuestIndices};
use crate::doors::DoorIndices;
use crate::engine::EngineSlot;
use crate::guest::{self, Guest};
use crate::instance::Instance;
use crate::state::Host;

/// Memory that an instance may take before its run is known: the image of the largest interpreter fits.
const IMAGE_MEMORY: usize = 512 << 20;
/// How long a place in the pool is waited for, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(2);

/// A guest on one engine.
pub(crate) struct Loaded {
    pub(crate) slot: Arc<EngineSlot>,
    pub(crate) language: Language,
    /// SHA-256 of the component.
    pub(crate) hash: String,
    /// Where the doors of [`crate::doors`] are.
    pub(crate) doors: Option<DoorIndices>,
    pre: InstancePre<Host>,
    exports: GuestIndices,
}

impl Loaded {
    /// Maps the artifact of a guest, or makes it first: that takes seconds, and is said on the log.
    pub(crate) fn load(guest: &Guest, slot: Arc<EngineSlot>, artifacts: &Artifacts) -> Result<Self> {
        if let Some(hash) = &guest.sha256
            && let Some(component) = artifacts.load(&slot.engine, hash)?
        {
            return Self::link(guest, hash.clone(), slot, &component);
        }
        let (wasm, hash) = guest.read()?;
        let component = match artifacts.load(&slot.engine, &hash)? {
            Some(component) => component,
            None => compile(guest, &hash, &wasm, &slot, artifacts)?,
        };
        Self::link(guest, hash, slot, &component)
    }

    fn link(guest: &Guest, hash: String, slot: Arc<EngineSlot>, component: &Component) -> Result<Self> {
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
        Ok(Self { slot, language: guest.language.clone(), hash, doors, pre, exports })
    }

    /// A new instance that has not run anything. The manager lets nobody in for whom there is no place in the pool, but one
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
    /// `busy` when the machine is out of memory.
    pub(crate) async fn try_instantiate(&self) -> Result<Option<Instance>> {
        let mut store = Store::new(&self.slot.engine, Host::idle(IMAGE_MEMORY));
        Instance::configure(&mut store, self.slot.metering);
        let raw = match self.pre.instantiate_async(&mut store).await {
            Ok(raw) => raw,
            Err(error) if error.is::<PoolConcurrencyLimitError>() => return Ok(None),
            Err(error) => return Err(exhausted(error)),
        };
        let guest = self
            .exports
            .load(&mut store, &raw)
            .map_err(|error| Error::internal("the exports are gone", error))?;
        Ok(Some(Instance::new(store, guest, raw)))
    }
}

fn compile(
    guest: &Guest,
    hash: &str,
    wasm: &[u8],
    slot: &EngineSlot,
    artifacts: &Artifacts,
) -> Result<Component> {
    let begin = Instant::now();
    tracing::warn!(language = %guest.language, "compiling the guest for this machine, once; this takes some seconds");
    let component = artifacts.make(&slot.engine, hash, wasm)?;
    tracing::warn!(language = %guest.language, seconds = begin.elapsed().as_secs_f32(), "compiled");
    Ok(component)
}

/// Tells a guest of another contract from one that is no guest at all.
fn check_exports(language: &Language, slot: &EngineSlot, component: &Component) -> Result<()> {
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
