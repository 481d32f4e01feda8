//! The tools over HTTP: REST routes, the OpenAPI document of them, and the door that every request comes through.
//!
//! A thin skin over [`dormouse_tools::Surface`]. A route is one row of a table: a method, a path, a tool. Where each argument
//! comes from follows from the row and the tool's own schema, and so does the OpenAPI document, so that there is no second
//! description.
//!
//! | step | module |
//! | --- | --- |
//! | connections, bounded; the end | [`door::serve`] |
//! | host, origin, token, body: who calls, and may they | [`Door`] |
//! | which route, which tool | [`route`], `router` |
//! | path, query and body to arguments; the answer back | `call`, `raw` |
//! | a person's answer whether a call may be made | `decision` |
//! | the status of an answer, and its hints in the words of this door | [`status`], `words` |
//! | the routes as a document | `openapi` |

mod call;
mod decision;
pub mod door;
#[doc(hidden)]
pub mod fuzz;
mod openapi;
mod raw;
pub mod route;
mod router;
pub mod status;
mod words;

pub use door::{Door, Tokens, serve};
pub use router::router;
