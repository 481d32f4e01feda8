//! A client of the stdio server that sees bytes: it holds every line of the server's output to the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::binary::{self, Ran};
use crate::wait_for;

/// How long an answer may take unless a test says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A running server and the two ends of its pipes.
pub struct Wire {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    seen: Vec<Json>,
}

impl Wire {
    /// Starts `dormouse mcp` with further arguments, and says nothing yet.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// The same with environment variables.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = binary::command(&[&["mcp"], arguments].concat());
        command.envs(environment.iter().copied());
        Self::of(command)
    }

    /// The same in another folder than the tests'.
    pub fn start_in(folder: &std::path::Path, arguments: &[&str]) -> Self {
        let mut command = binary::command(&[&["mcp"], arguments].concat());
        command.current_dir(folder);
        Self::of(command)
    }

    /// Starts a server whose limits a shell command sets before, such as `ulimit -n 20`.
    pub fn start_after(shell: &str, arguments: &[&str]) -> Self {
        let program = binary::path();
        let program = program.to_str().expect("a path that is text");
        let script = format!("{shell}; exec \"$@\"");
        let words = [&["-c", &script, "sh", program, "mcp"], arguments].concat();
        Self::of(binary::started(std::path::Path::new("/bin/sh"), &words))
    }

    fn of(mut command: std::process::Command) -> Self {
        let mut child = command.spawn().expect("the server can be started");
        let stdout = child.stdout.take().expect("a pipe was asked for");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let stderr = binary::drain(child.stderr.take());
        Self { input: child.stdin.take(), child, lines, stderr, seen: Vec::new() }
    }

    /// Starts a server and shakes hands as clients of before 2026 do.
    pub fn greeted(arguments: &[&str]) -> Self {
        let mut wire = Self::start(arguments);
        wire.greet();
        wire
    }

    /// The handshake.
    pub fn greet(&mut self) -> Json {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "wire", "version": "0"}});
        let answer = self.ask(0, "initialize", hello);
        self.tell("notifications/initialized", json!({}));
        answer
    }

    /// The server's process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are. An error means that the server has gone, which the next read tells.
    pub fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        let _ = input.write_all(bytes).and_then(|()| input.flush());
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Json) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends a notification.
    pub fn tell(&mut self, method: &str, params: Json) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        message["params"] = params;
        self.send(&message);
    }

    /// Sends a request and returns its answer, `result` or `error` and all.
    pub fn ask(&mut self, id: i64, method: &str, params: Json) -> Json {
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        message["params"] = params;
        self.send(&message);
        self.answer(id)
    }

    /// Calls a tool with code that prints something first, and returns when it has: the code runs. Its answer is still to come.
    ///
    /// # Panics
    /// When nothing has been printed within [`PATIENCE`].
    #[track_caller]
    pub fn begin(&mut self, id: i64, tool: &str, arguments: &Json) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        let end = Instant::now() + PATIENCE;
        while let Some(message) = self.next(end.saturating_duration_since(Instant::now())) {
            let told = &message["params"];
            let is_progress = told["progressToken"] == id;
            let has_printed = told["message"].as_str().is_some_and(|text| {
                text.ends_with(" bytes of output") && !text.ends_with(", 0 bytes of output")
            });
            self.seen.push(message);
            if is_progress && has_printed {
                return;
            }
        }
        panic!("not within {PATIENCE:?}: output of call {id}; seen: {:?}", self.seen);
    }

    /// Waits until a sandbox, named by `handle`, is at rest: it has been saved, and no process has it.
    #[track_caller]
    pub fn wait_for_rest(&mut self, id: i64, handle: &Json) {
        wait_for("the sandbox is saved and at rest", PATIENCE, || {
            let told = self.call(id, "sandbox_get", handle.clone());
            if told["structuredContent"]["status"] == "warm" { Ok(()) } else { Err(told) }
        });
    }

    /// Calls a tool and returns its result.
    #[track_caller]
    pub fn call(&mut self, id: i64, tool: &str, arguments: Json) -> Json {
        let mut params = json!({"name": tool});
        params["arguments"] = arguments;
        let mut answer = self.ask(id, "tools/call", params);
        let result = answer["result"].take();
        assert!(result.is_object(), "`{tool}` has no result: {answer}");
        result
    }

    /// The answer to an earlier request. Notifications on the way are kept for [`Wire::notifications`].
    #[track_caller]
    pub fn answer(&mut self, id: i64) -> Json {
        let is_it = |message: &Json| message["id"] == id && message["method"].is_null();
        if let Some(at) = self.seen.iter().position(is_it) {
            return self.seen.remove(at);
        }
        let end = Instant::now() + PATIENCE;
        while let Some(message) = self.next(end.saturating_duration_since(Instant::now())) {
            if is_it(&message) {
                return message;
            }
            self.seen.push(message);
        }
        panic!("no answer to request {id}; seen: {:?}", self.seen);
    }

    /// The next message, or none when none comes in time or the server has gone.
    ///
    /// # Panics
    /// When a line is not a message of the protocol.
    #[track_caller]
    pub fn next(&mut self, patience: Duration) -> Option<Json> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Some(message(&line)),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Notifications of one method that came so far.
    pub fn notifications(&self, method: &str) -> Vec<&Json> {
        self.seen.iter().filter(|message| message["method"] == method).collect()
    }

    /// Asks for something that every server answers: it still serves.
    #[track_caller]
    pub fn still_serves(&mut self, id: i64) {
        let answer = self.ask(id, "tools/list", json!({}));
        assert!(answer["result"]["tools"].is_array(), "the server does not serve any more: {answer}");
    }

    /// Asks, and returns the answer's result if it comes before the server has gone.
    pub fn try_call(&mut self, id: i64, tool: &str, arguments: Json) -> Option<Json> {
        let mut call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
        call["params"]["arguments"] = arguments;
        self.send(&call);
        loop {
            // A line that the server's end has cut says nothing.
            let line = self.lines.recv_timeout(PATIENCE).ok().filter(|line| line.ends_with(b"\n"))?;
            let mut answer = message(&line);
            if answer["id"] == id && answer["method"].is_null() {
                return Some(answer["result"].take());
            }
        }
    }

    /// Ends the server at once, as `kill -9` does.
    pub fn kill(mut self) {
        self.child.kill().expect("the server can be killed");
        self.child.wait().expect("it ends");
    }

    /// Closes the server's input and waits for its end. What it still had to say is in the result.
    #[track_caller]
    pub fn end(mut self, patience: Duration) -> Ran {
        drop(self.input.take());
        self.wait(patience)
    }

    /// Waits for the server's end while its input stays open.
    #[track_caller]
    pub fn wait(mut self, patience: Duration) -> Ran {
        let status = binary::wait(&mut self.child, patience);
        let mut stdout = Vec::new();
        for line in self.lines.iter() {
            message(&line);
            stdout.extend(line);
        }
        Ran { status, stdout, stderr: self.stderr.join().expect("a reader does not panic") }
    }
}

/// One line of output as a message of the protocol.
#[track_caller]
fn message(line: &[u8]) -> Json {
    let shown = || String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
    assert_eq!(line.last(), Some(&b'\n'), "a line without its end: {:?}", shown());
    let message: Json =
        serde_json::from_slice(line).unwrap_or_else(|error| panic!("not JSON ({error}): {:?}", shown()));
    assert_eq!(message["jsonrpc"], "2.0", "not a message: {:?}", shown());
    let kinds = ["method", "result", "error"].iter().filter(|kind| !message[**kind].is_null()).count();
    assert_eq!(kinds, 1, "neither a request nor an answer: {:?}", shown());
    message
}
