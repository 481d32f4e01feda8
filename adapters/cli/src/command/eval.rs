//! `dormouse eval`: one snippet.

use dormouse::OutputSink;

use super::once::{self, Form};
use crate::args::{EvalArgs, PlaceArgs};
use crate::exit::Failure;
use crate::settings::{self, Eval};

/// Evaluates the snippet and shows what came of it.
pub(crate) fn run(place: &PlaceArgs, arguments: EvalArgs) -> Result<u8, Failure> {
    let form = Form::new(arguments.json, arguments.verbose);
    evaluate(place, arguments, form).or_else(|failure| once::refuse(failure, form))
}

fn evaluate(place: &PlaceArgs, arguments: EvalArgs, form: Form) -> Result<u8, Failure> {
    let Eval { mut request, policy } = settings::eval(arguments)?;
    let live = form.live();
    request.output = live.clone().map(|live| live as std::sync::Arc<dyn OutputSink>);
    let (name, offset) = (request.name.clone(), request.bounds.offset);
    // Only people see an excerpt of the source.
    let code = if live.is_some() { request.code.clone() } else { String::new() };
    let dormouse = once::dormouse(place, policy)?;
    let run = once::watch(dormouse.manager().eval(request), live.as_deref());
    let outcome = once::wait(run);
    once::show(outcome, form, live.as_deref(), (&name, &code, offset))
}
