//! The gate, and who may go through it: one [`Gate`] for the process, one [`Way`] for a sandbox, one [`Door`] for a run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use dormouse_core::connections::Taint;
use dormouse_core::network::{NetworkUse, Outgoing};
use dormouse_core::{Error, ErrorCode, Resolve, Result};
use tokio::sync::watch;
use zeroize::Zeroizing;

use crate::audit::Audit;
use crate::budget::{Account, Budget, Purse};
use crate::cassette::Cassette;
use crate::file::Settings;
use crate::host::Host;
use crate::operator::{Operator, Own};
use crate::policy::{Grant, Protocol, Rule};
use crate::reason::{Reason, Refusal};
use crate::resolve::System;
use crate::secrets::{Current, Filling, Forms, Secret, Vault, Washer, forms_of};
use crate::upstream::{Dialer, Kept, Memory, Place, Wire};
use crate::usage::Tally;

/// What a gate is made of.
#[derive(Debug)]
pub struct Options {
    /// What the operator allows.
    pub settings: Settings,
    /// Who looks names up. None: the system, in at most 16 threads.
    pub names: Option<Arc<dyn Resolve>>,
    /// Where requests are written down.
    pub audit: Audit,
    /// The key of the installation, from which placeholders of secrets are made. None: one that is drawn now; then placeholders are
    /// others after a restart.
    pub key: Option<[u8; 32]>,
    /// A recording that is made of requests and their answers, or that is played. None: neither.
    pub cassette: Option<Cassette>,
    /// Who opens the files and runs the commands of secrets. None: this process.
    pub operator: Option<Arc<dyn Operator>>,
}

/// How long an errand waits for a server that is silent: whoever asks gives up before.
const ERRAND: Duration = Duration::from_secs(24 * 3_600);

/// What everything goes through that leaves a sandbox of this process.
pub struct Gate {
    state: RwLock<Arc<State>>,
    pub(crate) audit: Audit,
    pub(crate) cassette: Option<Cassette>,
    process: Arc<Purse>,
    owners: Mutex<HashMap<String, Arc<Purse>>>,
    /// The ways of the sandboxes, which take new settings when they come.
    ways: Mutex<Vec<Weak<Way>>>,
    /// Tells those who carry bytes that there are new settings.
    changed: watch::Sender<()>,
    reloading: tokio::sync::Mutex<()>,
    /// Requests whose last line is not written yet.
    pub(crate) under_way: watch::Sender<usize>,
}

/// What the operator allows at one time, and what is made of it.
pub(crate) struct State {
    settings: Arc<Settings>,
    pub(crate) vault: Arc<Vault>,
    pub(crate) dialer: Arc<Dialer>,
}

impl Gate {
    /// Reads the secrets. Connects to nothing, and reads no certificates yet.
    ///
    /// # Errors
    /// `args_invalid` for a secret whose value cannot be had, by its name; `internal` without randomness.
    pub async fn open(options: Options) -> Result<Arc<Self>> {
        Self::over(options, None).await
    }

    /// The same, with servers in memory in place of the network.
    pub(crate) async fn over(options: Options, memory: Option<Memory>) -> Result<Arc<Self>> {
        let Options { settings, names, audit, key, cassette, operator } = options;
        let operator = operator.unwrap_or_else(Own::shared);
        let key = match key {
            Some(key) => Zeroizing::new(key),
            None => {
                let mut key = Zeroizing::new([0; 32]);
                getrandom::fill(&mut *key)
                    .map_err(|error| Error::internal("the system has no randomness", error))?;
                key
            }
        };
        let names = names.unwrap_or_else(|| Arc::new(System::default()));
        let secrets = settings.secrets.clone();
        let vault = if cassette.as_ref().is_some_and(Cassette::is_played) {
            Vault::closed(secrets, key, operator)?
        } else {
            Vault::load(secrets, key, operator).await?
        };
        let dialer = Arc::new(Dialer::new(names, settings.trust.clone(), memory));
        let process = Arc::new(Purse::new("the process", settings.budgets.process));
        let state = State { settings: Arc::new(settings), vault: Arc::new(vault), dialer };
        Ok(Arc::new(Self {
            state: RwLock::new(Arc::new(state)),
            audit,
            cassette,
            process,
            owners: Mutex::default(),
            ways: Mutex::default(),
            changed: watch::Sender::new(()),
            reloading: tokio::sync::Mutex::default(),
            under_way: watch::Sender::new(0),
        }))
    }

