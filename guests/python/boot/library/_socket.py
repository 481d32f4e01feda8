"""Sockets over the connections that the host has: `socket.py` of the standard library works on this as it is.

There are connections of TCP to the outside, as far as the run's network allows them, and pairs within the program. A name is told to the
host when a socket connects (see `_dormouse/names.py`). The host dials when it knows what is to be said, so connecting waits for nobody but
for other connections of the program, where as many are open as may be (see `_dormouse/turns.py`).
"""

import errno as _errno
import operator as _operator
import os as _os
import sys as _sys
import time as _time
import warnings as _warnings

from _dormouse import network as _network
from _dormouse.names import (getaddrinfo, gethostbyaddr, gethostbyname, gethostbyname_ex, gethostname, getnameinfo, getprotobyname,
                             getservbyname, getservbyport, herror, inet_aton, inet_ntoa, inet_ntop, inet_pton)
from _dormouse.names import OWN as _OWN, host_of as _host_of, name_of as _name_of, place_of as _place_of
from _dormouse.network import close, double as dup, gaierror

_words = """
    AF_UNSPEC 0 AF_UNIX 1 AF_INET 2 AF_INET6 10 AF_NETLINK 16 AF_PACKET 17 AF_VSOCK 40 SOCK_STREAM 1 SOCK_DGRAM 2 SOCK_RAW 3 SOCK_RDM 4
    SOCK_SEQPACKET 5 SOCK_NONBLOCK 2048 SOCK_CLOEXEC 524288 SOL_SOCKET 1 SOL_IP 0 SOL_TCP 6 SOL_UDP 17
    SO_DEBUG 1 SO_REUSEADDR 2 SO_TYPE 3 SO_ERROR 4 SO_DONTROUTE 5 SO_BROADCAST 6 SO_SNDBUF 7 SO_RCVBUF 8 SO_KEEPALIVE 9 SO_OOBINLINE 10
    SO_PRIORITY 12 SO_LINGER 13 SO_REUSEPORT 15 SO_PASSCRED 16 SO_PEERCRED 17 SO_RCVLOWAT 18 SO_SNDLOWAT 19 SO_RCVTIMEO 20 SO_SNDTIMEO 21
    SO_BINDTODEVICE 25 SO_ACCEPTCONN 30 SO_MARK 36 SO_PROTOCOL 38 SO_DOMAIN 39 SO_INCOMING_CPU 49 SOMAXCONN 4096
    IPPROTO_IP 0 IPPROTO_HOPOPTS 0 IPPROTO_ICMP 1 IPPROTO_IGMP 2 IPPROTO_TCP 6 IPPROTO_EGP 8 IPPROTO_PUP 12 IPPROTO_UDP 17 IPPROTO_IDP 22
    IPPROTO_TP 29 IPPROTO_IPV6 41 IPPROTO_ROUTING 43 IPPROTO_RSVP 46 IPPROTO_GRE 47 IPPROTO_ESP 50 IPPROTO_AH 51 IPPROTO_ICMPV6 58
    IPPROTO_NONE 59 IPPROTO_DSTOPTS 60 IPPROTO_PIM 103 IPPROTO_SCTP 132 IPPROTO_UDPLITE 136 IPPROTO_RAW 255 IPPROTO_MPTCP 262
    TCP_NODELAY 1 TCP_MAXSEG 2 TCP_CORK 3 TCP_KEEPIDLE 4 TCP_KEEPINTVL 5 TCP_KEEPCNT 6 TCP_SYNCNT 7 TCP_LINGER2 8 TCP_DEFER_ACCEPT 9
    TCP_WINDOW_CLAMP 10 TCP_INFO 11 TCP_QUICKACK 12 TCP_CONGESTION 13 TCP_USER_TIMEOUT 18 TCP_FASTOPEN 23 TCP_NOTSENT_LOWAT 25
    IP_TOS 1 IP_TTL 2 IP_HDRINCL 3 IP_OPTIONS 4 IP_RECVOPTS 6 IP_MULTICAST_IF 32 IP_MULTICAST_TTL 33 IP_MULTICAST_LOOP 34
    IP_ADD_MEMBERSHIP 35 IP_DROP_MEMBERSHIP 36 IPV6_UNICAST_HOPS 16 IPV6_MULTICAST_IF 17 IPV6_MULTICAST_HOPS 18 IPV6_MULTICAST_LOOP 19
    IPV6_JOIN_GROUP 20 IPV6_LEAVE_GROUP 21 IPV6_V6ONLY 26 IPV6_RECVPKTINFO 49 IPV6_PKTINFO 50 IPV6_TCLASS 67 SHUT_RD 0 SHUT_WR 1 SHUT_RDWR 2
    MSG_OOB 1 MSG_PEEK 2 MSG_DONTROUTE 4 MSG_CTRUNC 8 MSG_TRUNC 32 MSG_DONTWAIT 64 MSG_EOR 128 MSG_WAITALL 256 MSG_NOSIGNAL 16384
    MSG_MORE 32768 MSG_CMSG_CLOEXEC 1073741824 MSG_FASTOPEN 536870912
    AI_PASSIVE 1 AI_CANONNAME 2 AI_NUMERICHOST 4 AI_V4MAPPED 8 AI_ALL 16 AI_ADDRCONFIG 32 AI_NUMERICSERV 1024
    NI_NUMERICHOST 1 NI_NUMERICSERV 2 NI_NOFQDN 4 NI_NAMEREQD 8 NI_DGRAM 16 NI_MAXHOST 1025 NI_MAXSERV 32
    EAI_BADFLAGS -1 EAI_NONAME -2 EAI_AGAIN -3 EAI_FAIL -4 EAI_NODATA -5 EAI_FAMILY -6 EAI_SOCKTYPE -7 EAI_SERVICE -8 EAI_ADDRFAMILY -9
    EAI_MEMORY -10 EAI_SYSTEM -11 EAI_OVERFLOW -12 INADDR_ANY 0 INADDR_LOOPBACK 2130706433 INADDR_BROADCAST 4294967295 INADDR_NONE 4294967295
    INADDR_UNSPEC_GROUP 3758096384 INADDR_ALLHOSTS_GROUP 3758096385 INADDR_MAX_LOCAL_GROUP 3758096639
""".split()
globals().update(zip(_words[::2], map(int, _words[1::2])))
del _words
has_ipv6 = True
CAPI = None
error, timeout = OSError, TimeoutError

