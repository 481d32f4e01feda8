//! One request and its answer: what the gate is for. The order of the steps matters.
//!
//! Budget, target, rule, form, secrets, the line of the audit, checked address, TLS, the request, the answer washed.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::upgrade::Upgraded;
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::json;
use zeroize::Zeroizing;

use crate::answer::{Answering, Source};
use crate::body::{Outgoing, empty, full, piece};
use crate::budget::Held;
use crate::cassette::{Asked as Written, Met, Replayed, Tape, missing};
use crate::gate::{Door, View};
use crate::message::{self, DENIED, Target};
use crate::note::Note;
use crate::policy::{Asked, Protocol, Rule};
use crate::reason::{Reason, Refusal};
use crate::secrets::{Current, Frames, Parts, Washer};
use crate::socket::{self, Handshake, Socket};
use crate::upstream::{Body, Place, Wire, broken};

/// Time from a request to the head of its answer, connecting included.
const HEAD: Duration = Duration::from_secs(120);
/// Longest body of a request that is recorded or recognised, in bytes.
const MAX_RECORDED: usize = 64 << 20;

/// A request as it leaves.
struct Ready {
    request: Request<Body>,
    place: Place,
    /// What is looked for in the answer.
    washer: Option<Washer>,
    /// What it asks for, if it is to become a WebSocket.
    handshake: Option<Handshake>,
    /// What it is recognised by, where there is a recording.
    written: Option<Written>,
}

/// An answer whose head has come.
struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: Source,
    wire: Option<Wire>,
    washer: Option<Washer>,
    /// What the answer became: a WebSocket.
    upgraded: Option<Upgraded>,
    /// What writes its body down.
    tape: Option<Tape>,
}

impl Door {
    /// Sends a request, whose URL is whole (`https://HOST/PATH`), and returns the answer as soon as its head is there. Both bodies are
    /// streams. Redirects are answers as any other: whoever follows one asks again, and is checked again.
    ///
    /// What rules do not allow at a host that they do allow is an answer too, so that every client can show it: status 403 (or another
    /// of [`Reason::status`]), a header `x-dormouse-denied` with the reason, and JSON.
    ///
    /// # Errors
    /// What makes a connection fail: `host`, `port`, `address`, `unknown_name`, `refused`, `untrusted`, `timed_out`, `reset`; a spent
    /// budget; `unrecorded`. A body that ends early has an error of its own.
    pub async fn exchange(&self, request: Request<Body>) -> Result<Response<Body>, Refusal> {
        use Reason::{
            Authority, Encoding, Form, Method, NotRecorded, Path, Protocol, Secret, Tainted, Upgrade,
        };
        let target = match Target::of(request.uri()) {
            Ok(target) => target,
            Err(refusal) => {
                self.0.account.spend(Reason::Requests, 1)?;
                return Err(refusal);
            }
        };
        match self.pass(request, &target, false).await {
            Err(refusal) => match refusal.reason {
                Protocol | Method | Path | Secret | Tainted | Authority | Form | Upgrade | Encoding
                | NotRecorded => Ok(denial(&refusal)),
                _ => Err(refusal),
            },
            passed => passed.map(|(answer, _)| answer),
        }
    }

    /// One request; with its answer comes a WebSocket, if that is what it became. `is_stream`: it came over a stream of a guest's own,
    /// which counts as a connection already, must name its host, and can become a WebSocket.
    pub(crate) async fn pass(
        &self,
        request: Request<Body>,
        target: &Target,
        is_stream: bool,
    ) -> Result<(Response<Body>, Option<Socket>), Refusal> {
        let mut note = Note::new(self, target, request.method().as_str(), request.uri().path());
        let (answered, place, held) = match self.answered(request, target, is_stream, &mut note).await {
            Ok(answered) => answered,
            Err(refusal) => return Err(note.refused(refusal)),
        };
        let Answered { status, headers, body, wire, washer, upgraded, tape } = answered;
        let door = self.clone();
        let (body, socket) = match upgraded {
            None => {
                let answering = Answering { body, tape, washer, wire, place, held, door, note, over: false };
                (answering.into_body().await, None)
            }
            Some(server) => {
                let frames = washer.map(Frames::new);
                (empty(), Some(Socket { server, place, frames, door, note }))
            }
        };
        let mut answer = Response::new(body);
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok((answer, socket))
    }

