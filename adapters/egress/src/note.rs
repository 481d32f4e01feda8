//! What is written down of one request: before it leaves, and when it is over.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};

use crate::audit::Line;
use crate::ending::Ending;
use crate::gate::Door;
use crate::message::Target;
use crate::policy::Protocol;
use crate::reason::{Reason, Refusal};
use crate::secrets::Washer;
use crate::upstream::Dialled;

/// Longest path that is written down, in characters.
const MAX_PATH: usize = 2_048;
/// Longest method that is written down, in characters.
const MAX_METHOD: usize = 64;
/// The status of a WebSocket.
const SWITCHED: u16 = 101;

/// What went over the wire, counted while it does.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent: AtomicU64,
    pub(crate) came: AtomicU64,
    /// How often a value was masked in frames.
    pub(crate) masked: AtomicU64,
    /// Why the body that is sent ended early.
    pub(crate) trouble: OnceLock<Refusal>,
    /// How what was carried came to its end.
    pub(crate) ending: Ending,
}

impl Traffic {
    /// Bytes in both directions.
    pub(crate) fn total(&self) -> u64 {
        self.sent.load(Ordering::Relaxed) + self.came.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Sent,
    Replayed,
    Over,
}

/// The record of a request. One that is dropped before it is over is written down as `cancelled`, unless what it carried was at its end.
pub(crate) struct Note {
    door: Door,
    number: u64,
    begin: Instant,
    stage: Stage,
    target: Target,
    method: String,
    path: String,
    pub(crate) rule: Option<String>,
    pub(crate) address: Option<Dialled>,
    pub(crate) status: Option<u16>,
    pub(crate) secrets: Vec<String>,
    pub(crate) masked: u64,
    pub(crate) traffic: Arc<Traffic>,
}

impl Note {
    pub(crate) fn new(door: &Door, target: &Target, method: &str, path: &str) -> Self {
        let mut path: String = path.chars().take(MAX_PATH).collect();
        let vault = &door.0.way.view().state.vault;
        if !vault.secrets().is_empty() {
            // What somebody learned elsewhere is not written down either.
            let washed = Washer::new(vault.now().forms.clone()).whole(path.as_bytes());
            path = String::from_utf8_lossy(&washed).into_owned();
        }
        door.gate().under_way.send_modify(|count| *count += 1);
        Self {
            door: door.clone(),
            number: door.gate().audit.number(),
            begin: Instant::now(),
            stage: Stage::New,
            target: target.clone(),
            method: method.chars().take(MAX_METHOD).collect(),
            path,
            rule: None,
            address: None,
            status: None,
            secrets: Vec::new(),
            masked: 0,
            traffic: Arc::default(),
        }
    }

    /// It is about to leave. Nothing may leave before. `changes`: it may change something outside.
    ///
    /// # Errors
    /// `unrecorded` if that cannot be written down.
    pub(crate) fn sent(&mut self, changes: bool) -> Result<(), Refusal> {
        if changes && let Some(outgoing) = self.door.0.outgoing.get() {
            let Target { protocol, host, port } = &self.target;
            let authority = host.authority(*port, protocol.port().unwrap_or_default());
            let what = format!("{} {}://{authority}{}", self.method, protocol.word(), self.path);
            outgoing.leaves(what.trim_start()).map_err(|error| {
                tracing::error!(%error, "what a run sends cannot be written down, so nothing leaves");
                Refusal::new(Reason::Unrecorded, "what the run sends cannot be written down")
            })?;
        }
        self.write("sent", None).map_err(|error| unrecorded(&error))?;
        self.stage = Stage::Sent;
        Ok(())
    }

    /// It is answered from a recording, and does not leave.
    pub(crate) fn replayed(&mut self) {
        self.stage = Stage::Replayed;
    }

