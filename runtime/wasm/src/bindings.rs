//! The contract of `wit/`, as Rust.

#![allow(missing_docs, unreachable_pub, reason = "generated from wit/, where the documentation stands")]

wasmtime::component::bindgen!({
    path: "wit/guest",
    world: "guest",
    imports: { default: async | trappable },
    exports: { default: async },
});

/// Version of the contract that this host speaks.
pub const CONTRACT: &str = "dormouse:sandbox@0.3.2";
/// Version of the contract that the TypeScript guest has with this host ([`crate::typescript`]).
pub(crate) const TYPESCRIPT_CONTRACT: &str = "dormouse:typescript@0.2.0";
