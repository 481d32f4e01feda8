"""TLS, which the host speaks (`_dormouse/tls.py`). Contexts can be made and set up; the host checks certificates whatever they say, with
the authorities of its own."""

import os as _os

from _dormouse import tls as _tls
from _dormouse.tls import (SSLCertVerificationError, SSLEOFError, SSLError, SSLSyscallError, SSLWantReadError, SSLWantWriteError,
                           SSLZeroReturnError)
from _dormouse.tls import SSLSocket as _SSLSocket

_words = """
    ALERT_DESCRIPTION_ACCESS_DENIED 49 ALERT_DESCRIPTION_BAD_CERTIFICATE 42 ALERT_DESCRIPTION_BAD_CERTIFICATE_HASH_VALUE 114
    ALERT_DESCRIPTION_BAD_CERTIFICATE_STATUS_RESPONSE 113 ALERT_DESCRIPTION_BAD_RECORD_MAC 20 ALERT_DESCRIPTION_CERTIFICATE_EXPIRED 45
    ALERT_DESCRIPTION_CERTIFICATE_REVOKED 44 ALERT_DESCRIPTION_CERTIFICATE_UNKNOWN 46 ALERT_DESCRIPTION_CERTIFICATE_UNOBTAINABLE 111
    ALERT_DESCRIPTION_CLOSE_NOTIFY 0 ALERT_DESCRIPTION_DECODE_ERROR 50 ALERT_DESCRIPTION_DECOMPRESSION_FAILURE 30
    ALERT_DESCRIPTION_DECRYPT_ERROR 51 ALERT_DESCRIPTION_HANDSHAKE_FAILURE 40 ALERT_DESCRIPTION_ILLEGAL_PARAMETER 47
    ALERT_DESCRIPTION_INSUFFICIENT_SECURITY 71 ALERT_DESCRIPTION_INTERNAL_ERROR 80 ALERT_DESCRIPTION_NO_RENEGOTIATION 100
    ALERT_DESCRIPTION_PROTOCOL_VERSION 70 ALERT_DESCRIPTION_RECORD_OVERFLOW 22 ALERT_DESCRIPTION_UNEXPECTED_MESSAGE 10
    ALERT_DESCRIPTION_UNKNOWN_CA 48 ALERT_DESCRIPTION_UNKNOWN_PSK_IDENTITY 115 ALERT_DESCRIPTION_UNRECOGNIZED_NAME 112
    ALERT_DESCRIPTION_UNSUPPORTED_CERTIFICATE 43 ALERT_DESCRIPTION_UNSUPPORTED_EXTENSION 110 ALERT_DESCRIPTION_USER_CANCELLED 90
    CERT_NONE 0 CERT_OPTIONAL 1 CERT_REQUIRED 2 ENCODING_DER 2 ENCODING_PEM 1 HOSTFLAG_ALWAYS_CHECK_SUBJECT 1
    HOSTFLAG_MULTI_LABEL_WILDCARDS 8 HOSTFLAG_NEVER_CHECK_SUBJECT 32 HOSTFLAG_NO_PARTIAL_WILDCARDS 4 HOSTFLAG_NO_WILDCARDS 2
    HOSTFLAG_SINGLE_LABEL_SUBDOMAINS 16 OPENSSL_VERSION_NUMBER 805306672 OP_ALL 2147483728 OP_CIPHER_SERVER_PREFERENCE 4194304
    OP_ENABLE_KTLS 8 OP_ENABLE_MIDDLEBOX_COMPAT 1048576 OP_IGNORE_UNEXPECTED_EOF 128 OP_LEGACY_SERVER_CONNECT 4 OP_NO_COMPRESSION
    131072 OP_NO_RENEGOTIATION 1073741824 OP_NO_SSLv2 0 OP_NO_SSLv3 33554432 OP_NO_TICKET 16384 OP_NO_TLSv1 67108864 OP_NO_TLSv1_1
    268435456 OP_NO_TLSv1_2 134217728 OP_NO_TLSv1_3 536870912 OP_SINGLE_DH_USE 0 OP_SINGLE_ECDH_USE 0 PROTOCOL_SSLv23 2 PROTOCOL_TLS 2
    PROTOCOL_TLS_CLIENT 16 PROTOCOL_TLS_SERVER 17 PROTOCOL_TLSv1 3 PROTOCOL_TLSv1_1 4 PROTOCOL_TLSv1_2 5 PROTO_MAXIMUM_SUPPORTED -1
    PROTO_MINIMUM_SUPPORTED -2 PROTO_SSLv3 768 PROTO_TLSv1 769 PROTO_TLSv1_1 770 PROTO_TLSv1_2 771 PROTO_TLSv1_3 772 SSL_ERROR_EOF 8
    SSL_ERROR_INVALID_ERROR_CODE 10 SSL_ERROR_SSL 1 SSL_ERROR_SYSCALL 5 SSL_ERROR_WANT_CONNECT 7 SSL_ERROR_WANT_READ 2
    SSL_ERROR_WANT_WRITE 3 SSL_ERROR_WANT_X509_LOOKUP 4 SSL_ERROR_ZERO_RETURN 6 VERIFY_ALLOW_PROXY_CERTS 64 VERIFY_CRL_CHECK_CHAIN 12
    VERIFY_CRL_CHECK_LEAF 4 VERIFY_DEFAULT 0 VERIFY_X509_PARTIAL_CHAIN 524288 VERIFY_X509_STRICT 32 VERIFY_X509_TRUSTED_FIRST 32768
""".split()
globals().update(zip(_words[::2], map(int, _words[1::2])))
del _words
HAS_SNI = HAS_ALPN = HAS_ECDH = HAS_TLSv1_2 = HAS_TLSv1_3 = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_TLSv1 = HAS_TLSv1_1 = HAS_TLS_UNIQUE = HAS_PSK = HAS_PSK_TLS13 = HAS_PHA = False
_DEFAULT_CIPHERS = "@SECLEVEL=2:ECDH+AESGCM:ECDH+CHACHA20:ECDH+AES:DHE+AES:!aNULL:!eNULL:!aDSS:!SHA1:!AESCCM"
OPENSSL_VERSION = "OpenSSL 3.0.0 (only its names: the host speaks TLS for this sandbox)"
OPENSSL_VERSION_NUMBER = 0x30000000
OPENSSL_VERSION_INFO = _OPENSSL_API_VERSION = (3, 0, 0, 0, 0)
# Purposes of certificates, by RFC 5280, section 4.2.1.12.
_OBJECTS = [(129, "serverAuth", "TLS Web Server Authentication", "1.3.6.1.5.5.7.3.1"),
            (130, "clientAuth", "TLS Web Client Authentication", "1.3.6.1.5.5.7.3.2")]


