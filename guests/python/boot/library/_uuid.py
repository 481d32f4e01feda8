"""UUIDs of the first version, which `uuid` has from the system elsewhere. No network card names this machine: its number is
drawn at random once, as RFC 9562 (section 6.10) has it."""

import os
import time

has_uuid_generate_time_safe = 0
has_stable_extractable_node = 1

# Steps of 100 ns between 15 October 1582 and 1 January 1970.
_GREGORIAN = 0x01B2_1DD2_1381_4000
_node = None
_last = 0


def generate_time_safe():
    """A UUID as bytes, and None: whether two programs can make the same is not known."""
    global _node, _last
    if _node is None:
        _node = int.from_bytes(os.urandom(6)) | 1 << 40
    _last = stamp = max(time.time_ns() // 100 + _GREGORIAN, _last + 1)
    # Drawn anew each time: memory that was saved can go on in two programs.
    sequence = int.from_bytes(os.urandom(2)) & 0x3FFF
    high = (stamp & 0xFFFF_FFFF) << 96 | (stamp >> 32 & 0xFFFF) << 80 | (1 << 12 | stamp >> 48 & 0x0FFF) << 64
    return (high | (0x8000 | sequence) << 48 | _node).to_bytes(16), None
