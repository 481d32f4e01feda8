"""Time zones for `zoneinfo` from memory."""

import io
import os
import zoneinfo
import zoneinfo._common
import zoneinfo._tzpath

_NO_ZONES = {"localtime", "posixrules", "Factory"}  # links out of the folder, and a placeholder

_data = {}


def collect(root):
    """Reads every zone file under `root`. Names of one zone share their bytes."""
    shared = {}
    for folder, folders, files in os.walk(root):
        # Copies that count leap seconds, or that repeat the main folder.
        folders[:] = sorted(set(folders) - {"posix", "right"})
        for file in sorted(set(files) - _NO_ZONES):
            path = os.path.join(folder, file)
            with open(path, "rb") as source:
                data = source.read()
            if data.startswith(b"TZif"):
                _data[os.path.relpath(path, root)] = shared.setdefault(data, data)


def install():
    """A folder named by the TZPATH of a program is still asked first."""
    load, known = zoneinfo._common.load_tzdata, zoneinfo._tzpath.available_timezones

    def load_tzdata(key):
        data = _data.get(key)
        return load(key) if data is None else io.BytesIO(data)

    def available_timezones():
        return known() | set(_data)

    zoneinfo._common.load_tzdata = load_tzdata
    zoneinfo.available_timezones = zoneinfo._tzpath.available_timezones = available_timezones
    zoneinfo.reset_tzpath(to=())