_STREAM, _NONBLOCK, _CLOEXEC, _UNIX, _INET, _INET6 = 1, 2048, 524288, 1, 2, 10
_PEEK, _DONTWAIT = 2, 64
_NO_SERVERS = "nothing can connect to this sandbox, so it does not listen"
_ONLY_TCP = "only connections of TCP lead out of this sandbox"
_seconds = None


def getdefaulttimeout():
    """Return the default timeout in seconds (float) for new socket objects."""
    return _seconds


def setdefaulttimeout(timeout, /):
    """Set the default timeout in seconds (float) for new socket objects."""
    global _seconds
    _seconds = _timeout_of(timeout)


def _timeout_of(seconds):
    if seconds is None:
        return None
    if not isinstance(seconds, (int, float)):
        raise TypeError(f"'{type(seconds).__name__}' object cannot be interpreted as an integer")
    if seconds != seconds:
        raise ValueError("Invalid value NaN (not a number)")
    if seconds < 0:
        raise ValueError("Timeout value out of range")
    if seconds > 2 ** 63 // 10 ** 9:
        raise OverflowError("timestamp out of range for platform time_t")
    return float(seconds)


def _refuse(number, text=None):
    raise OSError(number, text or _os.strerror(number))


def _kind_of(family, type, proto):
    """Family, type and protocol of a new socket that can be there."""
    if family == _UNIX:
        _refuse(_errno.EAFNOSUPPORT, "there are no other programs to connect to; `socketpair` works within this one")
    if family not in (_INET, _INET6):
        _refuse(_errno.EAFNOSUPPORT)
    if type & ~(_NONBLOCK | _CLOEXEC) != _STREAM or proto not in (0, 6):
        _refuse(_errno.EPROTONOSUPPORT, _ONLY_TCP)
    return family, _STREAM, proto


def socketpair(family=_UNIX, type=_STREAM, proto=0, /):
    """Create a pair of socket objects, which lead to each other."""
    if family not in (_UNIX, _INET, _INET6):
        _refuse(_errno.EAFNOSUPPORT)
    if type & ~(_NONBLOCK | _CLOEXEC) != _STREAM:
        _refuse(_errno.EPROTONOSUPPORT, "pairs are streams")
    return tuple(socket(family, type, proto, _network.add(end)) for end in _network.pair())


