"""Lists of strings ↔ two arrays: all UTF-8 bytes in a row, and where each string begins."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cladist.errors import ModelFormatError


def pack_strings(strings: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays ``utf8`` (uint8) and ``offsets`` (int64, one more than there are strings).

    Examples
    --------
    >>> packed = pack_strings(["né", "", "b"])
    >>> packed["offsets"]
    array([0, 3, 3, 4])
    >>> unpack_strings(**packed)
    ['né', '', 'b']
    """
    try:
        encoded = [string.encode("utf-8") for string in strings]
    except (AttributeError, UnicodeEncodeError):
        row, offender = next((i, s) for i, s in enumerate(strings) if not _encodable(s))
        raise ModelFormatError(f"String {row} cannot be saved: {offender!r} is not text that UTF-8 can hold.") from None
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), dtype=np.int64, count=len(encoded) + 1)
    return {"utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), "offsets": offsets}


def unpack_strings(utf8: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    """Return the strings that `pack_strings` packed; arrays that it cannot have made are refused.

    Examples
    --------
    >>> unpack_strings(np.frombuffer(b"abc", np.uint8), np.array([0, 2, 3]))
    ['ab', 'c']
    """
    if utf8.dtype != np.uint8 or utf8.ndim != 1 or offsets.dtype != np.int64 or offsets.ndim != 1:
        raise ModelFormatError(
            "Packed strings must be a 1-D uint8 and a 1-D int64 array, not"
            f" {utf8.ndim}-D {utf8.dtype} and {offsets.ndim}-D {offsets.dtype}."
        )
    if not offsets.size or offsets[0] != 0 or offsets[-1] != utf8.size or (offsets[1:] < offsets[:-1]).any():
        raise ModelFormatError(f"The offsets of packed strings must rise from 0 to the number of bytes, {utf8.size}.")
    raw = utf8.tobytes()
    try:
        return [raw[start:end].decode("utf-8") for start, end in pairwise(offsets.tolist())]
    except UnicodeDecodeError as error:
        raise ModelFormatError(f"A packed string is not valid UTF-8: {error.object!r}.") from error


def _encodable(string: object) -> bool:
    try:
        return isinstance(string, str) and string.encode("utf-8") is not None
    except UnicodeEncodeError:
        return False
