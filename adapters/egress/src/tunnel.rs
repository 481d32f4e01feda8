//! What a program says in a tunnel of the proxy: TLS, which ends here, or HTTP in the open; bytes of any form where a rule of `tcp` is
//! for the place.
//!
//! A handshake that names another host than the tunnel is for is refused. Whatever the tunnel is for, a request leaves as the gate lets
//! it, to where the tunnel leads and nowhere else.

use std::time::Duration;

use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::LazyConfigAcceptor;

use crate::ahead::Ahead;
use crate::exchange::denial;
use crate::host::Host;
use crate::message::Target;
use crate::note::Note;
use crate::policy::Protocol;
use crate::proxy::{Next, Proxy, carry, passed, speak, spent};
use crate::reason::{Reason, Refusal};
use crate::streams::Opened;

/// Begins a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// Time for a program to begin, and for its handshake.
const BEGIN: Duration = Duration::from_secs(10);

impl Proxy {
    /// Serves a tunnel to its end. It counts as a connection as long.
    pub(crate) async fn tunnel<S>(&self, stream: S, opened: Opened)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (target, is_raw) = opened.place();
        let target = target.clone();
        if is_raw {
            if let Err(refusal) = opened.serve(stream).await {
                tracing::debug!("a tunnel ended: {refusal}");
            }
            return;
        }
        let mut stream = Ahead::new(stream);
        let first = tokio::time::timeout(BEGIN, stream.peek(1)).await;
        match first.ok().and_then(Result::ok).and_then(|first| first.first().copied()) {
            None => {}
            Some(HANDSHAKE) => {
                let target = Target { protocol: Protocol::Https, ..target };
                match tokio::time::timeout(BEGIN, self.secured(stream, &target)).await {
                    Ok(Some(stream)) => self.inside(stream, target).await,
                    Ok(None) => {}
                    Err(_) => tracing::debug!("a handshake of a program did not end in time"),
                }
            }
            Some(_) => self.inside(stream, target).await,
        }
        drop(opened);
    }

    /// TLS with a program, as the host that the tunnel is for.
    async fn secured<S>(&self, stream: S, target: &Target) -> Option<tokio_rustls::server::TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let greeted = LazyConfigAcceptor::new(Acceptor::default(), stream).await;
        let started = greeted.map_err(|error| tracing::debug!("a handshake cannot be read: {error}")).ok()?;
        let named = started.client_hello().server_name().map(str::to_owned);
        let is_other = named.is_some_and(|name| Host::parse(&name).as_ref() != Some(&target.host));
        let config = if is_other {
            Err(Refusal::new(Reason::Untrusted, format!("the handshake is not for `{}`", target.host)))
        } else {
            self.authority().config(&target.host)
        };
        match config {
            Ok(config) => {
                let shaken = started.into_stream(config).await;
                shaken.map_err(|error| tracing::debug!("a handshake of a program failed: {error}")).ok()
            }
            Err(refusal) => {
                if let Ok(door) = self.door() {
                    let refusal = spent(&door, refusal);
                    Note::new(&door, target, "", "").refused(refusal);
                }
                None
            }
        }
    }

    /// HTTP of a program with the host that the tunnel is for.
    async fn inside<S>(&self, stream: S, target: Target)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let proxy = self.clone();
        let spoken = speak(stream, move |request, agreed| {
            let (proxy, target) = (proxy.clone(), target.clone());
            async move {
                match proxy.door() {
                    // The tunnel counts as the connection.
                    Ok(door) => passed(&door, request, &target, None, &agreed).await,
                    Err(refusal) => denial(&refusal),
                }
            }
        });
        if let Some((guest, Next::Socket(socket, _))) = spoken.await {
            carry(guest, *socket).await;
        }
    }
}
