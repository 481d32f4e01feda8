//! Requests that a client has made, sent through a door of the operator's gate in its place, and answers as a client gives them.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use dormouse_core::network::{Door, NetworkRequest, Pieces, Problem, Trouble};
use futures::{StreamExt as _, stream};
use http_body::{Body, Frame};
use reqwest::header::{CONTENT_LENGTH, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Request, Response, Url};

/// The header by which the gate says that an answer is its own.
const DENIED: &str = "x-dormouse-denied";
/// Bytes that are read of an answer of the gate's own.
const MAX_TOLD: usize = 16 << 10;

/// Why there is no answer.
#[derive(Debug)]
pub enum Unsent {
    /// What a client says.
    Client(reqwest::Error),
    /// What the gate says, and where the request was to go.
    Gate(Problem, Option<Box<Url>>),
}

impl From<reqwest::Error> for Unsent {
    fn from(error: reqwest::Error) -> Self {
        Self::Client(error)
    }
}

impl Unsent {
    /// Whether nobody got anything of the request.
    pub fn is_connect(&self) -> bool {
        match self {
            Self::Client(error) => error.is_connect(),
            Self::Gate(problem, _) => matches!(
                problem.trouble,
                Trouble::Denied
                    | Trouble::UnknownName
                    | Trouble::Refused
                    | Trouble::Untrusted
                    | Trouble::Exhausted
            ),
        }
    }
}

/// Sends a request through a door. Its body has to be in memory. `agent` is how this process calls itself.
///
/// # Errors
/// What the gate says against it, and what went wrong on the way.
pub async fn through(door: &dyn Door, request: Request, agent: &'static str) -> Result<Response, Unsent> {
    let url = request.url().clone();
    let told = |problem| Unsent::Gate(problem, Some(Box::new(url.clone())));
    let answer = door.exchange(asked(&request, agent)).await.map_err(told)?;
    if let Some((_, reason)) = answer.headers.iter().find(|(name, _)| name == DENIED) {
        let reason = String::from_utf8_lossy(reason).into_owned();
        return Err(told(denied(&reason, answer.body).await));
    }
    let mut given = http::Response::new(reqwest::Body::wrap(Coming(Mutex::new(answer.body))));
    let odd = || told(Problem::new(Trouble::Protocol, "the answer's head cannot be read"));
    *given.status_mut() = http::StatusCode::from_u16(answer.status).map_err(|_| odd())?;
    for (name, value) in answer.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd())?;
        given.headers_mut().append(name, HeaderValue::from_bytes(&value).map_err(|_| odd())?);
    }
    Ok(given.into())
}

/// A request in the gate's words.
fn asked(request: &Request, agent: &'static str) -> NetworkRequest {
    let mut headers: Vec<_> = request
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
        .collect();
    if !request.headers().contains_key(USER_AGENT) {
        headers.push((USER_AGENT.as_str().to_owned(), agent.into()));
    }
    let body = request.body().and_then(reqwest::Body::as_bytes).map(Bytes::copy_from_slice);
    if let Some(body) = &body {
        headers.retain(|(name, _)| name != CONTENT_LENGTH.as_str());
        headers.push((CONTENT_LENGTH.as_str().to_owned(), body.len().to_string().into_bytes()));
    }
    let mut url = request.url().clone();
    url.set_fragment(None);
    NetworkRequest {
        method: request.method().as_str().to_owned(),
        url: url.into(),
        headers,
        body: body.map(|body| stream::iter([Ok(body)]).boxed()),
    }
}

/// What the gate tells of a refusal that is an answer.
async fn denied(reason: &str, mut body: Pieces) -> Problem {
    let mut bytes = Vec::new();
    while let Some(Ok(piece)) = body.next().await {
        if bytes.len() + piece.len() > MAX_TOLD {
            break;
        }
        bytes.extend_from_slice(&piece);
    }
    let told = serde_json::from_slice::<serde_json::Value>(&bytes).ok();
    let told = told.as_ref().and_then(|told| told["message"].as_str());
    let told = told.map_or_else(|| format!("the gate of the network refuses it ({reason})"), str::to_owned);
    // An answer that cannot be passed on was given, all others were not asked for.
    let trouble = if reason == "encoding" { Trouble::Protocol } else { Trouble::Denied };
    Problem::new(trouble, told)
}

