"""JSON: text → values within limits, and parameters ↔ values without loss.

A value that JSON does not have becomes an object with one key that begins with ``$``: ``{"$tuple": [1, 2]}``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError

# Limits of a text: enough for the names of a million features; larger texts are refused within a second or two. A
# parsed value takes up to a hundred bytes of memory, a written one as few as two, so values are counted before parsing.
MAX_BYTES = 32 * 2**20
MAX_MARKS = 2_000_000
MAX_DEPTH = 64  # deeper than any real parameter; far from Python's own limit on recursion
# Possessive quantifiers: a string without an end is read once, without backtracking.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?+', re.DOTALL)

# The types of arrays and of numpy scalars, and their names in a safetensors file.
DTYPES = {
    "bool": "BOOL",
    **{f"{kind}{bits}": f"{kind[0].upper()}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"F{bits}" for bits in (16, 32, 64)},
}
_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float}
_TYPES |= {f"numpy.{name}": np.dtype(name).type for name in DTYPES}
_TYPE_NAMES = {kind: name for name, kind in _TYPES.items()}

Encode = Callable[[Any, str, int], dict[str, Any] | None]
Decode = Callable[[str, Any, str, int], Any]


def parse_json(raw: bytes) -> Any:
    """Return the value of a JSON text; a ValueError or RecursionError describes a fault."""
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


def to_json_value(value: Any, where: str, *, extend: Encode | None = None, depth: int = 0) -> Any:
    """Return `value` as strict JSON, from which `from_json_value` makes an equal value of the same type.

    None, booleans, numbers, strings, numpy scalars, numeric types, and lists, tuples and dicts of these are accepted.
    `where` names the value in messages. ``extend(value, where, depth)``, called first for every part, returns an object
    with one key of its own that begins with ``$``, or None to leave the part to this function.
    """
    _check_depth(depth, where)
    if extend is not None and (extended := extend(value, where, depth)) is not None:
        return extended

    def part(item: Any, name: object) -> Any:
        return to_json_value(item, f"{where}/{name}", extend=extend, depth=depth + 1)

    kind = type(value)
    if kind in (list, tuple):
        items = [part(item, i) for i, item in enumerate(value)]
        return items if kind is list else {"$tuple": items}
    if kind is dict and all(type(key) in (str, np.str_) for key in value):
        members = {str(key): part(item, key) for key, item in value.items()}
        return {"$dict": members} if _is_tagged(members) else members
    return _encode_scalar(value, where)


def from_json_value(value: Any, where: str = "value", *, extend: Decode | None = None, depth: int = 0) -> Any:
    """Return the value that `to_json_value` encoded.

    ``extend(tag, body, where, depth)``, called first for every tagged object, returns its value, or None to leave it to
    this function.
    """
    _check_depth(depth, where)

    def part(item: Any, name: object) -> Any:
        return from_json_value(item, f"{where}/{name}", extend=extend, depth=depth + 1)

    if isinstance(value, list):
        return [part(item, i) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if not _is_tagged(value):
        return {key: part(item, key) for key, item in value.items()}
    tag, body = next(iter(value.items()))
    if len(value) == 1:
        if extend is not None and (restored := extend(tag, body, where, depth)) is not None:
            return restored
        if tag == "$tuple" and isinstance(body, list):
            return tuple(part(item, i) for i, item in enumerate(body))
        if tag == "$dict" and isinstance(body, dict):
            return {key: part(item, key) for key, item in body.items()}
    return _decode_tagged(tag, body, where)


def _encode_scalar(value: Any, where: str) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is np.str_:
        return str(value)
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, np.generic) and value.dtype.name in DTYPES:
        return {"$numpy": [value.dtype.name, _encode_scalar(value.item(), where)]}
    if isinstance(value, np.dtype) and value.name in DTYPES and value.isnative:
        return {"$dtype": value.name}
    if isinstance(value, type) and value in _TYPE_NAMES:
        return {"$type": _TYPE_NAMES[value]}
    raise ModelFormatError(
        f"{where}: a value of type {kind.__name__} cannot be saved; None, booleans, numbers, strings, numeric"
        " types and lists, tuples and dicts (with string keys) of them can."
    )


def _decode_tagged(tag: str, body: Any, where: str) -> Any:
    if tag == "$float" and body in ("nan", "inf", "-inf"):
        return float(body)
    if tag == "$dtype" and isinstance(body, str) and body in DTYPES:
        return np.dtype(body)
    if tag == "$type" and isinstance(body, str) and body in _TYPES:
        return _TYPES[body]
    if tag == "$numpy" and isinstance(body, list) and len(body) == 2 and body[0] in list(DTYPES):
        kind = _TYPES[f"numpy.{body[0]}"]
        number = _decode_tagged("$float", body[1].get("$float"), where) if isinstance(body[1], dict) else body[1]
        plain = {"b": bool, "f": float}.get(np.dtype(kind).kind, int)
        if type(number) is plain and (plain is not int or np.iinfo(kind).min <= number <= np.iinfo(kind).max):
            return kind(number)
    raise ModelFormatError(f"{where}: {str(body)[:80]!r} cannot be read as {tag!r}; the file is damaged or too new.")


def _is_tagged(members: dict[str, Any]) -> bool:
    return any(key.startswith("$") for key in members)


def _check_depth(depth: int, where: str) -> None:
    if depth > MAX_DEPTH:
        raise ModelFormatError(f"{where[:60]}…: values nested more than {MAX_DEPTH} deep cannot be saved or loaded.")
