//! Why something is refused: one word for each reason, the same for guests, audit and operators.

use std::fmt;

use serde::Serialize;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// Why something did not leave, or did not come back. The words never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Reason { $($(#[$doc])* $name,)* }

        impl Reason {
            /// The word, as it stands in answers and in the audit.
            pub fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The reason that has this word.
            pub fn of(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$name),)* _ => None }
            }
        }
    };
}

reasons! {
    /// No rule is for the host.
    Host = "host";
    /// Rules are for the host, and none for the port.
    Port = "port";
    /// Rules are for host and port, and none for the protocol.
    Protocol = "protocol";
    /// A rule is for the place, and not for the method.
    Method = "method";
    /// A rule is for place and method, and not for the path; or the path has no one reading.
    Path = "path";
    /// The name has an address that is neither public nor named by the rule.
    Address = "address";
    /// The run has read what strangers may have written, and the host carries data out.
    Tainted = "tainted";
    /// A placeholder stands where its secret may not go, or a secret cannot be had.
    Secret = "secret";
    /// What the request says of its host differs from where it is sent.
    Authority = "authority";
    /// The request's form: too many headers, too long a head, a length that is not one.
    Form = "form";
    /// A protocol that begins as HTTP (WebSocket), which the rule does not allow, or which only a stream of bytes can carry.
    Upgrade = "upgrade";
    /// The budget of requests is spent.
    Requests = "requests";
    /// As many connections are open as there may be.
    Connections = "connections";
    /// The budget of bytes that are sent is spent.
    BytesOut = "bytes_out";
    /// The budget of bytes that come back is spent.
    BytesIn = "bytes_in";
    /// The name is none, or has no address.
    UnknownName = "unknown_name";
    /// Nobody takes connections there.
    Refused = "refused";
    /// The connection broke, or the answer was no HTTP.
    Reset = "reset";
    /// It took longer than it may.
    TimedOut = "timed_out";
    /// The server's certificate is not trusted, or is another's.
    Untrusted = "untrusted";
    /// An answer that might hold a secret came in a form that cannot be looked through.
    Encoding = "encoding";
    /// A recording is played, and this is not in it.
    NotRecorded = "not_recorded";
    /// Whoever asked gave up.
    Cancelled = "cancelled";
    /// The audit cannot be written, so nothing leaves.
    Unrecorded = "unrecorded";
}

impl Reason {
    /// Whether the operator's rules are the reason, or a recording that is played, so that it is an answer (403) and no failure of the network.
    pub fn is_policy(self) -> bool {
        use Reason::{Address, Host, Method, NotRecorded, Path, Port, Protocol, Secret, Tainted, Upgrade};
        matches!(
            self,
            Host | Port | Protocol | Method | Path | Address | Secret | Tainted | Upgrade | NotRecorded
        )
    }

    /// Whether a budget is the reason.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::Requests | Self::Connections | Self::BytesOut | Self::BytesIn)
    }

    /// The status of HTTP that says so to a guest.
    pub fn status(self) -> u16 {
        match self {
            reason if reason.is_policy() => 403,
            reason if reason.is_budget() => 429,
            Self::Authority => 421,
            Self::Form => 400,
            Self::TimedOut => 504,
            Self::Unrecorded => 503,
            _ => 502,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for Reason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// What was refused, as data: an agent can show it to its operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The reason.
    pub reason: Reason,
    /// The rule that came nearest and lacked what `reason` names, as `profile.default.allow[0]`. None: no rule is for the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// A sentence about it, without values of secrets.
    pub message: String,
}

impl Refusal {
    /// One that no rule in particular is about.
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, rule: None, message: message.into() }
    }

    /// The same, about a rule.
    pub(crate) fn of(self, rule: &str) -> Self {
        Self { rule: Some(rule.to_owned()), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}
