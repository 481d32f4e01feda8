//! Persistent sandboxes: who may have one, which calls it takes and when, and what becomes of it.
//!
//! | step | module |
//! | --- | --- |
//! | the operator's numbers | [`rules`] |
//! | a call's way in: record, queue, lease, wake | [`call`] |
//! | whose turn it is, and what a call touches | [`turn`], [`lanes`] |
//! | room in memory, and who makes it | [`room`] |
//! | who runs it, and who else | [`providers`] |
//! | what it has now of what it was made with | [`effective`] |
//! | making one: whole, or not at all | [`making`] |
//! | what a name of an image means | [`images`] |
//! | look at, stop, resume, destroy | [`life`] |
//! | evaluate, variables, files | [`calls`] |
//! | names of files: list, remove, rename, make folders | [`folders`] |
//! | a look at files that is no call | [`glance`] |
//! | the files of a folder, to be put somewhere else | [`contents`] |
//! | packages; several files, all or none; a file in pieces | [`packages`], [`whole`], [`pieces`] |
//! | machines in which packages are built | [`building`] |
//! | command lines, and jobs beside the calls | [`commands`], [`jobs`] |
//! | the whole of long output | [`outputs`] |
//! | checkpoint, restore, fork | [`states`] |
//! | to the current guests, with what can be carried | [`migrating`] |
//! | what they reach outside | [`network`] |
//! | programs that outlive their call: waiting, answered, going on | [`runs`] |
//! | the last steps, and back to before one | [`history`] |
//! | a call that somebody else ends | [`ending`] |
//! | may more be kept, may more be in memory | [`growth`], [`awake`] |
//! | what cannot be opened just now, and what was lost | [`unopened`] |
//! | by which time things end | [`steady`] |
//! | what happens with time: save, hibernate, stop, destroy, sweep | [`upkeep`], [`saving`], [`sweeping`] |
//! | another process waits for it | [`handing`] |
//! | the work of a call is saved: record and state in one step | [`writing`] |
//! | what is saved while a call runs | [`beside`] |
//! | what could not be saved, and who is told | [`unsaved`] |
//! | the end: everything is saved | [`closing`] |
//!
//! One sandbox takes one call at a time, in order; across processes a lease in the ledger sees to it. A sandbox that nobody calls
//! is saved after a moment, its lease given back; its interpreters stay in memory for a while and are then dropped. Whoever
//! comes next, in this process or another, finds what was saved. Only this module changes phases.

mod ampersand;
mod awake;
mod beside;
mod building;
mod call;
mod calls;
mod closing;
mod commands;
mod contents;
mod effective;
mod ending;
mod folders;
mod glance;
mod going_on;
mod growth;
mod handing;
mod history;
mod images;
mod jobs;
mod lanes;
mod life;
mod making;
mod migrating;
mod network;
mod outputs;
mod packages;
mod pieces;
mod providers;
mod room;
mod rules;
mod runs;
mod saving;
mod states;
mod steady;
mod sweeping;
#[cfg(test)]
mod tests;
mod turn;
mod unopened;
mod unsaved;
mod upkeep;
mod whole;
mod writing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use self::awake::Awake;
use self::call::Resident;
pub use self::commands::CommandLine;
pub use self::effective::{Effective, MountRule, Withdrawn};
pub use self::folders::FilePage;
pub use self::going_on::GoingOn;
use self::growth::Growth;
pub use self::history::Step;
use self::jobs::Jobs;
pub use self::jobs::{Job, Part};
pub use self::life::{Asked, View};
pub use self::making::Beginning;
use self::making::Makings;
pub use self::outputs::{Outputs, Whole};
pub use self::pieces::Upload;
pub use self::providers::ProviderState;
use self::room::Rooms;
pub use self::rules::{Clock, Rules, SystemClock};
pub use self::runs::RunTools;
use self::runs::Runs;
use self::saving::Saving;
use self::steady::Steady;
use self::sweeping::Sweeping;
use self::unsaved::Saves;
pub use self::unsaved::{Told, telling};
use crate::admission::Admission;
use crate::packages::Packages;
use crate::sandbox::{Ledger, Owner, SandboxId};
use crate::{OfferedPrograms, Policy, Provider};

/// The sandboxes of one installation. Cheap to clone.
#[derive(Clone)]
pub struct Sandboxes {
    inner: Arc<Inner>,
}

struct Inner {
    /// Admits calls: limits, writes, places.
    admission: Admission,
    /// The first provider; the others.
    provider: Arc<dyn Provider>,
    providers: RwLock<Vec<Arc<dyn Provider>>>,
    ledger: Arc<dyn Ledger>,
    clock: Arc<dyn Clock>,
    steady: Steady,
    rules: Rules,
    /// Where packages come from, and for which Python.
    packages: OnceLock<(Arc<dyn Packages>, String)>,
    /// What command lines can start besides guests.
    programs: RwLock<Vec<Arc<dyn OfferedPrograms>>>,
    jobs: Jobs,
    runs: Runs,
    awake: Awake,
    growth: Growth,
    makings: Makings,
    sweeping: Sweeping,
    saving: Saving,
    saves: Saves,
    rooms: Rooms,
    /// Told whenever a lease is taken.
    leased: Arc<tokio::sync::Notify>,
    /// Those that this process has to do with.
    residents: Mutex<HashMap<SandboxId, Arc<Resident>>>,
}

impl Sandboxes {
    /// The sandboxes that a ledger knows, run by a provider. Starts nothing.
    pub(crate) fn new(
        admission: Admission,
        provider: Arc<dyn Provider>,
        ledger: Arc<dyn Ledger>,
        rules: Rules,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let rules = rules.under(admission.policy());
        let rooms = Rooms::new(&rules, admission.policy());
        let steady = Steady::new(clock.as_ref());
        let saves = Saves::new(ledger.clone());
        let inner = Inner {
            admission,
            provider,
            providers: RwLock::default(),
            ledger,
            clock,
            steady,
            rules,
            packages: OnceLock::new(),
            programs: RwLock::default(),
            jobs: Jobs::default(),
            runs: Runs::default(),
            awake: Awake::default(),
            growth: Growth::default(),
            makings: Makings::default(),
            sweeping: Sweeping::default(),
            saving: Saving::default(),
            saves,
            rooms,
            leased: Arc::default(),
            residents: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The operator's numbers, under the policy's ceiling of memory.
    pub fn rules(&self) -> &Rules {
        &self.inner.rules
    }

    /// The operator's rules for all calls and runs.
    pub fn policy(&self) -> &Policy {
        self.inner.admission.policy()
    }
}

impl Inner {
    /// What this process holds of a sandbox, from now on if nothing yet.
    fn resident(&self, owner: &Owner, id: &SandboxId) -> Arc<Resident> {
        let mut residents = self.residents();
        residents.entry(id.clone()).or_insert_with(|| Arc::new(Resident::of(owner.clone()))).clone()
    }

    fn residents(&self) -> MutexGuard<'_, HashMap<SandboxId, Arc<Resident>>> {
        self.residents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
