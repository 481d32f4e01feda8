"""In place of the `conftest.py` of httpx, which starts a server in a thread and makes certificates with the package `cryptography`.

The server is the same one, run on the host (`server.py`), which makes the certificates too. Brotli and zstandard are native code alone:
here they are empty, so that the tests that name them without using them run; those that use them are in the list.
"""

import json
import os
import sys
import types

import pytest

for name in ("brotli", "zstandard"):
    sys.modules[name] = types.ModuleType(name)

import httpx

ADDRESSES = json.loads(os.environ["ADDRESSES"])
VARIABLES = {"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSLKEYLOGFILE"}


def pytest_configure(config):
    # Those of the `pyproject.toml` of httpx, where warnings are errors too.
    config.addinivalue_line("markers", "copied_from(source, changes=None): where a test was taken from")
    config.addinivalue_line("markers", "network: tests that need a network")


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch):
    for name in list(os.environ):
        if name.upper() in VARIABLES:
            monkeypatch.delenv(name)
    kept = os.environ.copy()
    yield
    os.environ.clear()
    os.environ.update(kept)


class Server:
    url = httpx.URL(ADDRESSES["httpx"] + "/")


@pytest.fixture(scope="session")
def server():
    return Server()


@pytest.fixture(scope="session")
def cert_pem_file():
    return "/certificates/certificate.pem"


@pytest.fixture(scope="session")
def cert_private_key_file():
    return "/certificates/key.pem"


@pytest.fixture(scope="session")
def cert_encrypted_private_key_file():
    return "/certificates/encrypted-key.pem"
