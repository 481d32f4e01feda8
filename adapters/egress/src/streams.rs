//! Streams of bytes, for guests that bring their own HTTP.
//!
//! A guest opens a stream to a name and writes what it would write to a socket. Where a TLS handshake would be, it writes a greeting
//! instead: the byte 0x16 and a line of JSON, `{"name": "api.example.com", "alpn": ["http/1.1"]}`. The gate does the real TLS, and
//! answers with the same byte and a line: `{"alpn": "http/1.1"}`, or `{"error": REASON, "message": …}`. What follows is HTTP/1.1 in the
//! open; it is parsed here, and each request goes through the gate. One that becomes a WebSocket is the last of its stream, which carries
//! bytes from there on. A stream to a place that a rule of `tcp` allows carries bytes from its beginning, and refuses a greeting.
//! Dialling for a greeting or for bytes counts as a request of the budget.

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::ahead::Ahead;
use crate::budget::Held;
use crate::carry::carry;
use crate::cassette::missing;
use crate::exchange::denial;
use crate::flushed::{Flushed, breaking};
use crate::gate::Door;
use crate::host::Host;
use crate::linger::Lingering;
use crate::message::{MAX_HEAD, MAX_HEADERS, Target};
use crate::note::Note;
use crate::plain::Plain;
use crate::policy::Protocol;
use crate::reason::{Reason, Refusal};
use crate::socket::Socket;
use crate::upstream::{Body, Place};

/// Begins a greeting, as it begins a TLS handshake.
const GREETING: u8 = 0x16;
/// Longest greeting, in bytes.
const MAX_GREETING: usize = 4 << 10;
/// Time for a guest to say what a stream is for.
const BEGIN: Duration = Duration::from_secs(10);
/// Time for a guest to write the head of a request, from the end of the one before.
const HEAD: Duration = Duration::from_secs(30);

/// A stream that may be opened: it counts as a connection until it is dropped. Nothing has left yet.
pub struct Opened {
    door: Door,
    target: Target,
    raw: Option<Place>,
    rule: String,
    _held: Held,
}

/// What a guest says in place of a TLS handshake.
#[derive(Deserialize)]
struct Greeting {
    name: String,
    #[serde(default)]
    alpn: Vec<String>,
}

impl Door {
    /// Whether a stream to a place may be opened. Names are not looked up yet.
    ///
    /// # Errors
    /// `unknown_name`, `host`, `port`, `protocol`; `connections` when there are as many as there may be.
    pub fn open(&self, host: &str, port: u16) -> Result<Opened, Refusal> {
        let Some(host) = Host::parse(host) else {
            return Err(Refusal::new(Reason::UnknownName, "the host is no name that can be looked up"));
        };
        let mut target = Target { protocol: Protocol::Http, host, port };
        let view = self.0.way.view();
        let grant = &view.grant;
        let found = grant.reaches(&target.host, port).and_then(|rule| {
            if rule.protocol != Protocol::Tcp {
                return Ok((rule, None));
            }
            let told = || Refusal::new(Reason::Protocol, format!("no rule allows tcp to `{}`", target.host));
            let rule = grant.raw(&target.host, port).ok_or_else(told)?;
            if self.gate().is_played() {
                return Err(missing("a stream of bytes"));
            }
            self.reads(rule)?;
            Ok((rule, Some(view.place(&target.host, rule))))
        });
        let opened = found.and_then(|(rule, raw)| Ok((rule.id.clone(), raw, self.0.account.connection()?)));
        match opened {
            Ok((rule, raw, held)) => {
                if raw.is_some() {
                    target.protocol = Protocol::Tcp;
                }
                Ok(Opened { door: self.clone(), target, raw, rule, _held: held })
            }
            Err(refusal) => {
                target.protocol = Protocol::Tcp;
                // It counts as a request: each is written down.
                let spent = self.0.account.spend(Reason::Requests, 1);
                Err(Note::new(self, &target, "", "").refused(spent.err().unwrap_or(refusal)))
            }
        }
    }
}

