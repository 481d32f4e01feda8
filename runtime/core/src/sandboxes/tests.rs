//! Sandboxes over a machine and a ledger that only pretend, and a clock that the tests drive.

mod awake;
mod clocks;
mod crowds;
mod effective;
mod fakes;
mod faults;
mod growth;
mod handing;
mod history;
mod jobs;
mod life;
mod making;
mod order;
mod outputs;
mod providers;
mod room;
mod saving;
mod states;
mod stopping;
mod traffic;
