"""Run untrusted Python, JavaScript, TypeScript and PHP in sandboxes, inside this process.

>>> import dormouse
>>> dormouse.run("1 + 1").value
2

Nothing of this machine is visible to a sandbox unless you grant it, and limits are always on. `Dormouse` has the options;
`AsyncDormouse` is the same for asyncio.
"""

from ._errors import Error, SnippetError
from ._client import (
    AsyncDormouse,
    AsyncSandbox,
    Dormouse,
    Function,
    Mount,
    Sandbox,
    load_ipython_extension,
    run,
    run_async,
)
from ._outcome import GuestException, Outcome
from ._values import Object, Reference, Resource, Unknown
from ._version import __version__

__all__ = [
    "AsyncDormouse",
    "AsyncSandbox",
    "Dormouse",
    "Error",
    "Function",
    "GuestException",
    "Mount",
    "Object",
    "Outcome",
    "Reference",
    "Resource",
    "Sandbox",
    "SnippetError",
    "Unknown",
    "__version__",
    "load_ipython_extension",
    "run",
    "run_async",
]
