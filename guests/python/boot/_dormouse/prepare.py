"""Runs once, while the guest is built: brings the interpreter into the state that every instance starts from."""

# First: what CPython has in C elsewhere is there before the modules that look for it.
import os
import sys
from _dormouse import importlib_bootstrap

importlib_bootstrap.collect(os.path.dirname(os.path.dirname(__file__)) + "/library", os.path.dirname(os.__file__))
sys.meta_path.append(importlib_bootstrap.Library)

from _dormouse import calls

calls.install()

import builtins
import gc
import importlib
import linecache
import random
import tempfile
from importlib import machinery

from _dormouse import (absent, annotations, digests, errors, foreign, loop, packages, parts, program, session, system, threads,
                       warm, world, zones)

# What snippets commonly import is loaded; an import statement then costs a dictionary lookup.
_LOADED = """
abc argparse array ast asyncio base64 binascii bisect bz2 calendar cmath codecs collections.abc colorsys concurrent.futures
configparser contextlib contextvars copy csv dataclasses datetime decimal difflib dis email email.message email.mime.text
email.policy enum errno fileinput fnmatch fractions functools gc getopt getpass gettext glob graphlib gzip hashlib heapq
hmac html html.parser http http.client http.cookies imaplib importlib.metadata importlib.resources inspect io ipaddress
itertools json keyword linecache locale logging logging.handlers lzma math mimetypes multiprocessing
numbers opcode operator optparse os pathlib pickle pickletools pkgutil platform plistlib posixpath pprint queue quopri
random re reprlib sched secrets select selectors shelve shlex shutil signal site socket sqlite3 stat statistics string
string.templatelib stringprep struct subprocess symtable sys sysconfig tarfile tempfile textwrap threading time timeit token
tokenize tomllib trace traceback tracemalloc types typing unicodedata unittest unittest.mock urllib.error urllib.parse
urllib.request uuid warnings wave weakref xml.dom.minidom xml.etree.ElementTree xml.sax zipfile zlib zoneinfo
annotationlib code codeop doctest pdb profile pstats pydoc zipimport
_pydatetime _strptime _pylong encodings.idna encodings.latin_1 encodings.ascii encodings.utf_16 encodings.utf_16_le
encodings.utf_16_be encodings.utf_32 encodings.utf_8_sig encodings.cp1252 encodings.unicode_escape encodings.raw_unicode_escape
encodings.hex_codec encodings.base64_codec encodings.punycode encodings.charmap encodings.cp437
multiprocessing.process multiprocessing.context concurrent.futures.thread concurrent.futures.process
""".split()


def _find_no_native_code():
    """What was compiled for another machine is not there, which packages are ready for; an error of the loader they are not."""
    machinery.EXTENSION_SUFFIXES.clear()
    loaders = (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES), (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES)
    plain = machinery.FileFinder.path_hook(*loaders)
    sys.path_hooks[:] = [plain if hook.__name__ == plain.__name__ else hook for hook in sys.path_hooks]


def prepare(stdlib, zone_folder, package_folder):
    for name in _LOADED:
        importlib.import_module(name)
    sys.meta_path.remove(importlib_bootstrap.Library)
    absent.install()
    annotations.install()
    digests.install()
    errors.install()
    world.install()
    system.install()
    loop.install()
    threads.install()
    setattr(builtins, parts.RUN, loop.run_here)
    zones.collect(zone_folder)
    zones.install()
    importlib_bootstrap.collect(package_folder, stdlib + "/site-packages")
    importlib_bootstrap.collect(stdlib)
    importlib_bootstrap.describe(package_folder)
    importlib_bootstrap.adopt()
    # Before `Absent`, which is the last resort.
    sys.meta_path[-1:-1] = [importlib_bootstrap.Library, zones.Zones, packages.Installed]
    sys.meta_path.insert(0, foreign.Foreign)
    _find_no_native_code()
    session.reset()


def finish():
    """The last step in Python: forgets the folders that were there for the build only."""
    warm.requests()
    sys.path[:] = [packages.FOLDER]
    sys.builtin_module_names = tuple(name for name in sys.builtin_module_names if name not in foreign.LINKED)
    sys.path_importer_cache.clear()
    linecache.clearcache()
    importlib.invalidate_caches()
    os.environ.clear()
    system.finish()
    sys.argv[:] = [""]
    # Lazily, at the first use in an instance (see the edit of _randommodule.c).
    random.seed()
    tempfile._name_sequence = None
    tempfile.tempdir = None
    session.reset()
    gc.collect()
    gc.freeze()
