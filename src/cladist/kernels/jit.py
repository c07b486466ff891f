"""The decorator of every kernel: compiled, without the GIL, cached on disk and never stale.

numba checks only a kernel's own file before it reuses a cached binary, so a kernel that inlines another
file's function would keep the old code after an edit. Therefore the cache folder is named after a hash of
all kernel sources: any edit starts a new folder.

numba unpickles what its cache files hold and runs the machine code in them. A file that was cut ends there in any
error, and one with a flipped byte may end in a crash; so each file has a checksum that is verified first, and a damaged
one is compiled again. It finds damage, not forgery.

Compiling takes some seconds, so the first kernel of a process that is not in the cache is announced to the logger of
this package.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

_KEPT_CACHES = 4  # enough to switch between a few checkouts without compiling anew
_DIGEST_BYTES = hashlib.sha256().digest_size


def _source_hash() -> str:
    digest, kernels = hashlib.sha256(), Path(__file__).parent
    # Kernels are compiled with the methods of surrogates.
    for source in [*sorted(kernels.rglob("*.py")), *kernels.parent.glob("surrogates.py")]:
        digest.update(source.relative_to(kernels.parent).as_posix().encode())
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
    if CACHE_FOLDER is None:
        compiled._cache = NoCache()
    else:
        # The setting is global to numba; it is put back at once so that other libraries keep theirs.
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = CACHE_FOLDER
        try:
            compiled._cache = KernelCache(compiled.py_func)  # as `enable_caching` does with numba's own
        finally:
            numba.config.CACHE_DIR = before
    return compiled


@cache  # once per process
def announce_compiling() -> None:
    """Log that kernels are being compiled."""
    kept = "they are kept, so that this takes time only once."
    if CACHE_FOLDER is None:
        kept = "they cannot be kept; set CLADIST_CACHE_DIR to a folder that can be written to."
    logging.getLogger("cladist.kernels").info("Compiling kernels; %s", kept)


class NoCache(NullCache):
    """A cache that keeps nothing."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        """Return None: the function must be compiled."""
        announce_compiling()


# ---------------------------------------------------------------- files with a checksum


class KernelCache(FunctionCache):
    """numba's cache of one function, in which every failure to read or to write is a miss."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for some types, None if it must be compiled."""
        loaded = None
        with suppress(Exception):  # numba raises what its own, pickle's and LLVM's readers do: the list has no end
            loaded = super().load_overload(sig, target_context)
        if loaded is None:
            announce_compiling()
        return loaded

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function for the next process, unless the disk is full or may not be written to."""
        with suppress(OSError):
            super().save_overload(sig, data)


class _CheckedFiles(IndexDataCacheFile):
    """The index and the data files of one function; those that do not match their checksum are removed."""

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = pickle.loads(_verified(Path(self._index_path)) or b"")
            return dict(overloads) if (version, stamp) == (self._version, self._source_stamp) else {}
        except Exception:  # sound, but of another version
            return {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        raw = _verified(Path(self._data_path(name)))
        if raw is None:
            raise FileNotFoundError(name)  # to the caller a miss
        return pickle.loads(raw)

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _write(self, path: str, content: Any) -> None:
        raw = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(raw).digest() + raw)


def _verified(path: Path) -> bytes | None:
    """Return the content of a file behind its checksum, or None; a file that does not match is removed."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    digest, content = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() == digest:
        return content
    with suppress(OSError):
        os.unlink(path)
    return None
