//! Sandboxes in containers: all that is the same whichever engine runs them.
//!
//! A sandbox that is awake is one container that runs already, with a folder at `/workspace` and one at `/tmp`. Nothing of it
//! lasts in the engine: its state is taken as a file tree into Dormouse's own store, and goes from there into a new container, or
//! to another provider. A program that is run in it is in a session of its own.
//!
//! | step | module |
//! | --- | --- |
//! | the port | [`port`] (what an engine is asked for), [`identity`] (what is ours in it), [`leftovers`] (what is to be removed yet), [`patience`] (how long it may take, and its words), [`background`] (work that goes to its end), [`pulse`] (whether anything still comes of it), [`upkeep`] (removing what nobody has) |
//! | in a container | [`program`] and [`exec`] (programs), [`mod@line`] (command lines), [`running`] and [`sweep`] (their end), [`counter`] (kills for want of memory), [`files`] (single files), [`tools`] (which an image has) |
//! | interpreters | [`interpreter`] (one of them), [`machine`] (which are kept) |
//! | Python's variables over a stop | [`variables`] |
//! | files as a whole | [`paths`] (which folders), [`archive`] (tar and tree), [`dress`] (modes, links, FIFOs), [`snapshot`] (the saved form) |
//! | a `/workspace` that outlives its containers | [`volume`] (what is known of it), [`lasting`] (when it is relied on) |
//! | a save | [`saving`] (what is done), [`listing`] (what there is), [`merge`] (what of it is new) |
//! | what is lost | [`lost`] (variables, and that an answer says so), [`ended`] (a container that ends under a command) |
//! | the network of its runs | [`network`] (a way to a proxy, and the variables that say so), [`relay`] (the program that leads there), [`carried`] (the connections that it takes) |
//! | the runtime's port | [`machine`], [`commands`] |

mod archive;
mod background;
mod carried;
mod commands;
mod counter;
mod dress;
mod ended;
pub mod exec;
mod files;
#[path = "../relay/frames.rs"]
mod frames;
#[doc(hidden)]
pub mod fuzz;
pub mod identity;
pub mod interpreter;
mod lasting;
pub mod leftovers;
mod line;
mod listing;
mod lost;
mod machine;
mod merge;
mod network;
mod number;
mod paths;
mod patience;
mod port;
pub mod program;
pub mod pulse;
pub mod relay;
mod running;
mod saving;
mod snapshot;
mod sweep;
pub mod tools;
pub mod upkeep;
mod variables;
pub mod volume;

pub use crate::archive::{download, is_program, upload};
pub use crate::background::Background;
pub use crate::counter::{kills, out_of_memory};
pub use crate::line::Marks;
pub use crate::machine::ContainerMachine;
pub use crate::network::reach_once;
pub use crate::number::random;
pub use crate::paths::{MOVED, TMP, USER, WORKSPACE};
pub use crate::patience::{Patience, again};
pub use crate::port::{Archive, BrokenOff, Container, Engine, Held, Reached, Room, Way, pieces};
pub use crate::snapshot::{MARK, load, reach, saved_under};
pub use crate::sweep::argv as sweep_argv;
