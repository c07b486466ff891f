"""Nested values with arrays ↔ JSON and a few long arrays: of one type, small arrays are stored one after the other.

Values are what `to_json_value` takes, arrays, CSR matrices, and the named tuples and dataclasses that `storable` lists.
An object that occurs twice is one object again. Nothing but the listed types is made from a file.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ModelFormatError
from cladist.storage.array_groups import Arrays
from cladist.storage.values import from_json_value, to_json_value

SMALL_BYTES = 2**16
_KINDS: dict[str, type] = {}
KindT = TypeVar("KindT", bound=type)


def storable(kind: KindT) -> KindT:
    """List a named tuple or a dataclass among the types that may be stored; its fields make it anew."""
    if _KINDS.setdefault(kind.__name__, kind) is not kind and _KINDS[kind.__name__].__module__ != kind.__module__:
        raise ValueError(f"two types of the name {kind.__name__} cannot be stored")
    _KINDS[kind.__name__] = kind
    return kind


def _fields_of(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [getattr(value, field.name) for field in dataclasses.fields(value)]


class ArrayPool:
    """The arrays of a value that is being written."""

    def __init__(self) -> None:
        self._small: dict[str, list[npt.NDArray[Any]]] = {}
        self._ends: dict[str, int] = {}
        self._large: Arrays = {}
        self._seen: dict[int, tuple[int, Any]] = {}  # by id, with the object, so that the id stays its own

    def add(self, value: Any, where: str) -> Any:
        """Return JSON that `take_arrays` turns back into the value."""
        return to_json_value(value, where, extend=self._extend)

    def _extend(self, value: Any, where: str, depth: int) -> dict[str, Any] | None:
        known = type(value).__name__ in _KINDS and _KINDS[type(value).__name__] is type(value)
        if not known and not isinstance(value, np.ndarray) and not sparse.issparse(value):
            return None
        if id(value) in self._seen:
            return {"$same": self._seen[id(value)][0]}
        self._seen[id(value)] = len(self._seen), value
        if isinstance(value, np.ndarray):
            by_columns = value.flags.f_contiguous and not value.flags.c_contiguous
            return {"$array": [by_columns, *self._place(value.T if by_columns else value)]}
        if sparse.issparse(value):
            body: list[Any] = ["csr", list(value.shape), value.data, value.indices, value.indptr]
        else:
            body = [type(value).__name__, *_fields_of(value)]
        name, *parts = body
        return {"$kind": [name, *(to_json_value(part, where, extend=self._extend, depth=depth + 1) for part in parts)]}

    def _place(self, array: npt.NDArray[Any]) -> list[Any]:
        """Store an array; return where."""
        if array.nbytes >= SMALL_BYTES:
            name = f"large/{len(self._large)}"
            self._large[name] = array
            return [name, 0, list(array.shape)]
        name = array.dtype.name
        first = self._ends.get(name, 0)
        self._small.setdefault(name, []).append(np.ascontiguousarray(array).reshape(-1))
        self._ends[name] = first + array.size
        return [name, first, list(array.shape)]

    def arrays(self) -> Arrays:
        """Return all arrays by name."""
        return self._large | {name: np.concatenate(parts) for name, parts in self._small.items()}


def take_arrays(content: Any, arrays: Arrays) -> Any:
    """Return the value of which `ArrayPool.add` made this JSON, and `ArrayPool.arrays` these arrays."""
    seen: list[Any] = []

    def take(tag: str, body: Any, where: str, depth: int) -> Any:
        if tag == "$same":
            return seen[body]
        if tag not in ("$array", "$kind"):
            return None
        number = len(seen)
        seen.append(None)
        if tag == "$array":
            by_columns, name, first, shape = body
            array = arrays[name].reshape(-1)[first : first + int(np.prod(shape, dtype=np.int64))].reshape(shape)
            array = array if name.startswith("large/") else array.copy()
            value: Any = array.T if by_columns else array
        else:
            parts = [from_json_value(part, where, extend=take, depth=depth + 1) for part in body[1:]]
            value = _make(body[0], parts)
        seen[number] = value
        return value

    return from_json_value(content, "checkpoint", extend=take)


def _make(name: Any, parts: list[Any]) -> Any:
    if name == "csr":
        shape, *rest = parts
        return sparse.csr_array(tuple(rest), shape=tuple(shape))
    if name not in _KINDS:
        raise ModelFormatError(f"A value of type {str(name)[:80]!r} cannot be read; the file is damaged or too new.")
    return _KINDS[name](*parts)
