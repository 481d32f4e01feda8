"""The version of the package, which is that of the native part."""

from ._native import VERSION as __version__

__all__ = ["__version__"]
