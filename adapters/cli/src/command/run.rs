//! `dormouse run`: a WebAssembly program of the user's own.

use dormouse::OutputSink;

use super::once::{self, Form};
use crate::args::{PlaceArgs, RunArgs};
use crate::audit;
use crate::exit::Failure;
use crate::print::View;
use crate::settings::{self, Run};

/// Runs the program and ends as it ended.
pub(crate) fn run(place: &PlaceArgs, arguments: RunArgs) -> Result<u8, Failure> {
    let form = Form::new(arguments.json, arguments.verbose);
    execute(place, arguments, form).or_else(|failure| once::refuse(failure, form))
}

fn execute(place: &PlaceArgs, arguments: RunArgs, form: Form) -> Result<u8, Failure> {
    let Run { mut request, exceptions, policy, network } = settings::run(arguments)?;
    let audit = audit::Entry::begin("run", &exceptions)?;
    let live = form.live();
    request.output = live.clone().map(|live| live as std::sync::Arc<dyn OutputSink>);
    let name = request.name.clone();
    let dormouse = once::dormouse(place, policy)?;
    let network = once::wait(settings::network::give_to_program(&dormouse, network, &mut request))?;
    let run = once::watch(dormouse.command(request), live.as_deref());
    let outcome = once::wait(run);
    let least = once::settle(network.as_deref());
    if let Some(entry) = audit {
        entry.end(&outcome)?;
    }
    once::show(outcome, form, live.as_deref(), View::new(&name, "")).map(|status| status.max(least))
}
