"""JSON text → values, within limits on its size and on the number of its values.

A parsed value takes up to a hundred bytes of memory, a written one as few as two: a text of 64 MB can need gigabytes.
So values are counted before parsing.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Enough for the names of a million features; larger texts are refused within a second or two.
MAX_BYTES = 32 * 2**20
MAX_MARKS = 2_000_000
# Possessive quantifiers: a string without an end is read once, without backtracking.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)


def parse_json(raw: bytes) -> Any:
    """Return the value of a JSON text; a ValueError or RecursionError describes a fault.

    Examples
    --------
    >>> parse_json(b'{"C": [1.0, "a, b"]}')
    {'C': [1.0, 'a, b']}
    >>> parse_json(b"[" + b"[]," * 10**6 + b"[]]")
    Traceback (most recent call last):
    ValueError: it has 2,000,002 brackets, commas and colons, more than the 2,000,000 allowed
    """
    check_size(raw)
    return json.loads(raw.decode("utf-8"))


def check_size(raw: bytes) -> None:
    """Raise a ValueError if a JSON text is too long, or holds too many values."""
    if len(raw) > MAX_BYTES:
        raise ValueError(f"it has {len(raw):,} bytes, more than the {MAX_BYTES:,} allowed")
    marks = _count_marks(raw)
    if marks > MAX_MARKS and (marks := _count_marks(_STRING.sub(b"", raw))) > MAX_MARKS:
        raise ValueError(f"it has {marks:,} brackets, commas and colons, more than the {MAX_MARKS:,} allowed")


def _count_marks(raw: bytes) -> int:
    """Return an upper bound on the number of values: each but the first follows one of these marks."""
    return sum(raw.count(mark) for mark in (b",", b":", b"[", b"{"))
