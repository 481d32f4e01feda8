//! The shell of a sandbox against Debian's: the same one-liners and scripts in both (`tests/shell`).
//!
//! - [`cases`]: the scripts, by category, with the files that they read.
//! - [`debian`]: what bash and the GNU tools do with one.
//! - [`client`], [`sandbox`]: what `sandbox_exec` does with it, in a fresh sandbox of one `dormouse mcp`.
//! - [`outcome`]: what is compared.
//! - `run`: all of it, held to the list of known differences.

mod cases;
mod client;
mod debian;
mod outcome;
mod run;
mod sandbox;

pub(crate) use run::run;
