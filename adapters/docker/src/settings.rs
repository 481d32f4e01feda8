//! What the operator allows and chooses. Read once, when the provider is made.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dormouse_containers::Patience;
use dormouse_core::limits::MIB;

use crate::Dial;
use crate::fault::HINT;

/// The operator's settings. By default no image is allowed, nothing is pulled and no folder of the host can be mounted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The engine's address, such as `unix:///var/run/docker.sock`. None: `DOCKER_HOST`, else the system's own socket.
    pub address: Option<String>,
    /// Who connects to it in this process's place, at an address that is a socket or TCP. None: this process does.
    pub dial: Option<Arc<dyn Dial>>,
    /// The folder in which this installation keeps its state. It tells apart what several installations made on one engine.
    /// None: what a process leaves behind when it is killed is removed by nobody.
    pub state: Option<PathBuf>,
    /// References of images that may be used, `name:tag` or `name@sha256:…`; the first is the default.
    pub images: Vec<String>,
    /// Whether an allowed image that the engine does not have is pulled. Default no.
    pub pull: bool,
    /// How long pulling one image may take. Default 10 minutes.
    pub pull_within: Duration,
    /// The engine's runtime, such as `runsc`. None: the engine's default.
    pub runtime: Option<String>,
    /// Folders of the host below which sandboxes may be given folders.
    pub roots: Vec<PathBuf>,
    /// Containers that wait, started, for each kind of sandbox that was asked for lately. Default 1.
    pub warm: usize,
    /// Bytes of `/tmp`, which count as memory; at most a quarter of it. Default 64 MiB.
    pub tmp: u64,
    /// Most processor time of a sandbox, in thousandths of a core. Default 4 000.
    pub cpu_millis: u32,
    /// Most processes and threads of a sandbox. Default 4 096.
    pub processes: u32,
    /// How long one answer of the engine may take. Default 20 s.
    pub answer_within: Duration,
    /// How often what is left in the engine is looked for. Default 1 minute.
    pub look_every: Duration,
    /// How long saving, waking and restoring go on while neither an answer nor a byte comes from the engine. Default 10 s.
    pub stall_within: Duration,
    /// How long each of them, and moving the files of a sandbox, may take in all. Default 2 minutes.
    pub transfer_within: Duration,
}

impl Settings {
    /// What is expected of the engine.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            engine: "the container engine",
            hint: HINT,
            answer_within: self.answer_within,
            stall_within: self.stall_within,
            transfer_within: self.transfer_within,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: None,
            dial: None,
            state: None,
            images: Vec::new(),
            pull: false,
            pull_within: Duration::from_secs(600),
            runtime: None,
            roots: Vec::new(),
            warm: 1,
            tmp: 64 * MIB,
            cpu_millis: 4_000,
            processes: 4_096,
            answer_within: Duration::from_secs(20),
            look_every: Duration::from_secs(60),
            stall_within: Duration::from_secs(10),
            transfer_within: Duration::from_secs(120),
        }
    }
}
