//! Tools of other servers, which programs in a sandbox call as `tools.SERVER.TOOL(...)`: the port to whoever connects them, and to
//! whoever allows calls that need it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::sandbox::Owner;
use crate::{Catalog, Language, Programs, Result};

/// For whom tools are offered.
#[derive(Clone)]
pub struct Caller {
    /// Whose run it is: servers that are not shared are this owner's own.
    pub owner: Owner,
    /// The program's language, in which tools are described. None: a command line's.
    pub language: Option<Language>,
    /// Who is asked about calls that need to be allowed. None: nobody can be asked, and such calls are denied.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether the run has read what a server sent that the operator does not trust. The same as in the run's
    /// [`RunContext`](crate::RunContext), so that its sandbox knows.
    pub taint: Taint,
}

/// Whether a run has read what a server sent that the operator does not trust, or its sandbox has before. Kept with a run that goes
/// on elsewhere: there a new one is set before anything is called. Copies are of the same run.
#[derive(Clone, Debug, Default)]
pub struct Taint {
    own: Arc<AtomicBool>,
    /// That of the sandbox in which the run is.
    sandbox: Arc<Mutex<Option<Arc<AtomicBool>>>>,
}

impl Taint {
    /// From here on it has, and so has its sandbox.
    pub fn set(&self) {
        self.own.store(true, Ordering::Release);
        if let Some(sandbox) = &*self.sandbox.lock().unwrap_or_else(PoisonError::into_inner) {
            sandbox.store(true, Ordering::Release);
        }
    }

    /// Whether it has.
    pub fn is_set(&self) -> bool {
        let sandbox = self.sandbox.lock().unwrap_or_else(PoisonError::into_inner);
        self.own.load(Ordering::Acquire)
            || sandbox.as_ref().is_some_and(|sandbox| sandbox.load(Ordering::Acquire))
    }

    /// The run is in this sandbox from here on: what it has read stays there, in variables and files.
    pub fn join(&self, sandbox: Option<&Self>) {
        let Some(sandbox) = sandbox else { return };
        *self.sandbox.lock().unwrap_or_else(PoisonError::into_inner) = Some(sandbox.own.clone());
        if self.own.load(Ordering::Acquire) {
            sandbox.set();
        }
    }
}

/// The servers that the operator connected.
#[async_trait]
pub trait Connections: Send + Sync {
    /// What one run of this caller can call: each tool as `SERVER.TOOL`, and `search` and `describe`. Starts and reaches nothing.
    fn catalog(&self, caller: &Caller) -> Arc<dyn Catalog>;

    /// The servers, sorted by name. Starts and reaches nothing.
    fn servers(&self) -> Vec<Server>;

    /// The tools that fit a text best, the best first, at most `most`.
    ///
    /// # Errors
    /// `provider_unavailable` where no server can be reached.
    async fn search(&self, caller: &Caller, text: &str, most: usize) -> Result<Vec<FoundTool>>;

    /// The programs that a command line of this caller can start to call tools. Starts and reaches nothing.
    fn programs(&self, caller: &Caller) -> Arc<dyn Programs>;
}

/// A server whose tools can be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Its name in programs: `tools.NAME`.
    pub name: String,
    /// How many tools it has; none: nobody has asked it yet.
    pub tools: Option<usize>,
}

/// A tool that a search has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FoundTool {
    /// How programs call it: `SERVER.TOOL`.
    pub name: String,
    /// The beginning of what its server says of it.
    pub description: String,
    /// How it is called in the caller's language, in one line.
    pub signature: String,
}

/// A call that somebody is asked about. All of it is data that a program or a server wrote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// `SERVER.TOOL`.
    pub tool: String,
    /// The call's arguments.
    pub arguments: Json,
    /// Why somebody is asked, in one sentence.
    pub reason: String,
    /// Stands for what the server says of the tool: an answer counts for the same alone. None: it does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call may be made, this once.
    Approved,
    /// It may not, and what the program is told.
    Denied(String),
}

/// Who is asked about calls.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks, and waits for the answer. The run's wall clock stands still meanwhile. Dropping the future takes the question back.
    async fn ask(&self, request: ApprovalRequest) -> Decision;

    /// Whether it can be asked about several calls at one time; else one after the other. Default false.
    fn takes_several(&self) -> bool {
        false
    }
}
