"""What clients of packages speak with: HTTP and HTTPS on ports of this machine, which are printed as JSON.

`server.py CERTIFICATE KEY`. It ends with its standard input.
"""

import base64
import gzip
import hashlib
import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

MESSAGE = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "four"}],
           "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
COMPLETION = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
              "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "four"}}]}


def pieces_of_a_completion():
    for word in ("fo", "ur"):
        yield {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": word}}]}


def pieces_of_a_message():
    yield {"type": "message_start", "message": {**MESSAGE, "content": []}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    for word in ("fo", "ur"):
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def read_body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def tell(self, value):
        self.answer(json.dumps(value).encode(), Content_Type="application/json")

    def stream(self, pieces):
        """Events, with a pause between them."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            text = piece if isinstance(piece, str) else json.dumps(piece)
            name = f"event: {piece['type']}\n" if isinstance(piece, dict) and "type" in piece else ""
            data = f"{name}data: {text}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            time.sleep(0.01)
        self.wfile.write(b"0\r\n\r\n")

    def read_frame(self):
        """The kind of a short frame of a WebSocket, and what is in it."""
        first, length = self.rfile.read(2)
        mask, data = self.rfile.read(4), self.rfile.read(length & 127)
        return first & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))

    def repeat(self):
        """A WebSocket that says again what it is told."""
        key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        kind = 1
        while kind != 8:
            kind, data = self.read_frame()
            self.wfile.write(bytes([128 | kind, len(data)]) + data)
        self.close_connection = True

    def serve(self):
        body = self.read_body()
        where = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(where.query).items()}
        match where.path:
            case "/late":
                time.sleep(float(asked["seconds"]))
                self.answer(b"late")
            case "/events":
                self.stream(str(number) for number in range(5))
            case "/big":
                self.answer(b"x" * int(asked["bytes"]))
            case "/zipped":
                self.answer(gzip.compress(b"hello " * 100), Content_Encoding="gzip")
            case "/elsewhere":
                self.answer(b"", 302, Location="/echo?from=elsewhere")
            case "/cookie":
                self.answer(b"", Set_Cookie="a=1; Path=/")
            case "/repeat":
                self.repeat()
            case "/v1/chat/completions":
                streamed = json.loads(body).get("stream")
                self.stream([*pieces_of_a_completion(), "[DONE]"]) if streamed else self.tell(COMPLETION)
            case "/v1/messages":
                streamed = json.loads(body).get("stream")
                self.stream(pieces_of_a_message()) if streamed else self.tell(MESSAGE)
            case _:
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.tell({"method": self.command, "path": self.path, "headers": headers, "body": body.decode("latin-1")})

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = serve


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Clients go when they like."""


def start(context=None):
    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        # The handshake is the connection's own thread's, at its first byte.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    print(json.dumps({"HTTP": start(), "HTTPS": start(context)}), flush=True)
    sys.stdin.read()


main()
