"""The MCP server of the test image `dormouse-test/mcp:1`: the legacy HTTP+SSE transport, Python's standard library alone.

GET /sse opens a session: the first event is `endpoint`, the others carry what the server says. POST /messages takes what
the client says. Everything that a client can fill is bounded. Nothing but /workspace and /tmp is written, so that it runs
as an ordinary user over a read-only root.
"""

import json
import os
import queue
import secrets
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import tools

PORT = int(os.environ.get("MCP_PORT", "8080"))
# The versions of the protocol that have this transport, or do not mind it.
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18")
MAX_BODY = 4 << 20
MAX_SESSIONS = 256
MAX_QUEUED = 256
# Seconds between comments that keep an idle stream open.
BEAT = 5

SESSIONS = {}
LOCK = threading.Lock()


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Session:
    """One stream of events, and the calls that run for it."""

    def __init__(self):
        self.id = secrets.token_hex(16)
        self.events = queue.Queue(MAX_QUEUED)
        self.calls = {}

    def say(self, message):
        try:
            self.events.put_nowait(json.dumps({"jsonrpc": "2.0", **message}))
        except queue.Full:
            print("session", self.id, "does not read; a message is dropped", file=sys.stderr, flush=True)

    def hear(self, message):
        """Takes one message of the client; a request is served in a thread of its own."""
        method = message.get("method")
        if method == "notifications/cancelled":
            call = self.calls.get((message.get("params") or {}).get("requestId"))
            if call is not None:
                call.cancel()
        elif method is not None and "id" in message:
            threading.Thread(target=self.serve, args=(message,), daemon=True).start()

    def serve(self, message):
        number = message["id"]
        try:
            result = self.answer(number, message["method"], message.get("params") or {})
        except Refused as refused:
            self.say({"id": number, "error": {"code": refused.code, "message": str(refused)}})
        except Exception as error:  # the client has to hear of it
            self.say({"id": number, "error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}})
        else:
            if result is not None:
                self.say({"id": number, "result": result})

    def answer(self, number, method, params):
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "dormouse-test-mcp", "version": "1"},
                "instructions": "Files are below /workspace.",
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": [tool.described() for tool in tools.ALL.values()]}
        if method == "tools/call":
            return self.call(number, params)
        raise Refused(-32601, f"no method `{method}`")

    def call(self, number, params):
        tool = tools.ALL.get(params.get("name"))
        if tool is None:
            raise Refused(-32602, f"no tool `{params.get('name')}`")
        token = (params.get("_meta") or {}).get("progressToken")

        def progress(seconds, text):
            if token is not None:
                told = {"progressToken": token, "progress": seconds, "message": text}
                self.say({"method": "notifications/progress", "params": told})

        call = tools.Call(progress)
        self.calls[number] = call
        try:
            result = tool.run(call, params.get("arguments") or {})
        finally:
            self.calls.pop(number, None)
        # A cancelled request gets no answer.
        return None if call.cancelled.is_set() else result

    def close(self):
        for call in list(self.calls.values()):
            call.cancel()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A client that does not send what it announced.
    timeout = 60

    def log_message(self, *_):
        pass

    def refuse(self, status, text):
        body = (text + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def do_GET(self):
        if urlsplit(self.path).path != "/sse":
            return self.refuse(404, "the stream is at /sse")
        session = Session()
        with LOCK:
            if len(SESSIONS) >= MAX_SESSIONS:
                return self.refuse(503, f"there are {MAX_SESSIONS} sessions already")
            SESSIONS[session.id] = session
        try:
            self.stream(session)
        except OSError:
            pass  # the client has gone
        finally:
            with LOCK:
                SESSIONS.pop(session.id, None)
            session.close()

    def stream(self, session):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self.event("endpoint", f"/messages?session_id={session.id}")
        while True:
            try:
                self.event("message", session.events.get(timeout=BEAT))
            except queue.Empty:
                self.wfile.write(b": still here\n\n")
                self.wfile.flush()

    def event(self, name, data):
        self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
        self.wfile.flush()

    def do_POST(self):
        url = urlsplit(self.path)
        if url.path != "/messages":
            return self.refuse(404, "messages go to /messages")
        session = SESSIONS.get(parse_qs(url.query).get("session_id", [""])[0])
        if session is None:
            return self.refuse(404, "no such session")
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            return self.refuse(411, "a length is needed")
        if int(length) > MAX_BODY:
            return self.refuse(413, f"a message has at most {MAX_BODY} bytes")
        try:
            heard = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return self.refuse(400, "this is no JSON")
        for message in heard if isinstance(heard, list) else [heard]:
            if not isinstance(message, dict):
                return self.refuse(400, "a message is an object")
            session.hear(message)
        body = b"Accepted"
        self.send_response(202)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


def main():
    # Process 1 has no default handlers: without this, `docker stop` waits for its whole grace period.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    with Server(("0.0.0.0", PORT), Handler) as server:
        print(f"listening on {PORT}", file=sys.stderr, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
