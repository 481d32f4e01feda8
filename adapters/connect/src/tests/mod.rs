//! Whole ways of calls over a server of this process that does as a test says.

mod ahead;
mod calls;
mod double;
mod pool;
mod questions;
mod shell;
