//! What a store holds on the host's side: the WASI context, the limits and the callbacks of one run.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use dormouse_core::Callbacks;
use futures::future::BoxFuture;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::filesystem::WasiFilesystemCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::dormouse::sandbox::programs as contract;
use crate::disk::{DiskLimits, Files, FilesView};
use crate::limiter::Limiter;
use crate::pauses::Pauses;

/// Host-side resources (open files, streams, pollables) that a run may hold at one time.
const MAX_RESOURCES: usize = 4_096;

/// Starts the programs that a command line names ([`crate::programs`]).
pub(crate) trait Launcher: Send + Sync {
    /// Runs a program to its end, at most until `deadline`. None: there is none of that name.
    fn launch(
        &self,
        command: contract::Command,
        deadline: Instant,
    ) -> BoxFuture<'static, Option<contract::Ended>>;
}

/// The data of a store.
pub(crate) struct Host {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) files: Files,
    /// When the run is to end; its pauses come on top.
    pub(crate) deadline: Instant,
    pub(crate) pauses: Pauses,
    pub(crate) callbacks: Callbacks,
    /// Callbacks that the run has called; the programs that it starts count here too.
    pub(crate) calls: Arc<AtomicU32>,
    /// What a command line can start; none outside of command lines.
    pub(crate) programs: Option<Arc<dyn Launcher>>,
}

impl Host {
    /// A host that grants nothing: for an instance that waits for its run.
    pub(crate) fn idle(memory: usize) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_RESOURCES);
        Self {
            wasi: WasiCtx::builder().build(),
            table,
            limiter: Limiter::new(memory),
            files: Files::new(DiskLimits::default(), true),
            deadline: Instant::now() + Duration::from_secs(60),
            pauses: Pauses::default(),
            callbacks: Callbacks::default(),
            calls: Arc::default(),
            programs: None,
        }
    }
}

impl Host {
    /// Takes from the guest what its last run could call: nothing that runs later does so in that run's name.
    pub(crate) fn disarm(&mut self) {
        (self.callbacks, self.programs) = (Callbacks::default(), None);
    }

    /// What `wasi:filesystem` works on.
    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView {
            wasi: WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table },
            files: &mut self.files,
        }
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}
