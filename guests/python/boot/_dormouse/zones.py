"""Time zones for `zoneinfo` from memory, as the package `tzdata` that it asks when there are no files."""

import io
import os
import zoneinfo
from importlib.machinery import ModuleSpec
from importlib.resources.abc import Traversable, TraversableResources

_NO_ZONES = {"localtime", "posixrules", "Factory"}  # links out of the folder, and a placeholder

# name -> bytes, and name -> the names in it, of the files and folders below `tzdata/`
_data = {}
_folders = {"": {"zones", "zoneinfo"}, "zoneinfo": set()}


def collect(root):
    """Reads every zone file under `root`. Names of one zone share their bytes."""
    shared, names = {}, []
    for folder, folders, files in os.walk(root):
        # Copies that count leap seconds, or that repeat the main folder.
        folders[:] = sorted(set(folders) - {"posix", "right"})
        for file in sorted(set(files) - _NO_ZONES):
            path = os.path.join(folder, file)
            with open(path, "rb") as source:
                data = source.read()
            if data.startswith(b"TZif"):
                name = os.path.relpath(path, root)
                names.append(name)
                _data[f"zoneinfo/{name}"] = shared.setdefault(data, data)
    _data["zones"] = "".join(f"{name}\n" for name in sorted(names)).encode()
    for name in list(_data):
        while name:
            folder, _, part = name.rpartition("/")
            _folders.setdefault(folder, set()).add(part)
            name = folder


def install():
    """No folder is searched but those that a program names."""
    zoneinfo.reset_tzpath(to=())


class _Entry(Traversable):
    """A file or folder of the package."""

    def __init__(self, path):
        self._path = path

    @property
    def name(self):
        return self._path.rpartition("/")[2]

    def iterdir(self):
        return (self / name for name in sorted(_folders[self._path]))

    def is_dir(self):
        return self._path in _folders

    def is_file(self):
        return self._path in _data

    def joinpath(self, *names):
        return _Entry("/".join(filter(None, [self._path, *map(str, names)])))

    __truediv__ = joinpath

    def open(self, mode="r", *args, **options):
        if self._path not in _data:
            raise FileNotFoundError(f"no time zone data at {self._path}")
        file = io.BytesIO(_data[self._path])
        return file if "b" in mode else io.TextIOWrapper(file, *args, **options)


class Zones(TraversableResources):
    """Finds and loads the packages, which hold no code."""

    def __init__(self, path):
        self._path = path

    @staticmethod
    def find_spec(name, path=None, target=None):
        package, _, rest = name.partition(".")
        if package == "tzdata" and rest.replace(".", "/") in _folders:
            return ModuleSpec(name, Zones, is_package=True)
        return None

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        pass

    @staticmethod
    def get_resource_reader(name):
        return Zones(name.partition(".")[2].replace(".", "/"))

    def files(self):
        return _Entry(self._path)
