//! Requests over one stream each way: who waits for which answer. Answers that nobody waits for are dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dormouse_core::{Error, ErrorCode, Result};
use serde_json::Value as Json;
use tokio::sync::{mpsc, oneshot};

use super::wire::{self, Answered, Failed, Incoming, Request, closed, unavailable};

/// Messages that wait to be sent.
const OUTBOX: usize = 64;
/// Requests that may wait for an answer at a time.
const MAX_WAITING: usize = 1_024;
/// What a server says whose tools are others now.
const CHANGED: &str = "notifications/tools/list_changed";

/// Who waits.
#[derive(Default)]
pub(super) struct Waiting {
    requests: HashMap<u64, (Request, oneshot::Sender<Answered>)>,
    /// Why there will be no more answers.
    end: Option<String>,
    /// Whether the list of tools is said to have changed.
    changed: bool,
}

/// The two streams' desk. The transport's tasks feed it and empty its outbox.
#[derive(Clone)]
pub(super) struct Desk {
    waiting: Arc<Mutex<Waiting>>,
    outbox: mpsc::Sender<Json>,
}

/// Ends a request's wait when it is dropped; tells the server, unless the answer has come.
struct Stay<'a> {
    desk: &'a Desk,
    id: u64,
}

impl Drop for Stay<'_> {
    fn drop(&mut self) {
        let waited = self.desk.lock().requests.remove(&self.id);
        // A greeting is not to be cancelled.
        let tells = waited.is_some_and(|(request, _)| request.method != "initialize");
        if tells && self.desk.outbox.try_send(wire::cancelled(self.id)).is_err() {
            tracing::debug!("a cancelled request could not be told to its server");
        }
    }
}

impl Desk {
    pub(super) fn new() -> (Self, mpsc::Receiver<Json>) {
        let (outbox, messages) = mpsc::channel(OUTBOX);
        (Self { waiting: Arc::default(), outbox }, messages)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for its answer.
    pub(super) async fn ask(&self, request: Request) -> Answered {
        let (id, body) = (request.id, request.body());
        let (sender, answer) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if let Some(end) = &waiting.end {
                return Err(unavailable(end.clone()).into());
            }
            if waiting.requests.len() >= MAX_WAITING {
                return Err(Error::new(ErrorCode::Busy, "too many calls wait for the MCP server").into());
            }
            waiting.requests.insert(id, (request, sender));
        }
        let _stay = Stay { desk: self, id };
        self.tell(body).await?;
        match answer.await {
            Ok(answered) => answered,
            Err(_) => Err(closed().into()),
        }
    }

    /// Sends a message that has no answer.
    pub(super) async fn tell(&self, message: Json) -> Result<(), Failed> {
        self.outbox.send(message).await.map_err(|_| {
            let end = self.lock().end.clone();
            end.map_or_else(closed, unavailable).into()
        })
    }

    /// Takes what came in.
    pub(super) fn hear(&self, incoming: Incoming) {
        match incoming {
            Incoming::Answer { id, answered } => match self.lock().requests.remove(&id) {
                Some((_, waiter)) => drop(waiter.send(answered)),
                None => tracing::debug!(id, "an answer that nobody waits for"),
            },
            Incoming::Asked { id, method } => {
                // A server that asks faster than we can send is not answered.
                let _ = self.outbox.try_send(wire::reply(&id, &method));
            }
            Incoming::Told { method, .. } if method == CHANGED => self.lock().changed = true,
            Incoming::Told { method, params } => {
                let request = params["progressToken"]
                    .as_u64()
                    .and_then(|id| self.lock().requests.get(&id).map(|(request, _)| request.clone()));
                if let Some(request) = request {
                    request.hear(&method, &params);
                }
            }
        }
    }

    /// Whether there may be further answers.
    pub(super) fn is_open(&self) -> bool {
        self.lock().end.is_none()
    }

    /// Whether the list of tools was said to have changed since this was asked last.
    pub(super) fn has_changed(&self) -> bool {
        std::mem::take(&mut self.lock().changed)
    }

    /// There are no more answers: whoever waits is told.
    pub(super) fn end(&self, why: &Error) {
        let mut waiting = self.lock();
        waiting.end.get_or_insert_with(|| why.message().to_owned());
        let code = why.code();
        for (_, (_, waiter)) in waiting.requests.drain() {
            let _ = waiter.send(Err(Error::new(code, why.message()).into()));
        }
    }
}
