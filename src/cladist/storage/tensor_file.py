"""Named arrays ↔ one safetensors file: eight bytes of header length, a JSON header, and the bytes of the arrays.

The file is written here, array by array, because the library's writer needs all arrays contiguous at once. It is read
here, because the library's reader neither verifies single arrays nor leaves them in the file.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.values import DTYPES, MAX_BYTES, check_size, parse_json

LARGE_BYTES = 2**16  # an array of at least this size has a checksum of its own; all smaller ones share one
_CHUNK_BYTES = 2**24  # of an array that is written at once
_MOST_BYTES = 2**62  # of an array, dimensions of 0 aside; numpy refuses larger ones
_NAMES = {short: name for name, short in DTYPES.items()}
ByName = Callable[[str], bool]


def write_tensors(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, int, dict[str, Any]]:
    """Write `arrays` to `file`; return the SHA-256 and the number of the bytes written, and checksums of parts.

    The parts are ``header``, ``small`` (all small arrays in order) and ``large`` (each other array by name), for
    readers that leave large arrays in the file. An array that is not contiguous, or not little-endian, is copied a few
    rows at a time; no other is copied.
    """
    for name, array in arrays.items():
        _check_writable(name, array)
    names = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # aligns every array with its item size
    header = _build_header(names, arrays)
    digest, size = hashlib.sha256(header), len(header)
    small, large = hashlib.sha256(), {}
    file.write(header)
    for name in names:
        part = hashlib.sha256() if arrays[name].nbytes >= LARGE_BYTES else small
        for chunk in _split_bytes(arrays[name]):
            file.write(chunk)
            digest.update(chunk)
            part.update(chunk)
            size += chunk.nbytes
        if part is not small:
            large[name] = part.hexdigest()
    parts = {"header": hashlib.sha256(header).hexdigest(), "small": small.hexdigest(), "large": large}
    return digest.hexdigest(), size, parts


def _check_writable(name: str, array: NDArray[Any]) -> None:
    if not isinstance(name, str) or name == "__metadata__":
        raise ModelFormatError(f"An array cannot be saved under the name {name!r}.")
    if not isinstance(array, np.ndarray) or array.dtype.name not in DTYPES:
        kind = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
        raise ModelFormatError(
            f"Array {name!r} is of type {kind}, which cannot be saved; numpy arrays of {', '.join(DTYPES)} can."
        )


def _split_bytes(array: NDArray[Any]) -> Iterator[memoryview]:
    rows = np.atleast_1d(array)
    step = max(1, _CHUNK_BYTES * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        block = np.asarray(rows[start : start + step], dtype=rows.dtype.newbyteorder("<"), order="C")
        yield _bytes_of(block).data


def _build_header(names: list[str], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    entries, end = {}, 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        entries[name] = {"dtype": DTYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": [start, end]}
    try:
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelFormatError(f"The name of an array is not valid Unicode: {error.object!r}.") from error
    text += b" " * (-len(text) % 8)
    try:
        check_size(text)
    except ValueError as error:
        raise ModelFormatError(f"{len(names):,} arrays are too many for one file; join the small ones.") from error
    return struct.pack("<Q", len(text)) + text


class Extent(NamedTuple):
    """One array of a file: its name, type and shape, and where it begins and ends in bytes after the header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(file: BinaryIO) -> bytes:
    """Return the bytes of a header with its length, and leave the file where the arrays begin."""
    length = file.read(8)
    n_bytes = struct.unpack("<Q", length)[0] if len(length) == 8 else 0
    if not 2 <= n_bytes <= MAX_BYTES:
        raise ModelFormatError(
            f"{file.name} is not a sound safetensors file (its header would have {n_bytes:,} bytes)."
        )
    return length + file.read(n_bytes)


def parse_header(raw: bytes, n_bytes: int, path: object) -> list[Extent]:
    """Return the arrays of a file in their order, given its `n_bytes` after the header; `path` is for messages.

    Everything is verified, since arrays may look straight into the file: they fill the file without gaps, none overlaps
    another, and each begins at a multiple of its item size.
    """
    try:
        header = parse_json(raw[8:])
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound safetensors file ({error}).") from error
    if not isinstance(header, dict) or "__metadata__" in header:
        raise ModelFormatError(f"{path} is not a sound safetensors file (its header is no object of arrays alone).")
    extents = sorted((_parse_extent(name, entry, path) for name, entry in header.items()), key=lambda one: one[3:])
    if [*(extent.begin for extent in extents), n_bytes] != [0, *(extent.end for extent in extents)]:
        raise ModelFormatError(
            f"{path}: its arrays do not fill it one after the other: they overlap, leave gaps, or do not lie within"
            " the file; it is truncated or altered."
        )
    for extent in extents:
        if (len(raw) + extent.begin) % extent.dtype.itemsize:
            raise ModelFormatError(f"{path}: array {extent.name!r} begins where its type may not.")
    return extents