    /// What the operator allows.
    pub fn settings(&self) -> Arc<Settings> {
        self.state().settings.clone()
    }

    pub(crate) fn state(&self) -> Arc<State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes other settings. From the next request on each sandbox has the rules that its profile has now, or none if there is no such
    /// profile any more; what its call narrowed stays. Secrets are read again, and placeholders stay what they are; what was spent
    /// stays spent, and runs that have begun keep their budget. Connections that no rule allows any more end, unless a request is being
    /// answered on them.
    ///
    /// # Errors
    /// As [`Gate::open`]; then nothing is changed.
    pub async fn reload(&self, settings: Settings) -> Result<()> {
        let _alone = self.reloading.lock().await;
        let before = self.state();
        let vault = Arc::new(before.vault.renewed(settings.secrets.clone()).await?);
        let dialer = before.dialer.renewed(&settings.trust);
        let budgets = settings.budgets;
        let state = Arc::new(State { settings: Arc::new(settings), vault, dialer });
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state.clone();
        self.process.allow(budgets.process);
        let owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.values().for_each(|owner| owner.allow(budgets.owner));
        drop(owners);
        let ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.iter().filter_map(Weak::upgrade).for_each(|way| way.renew(&state));
        drop(ways);
        self.changed.send_replace(());
        Ok(())
    }

    /// Waits until no request is under way: a process that ends before has no line of its end in the audit. Whether there is none.
    pub async fn settled(&self, patience: Duration) -> bool {
        let mut under_way = self.under_way.subscribe();
        let none = under_way.wait_for(|count| *count == 0);
        tokio::time::timeout(patience, none).await.is_ok_and(|none| none.is_ok())
    }

    /// Ends the recording that is made, if one is: it is whole, and what comes later is not in it. One that is not ended is when the gate
    /// is dropped.
    ///
    /// # Errors
    /// `state_unavailable` if it could not be written.
    pub fn recorded(&self) -> Result<()> {
        self.cassette.as_ref().map_or(Ok(()), Cassette::finish)
    }

    /// Whether a recording is played, so that nothing leaves.
    pub(crate) fn is_played(&self) -> bool {
        self.cassette.as_ref().is_some_and(Cassette::is_played)
    }

    /// The way out of a sandbox. It lasts as long as the sandbox does: connections are kept with it.
    ///
    /// # Errors
    /// `network_denied` for a secret that a call asked for and that is for no host of the grant.
    pub fn way(self: &Arc<Self>, caller: Caller, grant: Grant) -> Result<Arc<Way>> {
        // Whoever is listed before the settings change is told of it; whoever comes after it reads them.
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        let view = View::new(self.state(), grant, &caller.owner);
        for name in view.grant.secrets().unwrap_or_default() {
            if !view.has(name) {
                let shown: String = name.escape_debug().take(64).collect();
                let told = format!("no secret `{shown}` is for a host of this network");
                return Err(Error::new(ErrorCode::NetworkDenied, told));
            }
        }
        let view = RwLock::new(Arc::new(view));
        let way = Arc::new(Way { gate: self.clone(), caller, view, kept: Kept::default() });
        if ways.len() == ways.capacity() {
            ways.retain(|way| way.strong_count() > 0);
        }
        ways.push(Arc::downgrade(&way));
        Ok(way)
    }

    fn owner(&self, name: &str) -> Arc<Purse> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = owners.get(name) {
            return owner.clone();
        }
        let owner = Arc::new(Purse::new("the owner", self.state().settings.budgets.owner));
        owners.insert(name.to_owned(), owner.clone());
        owner
    }
}

/// Whose sandbox it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The owner. Placeholders and budgets are this one's.
    pub owner: String,
    /// The sandbox, if it is one that lasts.
    pub sandbox: Option<String>,
}

/// The way out of one sandbox: what it may reach, its placeholders, and the connections that are kept for it and for no other.
pub struct Way {
    pub(crate) gate: Arc<Gate>,
    pub(crate) caller: Caller,
    view: RwLock<Arc<View>>,
    kept: Kept,
}