impl Opened {
    /// Where it leads to, and whether bytes of any form are carried there.
    pub(crate) fn place(&self) -> (&Target, bool) {
        (&self.target, self.raw.is_some())
    }

    /// Serves the guest's end of the stream until either side is done. Dropping the future ends it.
    ///
    /// # Errors
    /// What ended it, if that was not the guest: of a greeting, the reason that the guest was told.
    pub async fn serve<S>(mut self, stream: S) -> Result<(), Refusal>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        if let Some(place) = self.raw.take() {
            return self.carry(stream, &place).await;
        }
        let mut stream = Ahead::new(stream);
        let begun = tokio::time::timeout_at(self.door.until(BEGIN), self.begin(&mut stream)).await;
        match begun {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return Ok(()),
            Ok(Err(refusal)) => return Err(refusal),
            Err(_) => return Err(Refusal::new(Reason::TimedOut, "the stream did not begin in time")),
        }
        let (door, target) = (self.door.clone(), self.target.clone());
        let agreed = Agreed::default();
        let place = agreed.clone();
        let (stream, flushes) = Flushed::new(stream);
        let begun = Arc::new(Notify::new());
        let first = begun.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            begun.notify_one();
            let (door, target, agreed) = (door.clone(), target.clone(), agreed.clone());
            let flushes = flushes.clone();
            async move {
                let answer = asked(&door, request, &target, &agreed).await;
                Ok::<_, Infallible>(answer.map(|body| breaking(body, &flushes)))
            }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD).half_close(true);
        builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
        let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
        // Where a run has no place for one more connection, none is kept beyond what it is used for: clients keep theirs for what may
        // come, while others of the same program wait for a place.
        let serving = async {
            tokio::select! {
                ended = serving.as_mut() => return ended,
                () = async { first.notified().await; self.door.0.account.crowded().await } => {}
            }
            serving.as_mut().graceful_shutdown();
            serving.await
        };
        let end = self.door.0.run.deadline.map(tokio::time::Instant::from_std);
        let ended = match end {
            Some(end) => tokio::time::timeout_at(end, serving).await,
            None => Ok(serving.await),
        };
        let upgraded = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        match (ended, upgraded) {
            (Ok(Ok(())), Some((guest, socket))) => match guest.await {
                Ok(guest) => socket.carry(guest).await,
                Err(_) => Err(Refusal::new(Reason::Cancelled, "the stream was closed")),
            },
            (Ok(Ok(())), None) => Ok(()),
            (Ok(Err(error)), _) => {
                tracing::debug!("a stream of a guest ended: {error}");
                Ok(())
            }
            (Err(_), _) => Err(Refusal::new(Reason::TimedOut, "the run is over")),
        }
    }

    /// Finds out what the stream is. Whether there is more to do.
    async fn begin<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut Ahead<S>,
    ) -> Result<bool, Refusal> {
        let gone = |_: io::Error| Refusal::new(Reason::Cancelled, "the stream was closed");
        match stream.peek(1).await.map_err(gone)?.first() {
            None => return Ok(false),
            Some(&GREETING) => {}
            Some(_) => return Ok(true),
        }
        let told = if stream.peek(2).await.map_err(gone)?.get(1) == Some(&b'{') {
            let line = stream.line(MAX_GREETING).await.map_err(gone)?;
            match serde_json::from_slice(&line[1..]) {
                Ok(greeting) => self.greet(greeting).await,
                Err(_) => Err(Refusal::new(Reason::Form, "the greeting cannot be read")),
            }
        } else {
            Err(Refusal::new(Reason::Untrusted, "TLS of a guest's own cannot be looked into"))
        };
        stream.write_all(&reply(&told.as_ref().copied())).await.map_err(gone)?;
        stream.flush().await.map_err(gone)?;
        match told {
            Ok(_) => Ok(true),
            Err(refusal) => {
                let _ = stream.shutdown().await;
                Err(refusal)
            }
        }
    }

    /// Dials, so that a certificate that is not trusted is an error of the guest's handshake.
    async fn greet(&mut self, greeting: Greeting) -> Result<Option<&'static str>, Refusal> {
        let Greeting { name, alpn } = greeting;
        self.target.protocol = Protocol::Https;
        let mut note = Note::new(&self.door, &self.target, "", "");
        let greeted = self.dialled(&name, &mut note).await;
        match greeted {
            Ok(()) => {
                let usual = "http/1.1";
                Ok(alpn.iter().any(|one| one == usual).then_some(usual))
            }
            Err(refusal) => Err(note.refused(refusal)),
        }
    }

    async fn dialled(&self, name: &str, note: &mut Note) -> Result<(), Refusal> {
        let Target { host, port, .. } = &self.target;
        if Host::parse(name).as_ref() != Some(host) {
            return Err(Refusal::new(Reason::Untrusted, format!("the greeting is not for `{host}`")));
        }
        let way = &self.door.0.way;
        let view = way.view();
        let rule = view.grant.secure(host, *port)?;
        note.rule = Some(rule.id.clone());
        let place = view.place(host, rule);
        if !way.has(&place) && !self.door.gate().is_played() {
            self.door.0.account.spend(Reason::Requests, 1)?;
            note.sent(false)?;
            let wire = view.state.dialer.connect(&place).await?;
            note.address = Some(wire.address.clone());
            way.keep(place, wire);
            note.ended();
        } else {
            note.nothing();
        }
        Ok(())
    }

    /// Carries bytes in both directions.
    async fn carry(&self, stream: impl AsyncRead + AsyncWrite + Unpin, place: &Place) -> Result<(), Refusal> {
        let (reader, writer) = tokio::io::split(stream);
        let mut stream = tokio::io::join(Plain::new(reader), writer);
        let mut note = Note::new(&self.door, &self.target, "", "");
        note.rule = Some(self.rule.clone());
        let carried = async {
            self.door.0.account.spend(Reason::Requests, 1)?;
            note.sent(true)?;
            let dialer = self.door.0.way.view().state.dialer.clone();
            let (server, address) = dialer.reach(place).await?;
            note.address = Some(address);
            carry(&self.door, &note, (place, false), &mut stream, server, None).await
        };
        let mut carried = carried.await;
        if stream.reader().is_greeted() {
            let refusal = Refusal::new(
                Reason::Protocol,
                format!(
                    "`{}` is allowed bytes (tcp), and the gate speaks TLS for a rule of https alone",
                    place.host
                ),
            );
            let _ = stream.write_all(&reply(&Err(&refusal))).await;
            let _ = stream.shutdown().await;
            carried = Err(refusal);
        }
        match carried {
            Ok(()) => {
                note.ended();
                Ok(())
            }
            Err(refusal) => Err(note.refused(refusal)),
        }
    }
}

