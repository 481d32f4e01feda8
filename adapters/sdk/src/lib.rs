//! The engine inside a program of another language: what the packages of Python and JavaScript share.
//!
//! Requests and answers are those of the tools ([`dormouse_tools`]), so that a program says the same to an engine of its own
//! and to a server. A run has more than the tool `sandbox_eval`: functions and folders of the program, and values that are
//! hardly cut, because no model reads them.
//!
//! | step | module |
//! | --- | --- |
//! | how an engine is set up | [`Options`] |
//! | errors in the words of a package | [`Spelling`] |
//! | a snippet, as the program asks for it | [`Run`] |
//! | what its program lets runs reach | [`network`] |
//! | the order of calls of one sandbox | [`order`] |
//! | the engine, its threads, and its end | [`Engine`] |

mod door;
mod engine;
mod network;
mod options;
mod order;
mod run;

pub use door::{Spelling, hint_and_causes};
pub use engine::{Answer, Engine};
pub use options::{Folder, Options};
pub use run::{Run, With};