/// What a sandbox may do at one time. A request has one view of it from its beginning to its end.
pub(crate) struct View {
    pub(crate) state: Arc<State>,
    pub(crate) grant: Grant,
    placeholders: Vec<String>,
    granted: Vec<bool>,
    /// What finds the placeholders, once somebody looks for them.
    found: OnceLock<Arc<Forms>>,
}

impl View {
    fn new(state: Arc<State>, grant: Grant, owner: &str) -> Self {
        let granted = |secret: &Secret| {
            let is_wanted = grant.secrets().is_none_or(|names| names.contains(&secret.name));
            let is_useful = grant.rule_sets().all(|rules| {
                let mut rules = rules.iter().filter(|rule| rule.protocol == Protocol::Https);
                rules.any(|rule| secret.is_for_some(&rule.host))
            });
            is_wanted && is_useful
        };
        let granted = state.vault.secrets().iter().map(granted).collect();
        let placeholders = state.vault.placeholders(owner);
        Self { state, grant, placeholders, granted, found: OnceLock::new() }
    }

    /// What makes stars of its placeholders.
    pub(crate) fn placeholders(&self) -> Washer {
        Washer::new(self.found.get_or_init(|| Arc::new(forms_of(&self.placeholders))).clone())
    }

    /// Whether the sandbox has the secret of this name.
    fn has(&self, name: &str) -> bool {
        let at = self.state.vault.secrets().iter().position(|secret| secret.name == name);
        at.is_some_and(|at| self.granted[at])
    }

    /// What puts secrets into one request.
    pub(crate) fn filling<'a>(&'a self, current: Arc<Current>, host: &'a Host, secure: bool) -> Filling<'a> {
        let (placeholders, granted) = (&self.placeholders, &self.granted);
        Filling { secrets: self.state.vault.secrets(), placeholders, granted, current, host, secure }
    }

    /// Where a rule lets a request go.
    pub(crate) fn place(&self, host: &Host, rule: &Rule) -> Place {
        let (port, protocol) = (rule.port, rule.protocol);
        Place { host: host.clone(), port, protocol, named: rule.networks(), trust: self.trust(protocol) }
    }

    /// Which authorities count: none where nobody speaks TLS.
    fn trust(&self, protocol: Protocol) -> u64 {
        if protocol == Protocol::Https { self.state.dialer.number } else { 0 }
    }

    /// Whether a connection that leads to a place may still be used; `websocket`: as one.
    pub(crate) fn keeps(&self, place: &Place, websocket: bool) -> bool {
        let is_at = |rule: &Rule| {
            let is_there = rule.host.fits(&place.host) && rule.port == place.port;
            is_there && rule.protocol == place.protocol && (rule.websocket || !websocket)
        };
        let is_own = |rule: &Rule| is_at(rule) && rule.networks() == place.named;
        place.trust == self.trust(place.protocol)
            && self.grant.profile().rules.iter().any(is_own)
            && self.grant.rule_sets().all(|rules| rules.iter().any(is_at))
    }
}

