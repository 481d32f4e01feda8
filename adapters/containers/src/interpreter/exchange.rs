//! One request, and all that comes until its answer: output, calls of the host's functions, perhaps the end.

use dormouse_core::{Bounds, Callbacks, EvalRequest, Result};
use serde::Serialize;
use serde_json::json;

use super::capture::Capture;
use super::clock::Clock;
use super::tools::Tools;
use super::wire::{self, Ended, Message, Part};
use super::{Interpreter, SLACK};

/// Bytes of standard input in one message.
const INPUT: usize = 1 << 20;

/// What an interpreter is asked.
pub(super) struct Asked {
    kind: u8,
    payload: serde_json::Value,
    /// Standard input.
    input: Vec<u8>,
    /// Largest answer, in bytes.
    most: usize,
}

/// What it answers.
pub(super) enum Answer {
    Returned(String),
    Raised(String),
    /// It raised what ends its process as well.
    Fatal(String),
    Exited(i32),
    Listed(String),
    Saved(Vec<u8>),
    Done,
    Refused(String),
    Ended(Ended),
}

#[derive(Serialize)]
struct Run<'a> {
    code: &'a str,
    name: &'a str,
    bounds: &'a Bounds,
    environment: Option<Vec<[&'a str; 2]>>,
    arguments: Option<Vec<&'a str>>,
    directory: Option<&'a str>,
}

fn answer_size(bounds: &Bounds) -> usize {
    bounds.total_bytes as usize + SLACK
}

impl Asked {
    fn eval(request: &EvalRequest, code: &str, input: &[u8]) -> Result<Self> {
        let grants = &request.context.grants;
        let environment = grants.environment.iter().map(|(name, value)| [name.as_str(), value.as_str()]);
        let program = grants.program.as_deref().unwrap_or(&request.name);
        let refresh = !grants.arguments.is_empty() || grants.program.is_some();
        let arguments = std::iter::once(program).chain(grants.arguments.iter().map(String::as_str));
        let run = Run {
            code,
            name: &request.name,
            bounds: &request.context.bounds,
            environment: (!grants.environment.is_empty()).then(|| environment.collect()),
            arguments: refresh.then(|| arguments.collect()),
            directory: grants.directory.as_ref().map(|path| path.as_str()),
        };
        let payload = serde_json::to_value(run).map_err(|error| wire::broken("a request", error))?;
        let most = answer_size(&request.context.bounds).max(Callbacks::MAX_BYTES + SLACK);
        Ok(Self { kind: b'E', payload, input: input.to_vec(), most })
    }

    pub(super) fn get(name: &str, query: Option<&str>, bounds: &Bounds) -> Self {
        let payload = json!({"name": name, "query": query, "bounds": bounds});
        Self { kind: b'G', payload, input: Vec::new(), most: answer_size(bounds) }
    }

    pub(super) fn set(name: &str, json: &str) -> Self {
        let payload = json!({"name": name, "json": json});
        Self { kind: b'S', payload, input: Vec::new(), most: SLACK }
    }

    pub(super) fn variables(bounds: &Bounds) -> Self {
        Self { kind: b'V', payload: json!({"bounds": bounds}), input: Vec::new(), most: answer_size(bounds) }
    }

    pub(super) fn reset() -> Self {
        Self { kind: b'Z', payload: json!({}), input: Vec::new(), most: SLACK }
    }

    pub(super) fn save(most: usize, seconds: f64) -> Self {
        let payload = json!({"bytes": most, "seconds": seconds});
        Self { kind: b'P', payload, input: Vec::new(), most: most + SLACK }
    }

    pub(super) fn load(saved: &[u8], directory: &str) -> Self {
        Self { kind: b'L', payload: json!({"directory": directory}), input: saved.to_vec(), most: SLACK }
    }

    fn bytes(&self, id: u32) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for part in self.input.chunks(INPUT) {
            wire::write(&mut bytes, b'I', id, part)?;
        }
        let payload = serde_json::to_vec(&self.payload).map_err(|error| wire::broken("a request", error))?;
        wire::write(&mut bytes, self.kind, id, &payload)?;
        Ok(bytes)
    }
}

