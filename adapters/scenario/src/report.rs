//! The report of a run: its data, its forms, and how they are written.
//!
//! | step | module |
//! | --- | --- |
//! | texts of strangers, cut | [`Text`] in `text` |
//! | the data, which is the JSON twin | [`Report`] in `record` |
//! | one bound for the whole | `bound` |
//! | the page | `html`, `parts`, `style.css` |
//! | what failed, a line each | `lines` |
//! | JUnit XML | `junit` |
//! | three files in a folder, each whole or absent | `write` |

mod bound;
mod html;
mod junit;
mod lines;
mod parts;
mod record;
mod text;
mod write;

pub(crate) use bound::bound;
pub use record::{
    CallRecord, FORMAT, GateDetails, GateRecord, Problem, RepetitionRecord, Report, ScenarioRecord,
    ServerRecord, Status, Step, Totals, TurnRecord,
};
pub use text::Text;
pub(crate) use text::{last_words, whole_or_cut};
