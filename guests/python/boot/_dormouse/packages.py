"""Packages that were installed in the sandbox."""

import sys
from importlib.machinery import PathFinder

# Where `pip install --user` puts them in a home folder.
FOLDER = f"/workspace/.local/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


class Installed:
    """Finds them also when their folder was made after it had been looked for."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or sys.path_importer_cache.get(FOLDER, True) is not None or FOLDER not in sys.path:
            return None
        # What was not there is remembered as not there.
        del sys.path_importer_cache[FOLDER]
        return PathFinder.find_spec(name, [FOLDER], target)
