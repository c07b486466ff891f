"""Named arrays ↔ one safetensors file.

The format is eight bytes of header length, a JSON header, and the arrays' bytes. It is written here, array by
array, because the library's writer wants all arrays contiguous at once, and older versions copy them all;
it is read by the library.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from cladist.errors import ModelFormatError

DTYPES = {
    "bool": "BOOL",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "float16": "F16",
    "float32": "F32",
    "float64": "F64",
}
MAX_HEADER_BYTES = 100_000_000  # the library refuses to read a longer one
_CHUNK_BYTES = 2**24  # little memory, and few enough calls that their number does not matter


def write_tensors(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, int]:
    """Write `arrays` to `file`; return the SHA-256 and the number of the bytes written.

    An array that is not contiguous, or not little-endian, is copied a few rows at a time; no other is copied.

    Examples
    --------
    >>> import io
    >>> digest, size = write_tensors(io.BytesIO(), {"bias": np.zeros(3)})
    >>> size
    96
    """
    # Wide items first, so that every array starts at a multiple of its item size.
    names = sorted(arrays, key=lambda name: (-_checked(name, arrays[name]).itemsize, name))
    header = _header(names, arrays)
    digest, size = hashlib.sha256(header), len(header)
    file.write(header)
    for name in names:
        for chunk in _chunks(arrays[name]):
            file.write(chunk)
            digest.update(chunk)
            size += chunk.nbytes
    return digest.hexdigest(), size


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, writable and in memory."""
    arrays = {}
    try:
        with safe_open(path, framework="np") as file:
            for name in file.keys():  # noqa: SIM118  (the handle is not iterable)
                dtype = file.get_slice(name).get_dtype()
                if dtype not in DTYPES.values():
                    raise ModelFormatError(f"{path}: array {name!r} is of type {dtype}, which cladist never writes.")
                arrays[name] = file.get_tensor(name)
    except (SafetensorError, ValueError, OverflowError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"{path} is not a sound safetensors file ({error}).") from error
    return arrays


def _checked(name: str, array: NDArray[Any]) -> NDArray[Any]:
    if not isinstance(name, str) or name == "__metadata__":
        raise ModelFormatError(f"An array cannot be saved under the name {name!r}.")
    if not isinstance(array, np.ndarray) or array.dtype.name not in DTYPES:
        kind = array.dtype.name if isinstance(array, np.ndarray) else type(array).__name__
        raise ModelFormatError(
            f"Array {name!r} is of type {kind}, which cannot be saved; numpy arrays of {', '.join(DTYPES)} can."
        )
    return array


def _chunks(array: NDArray[Any]) -> Iterator[memoryview]:
    rows = np.atleast_1d(array)
    step = max(1, _CHUNK_BYTES * len(rows) // max(1, rows.nbytes))
    for start in range(0, len(rows), step):
        block = np.asarray(rows[start : start + step], dtype=rows.dtype.newbyteorder("<"), order="C")
        yield block.reshape(-1).view(np.uint8).data


def _header(names: list[str], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    entries, end = {}, 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        entries[name] = {
            "dtype": DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    try:
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelFormatError(f"The name of an array is not valid Unicode: {error.object!r}.") from error
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER_BYTES:
        raise ModelFormatError(f"{len(names):,} arrays are too many for one file; join the small ones.")
    return struct.pack("<Q", len(text)) + text
