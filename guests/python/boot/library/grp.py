"""The groups of the sandbox: those of its users."""

from operator import index as _index

from _dormouse.unix import record as _record

_GROUPS = {1000: "sandbox", 0: "root"}

struct_group = _record("grp", "struct_group", "gr_name gr_passwd gr_gid gr_mem", "An entry of the group database.")


def getgrgid(id):
    """The entry of a group by number."""
    number = _index(id)
    if not -1 <= number < 1 << 32:
        raise OverflowError("gid is greater than maximum" if number > 0 else "gid is less than minimum")
    if number not in _GROUPS:
        raise KeyError(f"getgrgid(): gid not found: {number}")
    return struct_group((_GROUPS[number], "x", number, []))


def getgrnam(name):
    """The entry of a group by name."""
    if not isinstance(name, str):
        raise TypeError(f"getgrnam() argument must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null byte")
    name.encode()
    for number, known in _GROUPS.items():
        if known == name:
            return getgrgid(number)
    raise KeyError(f"getgrnam(): name not found: {name!r}")


def getgrall():
    """All entries."""
    return [getgrgid(number) for number in _GROUPS]
