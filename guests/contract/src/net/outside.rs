//! Where there is no host, nothing is reached, unless a test brings a [`Network`] of its own.

use std::cell::RefCell;

use super::{Head, Interest, Problem, Request, Trouble};

/// The host's functions, as `wit/net.wit` has them.
pub trait Network {
    /// Sends a request; the number of its connection.
    ///
    /// # Errors
    /// Why it is not sent.
    fn exchange(&mut self, request: &Request<'_>) -> Result<u64, Problem>;
    /// The head of an answer; none while it is not there.
    ///
    /// # Errors
    /// Why there will be none.
    fn response(&mut self, connection: u64) -> Result<Option<Head>, Problem>;
    /// Sends bytes, and says how many.
    ///
    /// # Errors
    /// Why no more can be sent.
    fn send(&mut self, connection: u64, bytes: &[u8]) -> Result<usize, Problem>;
    /// Bytes that have come; none: none now; empty: the end.
    ///
    /// # Errors
    /// Why it ends before its end.
    fn receive(&mut self, connection: u64, most: usize) -> Result<Option<Vec<u8>>, Problem>;
    /// Nothing more is sent.
    fn finish(&mut self, connection: u64);
    /// The connection ends.
    fn close(&mut self, connection: u64);
    /// Waits until something of this has happened, but no longer than the time.
    fn wait(&mut self, interests: &[Interest], nanoseconds: u64);
}

thread_local! {
    static NETWORK: RefCell<Option<Box<dyn Network>>> = const { RefCell::new(None) };
}

/// The network of this thread from now on.
pub fn bring(network: Box<dyn Network>) {
    NETWORK.set(Some(network));
}

fn none() -> Problem {
    Problem { trouble: Trouble::Denied, text: "there is no network".into() }
}

fn with<T>(work: impl FnOnce(&mut dyn Network) -> T) -> Option<T> {
    NETWORK.with_borrow_mut(|network| network.as_mut().map(|network| work(network.as_mut())))
}

pub(super) fn exchange(request: &Request<'_>) -> Result<u64, Problem> {
    with(|network| network.exchange(request)).unwrap_or_else(|| Err(none()))
}

pub(super) fn response(connection: u64) -> Result<Option<Head>, Problem> {
    with(|network| network.response(connection)).unwrap_or_else(|| Err(none()))
}

pub(super) fn send(connection: u64, bytes: &[u8]) -> Result<usize, Problem> {
    with(|network| network.send(connection, bytes)).unwrap_or_else(|| Err(none()))
}

pub(super) fn receive(connection: u64, most: usize) -> Result<Option<Vec<u8>>, Problem> {
    with(|network| network.receive(connection, most)).unwrap_or_else(|| Err(none()))
}

pub(super) fn finish(connection: u64) {
    with(|network| network.finish(connection));
}

pub(super) fn close(connection: u64) {
    with(|network| network.close(connection));
}

pub(super) fn wait(interests: &[Interest], nanoseconds: u64) {
    with(|network| network.wait(interests, nanoseconds));
}
