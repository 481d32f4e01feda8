//! The door of a run as the core's port has it: the words of the contract in place of hyper's.

use std::sync::Arc;

use dormouse_core::network::{
    Door as Port, Duplex, NetworkAnswer, NetworkRequest, NetworkUse, Outgoing, Pieces, Problem,
    Proxy as ProxyPort, Serve, Trouble,
};
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use http_body_util::BodyDataStream;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};

use crate::body::{empty, streamed};
use crate::gate::Door;
use crate::proxy::Proxy;
use crate::reason::{Reason, Refusal};
use crate::upstream::Body;

impl Port for Door {
    fn open(&self, host: &str, port: u16) -> Result<Serve, Problem> {
        let opened = Door::open(self, host, port).map_err(problem)?;
        Ok(Box::new(|stream: Box<dyn Duplex>| {
            opened.serve(stream).map(|served| served.map_err(problem)).boxed()
        }))
    }

    fn exchange(&self, request: NetworkRequest) -> BoxFuture<'static, Result<NetworkAnswer, Problem>> {
        let door = self.clone();
        async move {
            let answer = Door::exchange(&door, read(request)?).await.map_err(problem)?;
            Ok(given(answer))
        }
        .boxed()
    }

    fn used(&self) -> NetworkUse {
        Door::used(self)
    }

    fn go_on(&self, before: Option<&NetworkUse>, outgoing: Arc<dyn Outgoing>) {
        if let Some(before) = before {
            self.0.account.begin_with(before);
            self.0.tally.begin_with(before);
        }
        // It is called once.
        let _called_before = self.0.outgoing.set(outgoing);
    }

    fn proxy(&self) -> dormouse_core::Result<Option<Arc<dyn ProxyPort>>> {
        Ok(Some(Arc::new(Proxy::of(self)?)))
    }
}

/// A request in hyper's words.
fn read(request: NetworkRequest) -> Result<Request<Body>, Problem> {
    let NetworkRequest { method, url, headers, body } = request;
    let wrong = |what: &str| Problem::new(Trouble::Protocol, format!("the request's {what} cannot be sent"));
    let body = match body {
        Some(body) => streamed(body.map_err(|problem| Refusal::new(Reason::Cancelled, problem.text))),
        None => empty(),
    };
    let mut read = Request::new(body);
    *read.method_mut() = Method::from_bytes(method.as_bytes()).map_err(|_| wrong("method"))?;
    *read.uri_mut() = url.parse::<Uri>().map_err(|_| wrong("URL"))?;
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("header names"))?;
        let value = HeaderValue::from_bytes(&value).map_err(|_| wrong(&format!("header `{name}`")))?;
        read.headers_mut()
            .try_append(name, value)
            .map_err(|_| Problem::new(Trouble::Protocol, "the request has too many headers"))?;
    }
    Ok(read)
}

/// An answer in the core's words.
fn given(answer: Response<Body>) -> NetworkAnswer {
    let (head, body) = answer.into_parts();
    let headers = head.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let body: Pieces = Box::pin(BodyDataStream::new(body).map_err(problem));
    NetworkAnswer { status: head.status.as_u16(), headers: headers.collect(), body }
}

/// A refusal as guests are told of it.
fn problem(refusal: Refusal) -> Problem {
    let trouble = match refusal.reason {
        reason if reason.is_policy() => Trouble::Denied,
        reason if reason.is_budget() => Trouble::Exhausted,
        Reason::Unrecorded => Trouble::Denied,
        Reason::UnknownName => Trouble::UnknownName,
        Reason::Refused => Trouble::Refused,
        Reason::Untrusted => Trouble::Untrusted,
        Reason::TimedOut => Trouble::TimedOut,
        Reason::Cancelled => Trouble::Closed,
        Reason::Reset => Trouble::Reset,
        _ => Trouble::Protocol,
    };
    Problem::new(trouble, refusal.message)
}
