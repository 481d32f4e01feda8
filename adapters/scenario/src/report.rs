//! The report of a run: its data, its HTML, and how both are written.
//!
//! | step | room |
//! | --- | --- |
//! | texts of strangers, cut | [`Text`] in `text` |
//! | the data, which is the JSON twin | [`Report`] in `record` |
//! | one bound for the whole | `bound` |
//! | the page | `html`, `parts`, `style.css` |
//! | two files in a folder, each whole or absent | `write` |

mod bound;
mod html;
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
