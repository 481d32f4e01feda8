//! The one way into a guest. Whatever runs guest code is a [`Call`] or a [`Start`], and only [`Entry`] can make one: it owns the store,
//! and gives nobody else the means to enter it.
//!
//! So every call has a deadline that holds while it computes (the epoch) and while it waits (a timer), a bound on what the guest
//! hands to the host in it, a bound on its answer, and one end: an instance whose call was cut off, also by a caller that gave
//! up, is never entered again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::WasmList;
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::bindings::dormouse::sandbox::host::{Answer, Wanted};
use crate::engine::{EngineSlot, Metering};
use crate::pauses::Pauses;
use crate::state::Host;

/// Component handles that a store may hold at one time.
const MAX_HANDLES: usize = 10_000;
/// Bytes that a guest may hand to the host in one host call, or in an answer: a tool's arguments and the largest value fit.
/// `MOST` of `guests/contract/src/programs.rs` is the same number.
const HANDED: usize = 32 << 20;
/// Time for the start code of a component, which guests of ours do not have.
const START_TIME: Duration = Duration::from_secs(10);
/// Time for all that taking or giving back the state of one instance asks of the guest.
pub(crate) const STATE_TIME: Duration = Duration::from_secs(10);

/// A function of an instance that was started.
pub(crate) trait Call<G>: Send {
    /// What it comes to.
    type Answer: Send;

    /// The most bytes that the answer may have: what is more is refused before anybody reads it.
    fn most(&self) -> usize;

    /// The bytes of an answer that were copied from the guest.
    fn size(answer: &Self::Answer) -> usize;

    /// Makes the call. Only [`Entry`] does.
    fn call(
        self,
        store: &mut Store<Host>,
        guest: &G,
    ) -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// How an instance is started.
pub(crate) trait Start<G>: Send {
    /// Starts it. Only [`Entry`] does.
    fn start(self, store: &mut Store<Host>) -> impl Future<Output = wasmtime::Result<G>> + Send;
}

/// What the calls of one run may take together.
#[derive(Clone)]
pub(crate) struct Allowance {
    deadline: Instant,
    pauses: Pauses,
    /// Whether it is the guest's state that is asked for, and no run of a caller's.
    of_state: bool,
    handed: usize,
}

impl Allowance {
    /// For a run that ends at `deadline` at the latest, its pauses not counted.
    pub(crate) fn run(deadline: Instant) -> Self {
        Self { deadline, pauses: Pauses::default(), of_state: false, handed: HANDED }
    }

    /// For what the host does for a run that is under way: until its deadline, with its pauses.
    pub(crate) fn within((deadline, pauses): (Instant, Pauses)) -> Self {
        Self { pauses, ..Self::run(deadline) }
    }

    /// For taking or giving back a state: nothing of the run before can be used in it, neither callbacks nor programs.
    pub(crate) fn state() -> Self {
        Self { of_state: true, ..Self::run(Instant::now() + STATE_TIME) }
    }

    /// The same for an answer that is looked at where it lies. The engine charges it as if it were copied.
    fn uncopied(&self) -> Self {
        Self { handed: usize::MAX, ..self.clone() }
    }
}

/// How a call ended that has no answer.
#[derive(Debug)]
pub(crate) enum Left {
    /// Its time was over.
    Late,
    /// It trapped, ended the program, or the host refused something.
    Failed(wasmtime::Error),
    /// Its answer was longer than it may be.
    TooLong {
        /// The bytes that it had.
        bytes: usize,
        /// The bytes that it may have.
        most: usize,
    },
    /// An earlier call was cut off.
    Gone,
}

impl Left {
    fn of(error: wasmtime::Error) -> Self {
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Self::Late,
            _ => Self::Failed(error),
        }
    }
}

/// A started instance: its store, and what it exports.
pub(crate) struct Entry<G> {
    store: Store<Host>,
    guest: G,
    slot: Arc<EngineSlot>,
    /// Whether a call is under way, or was cut off.
    ended: bool,
}

impl<G> Entry<G> {
    /// Starts an instance.
    ///
    /// # Errors
    /// How its start ended, if it did not come to its end.
    pub(crate) async fn start(slot: Arc<EngineSlot>, host: Host, how: impl Start<G>) -> Result<Self, Left> {
        let mut store = store(&slot, host);
        let allowance = Allowance::run(Instant::now() + START_TIME);
        let guest = within(&mut store, &slot, &allowance, how).await?;
        Ok(Self { store, guest, slot, ended: false })
    }

