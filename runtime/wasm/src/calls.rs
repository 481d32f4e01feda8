//! Every function that the host calls in a guest (`wit/interpreter.wit`, `wit/state.wit`): what it is given, and how long its answer may
//! be. There is no other way to call one than [`Entry`](crate::entry::Entry).

use dormouse_core::Bounds;
use wasmtime::Store;
use wasmtime::component::{
    Component, ComponentExportIndex, ComponentNamedList, Instance, Lift, Lower, TypedFunc, WasmList,
};

use crate::bindings::exports::dormouse::sandbox::interpreter as contract;
use crate::bindings::{CONTRACT, Guest};
use crate::entry::Call;
use crate::state::Host;

/// Bytes of the reason why a global cannot be set.
const MAX_REASON: usize = 64 << 10;
/// Bytes of all names of files that were open.
const MAX_NAMES: usize = 1 << 20;

/// What an interpreter exports.
pub(crate) struct Exports {
    pub(crate) guest: Guest,
    /// The raw instance, for the state doors: their types are our own.
    pub(crate) raw: Instance,
}

/// Where a component's doors are.
pub(crate) struct DoorIndices {
    pub(crate) memory: ComponentExportIndex,
    pub(crate) grow: ComponentExportIndex,
    pub(crate) stack_pointer: ComponentExportIndex,
    pub(crate) quiesce: ComponentExportIndex,
}

impl DoorIndices {
    /// The doors, if the component has them all.
    pub(crate) fn find(component: &Component) -> Option<Self> {
        let (package, version) = CONTRACT.split_once('@')?;
        let state = component.get_export_index(None, format!("{package}/state@{version}").as_str())?;
        let door = |name: &str| component.get_export_index(Some(&state), name);
        Some(Self {
            memory: door("memory")?,
            grow: door("grow")?,
            stack_pointer: door("stack-pointer")?,
            quiesce: door("quiesce")?,
        })
    }
}

/// Runs a snippet.
pub(crate) struct Eval<'a> {
    pub(crate) source: &'a str,
    pub(crate) options: &'a contract::Options,
    pub(crate) bounds: &'a Bounds,
}

/// Asks for the value of a global, or of an expression over it.
pub(crate) struct Get<'a> {
    pub(crate) name: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) options: &'a contract::Options,
    pub(crate) bounds: &'a Bounds,
}

/// Binds a global to the value of a JSON text.
pub(crate) struct Set<'a> {
    pub(crate) name: &'a str,
    pub(crate) json: &'a str,
}

/// Lists the globals.
pub(crate) struct Vars<'a> {
    pub(crate) bounds: &'a Bounds,
}

/// Closes what cannot outlive the instance.
pub(crate) struct Quiesce<'a>(pub(crate) &'a DoorIndices);

/// Looks at the whole memory.
pub(crate) struct Memory<'a>(pub(crate) &'a DoorIndices);

/// Grows the memory by that many pages of 64 KiB.
pub(crate) struct Grow<'a>(pub(crate) &'a DoorIndices, pub(crate) u32);

/// Asks for the stack pointer at rest.
pub(crate) struct StackPointer<'a>(pub(crate) &'a DoorIndices);

/// The longest answer to a snippet: that of an exception, which is no shorter than that of a value.
pub(crate) fn longest(bounds: &Bounds) -> usize {
    bounds.exception_bytes()
}

pub(crate) fn length(outcome: &contract::Outcome) -> usize {
    match outcome {
        contract::Outcome::Returned(json) | contract::Outcome::Raised(json) => json.len(),
        contract::Outcome::Exited(_) => 0,
    }
}

impl Call<Exports> for Eval<'_> {
    type Answer = contract::Outcome;

    fn most(&self) -> usize {
        longest(self.bounds)
    }

    fn size(answer: &Self::Answer) -> usize {
        length(answer)
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        exports.guest.dormouse_sandbox_interpreter().call_eval(store, self.source, self.options).await
    }
}

impl Call<Exports> for Get<'_> {
    type Answer = contract::Outcome;

    fn most(&self) -> usize {
        longest(self.bounds)
    }

    fn size(answer: &Self::Answer) -> usize {
        length(answer)
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let Self { name, query, options, .. } = self;
        exports.guest.dormouse_sandbox_interpreter().call_get(store, name, query, options).await
    }
}

impl Call<Exports> for Set<'_> {
    type Answer = Result<(), String>;

    fn most(&self) -> usize {
        MAX_REASON
    }

    fn size(answer: &Self::Answer) -> usize {
        answer.as_ref().err().map_or(0, String::len)
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        exports.guest.dormouse_sandbox_interpreter().call_set(store, self.name, self.json).await
    }
}

impl Call<Exports> for Vars<'_> {
    type Answer = String;

    fn most(&self) -> usize {
        Bounds::MAX.value_bytes()
    }

    fn size(answer: &Self::Answer) -> usize {
        answer.len()
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        exports.guest.dormouse_sandbox_interpreter().call_vars(store, contract_bounds(self.bounds)).await
    }
}

impl Call<Exports> for Quiesce<'_> {
    type Answer = Vec<String>;

    fn most(&self) -> usize {
        MAX_NAMES
    }

    fn size(answer: &Self::Answer) -> usize {
        answer.iter().map(|name| name.len() + size_of::<String>()).sum()
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let door: TypedFunc<(), (Vec<String>,)> = door(store, exports, self.0.quiesce)?;
        Ok(door.call_async(store, ()).await?.0)
    }
}

impl Call<Exports> for Memory<'_> {
    type Answer = WasmList<u8>;

    fn most(&self) -> usize {
        0
    }

    fn size(_: &Self::Answer) -> usize {
        0
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let door: TypedFunc<(), (WasmList<u8>,)> = door(store, exports, self.0.memory)?;
        Ok(door.call_async(store, ()).await?.0)
    }
}

impl Call<Exports> for Grow<'_> {
    type Answer = bool;

    fn most(&self) -> usize {
        0
    }

    fn size(_: &Self::Answer) -> usize {
        0
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let door: TypedFunc<(u32,), (bool,)> = door(store, exports, self.0.grow)?;
        Ok(door.call_async(store, (self.1,)).await?.0)
    }
}

impl Call<Exports> for StackPointer<'_> {
    type Answer = u32;

    fn most(&self) -> usize {
        0
    }

    fn size(_: &Self::Answer) -> usize {
        0
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let door: TypedFunc<(), (u32,)> = door(store, exports, self.0.stack_pointer)?;
        Ok(door.call_async(store, ()).await?.0)
    }
}

pub(crate) fn door<P, R>(
    store: &mut Store<Host>,
    exports: &Exports,
    index: ComponentExportIndex,
) -> wasmtime::Result<TypedFunc<P, R>>
where
    P: ComponentNamedList + Lower,
    R: ComponentNamedList + Lift,
{
    exports.raw.get_typed_func(store, index)
}

/// The bounds in the contract's words.
pub(crate) fn contract_bounds(bounds: &Bounds) -> contract::Bounds {
    let Bounds { depth, items, string_bytes, total_bytes, frames, offset } = *bounds;
    contract::Bounds { depth, items, string_bytes, total_bytes, frames, offset }
}
