//! `wit/net.wit`: connections to the outside, as far as the run's network allows them.
//!
//! Nothing in here waits but [`wait`]. On another target than WebAssembly the host is `outside`: none, unless a test brings one.

#[cfg(target_family = "wasm")]
mod border;
#[cfg(not(target_family = "wasm"))]
pub mod outside;

#[cfg(target_family = "wasm")]
use border as host;
#[cfg(not(target_family = "wasm"))]
use outside as host;

/// The most bytes that one call sends or receives.
pub const PIECE: usize = 64 << 10;

/// Why something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The rules of the network do not allow it, or the run has no network.
    Denied,
    /// The name is none, or has no address.
    UnknownName,
    /// Nobody takes connections there.
    Refused,
    /// The connection broke.
    Reset,
    /// There is no such connection, or not any more.
    Closed,
    /// It took longer than it may.
    TimedOut,
    /// The server's certificate is not trusted.
    Untrusted,
    /// What was sent or came back is not what is spoken there.
    Protocol,
    /// A budget is spent, or as many connections are open as may be.
    Exhausted,
}

/// The same with a sentence for whoever wrote the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The kind.
    pub trouble: Trouble,
    /// The sentence.
    pub text: String,
}

/// A header: its name and its value.
pub type Header = (String, Vec<u8>);

/// A request, without its body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its method.
    pub method: &'a str,
    /// The whole of it, `https://…` or `http://…`.
    pub url: &'a str,
    /// Its headers, in their order.
    pub headers: &'a [Header],
    /// Whether it has a body, which is sent until [`Exchange::finish`].
    pub body: bool,
}

/// The head of an answer. Names of headers are in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Its status, such as 200.
    pub status: u16,
    /// Its headers, in their order.
    pub headers: Vec<Header>,
}

/// What of a connection is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// The connection's number.
    pub connection: u64,
    /// That it, or its end, can be read.
    pub reads: bool,
    /// That it takes bytes.
    pub writes: bool,
}

/// A request and its answer. The connection ends when this is dropped.
#[derive(Debug)]
pub struct Exchange(u64);

impl Exchange {
    /// Sends a request. Redirects are answers as any other.
    ///
    /// # Errors
    /// What the host says against it.
    pub fn begin(request: &Request<'_>) -> Result<Self, Problem> {
        host::exchange(request).map(Self)
    }

    /// Its number, for [`wait`].
    #[must_use]
    pub fn number(&self) -> u64 {
        self.0
    }

    /// The head of the answer; none while it is not there.
    ///
    /// # Errors
    /// Why there will be none.
    pub fn response(&self) -> Result<Option<Head>, Problem> {
        host::response(self.0)
    }

    /// Sends bytes of the body, and says how many; 0: none can be sent now.
    ///
    /// # Errors
    /// Why no more can be sent.
    pub fn send(&self, bytes: &[u8]) -> Result<usize, Problem> {
        host::send(self.0, &bytes[..bytes.len().min(PIECE)])
    }

    /// Bytes of the answer's body. None: none are there now; an empty list is the end.
    ///
    /// # Errors
    /// Why it ends before its end.
    pub fn receive(&self) -> Result<Option<Vec<u8>>, Problem> {
        host::receive(self.0, PIECE)
    }

    /// Says that nothing more is sent.
    pub fn finish(&self) {
        host::finish(self.0);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        host::close(self.0);
    }
}

/// Waits until something of this has happened, but no longer than the time.
pub fn wait(interests: &[Interest], nanoseconds: u64) {
    host::wait(interests, nanoseconds);
}
