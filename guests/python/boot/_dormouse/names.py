"""Names of hosts and services. Nothing is looked up in the sandbox: each name gets an address of its own, and who connects to that
address tells the host the name.

So programs can look a name up first and connect later, and no question about a name leaves before a rule of the host's allows it. The
addresses are those of 198.18.0.0/15, which are nobody's (RFC 2544).
"""

import errno
import ipaddress
import os
import re
import sys

from _dormouse.network import EAI_NONAME, gaierror

AF_UNSPEC, AF_INET, AF_INET6 = 0, 2, 10
SOCK_STREAM, SOCK_DGRAM = 1, 2
IPPROTO_TCP, IPPROTO_UDP = 6, 17
AI_PASSIVE, AI_CANONNAME, AI_NUMERICHOST, AI_NUMERICSERV = 0x1, 0x2, 0x4, 0x400
NI_NUMERICHOST, NI_NUMERICSERV, NI_NAMEREQD = 1, 2, 8
EAI_NODATA, EAI_FAMILY, EAI_SOCKTYPE, EAI_SERVICE, EAI_ADDRFAMILY = -5, -6, -7, -8, -9

# What the sandbox says its own address is.
OWN = "198.18.0.0"
_FIRST = int(ipaddress.IPv4Address(OWN)) + 1
_ROOM = (1 << 17) - 2
# What can be a name of a host at all.
_NAME = re.compile(r"[a-z0-9_.-]{1,254}")

_SERVICES = {
    "echo": 7, "discard": 9, "daytime": 13, "ftp-data": 20, "ftp": 21, "ssh": 22, "telnet": 23, "smtp": 25, "time": 37, "domain": 53,
    "http": 80, "www": 80, "pop3": 110, "ntp": 123, "imap2": 143, "imap": 143, "snmp": 161, "ldap": 389, "https": 443, "submissions": 465,
    "submission": 587, "ldaps": 636, "ftps": 990, "imaps": 993, "pop3s": 995, "mysql": 3306, "postgresql": 5432, "amqp": 5672,
    "redis": 6379, "http-alt": 8080,
}
_PROTOCOLS = {"ip": 0, "icmp": 1, "tcp": IPPROTO_TCP, "udp": IPPROTO_UDP, "ipv6": 41, "ipv6-icmp": 58}

# name: address, and address: name. The oldest goes when all addresses are taken.
_addresses, _names = {}, {}
_given = 0


class herror(OSError):
    """An address has no name."""


herror.__module__ = "socket"


def address_of(name):
    """The address that stands for a name."""
    global _given
    address = _addresses.get(name)
    if address is None:
        address = str(ipaddress.IPv4Address(_FIRST + _given % _ROOM))
        _given += 1
        _addresses.pop(_names.pop(address, None), None)
        _addresses[name], _names[address] = address, name
    return address


def name_of(address):
    """What the host is told: the name that an address stands for, or the address."""
    return _names.get(address, address)


def family_of(text):
    """The family of an address; None: it is a name."""
    try:
        return AF_INET6 if ipaddress.ip_address(text).version == 6 else AF_INET
    except ValueError:
        return None


def text_of(host):
    """A host as the text that is looked up."""
    if isinstance(host, str):
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    elif isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    else:
        raise TypeError("getaddrinfo() argument 1 must be string or None")
    if "\0" in host:
        raise ValueError("embedded null character")
    return host.lower()


def host_of(host, family):
    """The address that somebody means to connect to, for a socket of a family."""
    text = text_of(host)
    if not text or text == "<broadcast>":
        return "0.0.0.0" if family == AF_INET else "::"
    return _resolved(text, family, 0)


def _resolved(host, family, flags):
    found = family_of(host)
    if found is not None:
        if family not in (AF_UNSPEC, found):
            raise gaierror(EAI_ADDRFAMILY, "Address family for hostname not supported")
        return host
    if flags & AI_NUMERICHOST or not _NAME.fullmatch(host):
        raise gaierror(EAI_NONAME, "Name or service not known")
    if family == AF_INET6:
        raise gaierror(EAI_NODATA, "No address associated with hostname")
    return "127.0.0.1" if host == gethostname() else address_of(host)


def _port_of(port, flags):
    if port is None:
        return 0
    if isinstance(port, (str, bytes)):
        text = (port.encode() if isinstance(port, str) else port).decode("ascii", "replace")
        if text.isdecimal():
            port = int(text)
        elif flags & AI_NUMERICSERV or text not in _SERVICES:
            raise gaierror(EAI_SERVICE, "Servname not supported for ai_socktype")
        else:
            return _SERVICES[text]
    elif not isinstance(port, int):
        raise OSError("Int or String expected")
    return port & 0xFFFF


def _local(family, passive):
    """The address of who names no host."""
    if family == AF_INET6:
        return "::" if passive else "::1"
    return "0.0.0.0" if passive else "127.0.0.1"


def place_of(address, port):
    """Address and port as sockets tell them."""
    return (address, port, 0, 0) if ":" in address else (address, port)