class Certificate:
    """A certificate: the host keeps them to itself."""


class SSLSession:
    """A session: the host keeps them to itself."""


class MemoryBIO:
    """Bytes on their way."""

    def __init__(self):
        self._bytes, self._ended = bytearray(), False

    pending = property(lambda self: len(self._bytes))
    eof = property(lambda self: self._ended and not self._bytes)

    def write(self, b, /):
        if self._ended:
            raise SSLError("cannot write() after write_eof()")
        if isinstance(b, str):
            raise TypeError("a bytes-like object is required, not 'str'")
        taken = bytes(memoryview(b))
        self._bytes += taken
        return len(taken)

    def write_eof(self):
        self._ended = True

    def read(self, size=-1, /):
        size = len(self._bytes) if size < 0 else size
        taken = bytes(self._bytes[:size])
        del self._bytes[:size]
        return taken


def _setting(name):
    return property(lambda self: self._settings[name], lambda self, value: self._settings.__setitem__(name, value))


class _SSLContext:
    """Settings of connections."""

    def __new__(cls, protocol, /):
        self = super().__new__(cls)
        client = protocol == globals()["PROTOCOL_TLS_CLIENT"]
        self._settings = {
            "protocol": protocol,
            "options": 0x82520050, "verify_flags": 0x8000, "verify_mode": 2 if client else 0, "check_hostname": client,
            "minimum_version": 771, "maximum_version": -1, "post_handshake_auth": False, "num_tickets": 2, "sni_callback": None,
            "keylog_filename": None, "_host_flags": 4, "_msg_callback": None, "security_level": 2, "alpn": [], "certificate": None,
        }
        return self

    protocol = property(lambda self: self._settings["protocol"])
    options, verify_flags = map(_setting, ("options", "verify_flags"))
    minimum_version, maximum_version = map(_setting, ("minimum_version", "maximum_version"))
    post_handshake_auth, num_tickets = map(_setting, ("post_handshake_auth", "num_tickets"))
    sni_callback, keylog_filename, _host_flags = map(_setting, ("sni_callback", "keylog_filename", "_host_flags"))
    _msg_callback, security_level = map(_setting, ("_msg_callback", "security_level"))

    @property
    def verify_mode(self):
        return self._settings["verify_mode"]

    @verify_mode.setter
    def verify_mode(self, mode):
        if mode == 0 and self._settings["check_hostname"]:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._settings["verify_mode"] = mode

    @property
    def check_hostname(self):
        return self._settings["check_hostname"]

    @check_hostname.setter
    def check_hostname(self, flag):
        self._settings["check_hostname"] = bool(flag)
        if flag and self._settings["verify_mode"] == 0:
            self._settings["verify_mode"] = 2

    def set_ciphers(self, cipherlist, /):
        """Does nothing."""

    def get_ciphers(self):
        return []

    def set_groups(self, grouplist, /):
        """Does nothing."""

    def set_ecdh_curve(self, name, /):
        """Does nothing."""

    def load_dh_params(self, path, /):
        """Does nothing."""

    def set_default_verify_paths(self):
        """Does nothing."""

    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        if cafile is not None:
            _os.stat(cafile)

    def load_cert_chain(self, certfile, keyfile=None, password=None):
        for file in (certfile, keyfile):
            if file is not None:
                _os.stat(file)
        self._settings["certificate"] = certfile

    def cert_store_stats(self):
        return {"x509": 0, "crl": 0, "x509_ca": 0}

    def get_ca_certs(self, binary_form=False):
        return []

    def session_stats(self):
        return {}

    def _set_alpn_protocols(self, protos, /):
        names, at = [], 0
        while at < len(protos):
            end = at + 1 + protos[at]
            names.append(bytes(protos[at + 1:end]).decode("ascii"))
            at = end
        self._settings["alpn"] = names

    def set_psk_client_callback(self, callback):
        """Does nothing."""

    def set_psk_server_callback(self, callback, identity_hint=None):
        """Does nothing."""

    def _wrap_socket(self, sock, server_side, server_hostname=None, *, owner=None, session=None):
        return _SSLSocket(self, _tls.OnSocket(sock), server_side, server_hostname)

    def _wrap_bio(self, incoming, outgoing, server_side, server_hostname=None, *, owner=None, session=None):
        return _SSLSocket(self, _tls.OnBuffers(incoming, outgoing), server_side, server_hostname)


def RAND_bytes(n, /):
    """Random bytes."""
    return _os.urandom(n)


def RAND_add(string, entropy, /):
    """Does nothing: the host's source is always ready."""


def RAND_status():
    """The host's source is always ready."""
    return True


def txt2obj(txt, name=False):
    """A purpose by its number, or by its name too."""
    for found in _OBJECTS:
        if txt == found[3] or name and txt in found[1:3]:
            return found
    raise ValueError(f"unknown object {txt!r:.100}")


def nid2obj(nid, /):
    """The same by OpenSSL's number."""
    for found in _OBJECTS:
        if nid == found[0]:
            return found
    raise ValueError(f"unknown NID {nid}")


def get_default_verify_paths():
    """Where certificates would be."""
    return "SSL_CERT_FILE", "/usr/lib/ssl/cert.pem", "SSL_CERT_DIR", "/usr/lib/ssl/certs"
