//! What is meant by `--connect`: the servers whose tools programs can call.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::sync::Arc;

use async_trait::async_trait;
use dormouse::connections::{ApprovalRequest, Caller, Decision, Taint};
use dormouse::sandbox::Owner;
use dormouse::sandboxes::RunTools;
use dormouse::{Approver, Callbacks, Connections, Language, MeteredModel, ModelUsage, Result};
use dormouse_connect::{Connection, Connectors, Settings, Verdict, file};
use dormouse_egress::Outside as Gate;
use dormouse_sources::{Outside, Program};

use crate::args::ConnectArgs;
use crate::print;

/// The servers of the files.
pub(crate) struct Connected {
    connections: Vec<Connection>,
    rules: BTreeMap<String, Verdict>,
    /// One of the files says that calls are checked before a program runs.
    check: bool,
}

/// Reads the files.
///
/// # Errors
/// As [`file::read`].
pub(crate) fn read(arguments: &ConnectArgs) -> Result<Option<Connected>> {
    if arguments.connect.is_empty() {
        return Ok(None);
    }
    let file::Contents { connections, rules, check, .. } = file::read(&arguments.connect)?;
    Ok(Some(Connected { connections, rules, check }))
}

impl Connected {
    /// The programs of this machine among them.
    pub(crate) fn programs(&self) -> Vec<Program> {
        self.connections.iter().filter_map(|connection| connection.program().cloned()).collect()
    }

    /// Whether any of them is reached over the network.
    pub(crate) fn is_remote(&self) -> bool {
        self.connections.iter().any(|connection| connection.program().is_none())
    }

    /// Connects them. Starts and reaches nothing yet. Their requests go through `gate`, if there is one.
    ///
    /// # Errors
    /// `args_invalid` for two servers of one name, and for secrets that may not go where their server is.
    pub(crate) fn connect(self, outside: Outside, gate: Option<Arc<Gate>>) -> Result<Connectors> {
        let Self { connections, rules, check } = self;
        let outside = Outside { errands: gate.map(|gate| gate as _), ..outside };
        Connectors::new(Settings { connections, rules, outside, check, ..Settings::default() })
    }
}

/// The servers of a command, which asks the person at its terminal about calls.
///
/// # Errors
/// As [`read`] and [`Connected::connect`].
pub(crate) fn here(arguments: &ConnectArgs, gate: Option<Arc<Gate>>) -> Result<Option<Connectors>> {
    read(arguments)?.map(|connected| connected.connect(Outside::default(), gate)).transpose()
}

/// For whom a command's program calls.
pub(crate) fn caller(language: Option<&Language>, taint: &Taint) -> Caller {
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let approver = asks.then(|| Arc::new(AtTerminal) as Arc<dyn Approver>);
    Caller { owner: Owner::local(), language: language.cloned(), approver, taint: taint.clone() }
}

/// Gives runs that outlive their command the tools of connected servers.
pub(crate) struct ForRuns(pub(crate) Connectors);

impl RunTools for ForRuns {
    fn servers(&self) -> Vec<String> {
        self.0.servers().into_iter().map(|server| server.name).collect()
    }

    fn callbacks(&self, caller: &Caller, _: ModelUsage) -> (Callbacks, Option<MeteredModel>) {
        let mut callbacks = Callbacks::default();
        callbacks.set_catalog(self.0.catalog(caller));
        (callbacks, None)
    }
}

/// Asks the person at the terminal.
struct AtTerminal;

#[async_trait]
impl Approver for AtTerminal {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        let arguments: String = request.arguments.to_string().chars().take(2_000).collect();
        let question = format!(
            "call `{}` with {}? ({})",
            print::visible(&request.tool),
            print::visible(&arguments),
            print::visible(&request.reason)
        );
        let answer = tokio::task::spawn_blocking(move || print::confirm(&question)).await;
        match answer {
            Ok(Ok(true)) => Decision::Approved,
            _ => Decision::Denied("the person at the terminal has not allowed it".into()),
        }
    }
}