    /// It was refused, or failed. What whoever asked is told.
    pub(crate) fn refused(&mut self, mut refusal: Refusal) -> Refusal {
        if refusal.rule.is_some() {
            self.rule.clone_from(&refusal.rule);
        } else if refusal.reason == Reason::Address {
            // It is the rule that lacks a network.
            refusal.rule.clone_from(&self.rule);
        }
        let tally = &self.door.0.tally;
        let is_told = tally.refused(&self.target.host, self.target.port, &refusal);
        tally.masked(self.masked());
        let event = self.event();
        self.stage = Stage::Over;
        // Whoever asks on and on past a budget does not fill the operator's disk.
        if !is_told {
            return refusal;
        }
        match self.write(event, Some(refusal.reason)) {
            Ok(()) => refusal,
            Err(error) => unrecorded(&error),
        }
    }

    /// Its answer is at its end.
    pub(crate) fn ended(&mut self) {
        self.over(None);
    }

    /// What it carried is over: what that is called.
    pub(crate) fn carried(&mut self) {
        self.over(self.end());
    }

    /// Whether what it carried came to its own end.
    pub(crate) fn is_whole(&self) -> bool {
        let ending = &self.traffic.ending;
        match (self.status, self.target.protocol) {
            (Some(SWITCHED), _) => ending.is_closed(),
            (_, Protocol::Tcp) => ending.is_servers(),
            _ => false,
        }
    }

    /// Why it is over, if it was neither ended nor refused.
    fn end(&self) -> Option<Reason> {
        let is_lost = self.status == Some(SWITCHED) && self.traffic.ending.is_servers();
        match self.is_whole() {
            true => None,
            // Its server went without a word.
            false if is_lost => Some(Reason::Reset),
            false => Some(Reason::Cancelled),
        }
    }

    /// There was nothing to do, so nothing is written down.
    pub(crate) fn nothing(&mut self) {
        self.stage = Stage::Over;
    }

    fn masked(&self) -> u64 {
        self.masked + self.traffic.masked.load(Ordering::Relaxed)
    }

    fn event(&self) -> &'static str {
        match self.stage {
            Stage::New => "refused",
            Stage::Replayed => "replayed",
            Stage::Sent | Stage::Over => "ended",
        }
    }

    fn over(&mut self, reason: Option<Reason>) {
        let event = self.event();
        self.stage = Stage::Over;
        self.door.0.tally.masked(self.masked());
        if let Err(error) = self.write(event, reason) {
            tracing::error!("the end of a request cannot be written to the audit: {error}");
        }
    }

    fn write(&self, event: &'static str, reason: Option<Reason>) -> io::Result<()> {
        let Door(inner) = &self.door;
        let caller = &inner.way.caller;
        let host = self.target.host.to_string();
        self.door.gate().audit.write(&Line {
            time: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
            event,
            request: self.number,
            owner: &caller.owner,
            sandbox: caller.sandbox.as_deref(),
            run: &inner.run.id,
            language: &inner.run.language,
            method: &self.method,
            protocol: self.target.protocol.word(),
            host: &host,
            port: self.target.port,
            path: &self.path,
            rule: self.rule.as_deref(),
            address: self.address.as_ref().map(|dialled| dialled.address.to_string()),
            addresses: self
                .address
                .iter()
                .flat_map(|dialled| &dialled.others)
                .map(ToString::to_string)
                .collect(),
            status: self.status,
            bytes_out: self.traffic.sent.load(Ordering::Relaxed),
            bytes_in: self.traffic.came.load(Ordering::Relaxed),
            ms: (self.begin.elapsed().as_secs_f64() * 1e6).round() / 1e3,
            secrets: &self.secrets,
            masked: self.masked(),
            reason,
        })
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        if self.stage != Stage::Over {
            self.over(self.end());
        }
        self.door.gate().under_way.send_modify(|count| *count -= 1);
    }
}

fn unrecorded(error: &io::Error) -> Refusal {
    tracing::error!("the audit cannot be written, so nothing leaves: {error}");
    Refusal::new(Reason::Unrecorded, "the audit of the network cannot be written")
}
