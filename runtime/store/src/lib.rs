//! What lasts: the state folder, the [`Ledger`](dormouse_core::sandbox::Ledger) on one SQLite database.
//!
//! Several processes may share a folder. What a call has acknowledged survives the end of the process.
//! docs/state.md describes the folder and what it promises.
//!
//! | question | module |
//! | --- | --- |
//! | where is it, and who may write there | [`folder`] |
//! | what form does the database have | [`schema`] |
//! | who reads, who writes | [`database`], [`readers`] |
//! | who brings the log into the database | [`log`] |
//! | what do its failures mean | [`fault`] |
//! | how is a record laid down, and known to be what it was | [`row`], [`records`], [`checkpoints`] |
//! | the same of runs that outlive their call | [`runs`] |
//! | how is a chunk laid down and read | [`pack`], [`chunks`] |
//! | which chunks are damaged, and who mends them | [`damaged`] |
//! | how does a state come in with its record | [`save`] |
//! | who may change a sandbox | [`lease`] |
//! | what goes, and when | [`sweep`], [`doomed`] |
//! | how much is there, and may there be more | [`usage`], [`disk`] |
//! | how is room made on a full disk | [`reserve`] |
//! | what of a folder is whole | [`check`](mod@check) |
//! | what can be had where nothing can be written | [`still`] |
//! | the port | [`store`], [`ledger`] |

mod check;
mod checkpoints;
mod chunks;
mod damaged;
mod database;
mod disk;
mod doomed;
mod fault;
mod folder;
#[doc(hidden)]
pub mod fuzz;
mod lease;
mod ledger;
mod log;
mod notes;
mod pack;
mod readers;
mod records;
mod reserve;
mod row;
mod runs;
mod save;
mod schema;
mod still;
mod store;
mod sweep;
mod usage;

pub use check::{Checked, Damaged, Reach, Seen, check, check_each};
pub use disk::{Room, room};
pub use schema::VERSION;
pub use store::{Settings, Store};
