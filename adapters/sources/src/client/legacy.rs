//! HTTP+SSE, the transport of the first revision: one stream of events, and an address for messages, which its first
//! event tells. The address must be of the same origin.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use dormouse_core::Result;
use reqwest::{Response, Url};
use serde_json::Value as Json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::duplex::Desk;
use super::http::{self, Place};
use super::sse::{Event, Parser};
use super::wire::{self, Answered, Failed, Request, closed, too_long, unavailable};
use super::{Era, Link};

/// Time until the stream has begun and told the address.
const BEGIN: Duration = Duration::from_secs(10);
/// Time for one message to be taken.
const POST: Duration = Duration::from_secs(30);

/// An open stream.
pub(super) struct Legacy {
    desk: Desk,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// The stream, as it is read.
struct Reader {
    response: Response,
    parser: Parser,
    events: std::collections::VecDeque<Event>,
}

impl Reader {
    /// The next event; none at the end.
    async fn next(&mut self) -> Result<Option<Event>, Failed> {
        let mut found = Vec::new();
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let Some(piece) = self.response.chunk().await.map_err(http::broken)? else { return Ok(None) };
            self.parser.feed(&piece, &mut found).map_err(|_| too_long())?;
            self.events.extend(found.drain(..));
        }
    }

    async fn endpoint(&mut self, stream: &Url) -> Result<Url, Failed> {
        while let Some(event) = self.next().await? {
            if event.kind == "endpoint" {
                let told = String::from_utf8(event.data).ok().and_then(|path| stream.join(path.trim()).ok());
                return match told {
                    Some(url) if url.origin() == stream.origin() => Ok(url),
                    _ => {
                        Err(unavailable("the MCP server wants its messages at another place than its own")
                            .into())
                    }
                };
            }
        }
        Err(unavailable("the MCP server's stream ended before it told where messages go").into())
    }
}

impl Legacy {
    /// Opens the stream.
    pub(super) async fn open(place: Place) -> Result<Self, Failed> {
        let begun = tokio::time::timeout(BEGIN, async {
            let response = http::send(&place, place.get(&place.url)).await?;
            if !http::is(&response, "text/event-stream") {
                return Err(unavailable("the MCP server's address gives no stream of events").into());
            }
            let mut reader = Reader { response, parser: Parser::default(), events: Default::default() };
            let post = reader.endpoint(&place.url).await?;
            Ok::<_, Failed>((reader, post))
        });
        let (mut reader, post) = begun.await.map_err(|_| http::late(BEGIN))??;
        let (desk, outbox) = Desk::new();
        let heard = desk.clone();
        let reading = tokio::spawn(async move {
            let end = loop {
                match reader.next().await {
                    Ok(Some(event)) if matches!(event.kind.as_str(), "" | "message") => {
                        wire::read(&event.data)
                            .unwrap_or_default()
                            .into_iter()
                            .for_each(|one| heard.hear(one));
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break unavailable("the MCP server ended its stream"),
                    Err(failed) => break failed.into_error(),
                }
            };
            heard.end(&end);
        });
        let sending = tokio::spawn(send_all(place, post, desk.clone(), outbox));
        Ok(Self { desk, tasks: Mutex::new(vec![reading, sending]) })
    }

    fn stop(&self) {
        let mut tasks = self.tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tasks.drain(..).for_each(|task| task.abort());
    }
}

impl Drop for Legacy {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Posts messages one after another: their order is that of the calls.
async fn send_all(place: Place, post: Url, desk: Desk, mut outbox: mpsc::Receiver<Json>) {
    while let Some(message) = outbox.recv().await {
        let sent = tokio::time::timeout(POST, http::send(&place, place.post(&post, &message))).await;
        let failed = match sent {
            Ok(Ok(_)) => continue,
            Ok(Err(failed)) => failed,
            Err(_) => http::late(POST).into(),
        };
        match message["id"].as_u64().filter(|_| message.get("method").is_some()) {
            Some(id) => desk.hear(wire::Incoming::Answer { id, answered: Err(failed) }),
            None => tracing::debug!(error = %failed.into_error(), "a notification was not taken"),
        }
    }
}

#[async_trait]
impl Link for Legacy {
    fn agree(&self, _: Era) {}

    async fn request(&self, request: Request) -> Answered {
        self.desk.ask(request).await
    }

    async fn notify(&self, message: Json) -> Result<(), Failed> {
        self.desk.tell(message).await
    }

    async fn close(&self) -> Result<()> {
        self.desk.end(&closed());
        self.stop();
        Ok(())
    }

    fn is_open(&self) -> bool {
        self.desk.is_open()
    }

    fn has_changed(&self) -> bool {
        self.desk.has_changed()
    }
}
