//! One connection to the server, through either door. Several requests can be sent at once; they are answered in their order.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value as Json, json};

/// How long any answer may take before the connection counts as gone.
const PATIENCE: Duration = Duration::from_secs(90);

/// The server has gone, in the middle of what it was doing or before.
#[derive(Debug)]
pub(crate) struct Gone;

impl From<std::io::Error> for Gone {
    fn from(_: std::io::Error) -> Self {
        Self
    }
}

/// The way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The Model Context Protocol.
    Mcp,
    /// The REST routes.
    Rest,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// The tool's name.
    pub(crate) tool: &'static str,
    /// Its arguments.
    pub(crate) arguments: Json,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The tool's structured answer, or the error in its form.
    pub(crate) body: Json,
}

impl Answer {
    /// The stable code of a refusal or of a run that was stopped.
    pub(crate) fn code(&self) -> Option<&str> {
        self.body["error"]["code"].as_str()
    }

    /// The value of a snippet, as text.
    pub(crate) fn text(&self) -> Option<&str> {
        self.body["result"]["value"].as_str()
    }
}

/// A connection of one owner.
pub(crate) struct Connection {
    reader: BufReader<TcpStream>,
    authority: String,
    token: String,
    door: Door,
    /// Whether a file was neither given nor said not to be there.
    was_refused: bool,
}

impl Connection {
    /// Connects.
    pub(crate) fn open(authority: &str, token: &str, door: Door) -> Result<Self, Gone> {
        let stream = TcpStream::connect(authority)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let (authority, token) = (authority.to_owned(), token.to_owned());
        Ok(Self { reader: BufReader::new(stream), authority, token, door, was_refused: false })
    }

    /// Sends calls, all at once.
    pub(crate) fn send(&mut self, calls: &[Call]) -> Result<(), Gone> {
        let bytes: Vec<u8> = calls.iter().flat_map(|call| self.request(call)).collect();
        Ok(self.reader.get_mut().write_all(&bytes)?)
    }

    /// One call and its answer.
    pub(crate) fn ask(&mut self, call: &Call) -> Result<Answer, Gone> {
        self.send(std::slice::from_ref(call))?;
        self.answer()
    }

    /// The next answer.
    pub(crate) fn answer(&mut self) -> Result<Answer, Gone> {
        let (status, body) = self.response()?;
        let mut body: Json = serde_json::from_slice(&body).unwrap_or_default();
        if self.door == Door::Mcp && status == 200 {
            let result = &mut body["result"];
            if !result.is_object() {
                return Ok(Answer { body: json!({"error": {"code": "protocol", "message": body}}) });
            }
            return Ok(Answer { body: result["structuredContent"].take() });
        }
        if !body.is_object() {
            body = json!({"error": {"code": format!("status {status}")}});
        }
        Ok(Answer { body })
    }

    /// The bytes of a file, or none where there is none. A connection of the REST routes only.
    pub(crate) fn file(&mut self, sandbox: &str, path: &str) -> Result<Option<Vec<u8>>, Gone> {
        let target = format!("/api/sandboxes/{sandbox}/files/content?path={path}");
        let bytes = self.http("GET", &target, &[], b"");
        self.reader.get_mut().write_all(&bytes)?;
        let (status, body) = self.response()?;
        self.was_refused |= !matches!(status, 200 | 404);
        Ok((status == 200).then_some(body))
    }

    /// Whether a file was neither given nor said not to be there since this was asked last.
    pub(crate) fn was_refused(&mut self) -> bool {
        std::mem::take(&mut self.was_refused)
    }

    /// Uploads a file, and says whether it is there. A connection of the REST routes only.
    pub(crate) fn put(&mut self, sandbox: &str, path: &str, content: &[u8]) -> Result<Answer, Gone> {
        let target = format!("/api/sandboxes/{sandbox}/files/content?path={path}");
        let bytes = self.http("PUT", &target, &[("Content-Type", "application/octet-stream")], content);
        self.reader.get_mut().write_all(&bytes)?;
        self.answer()
    }

    fn request(&self, call: &Call) -> Vec<u8> {
        let json = ("Content-Type", "application/json");
        if self.door == Door::Mcp {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "torture", "version": "0"},
            });
            let params = json!({"name": call.tool, "arguments": call.arguments, "_meta": meta});
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let headers = [
                json,
                ("Accept", "application/json, text/event-stream"),
                ("MCP-Protocol-Version", "2026-07-28"),
                ("Mcp-Method", "tools/call"),
                ("Mcp-Name", call.tool),
            ];
            return self.http("POST", "/mcp", &headers, message.to_string().as_bytes());
        }
        let mut body = call.arguments.clone();
        let sandbox = body.as_object_mut().and_then(|body| body.remove("sandbox"));
        let sandbox = sandbox.as_ref().and_then(Json::as_str).unwrap_or_default();
        let own = format!("/api/sandboxes/{sandbox}");
        let (method, target) = match call.tool {
            "sandbox_create" => ("POST", "/api/sandboxes".to_owned()),
            "sandbox_list" => ("GET", "/api/sandboxes?limit=200".to_owned()),
            "sandbox_destroy" => ("DELETE", own),
            "sandbox_checkpoint" => ("POST", format!("{own}/checkpoints")),
            "sandbox_remove_checkpoint" => {
                let id = call.arguments["checkpoint_id"].as_str().unwrap_or_default();
                ("DELETE", format!("{own}/checkpoints/{id}"))
            }
            "sandbox_write" => ("POST", format!("{own}/files/write")),
            tool => ("POST", format!("{own}/{}", tool.trim_start_matches("sandbox_"))),
        };
        match method {
            "POST" => self.http(method, &target, &[json], body.to_string().as_bytes()),
            _ => self.http(method, &target, &[], b""),
        }
    }

    fn http(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let Self { authority, token, .. } = self;
        let length = body.len();
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n"
        );
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", body].concat()
    }

    /// The status and the body of the next response.
    fn response(&mut self) -> Result<(u16, Vec<u8>), Gone> {
        let status = self.line()?.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(Gone)?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?.to_ascii_lowercase();
            match line.split_once(':') {
                None => break,
                Some(("content-length", value)) => length = value.trim().parse().map_err(|_| Gone)?,
                Some(("transfer-encoding", _)) => is_chunked = true,
                Some(_) => {}
            }
        }
        if !is_chunked {
            return Ok((status, self.take(length)?));
        }
        let mut body = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16).map_err(|_| Gone)?;
            body.extend(self.take(length)?);
            self.line()?;
            if length == 0 {
                return Ok((status, body));
            }
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>, Gone> {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn line(&mut self) -> Result<String, Gone> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        if line.is_empty() {
            return Err(Gone);
        }
        Ok(line.trim_end().to_owned())
    }
}
