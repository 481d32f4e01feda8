//! The one tool surface: what can be called, with which arguments, and what comes back. Plain data: no protocol, no
//! terminal. Every front door (MCP, REST, command line, embedding) is a thin skin over [`Surface`], so that all of
//! them answer byte-equal.
//!
//! | step | room |
//! | --- | --- |
//! | which tools there are, call one | [`surface`], [`toolset`] |
//! | what a call touches, so that calls begin in order | `order` |
//! | one row per argument: type, bounds, default, text | [`field`] |
//! | that table as a portable JSON Schema | [`schema`] |
//! | that table as the check of a call, before any work | [`decode`] |
//! | an outcome or an error as structured content and text | [`encode`], [`fit`], [`time`] |
//! | what tools may read and write on the host | [`host`] |
//! | which language model a call may use, and how snippets reach it | `models` |
//! | files of sandboxes as resources | [`resource`] |
//! | folders of instructions and scripts that sandboxes see | [`skills`] |
//! | the names of tools in hints, in the words of each door | `words` |
//! | what a model is told about all of them | `instructions` |
//! | archives, checked before anything is written | `archive` |
//! | what one owner may have in progress | [`places`] |
//! | that a call could not be saved | [`unsaved`] |
//! | that another provider has answered | [`fallback`] |
//! | the JSON that callers send, measured before it is read; why it cannot be read | [`incoming`], [`unread`] |
//! | each tool | `tool/<verb>.rs` |
//! | a tool over sandboxes that last: what all of them share | `tool/verb.rs` |
//! | the words of seeds over the same work | `tool/framework_eval.rs`, `tool/sprites.rs`, `tool/rlm.rs`, `tool/codegen.rs` |
//!
//! To add a tool: write its file under `tool/`, give it a table of fields and an output schema, and name it in
//! `tool::all`. The tests of [`surface`] hold its name, schemas and annotations to the rules of `schema`.

mod archive;
pub mod decode;
pub mod encode;
pub mod fallback;
pub mod field;
pub mod fit;
#[doc(hidden)]
pub mod fuzz;
pub mod host;
pub mod incoming;
mod instructions;
mod models;
mod order;
pub mod places;
pub mod resource;
pub mod schema;
pub mod skills;
pub mod surface;
pub mod time;
mod tool;
pub mod toolset;
pub mod unread;
pub mod unsaved;
mod words;

pub use decode::by_likeness;
pub use host::HostFolders;
pub use places::Owners;
pub use skills::Skills;
pub use surface::{Annotations, CallContext, Profile, Reply, Surface, ToolSpec};
pub use tool::MAX_CONTENT;
pub use toolset::Toolset;
pub use words::reworded;
