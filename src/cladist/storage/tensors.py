"""Named arrays → one safetensors file.

The format is eight bytes of header length, a JSON header, and the arrays' bytes. It is written here, array by
array, because the library's writer wants all arrays contiguous at once, and older versions copy them all. It is read
by `array_file`, because the library's reader neither verifies single arrays nor leaves them in the file.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.json_text import check_size

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
LARGE_BYTES = 2**16  # an array of so many bytes gets a checksum of its own; all smaller ones share one
_CHUNK_BYTES = 2**24  # little memory, and few enough calls that their number does not matter


def write_tensors(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, int, dict[str, Any]]:
    """Write `arrays` to `file`; return the SHA-256 and the number of the bytes written, and checksums of parts.

    The parts are ``header``, ``small`` (all small arrays, in their order) and ``large`` (each other, by name): what a
    reader needs who leaves large arrays in the file.

    An array that is not contiguous, or not little-endian, is copied a few rows at a time; no other is copied.

    Examples
    --------
    >>> import io
    >>> digest, size, parts = write_tensors(io.BytesIO(), {"bias": np.zeros(3)})
    >>> size, sorted(parts), parts["large"]
    (96, ['header', 'large', 'small'], {})
    """
    # Wide items first, so that every array starts at a multiple of its item size.
    names = sorted(arrays, key=lambda name: (-_checked(name, arrays[name]).itemsize, name))
    header = _header(names, arrays)
    digest, size = hashlib.sha256(header), len(header)
    small, large = hashlib.sha256(), {}
    file.write(header)
    for name in names:
        part = hashlib.sha256() if arrays[name].nbytes >= LARGE_BYTES else small
        for chunk in _chunks(arrays[name]):
            file.write(chunk)
            digest.update(chunk)
            part.update(chunk)
            size += chunk.nbytes
        if part is not small:
            large[name] = part.hexdigest()
    parts = {"header": hashlib.sha256(header).hexdigest(), "small": small.hexdigest(), "large": large}
    return digest.hexdigest(), size, parts


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
    try:
        check_size(text)
    except ValueError as error:
        raise ModelFormatError(f"{len(names):,} arrays are too many for one file; join the small ones.") from error
    return struct.pack("<Q", len(text)) + text