impl Interpreter {
    /// Runs a snippet, after the callbacks that do not have their names in the language yet have got them.
    pub(super) async fn run(
        &mut self,
        request: &EvalRequest,
        clock: &Clock,
        capture: &mut Capture,
    ) -> Result<Answer> {
        let mut tools = Tools::new(&request.context.callbacks, clock);
        for (name, source) in request.context.callbacks.bindings(&request.language) {
            if self.bound.contains(name) {
                continue;
            }
            let asked = Asked::eval(request, source, &[])?;
            if let ended @ Answer::Ended(_) = self.exchange(asked, capture, Some(&mut tools)).await? {
                return Ok(ended);
            }
            self.bound.insert(name.to_owned());
        }
        let asked = Asked::eval(request, &request.code, &request.context.grants.stdin)?;
        self.exchange(asked, capture, Some(&mut tools)).await
    }

    /// A request that offers no functions.
    pub(super) async fn ask(&mut self, asked: Asked, capture: &mut Capture) -> Result<Answer> {
        self.exchange(asked, capture, None).await
    }

    async fn exchange(
        &mut self,
        asked: Asked,
        capture: &mut Capture,
        mut tools: Option<&mut Tools<'_>>,
    ) -> Result<Answer> {
        self.last = self.last.wrapping_add(1).max(1);
        let id = self.last;
        let bytes = asked.bytes(id)?;
        let message = {
            let sending = self.sender.send(&bytes);
            let mut sending = std::pin::pin!(sending);
            let mut sent = false;
            // Both ways at a time: the interpreter may write before it has read all.
            let early = loop {
                tokio::select! {
                    // An interpreter that reads no more is told by what it says last.
                    _ = &mut sending, if !sent => sent = true,
                    part = self.receiver.next(asked.most) => match part? {
                        Part::Output(stream, bytes) => capture.add(stream, &bytes),
                        Part::Ended(ended) => return Ok(Answer::Ended(ended)),
                        Part::Message(message) => break message,
                    },
                }
            };
            if !sent {
                let _ = sending.await;
            }
            early
        };
        let mut message = message;
        loop {
            if message.id != id {
                return Err(wire::refused("an answer to another request"));
            }
            match (&mut tools, message.kind) {
                (Some(tools), b'C') => {
                    let answer = call(tools, &message.payload).await?;
                    let mut bytes = Vec::new();
                    wire::write(&mut bytes, b'A', id, &answer)?;
                    // An interpreter that reads no more is told by what it says last.
                    let _ = self.sender.send(&bytes).await;
                }
                _ => return answer(message),
            }
            message = loop {
                match self.receiver.next(asked.most).await? {
                    Part::Output(stream, bytes) => capture.add(stream, &bytes),
                    Part::Ended(ended) => return Ok(Answer::Ended(ended)),
                    Part::Message(message) => break message,
                }
            };
        }
    }
}

/// `u16` length of the name, the name, the arguments; the answer is a byte that is 1 for success, and a text.
async fn call(tools: &mut Tools<'_>, payload: &[u8]) -> Result<Vec<u8>> {
    let wrong = || wire::refused("a call of an unknown form");
    let (length, rest) = payload.split_first_chunk::<2>().ok_or_else(wrong)?;
    let (name, arguments) =
        rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or_else(wrong)?;
    let name = std::str::from_utf8(name).map_err(|_| wrong())?;
    let arguments = std::str::from_utf8(arguments).map_err(|_| wrong())?;
    let (done, text) = match tools.call(name, arguments).await {
        Ok(text) => (1, text),
        Err(text) => (0, text),
    };
    let mut answer = vec![done];
    answer.extend_from_slice(text.as_bytes());
    Ok(answer)
}

fn answer(message: Message) -> Result<Answer> {
    if message.kind == b'P' {
        return Ok(Answer::Saved(message.payload));
    }
    let text = String::from_utf8(message.payload).map_err(|_| wire::refused("text that is not UTF-8"))?;
    match message.kind {
        b'R' => Ok(Answer::Returned(text)),
        b'X' => Ok(Answer::Raised(text)),
        b'F' => Ok(Answer::Fatal(text)),
        b'Q' => text.parse().map(Answer::Exited).map_err(|_| wire::refused("a status that is no number")),
        b'V' => Ok(Answer::Listed(text)),
        b'K' => Ok(Answer::Done),
        b'N' => Ok(Answer::Refused(text)),
        _ => Err(wire::refused("a message of an unknown kind")),
    }
}