    async fn answered(
        &self,
        request: Request<Body>,
        target: &Target,
        is_stream: bool,
        note: &mut Note,
    ) -> Result<(Answered, Place, Option<Held>), Refusal> {
        // One that waits for a connection asks again, and counts once.
        let held = if is_stream { None } else { Some(self.0.account.connection()?) };
        self.0.account.spend(Reason::Requests, 1)?;
        let view = self.0.way.view();
        let mut ready = self.ready(&view, request, target, is_stream, note).await?;
        let place = ready.place.clone();
        let mut tape = None;
        if let (Some(cassette), Some(written)) = (self.cassette(), ready.written.take()) {
            let body = whole(ready.request.body_mut(), self.until(HEAD)).await?;
            match cassette.meet(&written, &body)? {
                Met::Recorded(taken) => tape = Some(taken),
                Met::Replayed(replayed) => {
                    note.replayed();
                    note.status = Some(replayed.status.as_u16());
                    return Ok((Answered::of(replayed), place, held));
                }
            }
            *ready.request.body_mut() = full(body);
        }
        let answered = self.reached(&view, ready, note).await;
        match (answered, tape) {
            (Ok(answered), Some(tape)) => {
                tape.head(answered.status, &answered.headers);
                Ok((Answered { tape: Some(tape), ..answered }, place, held))
            }
            (Ok(answered), None) => Ok((answered, place, held)),
            (Err(refusal), tape) => {
                tape.into_iter().for_each(|mut tape| tape.failed(&refusal));
                Err(refusal)
            }
        }
    }

    /// Sends a request, and looks at the head of its answer.
    async fn reached(&self, view: &View, ready: Ready, note: &mut Note) -> Result<Answered, Refusal> {
        let Ready { request, place, washer, handshake, .. } = ready;
        let method = request.method().clone();
        note.sent(handshake.is_some() || !method.is_safe())?;
        let (wire, mut answer) = self.send(view, request, &place, note).await?;
        let upgrading = hyper::upgrade::on(&mut answer);
        let (head, body) = answer.into_parts();
        let (status, mut headers) = (head.status, head.headers);
        note.status = Some(status.as_u16());
        let handshake = handshake.filter(|_| status == StatusCode::SWITCHING_PROTOCOLS);
        match &handshake {
            Some(handshake) => handshake.agreed(&headers, washer.is_some())?,
            None => check(status, &headers, &method, washer.is_some())?,
        }
        message::strip(&mut headers);
        headers.remove(DENIED);
        if let Some(washer) = &washer {
            note.masked += washer.headers(&mut headers);
        }
        let mut upgraded = None;
        if handshake.is_some() {
            socket::announce(&mut headers);
            upgraded = Some(upgrading.await.map_err(|_| broken(&place.host))?);
        }
        let (body, wire) = (Source::Server(body), Some(wire));
        Ok(Answered { status, headers, body, wire, washer, upgraded, tape: None })
    }

