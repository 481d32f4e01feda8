//! A proxy of HTTP/1.1, for programs that know nothing of doors: those of a container.
//!
//! | what a program says | what is done |
//! | --- | --- |
//! | a request with a whole URL | it goes through the gate as any other |
//! | `CONNECT HOST:PORT`, a rule of `tcp` is for it | bytes are carried |
//! | `CONNECT HOST:PORT`, another rule is for it | TLS ends here ([`crate::tunnel`]), and the requests inside go through the gate |
//! | anything else | refused: 403 and `x-dormouse-denied`, or another status of [`Reason::status`] |
//!
//! A connection of a program's may outlast the run that opened it, so each request counts for the run that is the sandbox's last one.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use dormouse_core::Result;
use dormouse_core::network::{Door as AnyDoor, Duplex, Proxy as Port};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::authority::{Authority, pem, system};
use crate::body::empty;
use crate::budget::Held;
use crate::exchange::denial;
use crate::flushed::{Flushed, breaking};
use crate::gate::Door;
use crate::linger::Lingering;
use crate::message::{MAX_HEAD, MAX_HEADERS, Target, authority_of};
use crate::note::Note;
use crate::reason::{Reason, Refusal};
use crate::socket::Socket;
use crate::streams::Opened;
use crate::upstream::Body;

/// Time for a program to write the head of a request, from the end of the one before.
const HEAD: Duration = Duration::from_secs(30);

/// The proxy of one sandbox. Clones are the same.
#[derive(Clone)]
pub(crate) struct Proxy(Arc<Inner>);

struct Inner {
    /// That of the run that requests count for. None: its network cannot be had.
    door: RwLock<Option<Door>>,
    authority: Authority,
    authorities: String,
}

/// What a stream becomes.
pub(crate) enum Next {
    /// A WebSocket, with what counts as its connection.
    Socket(Box<Socket>, Option<Held>),
    /// A tunnel to a place.
    Tunnel(Opened),
}

/// Where a request leaves what its stream becomes.
pub(crate) type Agreed = Arc<Mutex<Option<(OnUpgrade, Next)>>>;

impl Proxy {
    /// One with an authority of its own, that begins with a door.
    ///
    /// # Errors
    /// `internal` without randomness.
    pub(crate) fn of(door: &Door) -> Result<Self> {
        let authority = Authority::new()?;
        let trusted: String = door.gate().settings().trust.iter().map(pem).collect();
        let authorities = format!("{}{trusted}{}", authority.pem(), system());
        Ok(Self(Arc::new(Inner { door: RwLock::new(Some(door.clone())), authority, authorities })))
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.0.authority
    }

    /// The door of the run that counts now.
    ///
    /// # Errors
    /// `host`: there is none.
    pub(crate) fn door(&self) -> std::result::Result<Door, Refusal> {
        let door = self.0.door.read().unwrap_or_else(PoisonError::into_inner).clone();
        door.ok_or_else(|| Refusal::new(Reason::Host, "the operator has taken this sandbox's network back"))
    }

    /// What a stream says, from its beginning to its end.
    async fn run(self, stream: Box<dyn Duplex>) {
        let proxy = self.clone();
        let spoken = speak(stream, move |request, agreed| {
            let proxy = proxy.clone();
            async move { proxy.asked(request, &agreed).await }
        });
        match spoken.await {
            Some((guest, Next::Tunnel(opened))) => self.tunnel(TokioIo::new(guest), opened).await,
            Some((guest, Next::Socket(socket, _held))) => carry(guest, *socket).await,
            None => {}
        }
    }

    /// A request to the proxy, and its answer.
    async fn asked(&self, request: Request<Incoming>, agreed: &Agreed) -> Response<Body> {
        let door = match self.door() {
            Ok(door) => door,
            Err(refusal) => return denial(&refusal),
        };
        if *request.method() == Method::CONNECT {
            return connect(&door, request, agreed);
        }
        let target = match Target::of(request.uri()) {
            Ok(target) => target,
            Err(refusal) => return denial(&spent(&door, refusal)),
        };
        match door.0.account.connection() {
            Ok(held) => passed(&door, request, &target, Some(held), agreed).await,
            Err(refusal) => {
                let mut note = Note::new(&door, &target, request.method().as_str(), request.uri().path());
                denial(&note.refused(spent(&door, refusal)))
            }
        }
    }
}

