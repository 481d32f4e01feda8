//! Placeholder until scratch folders are linked.
pub(crate) struct ScratchPool {}
pub(crate) struct Scratch {}
impl ScratchPool {
    pub(crate) fn new() -> dormouse_core::Result<Self> { Ok(Self {}) }
    pub(crate) fn take(&self) -> dormouse_core::Result<Scratch> { Ok(Scratch {}) }
}
impl Scratch {
    pub(crate) fn preopen(&self, _wasi: &mut wasmtime_wasi::WasiCtxBuilder) -> dormouse_core::Result<()> { Ok(()) }
}