/// The answer to a greeting: the protocol that was agreed on, or why there is none.
fn reply(told: &Result<Option<&str>, &Refusal>) -> Vec<u8> {
    let told = match told {
        Ok(alpn) => json!({ "alpn": alpn }),
        Err(Refusal { reason, message, .. }) => json!({ "error": reason, "message": message }),
    };
    let mut bytes = vec![GREETING];
    bytes.extend_from_slice(format!("{told}\n").as_bytes());
    bytes
}

/// What a stream became: the guest's end of it, and the WebSocket that a server agreed to.
type Agreed = Arc<Mutex<Option<(OnUpgrade, Socket)>>>;

/// A request of a guest's own HTTP, and the answer or why there is none.
async fn asked(
    door: &Door,
    mut request: Request<Incoming>,
    target: &Target,
    agreed: &Agreed,
) -> Response<Body> {
    let guest = hyper::upgrade::on(&mut request);
    let request = Lingering::of(request).map(BodyExt::boxed_unsync);
    match door.pass(request, target, true).await {
        Ok((answer, socket)) => {
            let upgraded = socket.map(|socket| (guest, socket));
            *agreed.lock().unwrap_or_else(PoisonError::into_inner) = upgraded;
            answer
        }
        Err(refusal) => denial(&refusal),
    }
}
