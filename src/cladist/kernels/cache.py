"""Compiled kernels on disk, each file with a checksum: a damaged file is compiled again, and never an error.

numba unpickles what its cache files hold and runs the machine code in them. A file that was cut ends there in any
error, and one with a flipped byte may end in a crash; so the checksum is verified before the file is believed.
It finds damage, not forgery.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCache(FunctionCache):
    """numba's cache of one function, in which every failure to read or to write is a miss."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for some types, None if it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # numba raises what its own, pickle's and LLVM's readers do: the list has no end
            return None

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
