"""A safetensors file → arrays: read into memory, or left in the file and read when they are looked at."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable
from io import BufferedReader
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.header import Place, parse_header, read_header
from cladist.storage.tensors import LARGE_BYTES

Left = Callable[[str], bool]  # whether the array of a name is left in the file


def read_arrays(file: BufferedReader, entry: dict[str, Any], *, left: Left | None = None, verify: bool = False) -> Any:
    """Return the arrays of an open file, as a dict, verified by what a manifest's `entry` says of it.

    Parameters
    ----------
    file : binary file
        At its beginning. It may be unlinked meanwhile; it must not be written to.
    entry : dict
        ``sha256`` of the whole file. Newer manifests also have ``header``, the SHA-256 of the header, ``small``, that
        of all small arrays, and ``large``, that of each other one by name.
    left : callable, optional
        Which arrays, by name, are left in the file: mapped, not writable, and not read here if they are large.
        Without it, or if `entry` has no checksums but that of the file, all of the file is read once to verify it.
    verify : bool
        Read and verify what is left in the file, too.
    """
    kind = mmap.mmap
    if left is None or verify or "header" not in entry:
        if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
            raise _altered(file)
        file.seek(0)
        entry, kind = {}, _VerifiedMap
    header = read_header(file)
    _check(hashlib.sha256(header), entry.get("header"), file)
    places = parse_header(header, os.fstat(file.fileno()).st_size - len(header), file.name)
    left = left or (lambda name: False)
    mapped = kind(file.fileno(), 0, access=mmap.ACCESS_READ) if any(left(place.name) for place in places) else None
    return _arrays(file, places, len(header), entry, left, mapped)


class _VerifiedMap(mmap.mmap):
    """A file in memory that was read once and matched its checksum."""


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array looks into a file."""
    return _map_of(array) is not None


def is_unread(array: NDArray[Any]) -> bool:
    """Tell whether an array looks into a file that nobody has verified, as it would have to be read for that."""
    found = _map_of(array)
    return found is not None and not isinstance(found, _VerifiedMap)


def _map_of(array: NDArray[Any]) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, mmap.mmap) else None


def _arrays(
    file: BufferedReader, places: list[Place], start: int, entry: dict[str, Any], left: Left, mapped: mmap.mmap | None
) -> Any:
    """Return all arrays; those that `entry` has checksums of are verified, unless they are large and left."""
    arrays, small = {}, hashlib.sha256()
    for place in places:
        is_large, is_left = place.end - place.begin >= LARGE_BYTES, left(place.name)
        array = _mapped(mapped, place, start) if is_left and mapped is not None else _read(file, place, start)
        if not is_large:
            small.update(_bytes_of(array).data)
        elif not is_left:
            _check_large(array, place.name, entry, file)
        if array.dtype == bool and array.size and _bytes_of(array).max() > 1:
            raise ModelFormatError(f"{file.name}: array {place.name!r} holds truth values that are neither.")
        arrays[place.name] = array
    _check(small, entry.get("small"), file)
    return arrays


def _mapped(mapped: mmap.mmap, place: Place, start: int) -> NDArray[Any]:
    size = (place.end - place.begin) // place.dtype.itemsize
    flat = np.frombuffer(mapped, place.dtype, size, start + place.begin) if size else np.zeros(0, place.dtype)
    return flat.reshape(place.shape)


def _read(file: BufferedReader, place: Place, start: int) -> NDArray[Any]:
    array = np.empty(place.shape, place.dtype)
    file.seek(start + place.begin)
    if array.size and file.readinto(_bytes_of(array).data) != array.nbytes:
        raise ModelFormatError(f"{file.name} became shorter while it was read; it is cut or altered.")
    return array.astype(place.dtype.newbyteorder("="), copy=False)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _check_large(array: NDArray[Any], name: str, entry: dict[str, Any], file: BufferedReader) -> None:
    if "large" in entry:
        _check(hashlib.sha256(_bytes_of(array).data), entry["large"].get(name, "missing"), file)


def _check(digest: Any, wanted: str | None, file: BufferedReader) -> None:
    if wanted is not None and digest.hexdigest() != wanted:
        raise _altered(file)


def _altered(file: BufferedReader) -> ModelFormatError:
    return ModelFormatError(f"{file.name} does not match its checksum; the file was altered or damaged.")
