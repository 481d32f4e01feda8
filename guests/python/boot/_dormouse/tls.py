"""What stands where TLS would be. The host speaks it, and checks certificates whatever a program sets; a program says whom it means, and
what it then writes and reads is in the open.

So a handshake is one line each way (docs/decisions/network.md): the byte 0x16 and JSON, `{"name": "api.example.com", "alpn":
["http/1.1"]}`, and the same with `alpn`, or with `error` and `message`.
"""

import ipaddress
import json
import weakref

import _socket
from _dormouse import network

_GREETING = b"\x16"
# The longest line that is read, in bytes.
_LONGEST = 16 << 10

SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_EOF = 1, 2, 3, 8


class SSLError(OSError):
    """An error of TLS."""

    library = reason = None

    def __str__(self):
        return self.strerror if isinstance(self.strerror, str) else str(self.args)


class SSLZeroReturnError(SSLError):
    """The connection was closed."""


class SSLWantReadError(SSLError):
    """There is nothing to read yet."""


class SSLWantWriteError(SSLError):
    """Nothing can be written yet."""


class SSLSyscallError(SSLError):
    """The system refused."""


class SSLEOFError(SSLError):
    """The connection was cut off."""


class SSLCertVerificationError(SSLError, ValueError):
    """A certificate is not what it should be."""


for _kind in (SSLError, SSLZeroReturnError, SSLWantReadError, SSLWantWriteError, SSLSyscallError, SSLEOFError, SSLCertVerificationError):
    _kind.__module__ = "ssl"

# The host's reasons, by the words of its connections. All others are those of rules: the sandbox may not connect there.
_TROUBLES = {
    "unknown_name": "unknown-name", "refused": "refused", "reset": "reset", "cancelled": "reset", "timed_out": "timed-out",
    "encoding": "protocol", "form": "protocol", "requests": "exhausted", "connections": "exhausted", "bytes_out": "exhausted",
    "bytes_in": "exhausted",
}


def _tls_error(kind, number, reason, text):
    error = kind(number, f"[SSL: {reason}] {text}")
    error.library, error.reason = "SSL", reason
    return error


def _untrusted(text):
    error = _tls_error(SSLCertVerificationError, SSL_ERROR_SSL, "CERTIFICATE_VERIFY_FAILED", f"certificate verify failed: {text}")
    # Of OpenSSL's numbers, the one that says nothing more.
    error.verify_code, error.verify_message = 1, text
    return error


def _want_read():
    return SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)")


class OnSocket:
    """Bytes over a socket, which holds this."""

    def __init__(self, sock):
        self._sock = weakref.ref(sock)

    def sock(self):
        sock = self._sock()
        if sock is None:
            raise SSLError(SSL_ERROR_SSL, "Underlying socket connection gone")
        return sock

    def receive(self, most):
        try:
            return _socket.socket.recv(self.sock(), most)
        except BlockingIOError:
            raise _want_read() from None
        except TimeoutError as error:
            raise error if error.errno else TimeoutError("The read operation timed out") from None

    def send(self, data):
        try:
            return _socket.socket.send(self.sock(), data)
        except BlockingIOError:
            raise SSLWantWriteError(SSL_ERROR_WANT_WRITE, "The operation did not complete (write)") from None
        except TimeoutError as error:
            raise error if error.errno else TimeoutError("The write operation timed out") from None

    def name(self):
        """Whom the socket is connected to."""
        return getattr(network.end_of(self.sock().fileno()), "name", None)

    def failure(self, error):
        return error


class OnBuffers:
    """Bytes in two buffers of memory."""

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing

    def sock(self):
        return None

    def receive(self, most):
        data = self._incoming.read(most)
        if data or self._incoming.eof:
            return data
        raise _want_read()

    def send(self, data):
        return self._outgoing.write(data)

    def name(self):
        """Nobody has said whom the bytes go to."""
        return None

    def failure(self, error):
        """The same as an error of TLS too: who does TLS between two buffers waits for no other."""
        kind = type(error)
        return type(kind.__name__, (SSLError, kind), {"__module__": kind.__module__})(*error.args)


