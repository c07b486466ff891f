"""A safetensors file as arrays that are read from the disk when they are looked at.

The header is verified here, since the arrays made from it look straight into the file: every array lies within it,
where its type may lie, and none overlaps another. What the arrays hold is for their reader to doubt.
"""

from __future__ import annotations

import json
import mmap
import struct
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError
from cladist.storage.tensors import DTYPES, MAX_HEADER_BYTES

_NAMES = {short: name for name, short in DTYPES.items()}


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, mapped and not writable; a file that is not sound is refused.

    Nothing but the header is read. The file must stay as it is for as long as the arrays are in use; one that another
    takes the place of, as `write_folder` has it, does.
    """
    with open(path, "rb") as file:
        header, start = _header(file.read(8), file, path)
        size = path.stat().st_size - start
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    arrays, ends = {}, []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, (begin, end) = _checked(name, entry, size, path)
        ends.append((begin, end))
        if (start + begin) % dtype.itemsize:
            raise ModelFormatError(f"{path}: array {name!r} begins where its type may not.")
        flat = np.frombuffer(mapped, dtype, prod(shape), start + begin) if prod(shape) else np.zeros(0, dtype)
        arrays[name] = flat.reshape(shape)
    ends.sort()
    if any(first[1] > second[0] for first, second in pairwise(ends)):
        raise ModelFormatError(f"{path}: two of its arrays overlap.")
    return arrays


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array looks into a file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap) or (isinstance(base, memoryview) and isinstance(base.obj, mmap.mmap))


def _header(length: bytes, file: Any, path: Path) -> tuple[dict[str, Any], int]:
    n_bytes = struct.unpack("<Q", length)[0] if len(length) == 8 else 0
    if not 2 <= n_bytes <= MAX_HEADER_BYTES:
        raise ModelFormatError(f"{path} is not a sound safetensors file (its header would have {n_bytes:,} bytes).")
    try:
        header = json.loads(file.read(n_bytes).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound safetensors file ({error}).") from error
    if not isinstance(header, dict):
        raise ModelFormatError(f"{path} is not a sound safetensors file (its header is no object).")
    return header, 8 + n_bytes


def _checked(name: str, entry: Any, size: int, path: Path) -> tuple[np.dtype[Any], tuple[int, ...], tuple[int, int]]:
    """Return type, shape and place of an array, if they fit each other and the file."""
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str) or entry["dtype"] not in _NAMES:
        raise ModelFormatError(f"{path}: array {name!r} is of a type that cladist never writes.")
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(type(n) is int and 0 <= n <= 2**62 for n in numbers):
            raise ModelFormatError(f"{path}: the shape or place of array {name!r} is not made of whole numbers.")
    dtype = np.dtype(_NAMES[entry["dtype"]]).newbyteorder("<")
    assert shape is not None
    assert offsets is not None
    if len(offsets) != 2 or not offsets[0] <= offsets[1] <= size or len(shape) > 32:
        raise ModelFormatError(f"{path}: array {name!r} does not lie within the file; it is cut or altered.")
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ModelFormatError(f"{path}: array {name!r} has a shape that does not fit its bytes.")
    return dtype, tuple(shape), (offsets[0], offsets[1])
