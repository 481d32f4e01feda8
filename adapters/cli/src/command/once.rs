//! One run in one process: what `eval` and `run` share.

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dormouse::wasm::Allocation;
use dormouse::{Dormouse, Error, Outcome, Policy, Result};
use dormouse_connect::Connectors;
use dormouse_egress::Outside;
use dormouse_tools::encode;
use tokio::runtime::Runtime;

use crate::args::PlaceArgs;
use crate::exit::Failure;
use crate::print::{self, Live, View};
use crate::settings;
use crate::signals;
use crate::words;

/// Time for what is nearly done when the process is asked to end.
const FINISHING: Duration = Duration::from_secs(2);

/// How the outcome is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One line of JSON; the output of the run stands in it.
    Json,
    /// For people; the output of the run is passed on while it runs.
    Pretty {
        /// Time and memory even where nobody looks.
        verbose: bool,
    },
}

impl Form {
    /// What the options say.
    pub(crate) fn new(json: bool, verbose: bool) -> Self {
        if json { Self::Json } else { Self::Pretty { verbose } }
    }

    /// Where the output of the run goes meanwhile.
    pub(crate) fn live(self) -> Option<Arc<Live>> {
        matches!(self, Self::Pretty { .. }).then(Arc::default)
    }
}

/// A runtime for one run: memory is mapped when it is needed, nothing is reserved.
pub(crate) fn dormouse(place: &PlaceArgs, policy: Policy) -> Result<Dormouse> {
    settings::builder(place)?.policy(policy).allocation(Allocation::OnDemand).build()
}

/// Waits for a future, on this thread, unless the process is asked to end. All of a process wait on one event loop: what a
/// sandbox holds open between two waits, such as the connection to a container engine, belongs to it.
///
/// # Errors
/// `cancelled` when it is asked to end, and those of the future.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    to_end(signals::unless_asked(future))
}

/// The same for what runs no code of a user's: a process that is asked to end waits a little for it, so that what was done
/// is told as done.
///
/// # Errors
/// As [`wait`].
pub(crate) fn finish<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    to_end(signals::unless_asked_before(future, FINISHING))
}

/// Ends the servers that were connected for a command.
pub(crate) fn close(connectors: Option<Connectors>) {
    if let Some(connectors) = connectors {
        let closed = to_end(async {
            connectors.close().await;
            Ok(())
        });
        if let Err(error) = closed {
            tracing::warn!(%error, "the servers were not ended");
        }
    }
}

/// Waits a little for what a run leaves of its requests, so that the audit tells how each of them ended, and finishes a recording. The
/// least exit status of the command from then on: 1 where the recording is not whole, which is told.
pub(crate) fn settle(network: Option<&Outside>) -> u8 {
    let Some(gate) = network.map(Outside::gate) else { return 0 };
    let settled = to_end(async {
        if !gate.settled(FINISHING).await {
            tracing::warn!("requests are still under way, and the audit does not tell how they end");
        }
        gate.recorded()
    });
    let Err(error) = settled else { return 0 };
    let _ = print::error(&error);
    1
}

/// Does what can wait for the system without an end, as opening a pipe does, on a thread of its own. A process that is asked to end
/// leaves it there.
///
/// # Errors
/// `cancelled` when it is asked to end, or was before, and those of `work`.
pub(crate) fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    wait(async {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|error| Error::internal("a thread ended early", error))?
    })
}

/// Whether to go on.
///
/// # Errors
/// `cancelled` when the process was asked to end.
pub(crate) fn go_on() -> Result<()> {
    wait(std::future::ready(Ok(())))
}

/// The same to the future's own end, whatever is asked.
///
/// # Errors
/// Those of the future.
pub(crate) fn to_end<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let runtime = match RUNTIME.get() {
        Some(runtime) => runtime,
        None => {
            let made = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let made = made.map_err(|error| Error::internal("the event loop cannot be started", error))?;
            RUNTIME.get_or_init(|| made)
        }
    };
    signals::watch(runtime.handle(), &signals::ALL);
    runtime.block_on(future)
}

/// Waits for a run. None when it was given up because nobody reads its output.
pub(crate) async fn watch(
    run: impl Future<Output = Result<Outcome>>,
    live: Option<&Live>,
) -> Result<Option<Outcome>> {
    let Some(live) = live else { return run.await.map(Some) };
    tokio::select! {
        biased;
        outcome = run => outcome.map(Some),
        () = live.broken() => Ok(None),
    }
}

/// Shows the outcome; the exit status.
pub(crate) fn show(
    outcome: Result<Option<Outcome>>,
    form: Form,
    live: Option<&Live>,
    view: View<'_>,
) -> Result<u8, Failure> {
    let ends = live.map(Live::finish).transpose()?.unwrap_or_default();
    // Without an outcome nobody could read the output, which `finish` has said.
    let Some(outcome) = outcome? else { return Ok(1) };
    match form {
        Form::Json => print::out(&format!("{}\n", words::of_answer(encode::outcome(&outcome))))?,
        Form::Pretty { verbose } => print::outcome(&outcome, &View { verbose, ..view }, ends)?,
    }
    Ok(u8::try_from(outcome.exit_code()).unwrap_or(1))
}

/// A failure as `--json` shows it, where that was asked for; the exit status.
pub(crate) fn refuse(failure: Failure, form: Form) -> Result<u8, Failure> {
    match (failure, form) {
        (Failure::Refused(error), Form::Json) => {
            print::out(&format!("{}\n", words::of_answer(encode::refused(&error))))?;
            Ok(error.code().exit_status())
        }
        (failure, _) => Err(failure),
    }
}
