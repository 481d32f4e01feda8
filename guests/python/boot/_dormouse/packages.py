"""Packages that were installed in the sandbox."""

import os
import site
import sys
from importlib.machinery import PathFinder

# Where `pip install --user` puts them in a home folder.
FOLDER = f"/workspace/.local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"

# Whose finders have been asked, or only say what is missing.
_OWN = ("_dormouse.packages", "_dormouse.absent")
# The `.pth` files that were read, as they were then.
_read = set()


class Installed:
    """Finds them also when their folder was made after it had been looked for, and those that lie elsewhere, as `.pth` files say.

    Such a file is read when a module is found nowhere else: a run that has no use for it does not look for it.
    """

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or FOLDER not in sys.path:
            return None
        if sys.path_importer_cache.get(FOLDER, True) is None:
            # What was not there is remembered as not there.
            del sys.path_importer_cache[FOLDER]
            spec = PathFinder.find_spec(name, [FOLDER], target)
            if spec is not None:
                return spec
        return _elsewhere(name, target) if _read_new() else None


def _read_new():
    try:
        files = sorted(name for name in os.listdir(FOLDER) if name.endswith(".pth"))
        found = [(name, about.st_mtime_ns, about.st_size) for name in files for about in [os.stat(f"{FOLDER}/{name}")]]
    except OSError:
        return False
    new = [one for one in found if one not in _read]
    # Before they are run: what they import passes here.
    _read.update(new)
    for name, *_ in new:
        site.addpackage(FOLDER, name, None)
    return bool(new)


def _elsewhere(name, target):
    others = (finder for finder in list(sys.meta_path) if getattr(finder, "__module__", None) not in _OWN)
    found = (finder.find_spec(name, None, target) for finder in others if hasattr(finder, "find_spec"))
    return next((spec for spec in found if spec is not None), None)