    /// Makes a call.
    ///
    /// # Errors
    /// How it ended without an answer. The instance cannot be called again then.
    pub(crate) async fn call<C: Call<G>>(
        &mut self,
        allowance: &Allowance,
        call: C,
    ) -> Result<C::Answer, Left> {
        if self.ended {
            return Err(Left::Gone);
        }
        // Whoever gives up in the middle leaves it so.
        self.ended = true;
        let most = call.most();
        let _running = self.slot.ticker.running();
        begin(&mut self.store, &self.slot, allowance);
        let called =
            allowance.pauses.until(allowance.deadline, call.call(&mut self.store, &self.guest)).await;
        let answer = called.ok_or(Left::Late)?.map_err(Left::of)?;
        let bytes = C::size(&answer);
        if bytes > most {
            return Err(Left::TooLong { bytes, most });
        }
        self.ended = false;
        Ok(answer)
    }

    /// Waits, outside of the guest, for what its program waits for, within the allowance of its run.
    ///
    /// # Errors
    /// The time was over. The instance cannot be called again then: its program was cut off.
    pub(crate) async fn wait(&mut self, allowance: &Allowance, wanted: Wanted) -> Result<Vec<Answer>, Left> {
        if self.ended {
            return Err(Left::Gone);
        }
        self.ended = true;
        // Answers that are there at once would pass the clock by.
        if allowance.pauses.is_past(allowance.deadline) {
            return Err(Left::Late);
        }
        let waited = self.store.data_mut().wait(wanted);
        let waited = allowance.pauses.until(allowance.deadline, waited).await.ok_or(Left::Late)?;
        let answers = waited.map_err(Left::of)?;
        self.ended = false;
        Ok(answers)
    }

    /// Makes a call whose answer is a view of the guest's memory, and gives that view.
    ///
    /// # Errors
    /// As [`Entry::call`].
    pub(crate) async fn view<C: Call<G, Answer = WasmList<u8>>>(
        &mut self,
        allowance: &Allowance,
        call: C,
    ) -> Result<&[u8], Left> {
        let list = self.call(&allowance.uncopied(), call).await?;
        Ok(list.as_le_slice(&self.store))
    }

    /// Whether it can be called: no call of it was cut off.
    pub(crate) fn is_whole(&self) -> bool {
        !self.ended
    }

    /// The host's side of it.
    pub(crate) fn host(&self) -> &Host {
        self.store.data()
    }

    /// The host's side of it.
    pub(crate) fn host_mut(&mut self) -> &mut Host {
        self.store.data_mut()
    }

    /// Sets the fuel of the calls that follow; none: it is not counted.
    pub(crate) fn set_fuel(&mut self, fuel: Option<u64>) {
        if self.slot.metering == Metering::Fuel {
            let _ = self.store.set_fuel(fuel.unwrap_or(u64::MAX));
        }
    }

    /// The fuel that is left.
    pub(crate) fn fuel(&self) -> u64 {
        self.store.get_fuel().unwrap_or(0)
    }
}

impl Entry<()> {
    /// A store without an instance yet: for a program that is started and called in one.
    pub(crate) fn prepare(slot: Arc<EngineSlot>, host: Host) -> Self {
        Self { store: store(&slot, host), guest: (), slot, ended: false }
    }
}

/// A store, with what holds for its whole life.
fn store(slot: &EngineSlot, host: Host) -> Store<Host> {
    let mut store = Store::new(&slot.engine, host);
    store.limiter(|host| &mut host.limiter);
    store.set_max_component_handles(MAX_HANDLES);
    store.epoch_deadline_callback(|context| {
        let host = context.data();
        let over = host.pauses.is_past(host.deadline);
        Ok(if over { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
    });
    store
}

/// Starts an instance within an allowance.
async fn within<G>(
    store: &mut Store<Host>,
    slot: &EngineSlot,
    allowance: &Allowance,
    how: impl Start<G>,
) -> Result<G, Left> {
    let _running = slot.ticker.running();
    begin(store, slot, allowance);
    if slot.metering == Metering::Fuel {
        // A run's own budget is set when it begins.
        let _ = store.set_fuel(u64::MAX);
    }
    let started = allowance.pauses.until(allowance.deadline, how.start(store)).await;
    started.ok_or(Left::Late)?.map_err(Left::of)
}

/// Sets what holds for the call that begins.
fn begin(store: &mut Store<Host>, slot: &EngineSlot, allowance: &Allowance) {
    let Allowance { deadline, pauses, of_state, handed } = allowance;
    store.set_hostcall_fuel(*handed);
    store.set_epoch_deadline(1);
    let host = store.data_mut();
    (host.deadline, host.pauses) = (*deadline, pauses.clone());
    if *of_state {
        host.disarm();
        if slot.metering == Metering::Fuel {
            let _ = store.set_fuel(u64::MAX);
        }
    }
}
