//! The manager over a machine and a ledger that only pretend, and a clock that the tests drive.

mod crowds;
mod effective;
mod fakes;
mod faults;
mod history;
mod life;
mod outputs;
mod providers;
mod states;
mod stopping;
mod traffic;
