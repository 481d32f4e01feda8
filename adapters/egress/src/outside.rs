//! The core's port to the network: profiles become grants, and each run gets its door.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dormouse_core::Result;
use dormouse_core::network::{Network, NetworkGrant, NetworkProfile, NetworkRun, OpenDoor};
use dormouse_core::sandbox::{Owner, SandboxId};

use crate::gate::{Caller, Gate, Run, Way};
use crate::line;
use crate::policy::{Grant, Protocol, Rule, Wanted};

/// Sandboxes whose connections are kept at one time; those of the one that was used least recently are ended for another.
const MOST: usize = 1_024;

type Key = (Owner, SandboxId);

/// The gate, as the core knows it.
pub struct Outside {
    gate: Arc<Gate>,
    ways: Mutex<HashMap<Key, Lasting>>,
}

/// The way of a sandbox that lasts.
struct Lasting {
    grant: NetworkGrant,
    way: Arc<Way>,
    used: Instant,
}

impl Outside {
    /// Over a gate.
    pub fn new(gate: Arc<Gate>) -> Self {
        Self { gate, ways: Mutex::default() }
    }

    /// The gate.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    fn way(&self, owner: &Owner, sandbox: Option<&SandboxId>, asked: &NetworkGrant) -> Result<Arc<Way>> {
        let profile = self.gate.settings().profile(&asked.profile)?.clone();
        let grant = match &asked.allow {
            None => Grant::new(profile),
            Some(lines) => {
                let allow = lines.iter().map(|line| line::read(line)).collect::<Result<_>>()?;
                Grant::narrowed(profile, &Wanted { allow, secrets: None })?
            }
        };
        let sandbox = sandbox.map(ToString::to_string);
        self.gate.way(Caller { owner: owner.to_string(), sandbox }, grant)
    }

    /// The way of a sandbox that lasts: the one of its last run, unless it asks for something else now.
    fn lasting(&self, owner: &Owner, sandbox: &SandboxId, grant: &NetworkGrant) -> Result<Arc<Way>> {
        let key = (owner.clone(), sandbox.clone());
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lasting) = ways.get_mut(&key)
            && lasting.grant == *grant
        {
            lasting.used = Instant::now();
            return Ok(lasting.way.clone());
        }
        let way = self.way(owner, Some(sandbox), grant)?;
        let least = || ways.iter().min_by_key(|(_, lasting)| lasting.used).map(|(key, _)| key.clone());
        if ways.len() >= MOST
            && let Some(least) = least()
        {
            ways.remove(&least);
        }
        ways.insert(key, Lasting { grant: grant.clone(), way: way.clone(), used: Instant::now() });
        Ok(way)
    }
}

impl Network for Outside {
    fn check(&self, owner: &Owner, grant: &NetworkGrant) -> Result<()> {
        self.way(owner, None, grant).map(drop)
    }

    fn door(&self, run: &NetworkRun<'_>, grant: &NetworkGrant) -> Result<OpenDoor> {
        let way = match run.sandbox {
            Some(sandbox) => self.lasting(run.owner, sandbox, grant)?,
            None => self.way(run.owner, None, grant)?,
        };
        let environment = way.environment();
        let (id, language, taint) = (run.run.to_owned(), run.language.to_owned(), run.taint.clone());
        let door = way.run(Run { id, language, taint, ..Run::default() });
        Ok(OpenDoor { door: Arc::new(door), environment })
    }

    fn forget(&self, owner: &Owner, sandbox: &SandboxId) {
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.remove(&(owner.clone(), sandbox.clone()));
    }

    fn profiles(&self) -> Vec<NetworkProfile> {
        let settings = self.gate.settings();
        let profile = |name: &String, rules: &[Rule]| {
            let secrets = settings.secrets.iter().filter(|secret| {
                let useful = |rule: &Rule| rule.protocol == Protocol::Https && secret.is_for_some(&rule.host);
                rules.iter().any(useful)
            });
            NetworkProfile {
                name: name.clone(),
                allows: rules.iter().flat_map(line::shown).collect(),
                secrets: secrets.map(|secret| secret.name.clone()).collect(),
            }
        };
        settings.profiles.iter().map(|(name, rules)| profile(name, &rules.rules)).collect()
    }
}
