//! How a transfer fails: curl's numbers, and its words where it has some.

use std::time::Duration;

use dormouse_contract::net::{Problem, Trouble};

use super::super::web::exchange::Broken;
use super::super::web::sink::Unwritten;
use super::super::web::url::{Bad, Url};

/// Exit statuses of curl.
pub(super) const PROTOCOL: i32 = 1;
pub(super) const USAGE: i32 = 2;
pub(super) const ADDRESS: i32 = 3;
const UNKNOWN_NAME: i32 = 6;
pub(super) const CONNECT: i32 = 7;
pub(super) const SHORT: i32 = 18;
pub(super) const STATUS: i32 = 22;
pub(super) const WRITE: i32 = 23;
pub(super) const READ: i32 = 26;
pub(super) const LATE: i32 = 28;
pub(super) const RANGE: i32 = 33;
pub(super) const REDIRECTS: i32 = 47;
const EMPTY: i32 = 52;
const RECEIVE: i32 = 56;
const CERTIFICATE: i32 = 60;
pub(super) const ENCODING: i32 = 61;
pub(super) const LARGE: i32 = 63;

/// Why a command, or a transfer of it, ends with a status other than 0.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: i32,
    pub(super) text: String,
    /// It is about the command line.
    is_usage: bool,
    /// The rules of the network are against it, and will be.
    pub(super) is_final: bool,
    /// The shell itself is to end.
    pub(super) shell: Option<bashkit::Error>,
}

impl Failure {
    pub(super) fn new(status: i32, text: impl Into<String>) -> Self {
        Self { status, text: text.into(), is_usage: false, is_final: false, shell: None }
    }

    /// A command line that is not understood.
    pub(super) fn usage(text: &str) -> Self {
        Self { is_usage: true, ..Self::new(USAGE, text) }
    }

    /// A file of the command line that cannot be read.
    pub(super) fn unreadable(text: &str) -> Self {
        Self { is_usage: true, ..Self::new(READ, text) }
    }

    /// The same; another try comes to the same if it `is_final`.
    pub(super) fn for_good(self, is_final: bool) -> Self {
        Self { is_final, ..self }
    }

    /// Whether the rules of the network are against it, or a budget is spent.
    pub(super) fn is_denied(&self) -> bool {
        self.is_final && self.status == CONNECT
    }

    /// As it is said on standard error.
    pub(super) fn shown(&self) -> String {
        match self.is_usage {
            true if self.text.is_empty() => "curl: try 'curl --help' for more information\n".to_owned(),
            true => format!("curl: {}\ncurl: try 'curl --help' for more information\n", self.text),
            false => format!("curl: ({}) {}\n", self.status, self.text),
        }
    }

    /// An address that is none.
    pub(super) fn address(bad: &Bad) -> Self {
        match bad {
            Bad::Form => Self::new(ADDRESS, "URL using bad/illegal format or missing URL"),
            Bad::Scheme(name) => {
                Self::new(PROTOCOL, format!("Protocol \"{name}\" not supported or disabled in libcurl"))
            }
        }
    }

    /// No answer.
    pub(super) fn of_head(broken: Broken, url: &Url, begun: Duration) -> Self {
        match broken {
            Broken::Late => Self::late(begun, 0, None),
            Broken::Problem(problem) => Self::of_problem(problem, url, begun),
        }
    }

    fn of_problem(Problem { trouble, text }: Problem, url: &Url, begun: Duration) -> Self {
        let (host, port, time) = (&url.host, url.port(), begun.as_millis());
        match trouble {
            Trouble::Denied | Trouble::Exhausted => Self::new(CONNECT, text).for_good(true),
            Trouble::UnknownName => Self::new(UNKNOWN_NAME, format!("Could not resolve host: {host}")),
            Trouble::Refused => {
                let told = format!(
                    "Failed to connect to {host} port {port} after {time} ms: Couldn't connect to server"
                );
                Self::new(CONNECT, told)
            }
            Trouble::Reset => Self::new(EMPTY, "Empty reply from server"),
            Trouble::TimedOut => Self::new(LATE, text),
            Trouble::Untrusted => Self::new(CERTIFICATE, format!("SSL certificate problem: {text}")),
            Trouble::Closed | Trouble::Protocol => Self::new(RECEIVE, text),
        }
    }

    /// An answer that breaks off after some bytes.
    pub(super) fn of_body(broken: Broken, begun: Duration, came: u64, length: Option<u64>) -> Self {
        match broken {
            Broken::Late => Self::late(begun, came, length),
            Broken::Problem(Problem { trouble: Trouble::TimedOut, text }) => Self::new(LATE, text),
            Broken::Problem(Problem { trouble: Trouble::Reset, .. }) => match length {
                Some(length) if length > came => Self::new(
                    SHORT,
                    format!("transfer closed with {} bytes remaining to read", length - came),
                ),
                _ => Self::new(RECEIVE, "Recv failure: Connection reset by peer"),
            },
            Broken::Problem(Problem { trouble, text }) => {
                Self::new(RECEIVE, text).for_good(trouble == Trouble::Exhausted)
            }
        }
    }

    fn late(begun: Duration, came: u64, length: Option<u64>) -> Self {
        let of = length.map_or(String::new(), |length| format!(" out of {length}"));
        let time = begun.as_millis();
        Self::new(
            LATE,
            format!("Operation timed out after {time} milliseconds with {came}{of} bytes received"),
        )
    }

    /// Bytes that cannot be written.
    pub(super) fn unwritten(unwritten: Unwritten) -> Self {
        match unwritten {
            Unwritten::Unread => Self::new(WRITE, "Failure writing output to destination"),
            Unwritten::Io(why) => Self::new(WRITE, format!("Failure writing output to destination: {why}")),
            Unwritten::Shell(error) => Self::from(error),
        }
    }
}

impl From<bashkit::Error> for Failure {
    fn from(error: bashkit::Error) -> Self {
        match error {
            bashkit::Error::Io(_) => Self::unwritten(error.into()),
            error => Self { shell: Some(error), ..Self::new(1, "") },
        }
    }
}
