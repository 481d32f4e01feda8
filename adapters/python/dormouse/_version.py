"""The version of the package. Its native part is of the same release, or the package is not used."""

from ._native import VERSION

__version__ = "0.1.0"

if VERSION != __version__:
    raise ImportError(
        f"version_mismatch: this package is of release {__version__}, and its native part of {VERSION}; "
        "install the wheel of one release again, as a whole"
    )

__all__ = ["__version__"]
