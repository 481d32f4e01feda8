//! Language models behind HTTP endpoints: the port [`Model`](dormouse_core::Model) of `dormouse-core`.
//!
//! The operator names an endpoint, the form of its interface, a model, and where the key lies: in an environment variable
//! or a file, never in an argument. The key goes into one request header and nowhere else: no error, log line or `Debug`
//! text shows it, and no guest ever sees it. An endpoint that repeats it is not believed to mean it: it is taken out of answers.
//!
//! | step | module |
//! | --- | --- |
//! | what the operator says | [`Endpoint`], [`Api`] |
//! | the key | [`Key`] |
//! | a prompt as a request, an answer as a completion | [`openai`], also with functions that a model calls; `anthropic` |
//! | an answer without the key | `wash` |
//! | sending: time-outs, bounded reading, retries | `client` |

mod answer;
mod anthropic;
mod client;
mod endpoint;
mod key;
pub mod openai;
mod wash;

pub use client::HttpModel;
pub use endpoint::{Api, Endpoint};
pub use key::Key;
