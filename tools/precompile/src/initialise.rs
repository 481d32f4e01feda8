//! Pre-initialisation: runs a core module's `wizer-initialize` and writes the memory it leaves back into the module.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{Context as Wait, Poll, Waker};
use std::time::Duration;

use anyhow::{Result, anyhow};
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::SeedableRng;
use wasmtime::error::Context;
use wasmtime::{Config, Engine, Instance, Linker, Module, Store, Val};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{FsPerms, HostMonotonicClock, HostWallClock, WasiCtxBuilder};
use wasmtime_wizer::{InstanceState, SnapshotVal, ValType, Wizer};

/// Interpreters compile and run whole libraries while they initialise, some of it by deep recursion.
const WASM_STACK: usize = 64 << 20;

/// The name of the exported function that initialises.
const ENTRY: &str = "wizer-initialize";

/// What every module draws its random bytes from while it initialises, so that the same inputs give the same image. What
/// must not be guessed is drawn again by each instance.
const SEED: u64 = 0;

/// The wall clock while a module initialises: 2025-01-01. It stands still.
const TODAY: Duration = Duration::from_secs(1_735_689_600);

/// What a module sees while it initialises. None of it is there later.
#[derive(Default)]
pub(crate) struct World {
    /// Environment variables.
    pub(crate) environment: Vec<(String, String)>,
    /// Host folders, each with its path for the guest; read-only.
    pub(crate) folders: Vec<(PathBuf, String)>,
}

/// Initialises the core module in `core` and writes the result to `into`.
pub(crate) fn run(core: &Path, into: &Path, world: &World) -> Result<()> {
    let bytes = fs::read(core).map_err(|error| anyhow!("cannot read `{}`: {error}", core.display()))?;
    let thread = std::thread::Builder::new().stack_size(WASM_STACK + (16 << 20));
    let done = std::thread::scope(|scope| {
        let running = thread.spawn_scoped(scope, || snapshot(&bytes, world))?;
        let done = running.join().map_err(|_| anyhow!("the initialising thread panicked"))?;
        done.map_err(|error| anyhow!("the module did not initialise: {error:?}"))
    })?;
    fs::write(into, done).map_err(|error| anyhow!("cannot write `{}`: {error}", into.display()))
}

fn snapshot(bytes: &[u8], world: &World) -> wasmtime::Result<Vec<u8>> {
    let wizer = Wizer::new();
    let (context, instrumented) = wizer.instrument(bytes)?;
    let mut config = Config::new();
    // Nothing in here is asynchronous, but the two settings are checked against each other.
    config.max_wasm_stack(WASM_STACK).async_stack_size(2 * WASM_STACK);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, &instrumented)?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p1::add_to_linker_sync(&mut linker, |wasi: &mut WasiP1Ctx| wasi)?;
    // The host's own functions are not there yet; calling one is a mistake of the driver and traps.
    linker.define_unknown_imports_as_traps(&module)?;
    let mut store = Store::new(&engine, context_of(world)?);
    let instance = linker.instantiate(&mut store, &module)?;
    if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, "_initialize") {
        start.call(&mut store, ())?;
    }
    instance.get_typed_func::<(), ()>(&mut store, ENTRY)?.call(&mut store, ())?;
    let mut state = Initialised { store, instance };
    ready(wizer.snapshot(&context, &mut state))
}

fn context_of(world: &World) -> wasmtime::Result<WasiP1Ctx> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.inherit_stdout().inherit_stderr();
    wasi.secure_random(ChaCha12Rng::seed_from_u64(SEED)).insecure_random(ChaCha12Rng::seed_from_u64(!SEED));
    wasi.insecure_random_seed(u128::from(SEED)).wall_clock(Still).monotonic_clock(Still);
    for (name, value) in &world.environment {
        wasi.env(name, value);
    }
    for (folder, path) in &world.folders {
        wasi.preopened_dir(folder, path, FsPerms::ReadOnly)
            .with_context(|| format!("cannot open `{}`", folder.display()))?;
    }
    Ok(wasi.build_p1())
}

/// Clocks that stand still.
struct Still;

impl HostWallClock for Still {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        TODAY
    }
}

impl HostMonotonicClock for Still {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
}

/// The answer of a future that never waits: reading a stopped instance needs no executor.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Wait::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing in here waits"),
    }
}

/// The instance after it ran.
struct Initialised {
    store: Store<WasiP1Ctx>,
    instance: Instance,
}

impl InstanceState for Initialised {
    async fn global_get(&mut self, name: &str, _type_hint: ValType) -> SnapshotVal {
        let global = self.instance.get_global(&mut self.store, name).expect("wizer exported it");
        match global.get(&mut self.store) {
            Val::I32(value) => SnapshotVal::I32(value),
            Val::I64(value) => SnapshotVal::I64(value),
            Val::F32(value) => SnapshotVal::F32(value),
            Val::F64(value) => SnapshotVal::F64(value),
            Val::V128(value) => SnapshotVal::V128(value.as_u128()),
            _ => unreachable!("wizer refuses modules with mutable globals of reference types"),
        }
    }

    async fn memory_contents(&mut self, name: &str, contents: impl FnOnce(&[u8]) + Send) {
        let memory = self.instance.get_memory(&mut self.store, name).expect("wizer exported it");
        contents(memory.data(&self.store));
    }
}