    /// What is done before anything leaves.
    async fn ready(
        &self,
        view: &View,
        request: Request<Body>,
        target: &Target,
        is_stream: bool,
        note: &mut Note,
    ) -> Result<Ready, Refusal> {
        let (head, body) = request.into_parts();
        let (uri, mut headers) = (head.uri, head.headers);
        target.is_meant(&uri, &headers, is_stream)?;
        let path = if uri.path().is_empty() { "/" } else { uri.path() };
        let Target { protocol, host, port } = target;
        let method = head.method.as_str();
        let websocket = socket::is_wanted(&headers);
        let asked = Asked { protocol: *protocol, host, port: *port, method, path, websocket };
        let rule = view.grant.decide(&asked)?;
        note.rule = Some(rule.id.clone());
        self.reads(rule)?;
        if websocket && !is_stream {
            return Err(Refusal::new(Reason::Upgrade, "a WebSocket is carried over a stream of bytes only"));
        }
        let shaken = websocket.then(|| Handshake::of(&head.method, head.version, &headers));
        let handshake = shaken.transpose()?;
        if websocket && self.gate().is_played() {
            return Err(missing("a WebSocket"));
        }
        let written = (self.cassette().is_some() && !websocket).then(|| {
            // What is played has been washed when it was recorded, and values are not known then.
            let values = (!self.gate().is_played() && !view.state.vault.secrets().is_empty())
                .then(|| Washer::new(view.state.vault.now().forms.clone()));
            Written::of(method, target, &uri, &headers, view.placeholders(), values)
        });
        let length = message::head(&uri, &mut headers)?;
        message::strip(&mut headers);
        if !rule.methods.is_empty() {
            message::strip_overrides(&mut headers);
        }
        let mut query = uri.query().map(|query| Zeroizing::new(query.to_owned()));
        let vault = &view.state.vault;
        let secrets = vault.secrets();
        let is_bound = secrets.iter().any(|secret| secret.is_for(host));
        // Whoever has nothing to do with secrets does not wait for one to be read again.
        let current = if is_bound { vault.current().await } else { vault.now() };
        let parts = Parts { headers: &mut headers, path, query: &mut query };
        let used = fill(view, rule, target, parts, &current)?;
        note.secrets = used.iter().map(|number| secrets[*number].name.clone()).collect();
        if is_bound {
            // Whether this request used one or not: a server may repeat what it was told before. So its answers have to be readable, and
            // whole.
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            headers.remove(header::RANGE);
            headers.remove(header::IF_RANGE);
            headers.remove(header::SEC_WEBSOCKET_EXTENSIONS);
        }
        if handshake.is_some() {
            socket::announce(&mut headers);
        }
        let washer = is_bound.then(|| Washer::new(current.forms.clone()));
        let form = || Refusal::new(Reason::Form, "the request's path or host cannot be sent");
        headers.insert(header::HOST, HeaderValue::from_str(&target.authority()).map_err(|_| form())?);
        let whole = match &query {
            Some(query) => Zeroizing::new(format!("{path}?{}", **query)),
            None => Zeroizing::new(path.to_owned()),
        };
        let uri: Uri = whole.parse().map_err(|_| form())?;
        if length == Some(0) {
            // Of a body without bytes hyper says nothing, and some servers want to be told that there is none.
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let traffic = note.traffic.clone();
        let mut request = Request::new(Outgoing::boxed(body, length, self.0.account.clone(), traffic));
        *request.method_mut() = head.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let place = view.place(host, rule);
        Ok(Ready { request, place, washer, handshake, written })
    }

    /// Sends over a kept connection or a new one.
    async fn send(
        &self,
        view: &View,
        mut request: Request<Body>,
        place: &Place,
        note: &mut Note,
    ) -> Result<(Wire, Response<Incoming>), Refusal> {
        let until = self.until(HEAD);
        let slow = || Refusal::new(Reason::TimedOut, format!("`{}` did not answer in time", place.host));
        loop {
            let kept = self.0.way.take(place);
            let is_kept = kept.is_some();
            let mut wire = match kept {
                Some(wire) => wire,
                None => match tokio::time::timeout_at(until, view.state.dialer.connect(place)).await {
                    Ok(wire) => wire?,
                    Err(_) => return Err(slow()),
                },
            };
            note.address = Some(wire.address.clone());
            match tokio::time::timeout_at(until, wire.sender.try_send_request(request)).await {
                Ok(Ok(answer)) => return Ok((wire, answer)),
                Ok(Err(mut error)) => match error.take_message() {
                    // The server had ended it meanwhile, and nothing was sent.
                    Some(unsent) if is_kept => request = unsent,
                    _ => {
                        let own = note.traffic.trouble.get().cloned();
                        return Err(own.unwrap_or_else(|| broken(&place.host)));
                    }
                },
                Err(_) => return Err(slow()),
            }
        }
    }
}

impl Answered {
    /// What was recorded.
    fn of(replayed: Replayed) -> Self {
        let Replayed { status, headers, pieces } = replayed;
        let body = Source::Recording(pieces);
        Self { status, headers, body, wire: None, washer: None, upgraded: None, tape: None }
    }
}

/// A body as a whole, for a recording.
async fn whole(body: &mut Body, until: tokio::time::Instant) -> Result<Bytes, Refusal> {
    let reading = async {
        let mut all = BytesMut::new();
        while let Some(next) = piece(body).await {
            let next = next?;
            if all.len() + next.len() > MAX_RECORDED {
                let told = "the request's body is too long for a recording: more than 64 MiB";
                return Err(Refusal::new(Reason::Form, told));
            }
            all.extend_from_slice(&next);
        }
        Ok(all.freeze())
    };
    let slow = |_| Refusal::new(Reason::TimedOut, "the request's body did not end in time");
    tokio::time::timeout_at(until, reading).await.map_err(slow)?
}

/// Puts secrets in: those of placeholders, and those of headers that the rule sets. The numbers of those that were used.
fn fill(
    view: &View,
    rule: &Rule,
    target: &Target,
    mut parts: Parts<'_>,
    current: &Arc<Current>,
) -> Result<Vec<usize>, Refusal> {
    let secure = target.protocol == Protocol::Https;
    let filling = view.filling(current.clone(), &target.host, secure);
    let of_rule = |refusal: Refusal| refusal.of(&rule.id);
    let mut used = filling.fill(&mut parts).map_err(of_rule)?;
    for set in &rule.set {
        let value = filling.set(set, &mut used).map_err(of_rule)?;
        parts.headers.insert(set.name.clone(), value);
    }
    Ok(used)
}

/// Whether an answer is one that can be passed on.
fn check(status: StatusCode, headers: &HeaderMap, method: &Method, washed: bool) -> Result<(), Refusal> {
    let refuse = |reason, told: &str| Err(Refusal::new(reason, told));
    if status == StatusCode::SWITCHING_PROTOCOLS {
        return refuse(Reason::Reset, "the server changed to a protocol that nobody asked for");
    }
    if message::is_framed_oddly(headers) {
        return refuse(Reason::Encoding, "the answer's body is framed in a way that is not understood");
    }
    if washed && status == StatusCode::PARTIAL_CONTENT {
        return refuse(Reason::Encoding, "the answer is a part that nobody asked for");
    }
    if washed && message::has_body(method, status.as_u16()) && message::is_encoded(headers) {
        return refuse(Reason::Encoding, "the answer is encoded, and might hold a secret");
    }
    Ok(())
}

/// A refusal, as an answer that every client can show.
pub(crate) fn denial(refusal: &Refusal) -> Response<Body> {
    let error = match refusal.reason {
        reason if reason.is_policy() => "network_denied",
        reason if reason.is_budget() => "limit_network",
        Reason::Unrecorded => "state_unavailable",
        _ => "network_failed",
    };
    let Refusal { reason, rule, message } = refusal;
    let mut told = json!({ "error": error, "reason": reason, "message": message });
    if let Some(rule) = rule {
        told["rule"] = json!(rule);
    }
    let mut answer = Response::new(full(format!("{told}\n")));
    *answer.status_mut() = StatusCode::from_u16(reason.status()).unwrap_or(StatusCode::FORBIDDEN);
    let headers = answer.headers_mut();
    headers.insert(DENIED, HeaderValue::from_static(reason.word()));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
