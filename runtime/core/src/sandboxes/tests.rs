//! The manager over a machine and a ledger that only pretend, and a clock that the tests drive.

mod awake;
mod crowds;
mod fakes;
mod faults;
mod growth;
mod history;
mod life;
mod providers;
mod states;
mod traffic;
