//! The manager over a machine and a ledger that only pretend, and a clock that the tests drive.

mod awake;
mod crowds;
mod effective;
mod fakes;
mod faults;
mod growth;
mod history;
mod jobs;
mod life;
mod outputs;
mod providers;
mod room;
mod states;
mod stopping;
mod traffic;
