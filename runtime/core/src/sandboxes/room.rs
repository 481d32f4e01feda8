//! Room in memory: how many interpreters and containers sandboxes keep between their calls, and who goes when there is none.
//!
//! A call that needs an interpreter which is not in memory takes room for it first. When there is none, the sandbox that has
//! rested longest is saved and put down, and the call goes on: one of the owner who has most, or, where owners share and the
//! caller has as much as is free, one of the caller's own. So nobody waits for what another owner's sandbox makes of being
//! saved. Nobody holds room while he waits for more either: whoever finds none to put down puts his own other interpreters
//! down.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::call::{Call, Live, Resident};
use super::{Rules, Sandboxes};
use crate::fair::{Fair, Full, Held};
use crate::places::Place;
use crate::sandbox::{Include, Owner, ProviderName, SandboxId};
use crate::{Error, ErrorCode, GuestName, Policy, Result};

/// How long one sandbox may take to be put down before a second one is put down besides.
const STEP: Duration = Duration::from_millis(100);
/// How long other sandboxes are tried before a call puts the other interpreters of its own one down.
const OTHERS_FIRST: Duration = Duration::from_millis(300);
/// How often it is looked for a sandbox that rests when none does.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What there is room for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Interpreter,
    Container,
}

/// Whoever has it makes room.
type Turn = Arc<tokio::sync::Mutex<()>>;

/// The room of one process.
pub(super) struct Rooms {
    interpreters: Arc<Fair>,
    containers: Arc<Fair>,
    wait: Duration,
    /// Whose turn it is to make room, for each owner who has calls that wait for some.
    makers: Mutex<HashMap<(Owner, Kind), Turn>>,
}

impl Rooms {
    pub(super) fn new(rules: &Rules, policy: &Policy) -> Self {
        let fair = |places| Fair::new(places, policy.owners_share, policy.max_waiting);
        Self {
            interpreters: fair(rules.awake),
            containers: fair(rules.containers),
            wait: policy.max_wait,
            makers: Mutex::default(),
        }
    }

    fn makers(&self, owner: &Owner, kind: Kind) -> Turn {
        let mut makers = self.makers.lock().unwrap_or_else(PoisonError::into_inner);
        makers.retain(|_, waiting| Arc::strong_count(waiting) > 1);
        makers.entry((owner.clone(), kind)).or_default().clone()
    }

    fn of(&self, kind: Kind) -> &Arc<Fair> {
        match kind {
            Kind::Interpreter => &self.interpreters,
            Kind::Container => &self.containers,
        }
    }
}

/// The room that one sandbox has.
#[derive(Default)]
pub(super) struct Room {
    interpreters: Option<Held>,
    container: Option<Held>,
}

impl Room {
    fn slot(&mut self, kind: Kind) -> &mut Option<Held> {
        match kind {
            Kind::Interpreter => &mut self.interpreters,
            Kind::Container => &mut self.container,
        }
    }

    fn add(&mut self, kind: Kind, more: Held) {
        match self.slot(kind) {
            Some(held) => held.join(more),
            none => *none = Some(more),
        }
    }

    fn count(&mut self, kind: Kind) -> usize {
        self.slot(kind).as_ref().map_or(0, Held::count)
    }

    fn keep(&mut self, kind: Kind, count: usize) {
        match self.slot(kind) {
            Some(held) if count > 0 => held.keep(count),
            slot => *slot = None,
        }
    }
}

impl Live {
    /// Gives back the room that is no longer needed.
    pub(super) fn settle_room(&mut self) {
        let machine = self.machine.as_ref();
        let interpreters = machine.map_or(0, |machine| machine.instances(None));
        let containers = usize::from(machine.is_some_and(|machine| machine.forgets()));
        self.room.keep(Kind::Interpreter, interpreters);
        self.room.keep(Kind::Container, containers);
    }

    /// What it counts for among those that are in memory. Containers are counted for themselves.
    pub(super) fn interpreters(&self) -> usize {
        let machine = self.machine.as_ref().filter(|machine| !machine.forgets());
        machine.map_or(0, |machine| machine.instances(None).max(1))
    }

    /// Whether it can be put down now to make room.
    fn rests_with(&mut self, kind: Kind) -> bool {
        self.room.count(kind) > 0 && self.machine.is_some() && !self.jobs.any()
    }
}

impl Call {
    /// Room for the interpreter that a run of this sandbox needs, and a place for the run.
    ///
    /// # Errors
    /// `busy` when either does not come free in time; `cancelled` when its calls are being ended; what keeps it from waking.
    pub(super) async fn admitted(&mut self, guest: &GuestName) -> Result<Place> {
        let endings = self.resident.endings.clone();
        let admitted = async {
            // In this order: whoever has a place waits for nothing more, so that those who wait for one come to it.
            self.room_for(guest).await?;
            self.inner.admission.place(&self.record.owner).await
        };
        endings.unless(admitted).await
    }

    /// Room for the container of a sandbox that is about to wake, if it is one.
    ///
    /// # Errors
    /// `busy` when none comes free in time.
    pub(super) async fn room_to_wake(&mut self) -> Result<()> {
        if self.record.spec.provider != ProviderName::default() && self.live.room.count(Kind::Container) == 0
        {
            let until = Instant::now() + self.inner.rooms.wait;
            let held = self.sandboxes().find_room(Kind::Container, &self.record.owner, until).await?;
            self.live.room.add(Kind::Container, held);
        }
        Ok(())
    }

