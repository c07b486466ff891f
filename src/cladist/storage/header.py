"""The header of a safetensors file: which arrays it holds, and where.

Everything is verified here, since arrays are made from it that may look straight into the file: the arrays fill the
file without gaps, none overlaps another, and each begins where its type may.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from cladist.errors import ModelFormatError
from cladist.storage.json_text import MAX_BYTES, parse_json
from cladist.storage.tensors import DTYPES

_NAMES = {short: name for name, short in DTYPES.items()}
_MOST_BYTES = 2**62  # of an array, dimensions of 0 aside; numpy refuses what is larger


class Place(NamedTuple):
    """One array of a file: its name, type and shape, and from which byte to which it lies behind the header."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def read_header(file: BinaryIO) -> bytes:
    """Return the bytes of a header, its length before it, and leave the file where the arrays begin."""
    length = file.read(8)
    n_bytes = struct.unpack("<Q", length)[0] if len(length) == 8 else 0
    if not 2 <= n_bytes <= MAX_BYTES:
        raise ModelFormatError(
            f"{file.name} is not a sound safetensors file (its header would have {n_bytes:,} bytes)."
        )
    return length + file.read(n_bytes)


def parse_header(raw: bytes, n_bytes: int, path: object) -> list[Place]:
    """Return the arrays of a file in their order, if they fit its `n_bytes` behind the header; `path` is for messages.

    Examples
    --------
    >>> text = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  '
    >>> parse_header(struct.pack("<Q", len(text)) + text, 8, "file")
    [Place(name='w', dtype=dtype('<f4'), shape=(2,), begin=0, end=8)]
    """
    try:
        header = parse_json(raw[8:])
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not a sound safetensors file ({error}).") from error
    if not isinstance(header, dict):
        raise ModelFormatError(f"{path} is not a sound safetensors file (its header is no object).")
    if "__metadata__" in header:
        raise ModelFormatError(f"{path} has metadata, which cladist never writes; it is no array file of a model.")
    places = sorted((_place(name, entry, path) for name, entry in header.items()), key=lambda place: place[3:])
    starts = [0, *(place.end for place in places)]
    if [*(place.begin for place in places), n_bytes] != starts:
        raise ModelFormatError(
            f"{path}: its arrays do not fill it one after the other: they overlap, leave gaps, or do not lie within"
            " the file; it is cut or altered."
        )
    for place in places:
        if (len(raw) + place.begin) % place.dtype.itemsize:
            raise ModelFormatError(f"{path}: array {place.name!r} begins where its type may not.")
    return places


def _place(name: str, entry: Any, path: object) -> Place:
    """Return where an array lies, if its type, shape and place fit each other."""
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str) or entry["dtype"] not in _NAMES:
        raise ModelFormatError(f"{path}: array {name!r} is of a type that cladist never writes.")
    shape, offsets = (_numbers(entry.get(key)) for key in ("shape", "data_offsets"))
    if shape is None or offsets is None or len(offsets) != 2 or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ModelFormatError(f"{path}: the shape or place of array {name!r} is not made of whole numbers.")
    dtype = np.dtype(_NAMES[entry["dtype"]]).newbyteorder("<")
    if len(shape) > 32 or prod(max(1, n) for n in shape) * dtype.itemsize > _MOST_BYTES:
        raise ModelFormatError(f"{path}: array {name!r} has a shape that no array can have.")
    if prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
        raise ModelFormatError(f"{path}: array {name!r} has a shape that does not fit its bytes.")
    return Place(name, dtype, shape, *offsets)


def _numbers(value: Any) -> tuple[int, ...] | None:
    fits = isinstance(value, list) and all(type(n) is int and 0 <= n <= _MOST_BYTES for n in value)
    return tuple(value) if fits else None
