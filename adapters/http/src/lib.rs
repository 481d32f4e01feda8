//! How this process is a client of HTTP: language models, package indexes, git repositories and MCP servers are all asked by
//! clients that begin here.
//!
//! A client follows no redirect by itself, tells nobody where it comes from, and looks names up by the port
//! [`Resolve`] of `dormouse-core`, or by the system where none is given. Certificates are the system's; the cryptography is
//! ring's.
//!
//! A request that a client has made can be sent through a door of the operator's gate in its place ([`through`]).
//!
//! An address that the operator wrote may lead into the networks behind this machine. One that somebody else wrote, such as a page of
//! an index or a document, may not: [`outer_client`] and [`is_inside`].

mod gated;

use std::net::SocketAddr;
use std::sync::Arc;

use dormouse_core::Resolve;
use dormouse_egress::{Outer, Reason, Refusal, address};
use reqwest::dns::{Addrs, Name, Resolving};
use reqwest::{ClientBuilder, Url, redirect};

pub use gated::{Unsent, through};

/// Variables that name proxies, which the operator wrote as well.
const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

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

/// A client as [`client`] makes it, for addresses that others than the operator write: a name leads to the public internet alone, and
/// the addresses that were checked are those that are connected to. Hosts in `named`, which the operator wrote, lead wherever they do, as
/// do proxies of the environment, which look up the names of what they are asked for themselves. Addresses in numbers are not looked up:
/// [`is_inside`] is asked first.
pub fn outer_client<'a>(
    names: Option<&Arc<dyn Resolve>>,
    named: impl IntoIterator<Item = &'a str>,
) -> ClientBuilder {
    let proxies = PROXIES.iter().filter_map(|name| proxy(&std::env::var(name).ok()?));
    let named = named.into_iter().map(str::to_owned).chain(proxies);
    let outer: Arc<dyn Resolve> = Arc::new(Outer::new(names.cloned(), named));
    client(Some(&outer))
}

/// Whether the environment names a proxy.
pub fn is_proxied() -> bool {
    PROXIES.iter().any(|name| std::env::var(name).is_ok_and(|text| proxy(&text).is_some()))
}

/// The host of a proxy, which may be written without `http://`.
fn proxy(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(Url::has_host);
    let url = url.or_else(|| Url::parse(&format!("http://{text}")).ok())?;
    Some(url.host_str()?.to_owned())
}

/// Whether an address in numbers, or a name of this machine, lies outside of the public internet. What other names lead to is known when
/// they are looked up.
pub fn is_inside(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let number = host.trim_start_matches('[').trim_end_matches(']').parse();
    let name = host.trim_end_matches('.');
    let own = name == "localhost" || name.ends_with(".localhost");
    own || number.is_ok_and(|address| !address::may_dial(address, &[]))
}

/// Whether a request failed because a name leads to where [`outer_client`] does not go.
pub fn led_inside(error: &reqwest::Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner
            .and_then(|inner| inner.downcast_ref::<Refusal>())
            .is_some_and(|told| told.reason == Reason::Address)
        {
            return true;
        }
        next = error.source();
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_in_numbers_is_of_the_public_internet_or_not() {
        let inside = |text: &str| is_inside(&Url::parse(text).unwrap());
        for text in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://169.254.169.254/latest",
            "http://10.0.0.1:8080/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://localhost/",
            "http://a.localhost./",
        ] {
            assert!(inside(text), "{text}");
        }
        for text in
            ["http://1.1.1.1/", "https://[2606:4700::1]/", "https://a.test/", "https://localhost.test/"]
        {
            assert!(!inside(text), "{text}");
        }
    }

    #[test]
    fn a_proxy_is_a_host_however_it_is_written() {
        for text in ["http://proxy.corp:3128", "proxy.corp:3128", "http://user:word@proxy.corp/"] {
            assert_eq!(proxy(text).as_deref(), Some("proxy.corp"), "{text}");
        }
        assert_eq!(proxy(""), None);
    }
}
