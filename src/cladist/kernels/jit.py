"""The decorator of every kernel: compiled, without the GIL, cached on disk and never stale.

numba checks only a kernel's own file before it reuses a cached binary, so a kernel that inlines another
file's function would keep the old code after an edit. Therefore the cache folder is named after a hash of
all kernel sources: any edit starts a new folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numba

from cladist.kernels.cache import KernelCache

_KEPT_CACHES = 4  # enough to switch between a few checkouts without compiling anew


def _source_hash() -> str:
    digest, kernels = hashlib.sha256(), Path(__file__).parent
    for folder in (kernels, kernels.parent / "surrogates"):  # kernels are compiled with the methods of surrogates
        for source in sorted(folder.rglob("*.py")):
            digest.update(source.relative_to(folder.parent).as_posix().encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    chosen = os.environ.get("CLADIST_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "cladist" / "kernels"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cladist" / "kernels"


def _open_cache() -> str | None:
    """Make the cache folder, drop the oldest others; None where nothing can be written."""
    root = _cache_root()
    folder = root / _source_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        # Only folders named like a hash are ours to drop: the root may hold other things.
        caches = [f for f in root.iterdir() if re.fullmatch(r"[0-9a-f]{16}", f.name) and f.is_dir()]
        by_age = sorted(caches, key=lambda f: f.stat().st_mtime)
    except OSError:
        return None
    for old in by_age[:-_KEPT_CACHES]:
        shutil.rmtree(old, ignore_errors=True)
    return str(folder)


CACHE_FOLDER = _open_cache()


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` with numba at its first call; options go to `numba.njit`."""
    if function is None:
        return lambda f: kernel(f, **options)
    compiled = numba.njit(nogil=True, **options)(function)
    if CACHE_FOLDER is not None:
        # The setting is global to numba; it is put back at once so that other libraries keep theirs.
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = CACHE_FOLDER
        try:
            compiled._cache = KernelCache(compiled.py_func)  # as `enable_caching` does with numba's own
        finally:
            numba.config.CACHE_DIR = before
    return compiled
