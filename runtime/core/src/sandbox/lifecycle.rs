//! The life of a sandbox: phases, what can happen, and what becomes of it. Pure; only `sandboxes` acts on it.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result};

/// Where a sandbox is in its life (S2-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its record exists, its place does not yet (S2-02).
    Creating,
    /// It takes calls (S2-03). Whether its interpreters are in memory or asleep makes no difference to a caller.
    Running,
    /// It is put away with its files and state; a call wakes it (S2-04).
    Stopped,
    /// It failed in a way that calls cannot mend. It can be looked at and destroyed.
    Error,
    /// It is gone for good (S2-05).
    Destroyed,
}

/// Why a sandbox was stopped. Retention counts from the stop in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Nobody called for its idle time.
    Idle,
    /// A caller asked.
    User,
    /// Its owner is over a quota.
    Quota,
}

/// What happens to a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its place is ready.
    Ready,
    /// A call wants it.
    Call,
    /// A call wants to look at it, and changes nothing.
    Look,
    /// It is to be put away.
    Stop(StopReason),
    /// It is to take calls again.
    Resume,
    /// It failed.
    Fail,
    /// It is to go for good.
    Destroy,
}

impl Event {
    /// Every event, for tables and tests.
    pub const ALL: [Self; 9] = [
        Self::Ready,
        Self::Call,
        Self::Look,
        Self::Stop(StopReason::Idle),
        Self::Stop(StopReason::User),
        Self::Stop(StopReason::Quota),
        Self::Resume,
        Self::Fail,
        Self::Destroy,
    ];

    fn verb(self) -> &'static str {
        match self {
            Self::Ready => "become ready",
            Self::Call | Self::Look => "take calls",
            Self::Stop(_) => "be stopped",
            Self::Resume => "be resumed",
            Self::Fail => "fail",
            Self::Destroy => "be destroyed",
        }
    }
}

impl Phase {
    /// Every phase, for tables and tests.
    pub const ALL: [Self; 5] = [Self::Creating, Self::Running, Self::Stopped, Self::Error, Self::Destroyed];

    /// The phase after an event. The whole table:
    ///
    /// | | ready | call, look | stop | resume | fail | destroy |
    /// | --- | --- | --- | --- | --- | --- | --- |
    /// | creating | running | - | - | - | error | destroyed |
    /// | running | - | running | stopped | running | error | destroyed |
    /// | stopped | - | running | stopped | running | error | destroyed |
    /// | error | - | - | - | - | error | destroyed |
    /// | destroyed | - | - | - | - | - | - |
    ///
    /// Stop, resume and destroy say the same when they are said twice; what is destroyed is not found (S2-08).
    ///
    /// # Errors
    /// `unknown_sandbox` for what is destroyed; `invalid_state` for `-` in the table.
    pub fn after(self, event: Event) -> Result<Self> {
        use Phase::{Creating, Destroyed, Error as Failed, Running, Stopped};
        match (self, event) {
            (Destroyed, _) => Err(Error::new(ErrorCode::UnknownSandbox, "the sandbox is destroyed")),
            (Creating, Event::Ready) | (Running | Stopped, Event::Call | Event::Look | Event::Resume) => {
                Ok(Running)
            }
            (Running | Stopped, Event::Stop(_)) => Ok(Stopped),
            (_, Event::Fail) => Ok(Failed),
            (_, Event::Destroy) => Ok(Destroyed),
            (phase, event) => Err(Error::new(
                ErrorCode::InvalidState,
                format!("a sandbox that is {} cannot {}", phase.as_str(), event.verb()),
            )
            .with_hint(match phase {
                Creating => "wait until it is running",
                Failed => "fork one of its checkpoints into a new sandbox, or destroy it",
                _ => "check its phase with sandbox_get",
            })),
        }
    }

    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Error => "error",
            Self::Destroyed => "destroyed",
        }
    }
}

impl StopReason {
    /// The word on every wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::User => "user",
            Self::Quota => "quota",
        }
    }
}

/// The status words of S4-14 over the phases: `active` says whether something goes on in it, or has just gone on.
pub fn status(phase: Phase, reason: Option<StopReason>, active: bool) -> &'static str {
    match (phase, reason) {
        (Phase::Creating, _) => "provisioning",
        (Phase::Running, _) if active => "running",
        (Phase::Running, _) => "warm",
        (Phase::Stopped, Some(StopReason::User)) => "shutdown",
        (Phase::Stopped, _) => "cold",
        (Phase::Error, _) => "error",
        (Phase::Destroyed, _) => "shutdown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_documented_one() {
        let row = |phase: Phase| -> Vec<String> {
            [
                Event::Ready,
                Event::Call,
                Event::Stop(StopReason::User),
                Event::Resume,
                Event::Fail,
                Event::Destroy,
            ]
            .map(|event| match phase.after(event) {
                Ok(next) => next.as_str().into(),
                Err(error) => error.code().as_str().into(),
            })
            .to_vec()
        };
        let bad = "invalid_state";
        assert_eq!(row(Phase::Creating), ["running", bad, bad, bad, "error", "destroyed"]);
        assert_eq!(row(Phase::Running), [bad, "running", "stopped", "running", "error", "destroyed"]);
        assert_eq!(row(Phase::Stopped), [bad, "running", "stopped", "running", "error", "destroyed"]);
        assert_eq!(row(Phase::Error), [bad, bad, bad, bad, "error", "destroyed"]);
        assert_eq!(row(Phase::Destroyed), vec!["unknown_sandbox"; 6]);
    }

    #[test]
    fn nothing_leaves_destroyed_and_every_refusal_has_a_hint() {
        for phase in Phase::ALL {
            for event in Event::ALL {
                match phase.after(event) {
                    Ok(_) => assert_ne!(phase, Phase::Destroyed),
                    Err(error) => assert!(phase == Phase::Destroyed || error.hint().is_some()),
                }
            }
        }
    }
}
