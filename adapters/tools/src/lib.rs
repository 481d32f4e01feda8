//! The one tool surface: what can be called, with which arguments, and what comes back. Plain data: no protocol, no
//! terminal. Every front door (MCP, REST, command line, embedding) is a thin skin over [`Surface`], so that all of
//! them answer byte-equal.
//!
//! A call goes through the rooms in this order:
//!
//! | step | module |
//! | --- | --- |
//! | which tools there are, call one | [`surface`] |
//! | what a tool is: its listing, its arguments, its answer, as types | `spec` |
//! | who calls, in which order, in which place; how an answer is written | [`call`] |
//! | the sets of names, and which tools each has | `profile`, `catalog` |
//! | what every tool is to the surface | `tool` |
//! | what all tools over sandboxes that last share | `services` |
//! | the canonical tools, `sandbox_*` | `verbs` |
//! | the names, arguments and texts of seeds over the same work | `profiles` |
//! | tests, lint and types of what lies in a sandbox | `checks` |
//! | the network in calls and answers | `network` |
//! | a language model that works in a sandbox | `agents` |
//!
//! What tools reach besides sandboxes: folders of the host ([`host`]), folders of instructions and scripts ([`skills`]), a
//! language model (`models`), tools of other servers (`offered`), files as resources ([`resource`]), archives, checked before anything is written (`archive`).
//! What a model is told about all tools is in `instructions`.
//!
//! To add a tool, see `verbs`. The tests of [`surface`] hold its name, schemas and annotations to the rules of `spec`.

mod agents;
mod archive;
pub mod call;
mod catalog;
mod checks;
#[doc(hidden)]
pub mod fuzz;
pub mod host;
mod instructions;
mod models;
mod network;
mod offered;
mod profile;
mod profiles;
pub mod resource;
mod services;
pub mod skills;
mod spec;
pub mod surface;
mod time;
mod tool;
mod verbs;

pub use call::hints::{ERRORS, reworded};
pub use call::places::{self, Owners};
pub use call::{CallContext, Reply, encode, incoming, unread, unsaved};
pub use catalog::Toolset;
pub use host::HostFolders;
pub use profile::Profile;
pub use skills::Skills;
pub use spec::{Annotations, ToolSpec, by_likeness, nearest};
pub use surface::Surface;
pub use verbs::exec::{executed, missing};
pub use verbs::run::run_shown;
pub use verbs::write::MAX_CONTENT;
