//! How this process is a client of HTTP: language models, package indexes, git repositories and MCP servers are all asked by
//! clients that begin here.
//!
//! A client follows no redirect by itself, tells nobody where it comes from, and looks names up by the port
//! [`Resolve`] of `dormouse-core`, or by the system where none is given. Certificates are the system's; the cryptography is
//! ring's.

use std::net::SocketAddr;
use std::sync::Arc;

use dormouse_core::Resolve;
use reqwest::dns::{Addrs, Name, Resolving};
use reqwest::{ClientBuilder, redirect};

/// A client to be set up further. `names` looks up names; none: the system does, in this process.
pub fn client(names: Option<&Arc<dyn Resolve>>) -> ClientBuilder {
    // Another part of the program may have chosen already; its choice holds.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(redirect::Policy::none()).referer(false);
    match names {
        Some(names) => builder.dns_resolver(Names(names.clone())),
        None => builder,
    }
}

/// The port, as the library calls it.
struct Names(Arc<dyn Resolve>);

impl reqwest::dns::Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0.clone();
        Box::pin(async move {
            let addresses = names.resolve(name.as_str()).await?;
            // The port is that of the address that is asked.
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