/// A body as it comes. Clients want one that threads could share; nobody does.
struct Coming(Mutex<Pieces>);

impl Body for Coming {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let pieces = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        pieces.poll_next_unpin(cx).map(|piece| {
            piece.map(|piece| {
                piece.map(Frame::data).map_err(|problem| {
                    let kind = match problem.trouble {
                        Trouble::TimedOut => io::ErrorKind::TimedOut,
                        Trouble::Reset | Trouble::Closed => io::ErrorKind::ConnectionReset,
                        _ => io::ErrorKind::Other,
                    };
                    io::Error::new(kind, problem.text)
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dormouse_core::network::{NetworkAnswer, NetworkUse, Serve};
    use futures::future::BoxFuture;

    use super::*;

    /// Answers with what it was asked, in two pieces, and breaks then if the path says so.
    struct Echo;

    impl Door for Echo {
        fn open(&self, _: &str, _: u16) -> Result<Serve, Problem> {
            Err(Problem::none())
        }

        fn exchange(&self, request: NetworkRequest) -> BoxFuture<'static, Result<NetworkAnswer, Problem>> {
            Box::pin(async move {
                let NetworkRequest { method, url, headers, body } = request;
                let mut text = format!("{method} {url}\n");
                for (name, value) in headers {
                    text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(&value)));
                }
                let body: Vec<_> = body.unwrap_or_else(|| stream::empty().boxed()).collect().await;
                let mut pieces = vec![Ok(Bytes::from(text))];
                pieces.extend(body);
                let mut headers = vec![("content-type".to_owned(), b"text/plain".to_vec())];
                if url.ends_with("/broken") {
                    pieces.push(Err(Problem::new(Trouble::Reset, "it broke")));
                }
                if url.ends_with("/denied") {
                    headers.push((DENIED.into(), b"secret".to_vec()));
                    pieces = vec![Ok(Bytes::from(r#"{"message": "it may not go here"}"#))];
                }
                if url.ends_with("/refused") {
                    return Err(Problem::new(Trouble::Refused, "nobody is there"));
                }
                Ok(NetworkAnswer { status: 201, headers, body: stream::iter(pieces).boxed() })
            })
        }

        fn used(&self) -> NetworkUse {
            NetworkUse::default()
        }
    }

    async fn sent(path: &str) -> Result<Response, Unsent> {
        let door: Arc<dyn Door> = Arc::new(Echo);
        let client = crate::client(None).build().unwrap();
        let request = client.post(format!("https://a.test{path}")).header("x-own", "1").body("hello");
        through(&*door, request.build().unwrap(), "us/1").await
    }

    #[tokio::test]
    async fn a_request_and_its_answer_are_what_they_would_be() {
        let response = sent("/x?y=1#z").await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["content-type"]),
            (201, &"text/plain".parse().unwrap())
        );
        let text = response.text().await.unwrap();
        assert_eq!(text, "POST https://a.test/x?y=1\nx-own: 1\nuser-agent: us/1\ncontent-length: 5\nhello");
    }

    #[tokio::test]
    async fn what_the_gate_says_is_told_and_whether_anything_left() {
        let refused = sent("/refused").await.unwrap_err();
        assert!(refused.is_connect());
        let Unsent::Gate(problem, Some(url)) = sent("/denied").await.unwrap_err() else {
            panic!("no problem")
        };
        assert_eq!((problem.text.as_str(), url.host_str()), ("it may not go here", Some("a.test")));
        let broken = sent("/broken").await.unwrap().bytes().await.unwrap_err();
        assert!(!broken.is_connect());
    }
}
