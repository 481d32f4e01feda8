"""What hashlib takes from OpenSSL elsewhere: further digests, their other names, and keys from passwords."""

import functools
import hashlib
import hmac

import _dormouse_digests

_FURTHER = ("ripemd160", "sha512_224", "sha512_256", "sm3")
# Those whose keys are derived in C; others take a step of Python for each iteration.
_IN_C = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512", *_FURTHER}


def _other_names():
    """OpenSSL's own names, in small letters, which it knows in any case."""
    yield "sha-1", "sha1"
    for size in ("224", "256", "384", "512"):
        yield f"sha-{size}", f"sha{size}"
        yield f"sha2-{size}", f"sha{size}"
        yield f"sha3-{size}", f"sha3_{size}"
    for size in ("224", "256"):
        for name in (f"sha512-{size}", f"sha-512/{size}", f"sha2-512/{size}"):
            yield name, f"sha512_{size}"
    for size in ("128", "256"):
        yield f"shake{size}", f"shake_{size}"
        yield f"shake-{size}", f"shake_{size}"
    for name in ("blake2b512", "blake2b-512"):
        yield name, "blake2b"
    for name in ("blake2s256", "blake2s-256"):
        yield name, "blake2s"
    for name in ("ripemd-160", "ripemd", "rmd160"):
        yield name, "ripemd160"


_OTHER = dict(_other_names())


def _further(name):
    def constructor(data=b"", *, usedforsecurity=True, string=None):
        return _dormouse_digests.new(name, data if string is None else string)
    constructor.__name__ = constructor.__qualname__ = name
    return constructor


_constructors = {name: getattr(hashlib, name) for name in hashlib.algorithms_guaranteed}
_constructors |= {name: _further(name) for name in _FURTHER}
_own_new = hashlib.new


def _canonical(name):
    if name in _constructors:
        return name
    small = name.lower()
    return small if small in _constructors else _OTHER.get(small, name)


def new(name, *args, **kwargs):
    """new(name, data=b'', **kwargs) - Return a new hashing object using the
    named algorithm; optionally initialized with data (which must be
    a bytes-like object).
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    constructor = _constructors.get(_canonical(name))
    # Who knows no more of it says so.
    return _own_new(name, *args, **kwargs) if constructor is None else constructor(*args, **kwargs)


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    if not isinstance(hash_name, str):
        raise TypeError(f"hash_name must be a string, not {type(hash_name).__name__}")
    name = _canonical(hash_name)
    length = new(name).digest_size if dklen is None else dklen
    if name in _IN_C:
        return _dormouse_digests.pbkdf2(name, password, salt, iterations, length)
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    code = functools.partial(hmac.digest, bytes(memoryview(password)), digest=name)
    salt, key = bytes(memoryview(salt)), bytearray()
    while len(key) < length:
        chunk = code(salt + (len(key) // new(name).digest_size + 1).to_bytes(4, "big"))
        total = int.from_bytes(chunk)
        for _ in range(iterations - 1):
            chunk = code(chunk)
            total ^= int.from_bytes(chunk)
        key += total.to_bytes(len(chunk))
    return bytes(key[:length])


def scrypt(password, *, salt, n, r, p, maxmem=0, dklen=64):
    """scrypt password-based key derivation function."""
    return _dormouse_digests.scrypt(password, salt, n, r, p, maxmem, dklen)


def install():
    """Adds to hashlib what is missing."""
    new.__module__ = pbkdf2_hmac.__module__ = scrypt.__module__ = "hashlib"
    hashlib.new, hashlib.pbkdf2_hmac, hashlib.scrypt = new, pbkdf2_hmac, scrypt
    hashlib.algorithms_available = hashlib.algorithms_available.union(_FURTHER)
    hashlib.__all__ += ("pbkdf2_hmac",)