def _parse_extent(name: str, entry: Any, path: object) -> Extent:
    """Return the extent of an array, if its type, shape and offsets fit each other."""
    try:
        dtype = np.dtype(_NAMES[entry["dtype"]]).newbyteorder("<")
        shape, (begin, end) = entry["shape"], entry["data_offsets"]
        fits = isinstance(shape, list) and len(shape) <= 32 and entry.keys() == {"dtype", "shape", "data_offsets"}
        fits = fits and all(type(n) is int and 0 <= n <= _MOST_BYTES for n in (*shape, begin, end))
        fits = fits and prod(max(1, n) for n in shape) * dtype.itemsize <= _MOST_BYTES
        fits = fits and prod(shape) * dtype.itemsize == end - begin
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise ModelFormatError(
            f"{path}: array {name!r} needs a type, a shape and offsets that fit each other, as cladist writes them, not"
            f" {repr(entry)[:80]}."
        )
    return Extent(name, dtype, tuple(shape), begin, end)


def read_arrays(
    file: BufferedReader, entry: dict[str, Any], *, keep_in_file: ByName | None = None, verify: bool = False
) -> dict[str, NDArray[Any]]:
    """Return the arrays of an open file by name, verified by a manifest's `entry`.

    `entry` has the ``sha256`` of the whole file; newer manifests also have that of the ``header``, of all ``small``
    arrays, and of each ``large`` array by name. Arrays that `keep_in_file` selects by name stay in the file: mapped,
    not writable, and not read here if they are large. Without it, with `verify`, or if `entry` has only the checksum of
    the file, the whole file is read once to verify it. It may be unlinked meanwhile; it must not be written to.
    """
    map_type = mmap.mmap
    if keep_in_file is None or verify or "header" not in entry:
        _check_digest(hashlib.file_digest(file, "sha256"), entry["sha256"], file)
        file.seek(0)
        entry, map_type = {}, _VerifiedMap
    header = read_header(file)
    _check_digest(hashlib.sha256(header), entry.get("header"), file)
    extents = parse_header(header, os.fstat(file.fileno()).st_size - len(header), file.name)
    mapped = {extent.name for extent in extents if keep_in_file is not None and keep_in_file(extent.name)}
    map_ = map_type(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else None
    arrays, small = {}, hashlib.sha256()
    for extent in extents:
        stays = extent.name in mapped
        array = _map_array(map_, extent, len(header)) if stays else _read_array(file, extent, len(header))
        if extent.end - extent.begin < LARGE_BYTES:
            small.update(_bytes_of(array).data)
        elif not stays and "large" in entry:
            digest = hashlib.sha256(_bytes_of(array).data)
            _check_digest(digest, entry["large"].get(extent.name, "missing"), file)
        if array.dtype == bool and array.size and _bytes_of(array).max() > 1:
            raise ModelFormatError(f"{file.name}: array {extent.name!r} holds truth values that are neither.")
        arrays[extent.name] = array
    _check_digest(small, entry.get("small"), file)
    return arrays


class _VerifiedMap(mmap.mmap):
    """A file in memory that was read once and matched its checksum."""


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array is a view of a file."""
    return _map_of(array) is not None


def is_unread(array: NDArray[Any]) -> bool:
    """Tell whether an array is a view of a file that was not verified, since it would have to be read for that."""
    return is_mapped(array) and not isinstance(_map_of(array), _VerifiedMap)


def _map_of(array: NDArray[Any]) -> mmap.mmap | None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    base = base.obj if isinstance(base, memoryview) else base
    return base if isinstance(base, mmap.mmap) else None


def _map_array(map_: Any, extent: Extent, start: int) -> NDArray[Any]:
    size = (extent.end - extent.begin) // extent.dtype.itemsize
    flat = np.frombuffer(map_, extent.dtype, size, start + extent.begin) if size else np.zeros(0, extent.dtype)
    return flat.reshape(extent.shape)


def _read_array(file: BufferedReader, extent: Extent, start: int) -> NDArray[Any]:
    array = np.empty(extent.shape, extent.dtype)
    file.seek(start + extent.begin)
    if array.size and file.readinto(_bytes_of(array).data) != array.nbytes:
        raise ModelFormatError(f"{file.name} became shorter while it was read; it is truncated or altered.")
    return array.astype(extent.dtype.newbyteorder("="), copy=False)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def _check_digest(digest: Any, checksum: str | None, file: BufferedReader) -> None:
    if checksum is not None and digest.hexdigest() != checksum:
        raise ModelFormatError(f"{file.name} does not match its checksum; the file was altered or damaged.")
