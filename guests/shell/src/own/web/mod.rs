//! What `curl` and `wget` share: the way to the network, and what the web makes of text.
//!
//! | what | module |
//! | --- | --- |
//! | a request and its answer, waited for beside other commands | [`exchange`] |
//! | addresses | [`url`] |
//! | the files and streams of a command | [`desk`] |
//! | where an answer's body goes | [`sink`] |
//! | bodies that are compressed | [`encoding`] |
//! | how many requests are under way at one time | [`turn`] |
//! | cookies, and the file that keeps them | [`cookies`] |
//! | what headers say, and how bytes are written in them | [`headers`] |
//! | moments in headers | [`dates`] |
//!
//! The host does the rest: it looks names up, connects, speaks TLS and checks certificates, as far as its rules allow.

pub(super) mod cookies;
pub(super) mod dates;
pub(super) mod desk;
pub(super) mod encoding;
pub(super) mod exchange;
pub(super) mod headers;
pub(super) mod sink;
mod turn;
pub(super) mod url;
