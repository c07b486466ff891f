"""What a bug report should begin with."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from cladist._version import __version__

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "typer", "rich", "pandas")


def versions() -> dict[str, str]:
    """Return the versions of cladist, Python, the platform and what cladist stands on.

    Examples
    --------
    >>> sorted(versions())[:2]
    ['cladist', 'llvmlite']
    """
    found = {"cladist": __version__, "python": sys.version.split()[0], "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions, for a bug report."""
    for name, found in versions().items():
        print(f"{name:>14}: {found}")
