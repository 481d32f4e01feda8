"""What pytest-httpbin gives to the tests of requests. There it starts httpbin in a thread; here it runs on the host (`server.py`).

Their own `conftest.py` is used as it is.
"""

import json
import os

import pytest

ADDRESSES = json.loads(os.environ["ADDRESSES"])


class Httpbin:
    def __init__(self, url):
        self.url = url


@pytest.fixture(scope="session")
def httpbin():
    return Httpbin(ADDRESSES["httpbin"])


@pytest.fixture(scope="session")
def httpbin_secure():
    return Httpbin(ADDRESSES["httpbin_secure"])


@pytest.fixture
def httpbin_ca_bundle(monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/certificates/authority.pem")