    async fn room_for(&mut self, guest: &GuestName) -> Result<()> {
        let wait = self.inner.rooms.wait;
        let begin = Instant::now();
        loop {
            let (needed, has) = {
                let needed = self.machine().await?.instances(Some(guest));
                (needed, self.live.room.count(Kind::Interpreter))
            };
            if has >= needed {
                return Ok(());
            }
            let can_swap = has > 0 && !self.live.jobs.any();
            let until = begin + if can_swap { OTHERS_FIRST.min(wait) } else { wait };
            match self.sandboxes().find_room(Kind::Interpreter, &self.record.owner, until).await {
                Ok(held) => self.live.room.add(Kind::Interpreter, held),
                Err(_) if can_swap => {
                    let include = if self.record.spec.keeps_memory { Include::Both } else { Include::Files };
                    let state = self.machine().await?.snapshot(include).await?;
                    // The room of what was there is that of what comes.
                    (self.live.asleep, self.live.machine) = (Some(state), None);
                    self.live.room.keep(Kind::Interpreter, 1);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn sandboxes(&self) -> Sandboxes {
        Sandboxes { inner: self.inner.clone() }
    }
}

impl Sandboxes {
    /// Room for one more, made if there is none.
    pub(super) async fn find_room(&self, kind: Kind, owner: &Owner, until: Instant) -> Result<Held> {
        let rooms = &self.inner.rooms;
        if let Some(held) = rooms.of(kind).take(owner) {
            return Ok(held);
        }
        let line = rooms.of(kind).line(owner).map_err(|Full(waiting)| {
            Error::new(
                ErrorCode::Busy,
                format!("{waiting} calls are already waiting for a sandbox to be suspended"),
            )
            .with_hint("try again later")
        })?;
        let makers = rooms.makers(owner, kind);
        let made = async {
            // One of an owner's calls at a time makes room, for all of them.
            let _maker = makers.lock().await;
            self.free_room(kind, owner).await
        };
        tokio::select! {
            biased;
            held = line => Ok(held),
            held = made => Ok(held),
            () = sleep_until(until) => Err(self.no_room(kind)),
        }
    }

    /// Puts down one sandbox after the other, for as long as it is polled. Comes to an end with the room of one of the
    /// caller's own, which he may have at once, however much others have meanwhile.
    async fn free_room(&self, kind: Kind, owner: &Owner) -> Held {
        let mut tried = HashSet::new();
        loop {
            let Some((id, resident)) = self.longest_resting(kind, owner, &tried) else {
                sleep(LOOK_AGAIN).await;
                continue;
            };
            tried.insert(id.clone());
            let all = self.clone();
            // Goes to its end also when the caller has got room meanwhile.
            let clearing = tokio::spawn(async move { all.clear(kind, &id, resident).await });
            if let Ok(Ok(Some(mut held))) = timeout(STEP, clearing).await
                && held.owner() == owner
            {
                held.keep(1);
                return held;
            }
        }
    }

    /// The sandbox that is put down next: it is not being called, has no jobs, and rested longest. Those that are not
    /// saved come last.
    fn longest_resting(
        &self,
        kind: Kind,
        owner: &Owner,
        tried: &HashSet<SandboxId>,
    ) -> Option<(SandboxId, Arc<Resident>)> {
        let fair = self.inner.rooms.of(kind);
        // Something is free, and not for the caller: he has his share.
        let (own_only, holders) = (fair.free(owner).0 > 0, fair.holders());
        let rank = |id: &SandboxId, resident: &Arc<Resident>| {
            let mut live = resident.live.try_lock().ok()?;
            if tried.contains(id) || !live.rests_with(kind) {
                return None;
            }
            let whose = live
                .room
                .slot(kind)
                .as_ref()
                .map(Held::owner)
                .filter(|whose| !own_only || *whose == owner)?;
            let most = Reverse(holders.get(whose).copied());
            Some((most, live.changed, live.quiet_since))
        };
        let residents = self.inner.residents();
        let ranked = residents.iter().filter_map(|(id, resident)| Some((rank(id, resident)?, id, resident)));
        ranked.min_by_key(|(rank, ..)| *rank).map(|(_, id, resident)| (id.clone(), resident.clone()))
    }

    /// Saves a sandbox and puts it down. Its room, if it still rested then.
    async fn clear(&self, kind: Kind, id: &SandboxId, resident: Arc<Resident>) -> Option<Held> {
        let changed = resident.live.try_lock().ok()?.changed;
        if changed && let Err(error) = self.put_down(id, &resident, false).await {
            tracing::warn!(%error, sandbox = %id, "the sandbox cannot be saved to make room");
            return None;
        }
        let mut live = resident.live.clone().try_lock_owned().ok()?;
        if live.changed || !live.rests_with(kind) {
            return None;
        }
        let room = live.room.slot(kind).take();
        live.forget();
        live.lease = None;
        room
    }

    fn no_room(&self, kind: Kind) -> Error {
        let seconds = self.inner.rooms.wait.as_secs_f32();
        let what = match kind {
            Kind::Interpreter => "an interpreter",
            Kind::Container => "a container",
        };
        let busy = Error::new(ErrorCode::Busy, format!("no room for {what} became free within {seconds} s"));
        // Those that rest cannot be put down then: what they hold would be lost.
        busy.with_hint(match self.inner.saves.trouble() {
            Some(trouble) => {
                format!("idle sandboxes cannot be suspended, because saving them fails: {trouble}")
            }
            None => {
                "wait for earlier calls to end, stop sandboxes that are not needed, or try again later".into()
            }
        })
    }
}