impl Port for Proxy {
    fn authorities(&self) -> &str {
        &self.0.authorities
    }

    fn turn(&self, door: &Arc<dyn AnyDoor>) {
        let any: &dyn Any = &**door;
        let own = any.downcast_ref::<Door>().cloned();
        *self.0.door.write().unwrap_or_else(PoisonError::into_inner) = own;
    }

    fn serve(&self, stream: Box<dyn Duplex>) -> BoxFuture<'static, ()> {
        self.clone().run(stream).boxed()
    }
}

/// What a refusal becomes that counts as a request: the budget may be spent.
pub(crate) fn spent(door: &Door, refusal: Refusal) -> Refusal {
    door.0.account.spend(Reason::Requests, 1).err().unwrap_or(refusal)
}

/// Speaks HTTP with a program. What the stream becomes, if it becomes something else.
pub(crate) async fn speak<S, A>(
    stream: S,
    answer: impl Fn(Request<Incoming>, Agreed) -> A,
) -> Option<(Upgraded, Next)>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    A: Future<Output = Response<Body>>,
{
    let agreed = Agreed::default();
    let (stream, flushes) = Flushed::new(stream);
    let service = service_fn(|request| {
        let answered = answer(request, agreed.clone());
        let flushes = &flushes;
        async move { Ok::<_, Infallible>(answered.await.map(|body| breaking(body, flushes))) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).half_close(true);
    builder.max_headers(MAX_HEADERS).max_buf_size(MAX_HEAD);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).with_upgrades().await {
        tracing::debug!("a stream to the proxy ended: {error}");
        return None;
    }
    let (guest, next) = agreed.lock().unwrap_or_else(PoisonError::into_inner).take()?;
    Some((guest.await.ok()?, next))
}

/// Sends a request through the gate. `held`: what counts as its connection, until its answer is over.
pub(crate) async fn passed(
    door: &Door,
    mut request: Request<Incoming>,
    target: &Target,
    held: Option<Held>,
    agreed: &Agreed,
) -> Response<Body> {
    let guest = hyper::upgrade::on(&mut request);
    let request = Lingering::of(request).map(BodyExt::boxed_unsync);
    match door.pass(request, target, true).await {
        Ok((answer, None)) => match held {
            Some(held) => answer.map(|body| keeping(body, held)),
            None => answer,
        },
        Ok((answer, Some(socket))) => {
            let next = Next::Socket(Box::new(socket), held);
            *agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some((guest, next));
            answer
        }
        Err(refusal) => denial(&refusal),
    }
}

/// Carries a WebSocket to its end.
pub(crate) async fn carry(guest: Upgraded, socket: Socket) {
    if let Err(refusal) = socket.carry(guest).await {
        tracing::debug!("a WebSocket of a program ended: {refusal}");
    }
}

/// A body that keeps a connection counted.
fn keeping(body: Body, held: Held) -> Body {
    body.map_frame(move |frame| {
        let _held = &held;
        frame
    })
    .boxed_unsync()
}

/// Opens a tunnel, if a rule is for its place. Nothing is dialled yet.
fn connect(door: &Door, mut request: Request<Incoming>, agreed: &Agreed) -> Response<Body> {
    let place = request.uri().authority().and_then(|authority| authority_of(authority.as_str()));
    let Some((host, Some(port))) = place else {
        let told = "CONNECT is for a name and a port, as `api.example.com:443`";
        return denial(&spent(door, Refusal::new(Reason::Form, told)));
    };
    match door.open(&host.to_string(), port) {
        Ok(opened) => {
            let next = (hyper::upgrade::on(&mut request), Next::Tunnel(opened));
            *agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
            Response::new(empty())
        }
        Err(refusal) => denial(&refusal),
    }
}
