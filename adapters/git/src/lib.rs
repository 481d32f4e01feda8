//! Remote git repositories: the host's half of `git clone https://…`.
//!
//! git itself runs in the sandbox, as a guest (`guests/git`); this crate carries its messages, and holds what the sandbox
//! must not: the list of addresses that the operator allows, and their credentials.
//!
//! | what | where |
//! | --- | --- |
//! | an address that is allowed, and what fits it | `address` |
//! | what is said to a server that asks who comes | `credential` |
//! | the program `git-remote-http`, one request a run | [`Remotes`] |
//!
//! A request goes to `/info/refs`, `/git-upload-pack` or `/git-receive-pack` below an allowed address and nowhere else, is
//! never redirected, and is bounded in time and size. A server's text never reaches the sandbox as an error.

mod address;
mod credential;
#[doc(hidden)]
pub mod fuzz;
mod remotes;

pub use address::Allowed;
pub use credential::Credential;
pub use remotes::Remotes;
