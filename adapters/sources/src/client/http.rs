//! What both HTTP transports share: a client that follows nothing, and bodies that are read up to a bound.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::network::{Door, Problem, Trouble};
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_http::Unsent;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, Url};

use super::wire::{self, Failed, too_long, unavailable};
use crate::outside::Outside;

/// How this process calls itself.
const AGENT: &str = concat!("dormouse/", env!("CARGO_PKG_VERSION"));
/// Time to connect.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes read of an answer that says no (64 KiB).
const REFUSAL: usize = 64 << 10;
/// Most headers of an entry.
const MAX_HEADERS: usize = 64;
/// Bytes of all headers of an entry, names and values (64 KiB).
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Headers that are the connection's.
const OURS: [&str; 6] =
    ["host", "content-length", "content-type", "accept", "connection", "transfer-encoding"];
/// The name of this machine, and its addresses; the port is that of the address that is asked.
const LOCAL: &str = "localhost";
const OWN: [SocketAddr; 2] = [
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
    SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 0),
];
/// Why most connections do not come about.
const REFUSED: &str = "connection refused";
/// How the protocol's own headers begin.
const PROTOCOL: &str = "mcp-";

/// Where a server is, and how it is asked.
#[derive(Clone)]
pub struct Place {
    /// The client: it follows no redirects.
    pub client: Client,
    /// The address.
    pub url: Url,
    /// What goes with each request; the values are not shown by `Debug`.
    pub headers: HeaderMap,
    /// Where requests go out, if the client does not send them itself.
    door: Option<Arc<dyn Door>>,
}

impl Place {
    /// A client for an address that the operator wrote. Connects to nothing yet. Requests go through the operator's gate if there is
    /// one; otherwise proxies are those of the environment, none for this machine.
    ///
    /// # Errors
    /// `args_invalid` for an address that is not of HTTP or holds a password, for headers that are the connection's or cannot be
    /// sent, and for secrets that may not go there, or without a gate; `too_large` for too many headers.
    pub fn new(url: &str, headers: &BTreeMap<String, String>, outside: &Outside) -> Result<Self> {
        Self::with(dormouse_http::client(outside.names.as_ref()), address(url)?, headers, (outside, true))
    }

    /// A client for an address that somebody else wrote: it leads to the public internet, or nowhere.
    ///
    /// # Errors
    /// As [`Place::new`]; `args_invalid` for an address in numbers outside of the public internet, and for this machine.
    pub fn outer(url: &str, headers: &BTreeMap<String, String>, outside: &Outside) -> Result<Self> {
        let url = address(url)?;
        if dormouse_http::is_inside(&url) {
            return Err(Error::args_invalid("the address lies outside of the public internet"));
        }
        Self::with(dormouse_http::outer_client(outside.names.as_ref(), []), url, headers, (outside, false))
    }

    fn with(
        builder: ClientBuilder,
        url: Url,
        headers: &BTreeMap<String, String>,
        (outside, is_named): (&Outside, bool),
    ) -> Result<Self> {
        let headers = checked(headers)?;
        let door = match &outside.errands {
            Some(errands) => {
                if dormouse_http::is_proxied() && !is_local(&url) {
                    tracing::warn!(
                        "the proxy of the environment is not used: requests go through the network's gate"
                    );
                }
                Some(errands.door(&outside.errand, url.as_str(), is_named)?)
            }
            None if outside.errand.set.is_empty() => None,
            None => {
                return Err(Error::args_invalid("a header names a secret, and there is no network")
                    .with_hint("name the file of the secret with --network FILE"));
            }
        };
        let mut builder = builder.connect_timeout(CONNECT).user_agent(AGENT);
        if is_local(&url) {
            // Nobody has to be asked for the name, which a confined process could not do.
            builder = builder.no_proxy().resolve_to_addrs(LOCAL, &OWN);
        } else if url.scheme() == "http" && !headers.is_empty() {
            tracing::warn!("the headers for a server go over the network unencrypted");
        }
        let client = builder
            .build()
            .map_err(|error| Error::internal("the HTTP client cannot be set up", error.without_url()))?;
        Ok(Self { client, url, headers, door })
    }

    /// Sends a request of this client.
    ///
    /// # Errors
    /// Why there is no answer; [`unreached`] words it.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, Unsent> {
        match &self.door {
            None => Ok(request.send().await?),
            Some(door) => dormouse_http::through(&**door, request.build()?, AGENT).await,
        }
    }

    pub(super) fn post(&self, url: &Url, body: &serde_json::Value) -> reqwest::RequestBuilder {
        let request = self.client.post(url.clone()).headers(self.headers.clone());
        request
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body.to_string())
    }

    pub(super) fn get(&self, url: &Url) -> reqwest::RequestBuilder {
        let request = self.client.get(url.clone()).headers(self.headers.clone());
        request.header("accept", "text/event-stream")
    }

    pub(super) fn delete(&self) -> reqwest::RequestBuilder {
        self.client.delete(self.url.clone()).headers(self.headers.clone())
    }

    /// The same server at another path.
    pub(super) fn at(&self, path: &str) -> Self {
        let mut other = self.clone();
        other.url.set_path(path);
        other.url.set_query(None);
        other
    }
}

