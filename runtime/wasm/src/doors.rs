//! The state doors: reads and writes the memory of an instance at rest (wit/state.wit).

use dormouse_core::{Error, ErrorCode, Result};
use rustix::mm::{Advice, madvise};
use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, Instance, TypedFunc, WasmList};

use crate::bindings::CONTRACT;
use crate::saved::Page;
use crate::state::Host;

/// Granularity of saved memory, in bytes.
pub(crate) const PAGE: usize = 4096;
/// Granularity of growth, in bytes.
const WASM_PAGE: usize = 64 << 10;
/// Pages in a row from which on they are mapped together.
const TOGETHER: usize = 4;

/// Where a component's doors are.
pub(crate) struct DoorIndices {
    memory: ComponentExportIndex,
    grow: ComponentExportIndex,
    stack_pointer: ComponentExportIndex,
    quiesce: ComponentExportIndex,
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

    /// The doors of one instance.
    pub(crate) fn open(&self, store: &mut Store<Host>, instance: &Instance) -> Result<Doors> {
        let shut = |error: wasmtime::Error| {
            Error::new(ErrorCode::BadComponent, "the guest's state doors have other types").with_source(error)
        };
        Ok(Doors {
            memory: instance.get_typed_func(&mut *store, self.memory).map_err(shut)?,
            grow: instance.get_typed_func(&mut *store, self.grow).map_err(shut)?,
            stack_pointer: instance.get_typed_func(&mut *store, self.stack_pointer).map_err(shut)?,
            quiesce: instance.get_typed_func(&mut *store, self.quiesce).map_err(shut)?,
        })
    }
}

/// The doors of one instance. Every call assumes that no other call is in progress.
pub(crate) struct Doors {
    memory: TypedFunc<(), (WasmList<u8>,)>,
    grow: TypedFunc<(u32,), (bool,)>,
    stack_pointer: TypedFunc<(), (u32,)>,
    quiesce: TypedFunc<(), (Vec<String>,)>,
}

impl Doors {
    /// The whole memory, not copied.
    pub(crate) async fn memory<'a>(&self, store: &'a mut Store<Host>) -> Result<&'a [u8]> {
        // The engine charges the list's length as if it were copied. It is not, so the cap does not apply here.
        let cap = store.hostcall_fuel();
        store.set_hostcall_fuel(usize::MAX);
        let called = self.memory.call_async(&mut *store, ()).await;
        store.set_hostcall_fuel(cap);
        let (list,) = called.map_err(failed)?;
        Ok(list.as_le_slice(&*store))
    }

    /// The stack pointer at rest.
    pub(crate) async fn stack_pointer(&self, store: &mut Store<Host>) -> Result<u32> {
        Ok(self.stack_pointer.call_async(store, ()).await.map_err(failed)?.0)
    }

    /// Closes what cannot outlive the instance; returns the names of the files that were open.
    pub(crate) async fn quiesce(&self, store: &mut Store<Host>) -> Result<Vec<String>> {
        Ok(self.quiesce.call_async(store, ()).await.map_err(failed)?.0)
    }

    /// Grows the memory to `bytes`, unless it is as large already.
    pub(crate) async fn grow_to(&self, store: &mut Store<Host>, bytes: usize) -> Result<()> {
        let held = self.memory(store).await?.len();
        let pages = bytes.saturating_sub(held).div_ceil(WASM_PAGE);
        let pages = u32::try_from(pages).map_err(|error| Error::internal("more memory than fits", error))?;
        if pages == 0 || self.grow.call_async(store, (pages,)).await.map_err(failed)?.0 {
            return Ok(());
        }
        Err(Error::new(ErrorCode::LimitMemory, format!("the saved state needs {bytes} bytes of memory"))
            .with_hint("raise the memory limit"))
    }

    /// Combines pages with the memory of an instance that has not run, by exclusive or.
    ///
    /// # Errors
    /// `internal` when a page lies outside the memory; nothing is written then.
    pub(crate) async fn apply(&self, store: &mut Store<Host>, pages: &[(u32, Page)]) -> Result<()> {
        let memory = self.memory(store).await?;
        let (base, len) = (memory.as_ptr().cast_mut(), memory.len());
        let end = |number: u32| (number as usize + 1) * PAGE;
        if let Some((number, _)) = pages.iter().find(|(number, _)| end(*number) > len) {
            return Err(Error::new(ErrorCode::Internal, format!("page {number} lies outside the memory")));
        }
        for run in pages.chunk_by(|(one, _), (other, _)| one + 1 == *other) {
            let Some((first, _)) = run.first() else { continue };
            #[allow(unsafe_code, reason = "the engine has no safe way to write a component's memory")]
            // SAFETY: `base..base + len` is the instance's linear memory, as the `memory` door has just returned it. It is
            // mapped writable and does not move while `store` is borrowed mutably here, and no guest code runs and no
            // reference to the memory lives during the copies: the last use of `memory` is above. The pages of the run
            // lie inside, as was looked at above, one after the other.
            unsafe {
                let start = base.add(*first as usize * PAGE);
                if run.len() >= TOGETHER {
                    // One call in the place of a fault for each page. Where the kernel cannot, they come one by one.
                    let _ = madvise(start.cast(), run.len() * PAGE, Advice::LinuxPopulateWrite);
                }
                for (place, (_, difference)) in run.iter().enumerate() {
                    let place = start.add(place * PAGE);
                    let mut bytes = [0; PAGE];
                    std::ptr::copy_nonoverlapping(place, bytes.as_mut_ptr(), PAGE);
                    bytes.iter_mut().zip(difference.iter()).for_each(|(byte, other)| *byte ^= other);
                    std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, PAGE);
                }
            }
        }
        Ok(())
    }
}

fn failed(error: wasmtime::Error) -> Error {
    Error::new(ErrorCode::GuestTrap, "the guest's state doors failed")
        .with_hint("the instance is gone; restore its last checkpoint")
        .with_source(error)
}
