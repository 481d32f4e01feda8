"""The users of the sandbox: the one that everything runs as, and root, who owns what is not in it."""

from operator import index as _index

from _dormouse.unix import record as _record

_NAME, _ID = "sandbox", 1000

struct_passwd = _record("pwd", "struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell",
                        "An entry of the user database.")


def _all():
    return [struct_passwd((_NAME, "x", _ID, _ID, "", "/workspace", "/bin/bash")),
            struct_passwd(("root", "x", 0, 0, "root", "/root", "/bin/bash"))]


def getpwuid(uid, /):
    """The entry of a user by number."""
    number = _index(uid)
    for user in _all():
        if user.pw_uid == number:
            return user
    raise KeyError(f"getpwuid(): uid not found: {number}")


def getpwnam(name, /):
    """The entry of a user by name."""
    if not isinstance(name, str):
        raise TypeError(f"getpwnam() argument must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null byte")
    name.encode()
    for user in _all():
        if user.pw_name == name:
            return user
    raise KeyError(f"getpwnam(): name not found: {name!r}")


def getpwall():
    """All entries."""
    return _all()
