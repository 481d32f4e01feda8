//! The gate against servers of the test: HTTP, HTTPS with an authority of the test, and hostile ones. No test leaves the machine.

mod bounds;
mod cassette;
mod errand;
mod hostile;
mod learn;
mod program;
mod programs;
mod proxy;
mod reload;
mod requests;
mod secrets;
mod streams;
mod support;
mod websocket;
