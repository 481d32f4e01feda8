//! The gate, and who may go through it: one [`Gate`] for the process, one [`Way`] for a sandbox, one [`Door`] for a run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dormouse_core::network::NetworkUse;
use dormouse_core::{Error, ErrorCode, Resolve, Result};
use zeroize::Zeroizing;

use crate::audit::Audit;
use crate::budget::{Account, Budget, Purse};
use crate::file::Settings;
use crate::host::Host;
use crate::policy::{Grant, Protocol};
use crate::resolve::System;
use crate::secrets::{Current, Filling, Vault};
use crate::upstream::{Dialer, Kept};
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
}

/// What everything goes through that leaves a sandbox of this process.
pub struct Gate {
    settings: Settings,
    pub(crate) vault: Vault,
    pub(crate) dialer: Dialer,
    pub(crate) audit: Audit,
    process: Arc<Purse>,
    owners: Mutex<HashMap<String, Arc<Purse>>>,
}

impl Gate {
    /// Reads the secrets. Connects to nothing, and reads no certificates yet.
    ///
    /// # Errors
    /// `args_invalid` for a secret whose value cannot be had, by its name; `internal` without randomness.
    pub async fn open(options: Options) -> Result<Arc<Self>> {
        let Options { settings, names, audit, key } = options;
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
        Ok(Arc::new(Self {
            vault: Vault::load(settings.secrets.clone(), key).await?,
            dialer: Dialer::new(names, settings.trust.clone()),
            audit,
            process: Arc::new(Purse::new("the process", settings.budgets.process)),
            owners: Mutex::default(),
            settings,
        }))
    }

    /// What the operator allows.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The way out of a sandbox. It lasts as long as the sandbox does: connections are kept with it.
    ///
    /// # Errors
    /// `network_denied` for a secret that a call asked for and that is for no host of the grant.
    pub fn way(self: &Arc<Self>, caller: Caller, grant: Grant) -> Result<Arc<Way>> {
        let secrets = self.vault.secrets();
        let mut granted = Vec::with_capacity(secrets.len());
        for secret in secrets {
            let is_wanted = grant.secrets().is_none_or(|names| names.contains(&secret.name));
            let is_useful = grant.rule_sets().all(|rules| {
                let mut rules = rules.iter().filter(|rule| rule.protocol == Protocol::Https);
                rules.any(|rule| secret.is_for_some(&rule.host))
            });
            granted.push(is_wanted && is_useful);
        }
        for name in grant.secrets().unwrap_or_default() {
            let at = secrets.iter().position(|secret| secret.name == *name);
            if !at.is_some_and(|at| granted[at]) {
                let shown: String = name.escape_debug().take(64).collect();
                let told = format!("no secret `{shown}` is for a host of this network");
                return Err(Error::new(ErrorCode::NetworkDenied, told));
            }
        }
        let placeholders = self.vault.placeholders(&caller.owner);
        let kept = Kept::default();
        Ok(Arc::new(Way { gate: self.clone(), caller, grant, placeholders, granted, kept }))
    }

    fn owner(&self, name: &str) -> Arc<Purse> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Purse::new("the owner", self.settings.budgets.owner));
        owners.entry(name.to_owned()).or_insert_with(new).clone()
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
    pub(crate) grant: Grant,
    placeholders: Vec<String>,
    granted: Vec<bool>,
    pub(crate) kept: Kept,
}

impl Way {
    /// Placeholders of its secrets, as variables of its environment. Worth nothing anywhere else; the same after a restore.
    pub fn environment(&self) -> Vec<(String, String)> {
        let all = self.gate.vault.secrets().iter().zip(&self.placeholders).zip(&self.granted);
        let own = all.filter(|(_, granted)| **granted);
        own.map(|((secret, placeholder), _)| (secret.name.clone(), placeholder.clone())).collect()
    }

    /// The door of a run.
    pub fn run(self: &Arc<Self>, run: Run) -> Door {
        let budgets = &self.gate.settings.budgets;
        let budget = run.budget.map_or(budgets.run, |budget| budget.within(budgets.run));
        let own = Arc::new(Purse::new("the run", budget));
        let account = Account([own, self.gate.owner(&self.caller.owner), self.gate.process.clone()]);
        Door(Arc::new(Inner { way: self.clone(), run, account, tally: Tally::default() }))
    }

    /// Where kept connections lead to, as `api.example.com:443`.
    pub fn kept(&self) -> Vec<String> {
        self.kept.places()
    }

    /// Ends the connections that are kept: the sandbox sleeps, or is another from here on.
    pub fn forget(&self) {
        self.kept.clear();
    }

    /// What puts secrets into one request.
    pub(crate) fn filling<'a>(&'a self, current: Arc<Current>, host: &'a Host, secure: bool) -> Filling<'a> {
        let (placeholders, granted) = (&self.placeholders, &self.granted);
        Filling { secrets: self.gate.vault.secrets(), placeholders, granted, current, host, secure }
    }
}

/// A run, as the audit calls it, and its bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its language.
    pub language: String,
    /// What it may spend, within what the operator's file says. None: that.
    pub budget: Option<Budget>,
    /// When it ends. None: requests have bounds of their own.
    pub deadline: Option<Instant>,
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
}

impl Door {
    /// What was done with the network so far.
    pub fn used(&self) -> NetworkUse {
        self.0.tally.told(self.0.account.spent())
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.0.way.gate
    }

    /// When something has to be over that may take `most`.
    pub(crate) fn until(&self, most: Duration) -> tokio::time::Instant {
        let end = tokio::time::Instant::now() + most;
        self.0.run.deadline.map_or(end, |deadline| end.min(deadline.into()))
    }
}