class SSLSocket:
    """A connection that the host secures."""

    def __init__(self, context, below, server_side, server_hostname):
        if server_side:
            raise SSLError(SSL_ERROR_SSL, "nothing can connect to this sandbox, so it is no server of TLS")
        self.context, self.server_side, self.server_hostname = context, server_side, server_hostname
        self.session, self.session_reused = None, False
        # What is left to send of the greeting, what has come and was not read, and the host's answer.
        self._below, self._greeting, self._ahead, self._answer = below, None, b"", None

    def do_handshake(self):
        """Does the SSL handshake: says who is meant, and reads what the host says to it."""
        if self._answer is not None:
            return
        if self._greeting is None:
            self._greeting = self._begin()
        while self._greeting:
            self._greeting = self._greeting[self._below.send(self._greeting):]
        while b"\n" not in self._ahead:
            more = self._below.receive(4096)
            if not more:
                raise SSLEOFError(SSL_ERROR_EOF, "EOF occurred in violation of protocol")
            self._ahead += more
            if not self._ahead.startswith(_GREETING) or len(self._ahead) > _LONGEST:
                raise _no_answer()
        line, _, self._ahead = self._ahead.partition(b"\n")
        self._answer = self._read(line[1:])

    def _begin(self):
        if self.context._settings["certificate"]:
            raise SSLError(SSL_ERROR_SSL, "a certificate of the client's cannot be shown: the host speaks TLS for this sandbox")
        name = self.server_hostname or self._below.name()
        if not name:
            raise SSLError(SSL_ERROR_SSL, "`server_hostname` is missing: the host checks that the server is the one that is meant")
        return _GREETING + json.dumps({"name": name, "alpn": self.context._settings["alpn"]}).encode() + b"\n"

    def _read(self, line):
        try:
            answer = json.loads(line)
            problem, text, spoken = answer.get("error"), str(answer.get("message", "")), answer.get("alpn")
        except (ValueError, AttributeError):
            raise _no_answer() from None
        if problem == "untrusted":
            raise _untrusted(text)
        if problem is not None:
            raise self._below.failure(network.error_of(_TROUBLES.get(problem, "denied"), text))
        # A server of bytes alone might give the greeting back.
        if "name" in answer or spoken is not None and spoken not in self.context._settings["alpn"]:
            raise _no_answer()
        return answer

    def read(self, size=1024, buffer=None, /):
        """Read up to size bytes."""
        self.do_handshake()
        if buffer is None:
            if size < 0:
                raise ValueError("size should not be negative")
            return self._take(size) if size else b""
        with memoryview(buffer) as view, view.cast("B") as octets:
            most = size if 0 < size < len(octets) else len(octets)
            data = self._take(most) if most else b""
            octets[:len(data)] = data
            return len(data)

    def _take(self, most):
        if self._ahead:
            data, self._ahead = self._ahead[:most], self._ahead[most:]
            return data
        return self._below.receive(most)

    def write(self, data, /):
        """Write data, and return how many bytes were taken."""
        self.do_handshake()
        return self._below.send(data)

    def pending(self):
        """How many bytes can be read without waiting."""
        return len(self._ahead)

    def shutdown(self):
        """The host tells the server when the connection is closed."""
        return self._below.sock()

    def getpeercert(self, binary_mode=False, /):
        """What is known of the server's certificate: that the host found it to be for this name."""
        if self._answer is None:
            raise ValueError("handshake not done yet")
        if binary_mode:
            return None
        if self.context.verify_mode == 0:
            return {}
        name = self.server_hostname or self._below.name()
        try:
            alternative = "IP Address", str(ipaddress.ip_address(name))
        except ValueError:
            alternative = "DNS", name
        return {"subject": ((("commonName", name),),), "subjectAltName": (alternative,)}

    def get_verified_chain(self):
        """The host keeps the certificates to itself."""
        return []

    get_unverified_chain = get_verified_chain

    def selected_alpn_protocol(self):
        """The protocol that both sides speak."""
        return self._answer and self._answer.get("alpn")

    def version(self):
        """The host speaks this version or a later one, and does not say which."""
        return self._answer and "TLSv1.2"

    def cipher(self):
        """The host does not say which."""

    shared_ciphers = compression = verify_client_post_handshake = cipher

    def get_channel_binding(self, cb_type="tls-unique", /):
        """There is none that the host could tell."""
        raise ValueError(f"'{cb_type}' channel binding type not implemented")


def _no_answer():
    text = "the answer to the handshake cannot be read. Is it a connection of bytes alone (`tcp`)? Then the host does not speak TLS on it"
    return _tls_error(SSLError, SSL_ERROR_SSL, "WRONG_VERSION_NUMBER", text)
