//! One [`Engine`] for each configuration of Wasmtime, with its linker.

use std::sync::OnceLock;

use dormouse_core::{Error, Result};
use wasmtime::component::Linker;
use wasmtime::{
    Collector, Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

use crate::linker;
use crate::processor::{self, Architecture, Processors};
use crate::settings::{Allocation, Settings};
use crate::state::Host;
use crate::ticker::Ticker;

/// Native stack of one run, in bytes. Deep enough that the interpreters' own recursion limits come first: a JSON
/// text nested 100 000 deep is refused by Python itself, not by a trap.
const WASM_STACK: usize = 32 << 20;
/// What host functions may use on the same stack.
const HOST_STACK: usize = 1 << 20;
/// Bytes of a stack that stay resident between two runs, reset in place; the rest is given back. A run that nests deeply would
/// else leave the whole of its stack to the pool for good.
const STACK_RESIDENT: usize = 32 << 10;
/// Largest linear memory of a pool slot: the highest ceiling an operator can set.
const SLOT_MEMORY: usize = 4 << 30;
/// Written bytes of a slot's memory that stay resident between two runs, reset in place; the rest is given back. A small
/// snippet writes some 200 KiB.
const SLOT_RESIDENT: usize = 4 << 20;
/// Bytes for the exceptions of a run, in a heap beside the memories. Only guests that use WebAssembly exceptions have one:
/// PHP throws one of 24 bytes for each of its fatal errors. It exists from the start, so that the error of a run without
/// memory can be thrown, too; a guest that throws without end runs into the memory limit.
const EXCEPTION_HEAP: u64 = 64 << 10;

/// Whether executed operations are counted. Counting is compiled in, so it takes artifacts of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Metering {
    /// Wall-clock deadline only.
    Epoch,
    /// Wall-clock deadline and fuel.
    Fuel,
}

/// An engine and what is linked once for all runs on it.
pub(crate) struct EngineSlot {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<Host>,
    /// The same with `wasi:http`, made for the first component that imports it.
    http: OnceLock<Linker<Host>>,
    pub(crate) ticker: Ticker,
    pub(crate) metering: Metering,
}

impl EngineSlot {
    /// Sets up an engine.
    ///
    /// # Errors
    /// `internal` when the machine refuses, for example its address space; `capability_unavailable` when its processor is older
    /// than the machine code.
    pub(crate) fn new(metering: Metering, settings: &Settings) -> Result<Self> {
        processor::check(settings.processors)?;
        let engine = config(metering, settings).and_then(|config| Engine::new(&config)).map_err(|error| {
            Error::internal("the engine cannot be set up on this machine", error)
                .with_hint("`dormouse doctor` tells what is missing; an address-space limit (ulimit -v) is the usual cause")
        })?;
        let linker = linker::link(&engine)
            .map_err(|error| Error::internal("the host functions do not link", error))?;
        let ticker = Ticker::start(&engine)
            .map_err(|error| Error::internal("the clock thread cannot be started", error))?;
        Ok(Self { engine, linker, http: OnceLock::new(), ticker, metering })
    }

    /// What a component of a user's is linked with; `with_http`: it imports `wasi:http`.
    ///
    /// # Errors
    /// `internal` when the host functions do not link.
    pub(crate) fn linker_with(&self, with_http: bool) -> Result<&Linker<Host>> {
        if !with_http {
            return Ok(&self.linker);
        }
        if let Some(linker) = self.http.get() {
            return Ok(linker);
        }
        let linker = linker::link_http(&self.linker)
            .map_err(|error| Error::internal("the host functions of HTTP do not link", error))?;
        Ok(self.http.get_or_init(|| linker))
    }
}

/// Makes machine code for [`Processors::Every`].
fn for_every_processor(config: &mut Config, architecture: Architecture) -> wasmtime::Result<()> {
    config.target(&format!("{}-unknown-linux-gnu", architecture.name()))?;
    for (feature, _) in architecture.expected() {
        #[allow(unsafe_code, reason = "the engine takes flags of Cranelift only this way")]
        // SAFETY: The flags tell of instructions that a processor has. Whether this one has them is checked by
        // [`processor`], and by the engine before machine code that was made with them is used.
        unsafe {
            config.cranelift_flag_enable(&format!("has_{feature}"));
        }
    }
    Ok(())
}

/// What decides the machine code: a change here makes new artifacts.
fn compilation(metering: Metering, processors: Processors) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    if let Processors::Every(architecture) = processors {
        for_every_processor(&mut config, architecture)?;
    }
    config
        .epoch_interruption(true)
        .consume_fuel(metering == Metering::Fuel)
        .cranelift_opt_level(OptLevel::Speed)
        .memory_init_cow(true)
        .generate_address_map(false)
        .wasm_backtrace_max_frames(None)
        .concurrency_support(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_gc(false)
        .collector(Collector::Null)
        .gc_heap_initial_size(EXCEPTION_HEAP)
        .wasm_relaxed_simd(false);
    Ok(config)
}

fn config(metering: Metering, settings: &Settings) -> wasmtime::Result<Config> {
    let mut config = compilation(metering, settings.processors)?;
    config.max_wasm_stack(WASM_STACK).async_stack_size(WASM_STACK + HOST_STACK).async_stack_zeroing(true);
    if let Allocation::Pooling { instances } = settings.allocation {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(instances.max(1))));
    }
    Ok(config)
}

/// A pool that serves our guests (one memory, two tables, few core modules) and moderate components of users.
fn pool(instances: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(8))
        .max_core_instances_per_component(40)
        .max_core_instance_size(1 << 20)
        .max_component_instance_size(1 << 20)
        .total_memories(instances.saturating_mul(2))
        .total_gc_heaps(instances)
        .max_memories_per_component(4)
        .total_tables(instances.saturating_mul(4))
        .max_tables_per_component(8)
        .max_tables_per_module(2)
        .table_elements(20_000)
        .max_memory_size(SLOT_MEMORY)
        .total_stacks(instances)
        .async_stack_keep_resident(STACK_RESIDENT)
        .table_keep_resident(1 << 20);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.pagemap_scan(Enabled::Yes).linear_memory_keep_resident(SLOT_RESIDENT);
    }
    // Without PAGEMAP_SCAN (Linux 6.7) every kept byte would be reset at each run, written or not: nothing is kept.
    pool
}
