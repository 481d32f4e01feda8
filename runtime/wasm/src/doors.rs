//! The state doors: reads and writes the memory of an instance at rest (wit/state.wit).

use dormouse_core::{Error, ErrorCode, Result};
use rustix::mm::{Advice, madvise};

use crate::calls::{DoorIndices, Exports, Grow, Memory, Quiesce, StackPointer};
use crate::entry::{Allowance, Entry, Left, STATE_TIME};
use crate::saved::{PAGE, Page};

/// Granularity of growth, in bytes.
const WASM_PAGE: usize = 64 << 10;
/// Pages in a row from which on they are mapped together.
const TOGETHER: usize = 4;

/// The doors of one instance, open until the time for its state is over. Nothing of its last run can be used through them.
pub(crate) struct Doors<'a> {
    indices: &'a DoorIndices,
    entry: &'a mut Entry<Exports>,
    allowance: Allowance,
}

impl<'a> Doors<'a> {
    /// Opens the doors of an instance.
    pub(crate) fn open(indices: &'a DoorIndices, entry: &'a mut Entry<Exports>) -> Self {
        // An instance at its memory limit can be saved and woken too.
        entry.host_mut().limiter.make_room();
        Self { indices, entry, allowance: Allowance::state() }
    }

    /// The whole memory, not copied.
    pub(crate) async fn memory(&mut self) -> Result<&[u8]> {
        self.entry.view(&self.allowance, Memory(self.indices)).await.map_err(failed)
    }

    /// The whole memory, not copied, once the doors are not needed any more.
    pub(crate) async fn into_memory(self) -> Result<&'a [u8]> {
        let Self { indices, entry, allowance } = self;
        entry.view(&allowance, Memory(indices)).await.map_err(failed)
    }

    /// The stack pointer at rest.
    pub(crate) async fn stack_pointer(&mut self) -> Result<u32> {
        self.entry.call(&self.allowance, StackPointer(self.indices)).await.map_err(failed)
    }

    /// Closes what cannot outlive the instance; returns the names of the files that were open.
    pub(crate) async fn quiesce(&mut self) -> Result<Vec<String>> {
        self.entry.call(&self.allowance, Quiesce(self.indices)).await.map_err(failed)
    }

    /// Grows the memory to `bytes`, unless it is as large already. A state that was saved is given the room that it had.
    pub(crate) async fn grow_to(&mut self, bytes: usize) -> Result<()> {
        let held = self.memory().await?.len();
        let pages = bytes.saturating_sub(held).div_ceil(WASM_PAGE);
        let count = u32::try_from(pages).map_err(|error| Error::internal("more memory than fits", error))?;
        if count == 0 {
            return Ok(());
        }
        self.entry.host_mut().limiter.make_room_for(pages * WASM_PAGE);
        if self.entry.call(&self.allowance, Grow(self.indices, count)).await.map_err(failed)? {
            return Ok(());
        }
        Err(Error::new(ErrorCode::LimitMemory, format!("the saved state needs {bytes} bytes of memory"))
            .with_hint("reset the sandbox for fresh interpreters; its files stay"))
    }

    /// Combines pages with the memory of an instance that has not run, by exclusive or.
    ///
    /// # Errors
    /// `internal` when a page lies outside the memory; nothing is written then.
    pub(crate) async fn apply(&mut self, pages: &[(u32, Page)]) -> Result<()> {
        let memory = self.memory().await?;
        let (base, len) = (memory.as_ptr().cast_mut(), memory.len());
        let end = |number: u32| (number as usize + 1) * PAGE;
        if let Some((number, _)) = pages.iter().find(|(number, _)| end(*number) > len) {
            return Err(Error::new(ErrorCode::Internal, format!("page {number} lies outside the memory")));
        }
        for run in pages.chunk_by(|(one, _), (other, _)| one + 1 == *other) {
            let Some((first, _)) = run.first() else { continue };
            #[allow(unsafe_code, reason = "the engine has no safe way to write a component's memory")]
            // SAFETY: `base..base + len` is the instance's linear memory, as the `memory` door has just returned it. It is
            // mapped writable and does not move while `self`, and with it the store, is borrowed mutably here, and no guest
            // code runs and no reference to the memory lives during the copies: the last use of `memory` is above. The
            // pages of the run lie inside, as was looked at above, one after the other.
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

/// Why a door did not answer. Its instance is gone.
fn failed(left: Left) -> Error {
    let error = match left {
        Left::Late => Error::new(
            ErrorCode::LimitTime,
            format!("the interpreter did not come to rest within {} s", STATE_TIME.as_secs()),
        ),
        Left::TooLong { bytes, most } => Error::new(
            ErrorCode::GuestTrap,
            format!("the interpreter named open files in {bytes} bytes, at most {most} are taken"),
        ),
        Left::Failed(error) => {
            Error::new(ErrorCode::GuestTrap, "the interpreter crashed while its state was asked for")
                .with_source(error)
        }
        Left::Gone => Error::new(ErrorCode::GuestTrap, "the interpreter is gone: a call of it was cut off"),
    };
    error.with_hint("the next call goes on from the state that was saved last; what came after is lost")
}