def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
    """Resolve host and port into list of address info entries.

    A name has one address, which stands for it in this sandbox alone.
    """
    sys.audit("socket.getaddrinfo", host, port, family, type, proto)
    if family not in (AF_UNSPEC, AF_INET, AF_INET6):
        raise gaierror(EAI_FAMILY, "ai_family not supported")
    if type not in (0, SOCK_STREAM, SOCK_DGRAM):
        raise gaierror(EAI_SOCKTYPE, "ai_socktype not supported")
    text, number = None if host is None else text_of(host), _port_of(port, flags)
    if text == "" or text is None and port is None:
        raise gaierror(EAI_NONAME, "Name or service not known")
    address = _local(family, flags & AI_PASSIVE) if text is None else _resolved(text, family, flags)
    datagrams = type == SOCK_DGRAM or proto == IPPROTO_UDP
    kind, protocol = (SOCK_DGRAM, IPPROTO_UDP) if datagrams else (SOCK_STREAM, IPPROTO_TCP)
    canonical = text or "" if flags & AI_CANONNAME else ""
    return [(family_of(address), kind, protocol, canonical, place_of(address, number))]


def gethostname():
    """Return the current host name."""
    return os.uname().nodename


def gethostbyname(hostname, /):
    """Return the address that stands for a host."""
    return host_of(hostname, AF_INET)


def gethostbyname_ex(hostname, /):
    """Return the name of a host, no others, and its address."""
    return text_of(hostname), [], [gethostbyname(hostname)]


def gethostbyaddr(ip_address, /):
    """Return the name that an address stands for, no others, and the address."""
    address = _resolved(text_of(ip_address), AF_UNSPEC, 0)
    name = _names.get(address) or {"127.0.0.1": gethostname(), OWN: gethostname()}.get(address)
    if name is None:
        raise herror(1, "Unknown host")
    return name, [], [address]


def getnameinfo(sockaddr, flags, /):
    """Get host and port for a sockaddr."""
    if not isinstance(sockaddr, tuple):
        raise TypeError("getnameinfo() argument 1 must be a tuple")
    address, port = text_of(sockaddr[0]), sockaddr[1]
    if family_of(address) is None:
        raise gaierror(EAI_NONAME, "Name or service not known")
    name = None if flags & NI_NUMERICHOST else _names.get(address)
    if name is None and flags & NI_NAMEREQD:
        raise gaierror(EAI_NONAME, "Name or service not known")
    service = None if flags & NI_NUMERICSERV else _service_of(port)
    return name or address, service or str(port)


def _service_of(port):
    return next((name for name, number in _SERVICES.items() if number == port), None)


def getservbyname(servicename, protocolname="tcp", /):
    """Return a port number from a service name and protocol name."""
    if servicename not in _SERVICES or protocolname not in ("tcp", "udp"):
        raise OSError("service/proto not found")
    return _SERVICES[servicename]


def getservbyport(port, protocolname="tcp", /):
    """Return the service name from a port number and protocol name."""
    if not 0 <= port <= 0xFFFF:
        raise OverflowError("getservbyport: port must be 0-65535.")
    name = _service_of(port) if protocolname in ("tcp", "udp") else None
    if name is None:
        raise OSError("port/proto not found")
    return name


def getprotobyname(name, /):
    """Return the protocol number for the named protocol."""
    try:
        return _PROTOCOLS[name]
    except KeyError:
        raise OSError("protocol not found") from None


def inet_pton(address_family, ip_string, /):
    """Convert an IP address from string format to a packed string."""
    if address_family not in (AF_INET, AF_INET6):
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
    try:
        kind = ipaddress.IPv4Address if address_family == AF_INET else ipaddress.IPv6Address
        if "%" in ip_string:
            raise ValueError
        return kind(ip_string).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(address_family, packed_ip, /):
    """Convert a packed IP address to string format."""
    if address_family not in (AF_INET, AF_INET6):
        raise ValueError(f"unknown address family {address_family}")
    packed = bytes(packed_ip)
    if len(packed) != (4 if address_family == AF_INET else 16):
        raise ValueError("invalid length of packed IP address string")
    return str(ipaddress.ip_address(packed))


def inet_aton(ip_addr, /):
    """Convert an IPv4 address in string format to four bytes: one to four numbers, of which the last has the bytes that are left."""
    parts = ip_addr.split(".")
    try:
        *first, last = (int(part, 16 if part[:2] in ("0x", "0X") else 8 if part[:1] == "0" else 10) for part in parts)
    except ValueError:
        first, last = [], -1
    left = 4 - len(first)
    if left < 1 or not 0 <= last < 256 ** left or any(not 0 <= number < 256 for number in first):
        raise OSError("illegal IP address string passed to inet_aton")
    return bytes(first) + last.to_bytes(left, "big")


def inet_ntoa(packed_ip, /):
    """Convert an IP address from 32-bit packed binary format to string format."""
    packed = bytes(packed_ip)
    if len(packed) != 4:
        raise OSError("packed IP wrong length")
    return ".".join(map(str, packed))
