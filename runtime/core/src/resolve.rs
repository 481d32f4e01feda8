//! The port to whoever looks up the names of other machines.
//!
//! A server that has confined itself reaches neither name servers nor the files that the system's resolver reads: a process
//! of its own looks names up for it. Where nobody is given, an adapter asks the system.

use std::fmt::Debug;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Looks up names.
#[async_trait]
pub trait Resolve: Debug + Send + Sync {
    /// The addresses of a name, in the order in which they are to be tried. Dropping the future gives the question up.
    ///
    /// # Errors
    /// What the system's resolver says of a name that has none, or that nobody can be asked.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}
