//! `dormouse eval`: one snippet.

use dormouse::{Connections as _, Error, OutputSink};

use super::once::{self, Form};
use crate::args::{EvalArgs, PlaceArgs};
use crate::audit;
use crate::exit::Failure;
use crate::print::{self, Null, View};
use crate::settings::{self, Confirmed, Eval};

/// Evaluates the snippet and shows what came of it.
pub(crate) fn run(place: &PlaceArgs, arguments: EvalArgs) -> Result<u8, Failure> {
    let form = Form::new(arguments.json, arguments.verbose);
    evaluate(place, arguments, form).or_else(|failure| once::refuse(failure, form))
}

/// Asks whether every guard shall be lifted.
fn lift(Confirmed(confirmed): Confirmed) -> Result<(), Failure> {
    if !confirmed
        && !print::confirm(
            "Lift all restrictions for this run? It may write to the project and use the limits up to their ceilings.",
        )?
    {
        return Err(Error::args_invalid("`--unsafe` was not confirmed")
            .with_hint("answer `yes`, or add --yes if nobody can answer")
            .into());
    }
    Ok(())
}

fn evaluate(place: &PlaceArgs, arguments: EvalArgs, form: Form) -> Result<u8, Failure> {
    let Eval { mut request, policy, unguarded, exceptions, show_null, connect, network } =
        settings::eval(arguments)?;
    unguarded.map(lift).transpose()?;
    let audit =
        audit::Entry::begin("eval", &exceptions)?.map(|entry| entry.of_snippet(&request, &exceptions));
    let live = form.live();
    request.context.output = live.clone().map(|live| live as std::sync::Arc<dyn OutputSink>);
    let (name, offset) = (request.name.clone(), request.context.bounds.offset);
    let null = Some(Null::of(&request.language, show_null));
    // Only people see an excerpt of the source.
    let code = if live.is_some() { request.code.clone() } else { String::new() };
    let dormouse = once::dormouse(place, policy)?;
    let language = request.language.to_string();
    let given = settings::network::give(&dormouse, network, ("eval", &language), &mut request.context);
    let network = once::wait(given)?;
    let connectors = settings::connect::here(&connect, network.clone())?;
    if let Some(connectors) = &connectors {
        let caller = settings::connect::caller(Some(&request.language), &request.context.taint);
        request.context.callbacks.set_catalog(connectors.catalog(&caller));
    }
    let run = once::watch(dormouse.runtime().eval(request), live.as_deref());
    let outcome = once::wait(run);
    once::close(connectors);
    let least = once::settle(network.as_deref());
    if let Some(entry) = audit {
        entry.end(&outcome)?;
    }
    once::show(outcome, form, live.as_deref(), View { offset, null, ..View::new(&name, &code) })
        .map(|status| status.max(least))
}
