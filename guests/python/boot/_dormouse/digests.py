"""What hashlib takes from OpenSSL elsewhere, and can do without."""

import hashlib
import hmac


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Derives a key as RFC 8018, section 5.2."""
    if iterations < 1:
        raise ValueError("iterations must be at least 1")
    size = hashlib.new(hash_name).digest_size
    length = size if dklen is None else dklen
    if length < 1:
        raise ValueError("dklen must be at least 1")
    keyed = hmac.new(bytes(password), digestmod=hash_name)
    key = bytearray()
    block = 0
    while len(key) < length:
        block += 1
        chunk = _digest(keyed, bytes(salt) + block.to_bytes(4, "big"))
        total = int.from_bytes(chunk, "big")
        for _ in range(iterations - 1):
            chunk = _digest(keyed, chunk)
            total ^= int.from_bytes(chunk, "big")
        key += total.to_bytes(size, "big")
    return bytes(key[:length])


def _digest(keyed, message):
    copy = keyed.copy()
    copy.update(message)
    return copy.digest()


def install():
    """Adds to hashlib what is missing."""
    if not hasattr(hashlib, "pbkdf2_hmac"):
        hashlib.pbkdf2_hmac = pbkdf2_hmac
