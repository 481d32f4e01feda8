//! The doors of guests whose programs can wait (`wit/waiting.wit`): a program that waits has come back with an empty stack, and is
//! given its answers in a call of their own. Guests of before these doors are run by `interpreter.eval`.

use std::time::Duration;

use dormouse_core::Bounds;
use dormouse_core::waiting::{self, CallAnswer, PendingCall};
use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, ComponentType, Lift, TypedFunc};

use crate::bindings::CONTRACT;
use crate::bindings::dormouse::sandbox::host::{self, Answer, Wanted};
use crate::bindings::exports::dormouse::sandbox::interpreter as contract;
use crate::calls::{Exports, door, length, longest};
use crate::entry::Call;
use crate::state::Host;

/// Bytes of the arguments and names of all calls that one step tells of.
const MOST_CALLS: usize = 32 << 20;

/// How far a program came.
#[derive(ComponentType, Lift)]
#[component(variant)]
pub(crate) enum Step {
    /// To its end.
    #[component(name = "ended")]
    Ended(contract::Outcome),
    /// To a point where it waits.
    #[component(name = "waits")]
    Waits(Wanted),
}

/// Where a component's doors are.
pub(crate) struct WaitingIndices {
    start: ComponentExportIndex,
    resume: ComponentExportIndex,
}

impl WaitingIndices {
    /// The doors, if the component's programs can wait.
    pub(crate) fn find(component: &Component) -> Option<Self> {
        let (package, version) = CONTRACT.split_once('@')?;
        let waiting = component.get_export_index(None, format!("{package}/waiting@{version}").as_str())?;
        let door = |name: &str| component.get_export_index(Some(&waiting), name);
        Some(Self { start: door("start")?, resume: door("resume")? })
    }
}

/// Runs a snippet until it ends or waits.
pub(crate) struct Start<'a> {
    pub(crate) doors: &'a WaitingIndices,
    pub(crate) source: &'a str,
    pub(crate) options: &'a contract::Options,
    pub(crate) bounds: &'a Bounds,
}

/// Goes on with the program that waits.
pub(crate) struct Resume<'a> {
    pub(crate) doors: &'a WaitingIndices,
    pub(crate) answers: Vec<Answer>,
    pub(crate) bounds: &'a Bounds,
}

/// What a program waits for, in the words of core.
pub(crate) fn told(wanted: Wanted) -> waiting::Wanted {
    let call = |host::Call { id, name, arguments }| PendingCall { id, name, arguments };
    waiting::Wanted {
        calls: wanted.calls.into_iter().map(call).collect(),
        cancelled: wanted.cancelled,
        time: wanted.nanoseconds.map(Duration::from_nanos),
    }
}

/// Answers in the words of the contract.
pub(crate) fn given(answers: Vec<CallAnswer>) -> Vec<Answer> {
    answers.into_iter().map(|CallAnswer { id, outcome }| Answer { id, outcome }).collect()
}

fn most(bounds: &Bounds) -> usize {
    longest(bounds).max(MOST_CALLS)
}

fn size(step: &Step) -> usize {
    match step {
        Step::Ended(outcome) => length(outcome),
        Step::Waits(wanted) => wanted.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum(),
    }
}

impl Call<Exports> for Start<'_> {
    type Answer = Step;

    fn most(&self) -> usize {
        most(self.bounds)
    }

    fn size(answer: &Self::Answer) -> usize {
        size(answer)
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let start: TypedFunc<(&str, &contract::Options), (Step,)> = door(store, exports, self.doors.start)?;
        Ok(start.call_async(store, (self.source, self.options)).await?.0)
    }
}

impl Call<Exports> for Resume<'_> {
    type Answer = Step;

    fn most(&self) -> usize {
        most(self.bounds)
    }

    fn size(answer: &Self::Answer) -> usize {
        size(answer)
    }

    async fn call(self, store: &mut Store<Host>, exports: &Exports) -> wasmtime::Result<Self::Answer> {
        let resume: TypedFunc<(&[Answer],), (Step,)> = door(store, exports, self.doors.resume)?;
        Ok(resume.call_async(store, (&self.answers,)).await?.0)
    }
}