def _swap(name, bits):
    def swap(x, /):
        if x < 0:
            raise ValueError(f"{name}: can't convert negative Python int to C {bits}-bit unsigned integer")
        if x >> bits:
            raise OverflowError(f"{name}: Python int too large to convert to C {bits}-bit unsigned integer")
        return int.from_bytes(x.to_bytes(bits // 8, "big"), _sys.byteorder)
    swap.__name__ = swap.__qualname__ = name
    return swap


htons, ntohs, htonl, ntohl = _swap("htons", 16), _swap("ntohs", 16), _swap("htonl", 32), _swap("ntohl", 32)


class socket:
    """A socket: of a connection to the outside, or an end of a pair within the program."""

    # Subclasses have names of their own: `ssl.SSLSocket` sets `_connected`, `_context` and `_session`.
    __slots__ = ("_descriptor", "_kind", "_limit", "_settings", "_place")

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        self._descriptor, self._settings, self._place = -1, {}, None
        family, type, proto = (int(given) if given != -1 else usual for given, usual in ((family, _INET), (type, _STREAM), (proto, 0)))
        _sys.audit("socket.__new__", self, family, type, proto)
        self._limit = 0.0 if type & _NONBLOCK else _seconds
        if fileno is None:
            self._kind = _kind_of(family, type, proto)
            self._descriptor = _network.add(_network.Unconnected())
        elif _operator.index(fileno) < 0:
            raise ValueError("negative file descriptor")
        else:
            _network.end_of(fileno)
            self._kind, self._descriptor = (family, type & ~(_NONBLOCK | _CLOEXEC), proto), fileno

    def __repr__(self):
        return f"<socket object, fd={self._descriptor}, family={self.family}, type={self.type}, proto={self.proto}>"

    def __del__(self):
        if getattr(self, "_descriptor", -1) != -1:
            _warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self)
            socket.close(self)

    family = property(lambda self: self._kind[0], doc="the socket family")
    type = property(lambda self: self._kind[1], doc="the socket type")
    proto = property(lambda self: self._kind[2], doc="the socket protocol")
    timeout = property(lambda self: self._limit, doc="the socket timeout")

    def fileno(self):
        """Return the integer file descriptor of the socket."""
        return self._descriptor

    def detach(self):
        """Close the socket object without closing the underlying file descriptor, and return that."""
        number, self._descriptor = self._descriptor, -1
        return number

    def close(self):
        """Close the socket."""
        number, self._descriptor = self._descriptor, -1
        if number != -1:
            close(number)

    def settimeout(self, timeout, /):
        """Set a timeout on socket operations, in seconds; None: there is none."""
        self._limit = _timeout_of(timeout)

    def gettimeout(self):
        """Return the timeout in seconds; None: there is none."""
        return self._limit

    def setblocking(self, flag, /):
        """Set the socket to blocking or not."""
        self._limit = None if flag else 0.0

    def getblocking(self):
        """Whether the socket is blocking."""
        return self._limit != 0.0

    def setsockopt(self, level, option, value, optlen=None, /):
        """Remember an option of the socket: the connections are the host's, which sets its own."""
        self._end()
        if value is None:
            value = bytes(optlen)
        self._settings[level, option] = value if isinstance(value, int) else bytes(value)

    def getsockopt(self, level, option, buflen=0, /):
        """Get an option of the socket: as it was set, or 0."""
        failure = self._failure() if (level, option) == (1, 4) else None
        family, type, proto = self._kind
        # The number of a name that has no address is none of the system's.
        trouble = 0 if failure is None else failure.errno if failure.errno > 0 else _errno.EHOSTUNREACH
        known = {3: type, 4: trouble, 38: proto or 6, 39: family, 7: 65536, 8: 65536} if level == 1 else {}
        value = self._settings.get((level, option), known.get(option, 0))
        if buflen:
            return (value.to_bytes(4, _sys.byteorder, signed=True) if isinstance(value, int) else value)[:buflen]
        return value if isinstance(value, int) else int.from_bytes(value[:4], _sys.byteorder, signed=True)

    def _end(self):
        return _network.end_of(self._descriptor)

    def _failure(self):
        """Why it was not connected when its turn came."""
        end = self._end()
        return end.failure() if isinstance(end, _network.Connection) else None

    def _address_of(self, address, caller):
        """Host and port that a program gives."""
        family = self._kind[0]
        name, most = ("AF_INET6", 4) if family == _INET6 else ("AF_INET", 2)
        if not isinstance(address, tuple):
            raise TypeError(f"{caller}(): {name} address must be tuple, not {_type_name(address)}")
        if not 2 <= len(address) <= most:
            raise TypeError(f"{caller}(): {name} address must be a pair (host, port)")
        host, port = address[:2]
        if not isinstance(port, int):
            raise TypeError(f"'{_type_name(port)}' object cannot be interpreted as an integer")
        if not 0 <= port <= 0xFFFF:
            raise OverflowError(f"{caller}(): port must be 0-65535.")
        return _host_of(host, family), port

    def connect(self, address, /):
        """Connect the socket to a remote address. Who can be reached is the host's affair."""
        end = self._end()
        if not isinstance(end, _network.Unconnected):
            _refuse(_errno.EALREADY if end.waits else _errno.EISCONN)
        host, port = self._address_of(address, "connect")
        _sys.audit("socket.connect", self, address)
        connection = _network.Connection(_name_of(host), port, _place_of(host, port), can_wait=self._limit == 0)
        _network.put(self._descriptor, connection)
        if connection.waits:
            _refuse(_errno.EINPROGRESS)

    def connect_ex(self, address, /):
        """As `connect`, but returns the number of an error instead of raising it."""
        try:
            socket.connect(self, address)
        except gaierror:
            raise
        except OSError as error:
            return error.errno
        return 0

    def bind(self, address, /):
        """Set the local address, without a port: the host has its own."""
        if not isinstance(self._end(), _network.Unconnected):
            _refuse(_errno.EINVAL)
        host, port = self._address_of(address, "bind")
        _sys.audit("socket.bind", self, address)
        if port:
            _refuse(_errno.EOPNOTSUPP, _NO_SERVERS)
        self._place = _place_of(host, port)

    def listen(self, backlog=0, /):
        """There is nobody who could connect."""
        self._end()
        _refuse(_errno.EOPNOTSUPP, _NO_SERVERS)

    _accept = listen

    def getsockname(self):
        """Return the address of the local endpoint, which is of this sandbox alone."""
        end = self._end()
        if isinstance(end, _network.PairEnd):
            return ""
        own = "0.0.0.0" if isinstance(end, _network.Unconnected) else _OWN
        return self._place or _place_of("::" if self._kind[0] == _INET6 else own, 0)

    def getpeername(self):
        """Return the address of the remote endpoint."""
        end = self._end()
        if isinstance(end, _network.Unconnected) or end.waits:
            _refuse(_errno.ENOTCONN)
        return "" if isinstance(end, _network.PairEnd) else end.peer

    def shutdown(self, how, /):
        """Shut down the reading side, the writing side, or both."""
        end = self._end()
        if how not in (0, 1, 2):
            _refuse(_errno.EINVAL)
        if how != 1:
            end.stop()
        if how != 0:
            end.finish()

    def _until(self):
        return None if self._limit is None else _time.monotonic() + self._limit

    def _wait(self, reads, until, flags=0):
        """Waits until the socket can be read or written; the time that it may take ends at `until`."""
        if self._limit == 0 or flags & _DONTWAIT:
            raise BlockingIOError(_errno.EAGAIN, _os.strerror(_errno.EAGAIN))
        left = None if until is None else until - _time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError("timed out")
        _network.wait({self._descriptor: (reads, not reads)}, left)

    def _send(self, data, until, flags):
        while not (count := self._end().send(data)):
            self._wait(False, until, flags)
        return count

    # Views are let go at once: a traceback would hold them, and who sends a bytearray shortens it.
    def send(self, data, flags=0, /):
        """Send data, and return how many bytes were sent."""
        self._end()
        with memoryview(data) as view, view.cast("B") as octets:
            return self._send(octets, self._until(), flags) if octets else 0

    def sendall(self, data, flags=0, /):
        """Send all data."""
        self._end()
        until, sent = self._until(), 0
        with memoryview(data) as view, view.cast("B") as octets:
            while sent < len(octets):
                with octets[sent:sent + 65536] as piece:
                    sent += self._send(piece, until, flags)

    def sendto(self, data, *rest):
        """Send data to where the socket is connected."""
        if not 1 <= len(rest) <= 2:
            raise TypeError(f"sendto() takes 2 or 3 arguments ({1 + len(rest)} given)")
        return socket.send(self, data, rest[0] if len(rest) == 2 else 0)

    def recv(self, bufsize, flags=0, /):
        """Receive up to a number of bytes; none: the other side has ended."""
        if bufsize < 0:
            raise ValueError("negative buffersize in recv")
        end, until = self._end(), self._until()
        if not bufsize:
            return b""
        while (data := end.receive(bufsize, bool(flags & _PEEK))) is None:
            self._wait(True, until, flags)
            end = self._end()
        return data

    def recv_into(self, buffer, nbytes=0, flags=0):
        """Receive bytes into a buffer, and return how many."""
        with memoryview(buffer) as view, view.cast("B") as octets:
            if nbytes < 0:
                raise ValueError("negative buffersize in recv_into")
            if nbytes > len(octets):
                raise ValueError("buffer too small for requested bytes")
            data = socket.recv(self, nbytes or len(octets), flags)
            octets[:len(data)] = data
            return len(data)

    def recvfrom(self, bufsize, flags=0, /):
        """As `recv`, with an address that streams do not have."""
        return socket.recv(self, bufsize, flags), None

    def recvfrom_into(self, buffer, nbytes=0, flags=0):
        """As `recv_into`, with an address that streams do not have."""
        return socket.recv_into(self, buffer, nbytes, flags), None


SocketType = socket


def _type_name(value):
    return value.__class__.__name__