impl Way {
    /// What it may do now.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn renew(&self, state: &Arc<State>) {
        let grant = self.view().grant.renewed(&state.settings.profiles);
        let view = Arc::new(View::new(state.clone(), grant, &self.caller.owner));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = view.clone();
        self.kept.retain(|place| view.keeps(place, false));
    }

    /// Placeholders of its secrets, as variables of its environment. Worth nothing anywhere else; the same after a restore.
    pub fn environment(&self) -> Vec<(String, String)> {
        let view = self.view();
        let all = view.state.vault.secrets().iter().zip(&view.placeholders).zip(&view.granted);
        let own = all.filter(|(_, granted)| **granted);
        own.map(|((secret, placeholder), _)| (secret.name.clone(), placeholder.clone())).collect()
    }

    /// The door of a run.
    pub fn run(self: &Arc<Self>, run: Run) -> Door {
        let account = match run.is_errand {
            // Who connects servers has bounds of their own, and spends nothing of what sandboxes may.
            true => {
                let own = || Arc::new(Purse::new("the connection", Budget::connections(u64::MAX)));
                Account([own(), own(), own()])
            }
            false => {
                let budgets = self.gate.state().settings.budgets;
                let budget = run.budget.map_or(budgets.run, |budget| budget.within(budgets.run));
                let own = Arc::new(Purse::new("the run", budget));
                Account([own, self.gate.owner(&self.caller.owner), self.gate.process.clone()])
            }
        };
        let (way, tally, outgoing) = (self.clone(), Tally::default(), OnceLock::new());
        Door(Arc::new(Inner { way, run, account, tally, outgoing }))
    }

    /// Where kept connections lead to, as `api.example.com:443`.
    pub fn kept(&self) -> Vec<String> {
        self.kept.places()
    }

    /// Ends the connections that are kept: the sandbox sleeps, or is another from here on.
    pub fn forget(&self) {
        self.kept.retain(|_| false);
    }

    /// A kept connection that leads to a place, and can be used.
    pub(crate) fn take(&self, place: &Place) -> Option<Wire> {
        self.kept.take(place)
    }

    /// Whether one is kept.
    pub(crate) fn has(&self, place: &Place) -> bool {
        self.kept.has(place)
    }

    /// Keeps a connection, if rules allow what it leads to.
    pub(crate) fn keep(&self, place: Place, wire: Wire) {
        // New settings wait for this, or come before it.
        let view = self.view.read().unwrap_or_else(PoisonError::into_inner);
        if view.keeps(&place, false) {
            self.kept.put(place, wire);
        }
    }
}

/// A run, as the audit calls it, and its bounds.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its language.
    pub language: String,
    /// What it may spend, within what the operator's file says. None: that.
    pub budget: Option<Budget>,
    /// When it ends. None: requests have bounds of their own.
    pub deadline: Option<Instant>,
    /// Whether it has read what strangers may have written.
    pub taint: Taint,
    /// Whether it is this process's own, for a server that the operator connects: it has no budget, waits as long as whoever asks does,
    /// and is in no recording. Default false.
    pub is_errand: bool,
}

/// The door of a run: requests ([`Door::exchange`]) and streams of bytes ([`Door::open`]) go through it. Cheap to clone; a clone is the
/// same. Dropping the future of a request, or the body of its answer, ends the request.
#[derive(Clone)]
pub struct Door(pub(crate) Arc<Inner>);

/// A run, while it lasts.
pub(crate) struct Inner {
    pub(crate) way: Arc<Way>,
    pub(crate) run: Run,
    pub(crate) account: Account,
    pub(crate) tally: Tally,
    /// Who hears of what leaves, if anybody does.
    pub(crate) outgoing: OnceLock<Arc<dyn Outgoing>>,
}

impl Door {
    /// What was done with the network so far.
    pub fn used(&self) -> NetworkUse {
        self.0.tally.told(self.0.account.spent())
    }

    /// Whether a rule's place may be reached, after all that the run has read; from here on it has read what comes from there.
    ///
    /// # Errors
    /// `tainted`.
    pub(crate) fn reads(&self, rule: &Rule) -> Result<(), Refusal> {
        let taint = &self.0.run.taint;
        if rule.outward && taint.is_set() {
            let told = format!(
                "the sandbox has read what strangers may have written, and `{}` carries data out",
                rule.host
            );
            return Err(Refusal::new(Reason::Tainted, told).of(&rule.id));
        }
        if rule.untrusted {
            taint.set();
        }
        Ok(())
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.0.way.gate
    }

    /// The recording that its requests go into or come from.
    pub(crate) fn cassette(&self) -> Option<&Cassette> {
        self.gate().cassette.as_ref().filter(|_| !self.0.run.is_errand)
    }

    /// Returns when no rule allows any more what is carried to a place; `websocket`: as one.
    pub(crate) async fn revoked(&self, place: &Place, websocket: bool) {
        let mut changes = self.gate().changed.subscribe();
        while self.0.way.view().keeps(place, websocket) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// When something has to be over that may take `most`.
    pub(crate) fn until(&self, most: Duration) -> tokio::time::Instant {
        let most = if self.0.run.is_errand { most.max(ERRAND) } else { most };
        let end = tokio::time::Instant::now() + most;
        self.0.run.deadline.map_or(end, |deadline| end.min(deadline.into()))
    }
}
