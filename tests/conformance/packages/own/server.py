"""The servers that the own tests of requests and httpx speak with, as their fixtures would start them: httpbin over HTTP and HTTPS, and
the application in the `conftest.py` of httpx.

`server.py TESTS FILES`: the folder with the tests, and one for the certificates that tests read. The addresses are printed as JSON. It
ends with its standard input.
"""

import json
import logging
import shutil
import socket
import sys
import threading
import types
import wsgiref.simple_server
from pathlib import Path
from socketserver import ThreadingMixIn

# httpbin warns of a package that it is made without.
logging.disable()

import trustme
import uvicorn
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, load_pem_private_key
from httpbin import app as httpbin
from pytest_httpbin import certs, serve

tests, files = map(Path, sys.argv[1:])


class Plain(ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    """Tests give up on answers that come late; the next test is not to wait for them."""

    daemon_threads = True


class Secure(ThreadingMixIn, serve.SecureWSGIServer):
    daemon_threads = True


def started(kind, name):
    server = serve.make_server("127.0.0.1", 0, httpbin, server_class=kind, handler_class=serve.Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"{name}://127.0.0.1:{server.server_address[1]}"


def httpx():
    """The application of their `conftest.py`, which asks whether its loop is trio's."""
    sys.modules["trio"] = types.ModuleType("trio")
    sys.path.insert(0, str(tests / "httpx"))
    from tests.conftest import app

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, lifespan="off", loop="asyncio", log_level="critical")
    threading.Thread(target=uvicorn.Server(config).run, args=([listening],), daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


def write_certificates():
    shutil.copy(certs.where(), files / "authority.pem")
    certificate = trustme.CA().issue_cert("localhost")
    certificate.cert_chain_pems[0].write_to_path(files / "certificate.pem")
    certificate.private_key_pem.write_to_path(files / "key.pem")
    key = load_pem_private_key(certificate.private_key_pem.bytes(), password=None)
    encrypted = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"password"))
    (files / "encrypted-key.pem").write_bytes(encrypted)


serve.Handler.log_message = lambda *_: None
write_certificates()
print(json.dumps({"httpbin": started(Plain, "http"), "httpbin_secure": started(Secure, "https"), "httpx": httpx()}), flush=True)
sys.stdin.read()