/// The address of an entry.
pub(super) fn address(url: &str) -> Result<Url> {
    let shown: String = url.escape_debug().take(100).collect();
    let refuse = |why: &str| {
        Error::args_invalid(format!("the address `{shown}` {why}"))
            .with_hint("write it as http://localhost:8080/mcp or https://example.com/mcp")
    };
    let parsed = Url::parse(url).map_err(|_| refuse("cannot be read"))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(refuse("is neither http nor https"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(
            Error::args_invalid("an address of an MCP server holds a password").with_hint("use `headers`")
        );
    }
    Ok(parsed)
}

/// The headers of an entry.
pub(super) fn checked(headers: &BTreeMap<String, String>) -> Result<HeaderMap> {
    if headers.len() > MAX_HEADERS {
        return Err(Error::args_invalid(format!("there are more than {MAX_HEADERS} headers")));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_HEADER_BYTES {
        return Err(Error::new(
            ErrorCode::TooLarge,
            format!("the headers have {bytes} bytes, at most {MAX_HEADER_BYTES} are sent"),
        ));
    }
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let shown: String = name.escape_debug().take(64).collect();
        let parsed = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| Error::args_invalid(format!("`{shown}` is no name of a header")))?;
        if OURS.contains(&parsed.as_str()) || parsed.as_str().starts_with(PROTOCOL) {
            return Err(Error::args_invalid(format!("the header `{shown}` is not an entry's to set")));
        }
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| Error::args_invalid(format!("the value of the header `{shown}` cannot be sent")))?;
        // Neither `Debug` nor a log of the library shows it then.
        value.set_sensitive(true);
        map.insert(parsed, value);
    }
    Ok(map)
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == LOCAL || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Sends a request; what is no success comes back as what it says.
pub(super) async fn send(place: &Place, request: reqwest::RequestBuilder) -> Result<Response, Failed> {
    let response = place.send(request).await.map_err(broken)?;
    let status = response.status().as_u16();
    if response.status().is_success() {
        return Ok(response);
    }
    let body = body(response, REFUSAL).await.unwrap_or_default();
    Err(wire::refusal(&body).unwrap_or(Failed::Status(status)))
}

/// The whole body, up to `most` bytes.
pub(super) async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, Failed> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if bytes.len() + piece.len() > most {
            return Err(too_long().into());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

pub(super) fn is(response: &Response, kind: &str) -> bool {
    let header = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    header.is_some_and(|value| value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(kind))
}

pub(super) fn broken(error: impl Into<Unsent>) -> Failed {
    unreached(error, "the MCP server").into()
}

/// That whoever was asked could not be reached, or broke off. Of the address only host and port are told: what else is in it may be a
/// secret.
pub fn unreached(error: impl Into<Unsent>, whom: &str) -> Error {
    let error = match error.into() {
        Unsent::Client(error) => error,
        Unsent::Gate(problem, url) => return refused(&problem, url.as_deref().and_then(place), whom),
    };
    let place = error.url().and_then(place).map(|place| format!(" at {place}")).unwrap_or_default();
    if dormouse_http::led_inside(&error) {
        return unavailable(format!("{whom}{place} lies outside of the public internet"))
            .with_hint("somebody else wrote this address; have the operator write it, and it is followed")
            .with_source(error.without_url());
    }
    let cause = cause(&error);
    let told = match (error.is_connect(), cause) {
        (true, Some(cause)) => format!("cannot be reached: {cause}"),
        (true, None) => "cannot be reached".to_owned(),
        (false, _) => "broke the connection".to_owned(),
    };
    let failed = unavailable(format!("{whom}{place} {told}"));
    let failed = match (error.is_connect(), cause) {
        (true, Some(REFUSED)) => {
            failed.with_hint("nothing listens there: start the server, and look at the port")
        }
        (true, _) => failed.with_hint("look at the address, and whether this machine gets there"),
        (false, _) => failed,
    };
    failed.with_source(error.without_url())
}

/// The same, as the gate says it.
fn refused(problem: &Problem, place: Option<String>, whom: &str) -> Error {
    let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
    let failed = |told: &str| unavailable(format!("{whom}{place} {told}: {}", problem.text));
    match problem.trouble {
        Trouble::Refused => failed("cannot be reached")
            .with_hint("nothing listens there: start the server, and look at the port"),
        Trouble::UnknownName | Trouble::TimedOut => {
            failed("cannot be reached").with_hint("look at the address, and whether this machine gets there")
        }
        Trouble::Untrusted => failed("is not trusted")
            .with_hint("name the certificate of its authority as `trust` in the file of --network"),
        Trouble::Denied => {
            Error::new(ErrorCode::NetworkDenied, format!("{whom}{place} was not asked: {}", problem.text))
        }
        _ => failed("broke the connection"),
    }
}

/// Host and port.
fn place(url: &Url) -> Option<String> {
    let host: String = url.host_str()?.chars().take(255).collect();
    Some(match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host,
    })
}

/// Why no connection came about, as far as the system says so.
pub(super) fn cause(error: &reqwest::Error) -> Option<&'static str> {
    // Of two addresses of this machine the second may not be there, and its error is the one that comes.
    let local = error.url().is_some_and(is_local);
    let mut next: Option<&(dyn std::error::Error + 'static)> = std::error::Error::source(error);
    while let Some(error) = next {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let cause = match kind {
            Some(ErrorKind::ConnectionRefused) => Some(REFUSED),
            Some(ErrorKind::AddrNotAvailable) if local => Some(REFUSED),
            Some(ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted) => Some("connection closed"),
            Some(ErrorKind::HostUnreachable) => Some("host unreachable"),
            Some(ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown) => Some("network unreachable"),
            Some(ErrorKind::TimedOut) => Some("no answer in time"),
            _ => None,
        };
        if cause.is_some() {
            return cause;
        }
        next = error.source();
    }
    error.is_timeout().then_some("no answer in time")
}

/// That an answer took too long.
pub(super) fn late(after: Duration) -> Error {
    Error::new(
        ErrorCode::ProviderUnavailable,
        format!("the MCP server gave no answer for {} s", after.as_secs()),
    )
}
