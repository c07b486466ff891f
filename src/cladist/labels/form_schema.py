"""The values that a `LabelForm` in a model file may have."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError

MOST_COLUMNS = 2**20
_SPARSE = r"(bsr|coo|csc|csr|dia|dok|lil)_(array|matrix)"
# The kinds of y, and the containers of each, as patterns.
CONTAINERS = {
    "single": "array|list|series",
    "sets": "array|list|series",
    "paths": "array|frame",
    "indicator": f"array|frame|{_SPARSE}",
    "matrix": "array",
}
Check = Callable[[Any], bool]


def _one_of(*words: str) -> Check:
    return lambda value: isinstance(value, str) and value in words


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int)) or (isinstance(value, float) and not math.isnan(value))


def _tuple_of(*kinds: type) -> Check:
    return lambda value: isinstance(value, tuple) and all(isinstance(part, kinds) for part in value)


def _is_type(value: Any) -> bool:
    if value in ("str", "object"):
        return True
    try:
        return isinstance(value, str) and np.dtype(value).kind in "biuf"
    except (TypeError, ValueError, SyntaxError):
        return False


FIELDS: dict[str, Check] = {
    "kind": _one_of(*CONTAINERS),
    "container": lambda value: isinstance(value, str),
    "dtype": _is_type,
    "scalar": _one_of("str", "int", "float", "bool"),
    "spelling": _one_of("name", "path"),
    "joint": lambda value: value is None or (isinstance(value, str) and value != ""),
    "element": _one_of("list", "tuple", "set", "frozenset"),
    "below_root": lambda value: isinstance(value, bool),
    "columns": lambda value: value is None or _tuple_of(str, int)(value),
    "width": lambda value: type(value) is int and 0 <= value <= MOST_COLUMNS,
    "padding": lambda value: value is None or isinstance(value, str),
    "name": lambda value: value is None or isinstance(value, (str, int)),
    "dtypes": _tuple_of(str),
    "categories": lambda value: value is None or (isinstance(value, tuple) and all(map(_is_plain, value))),
    "ordered": lambda value: isinstance(value, bool),
}


def check_form(fields: dict[str, Any]) -> None:
    """Raise a `ModelFormatError` unless the fields are those of a form of y that cladist writes.

    Examples
    --------
    >>> check_form({"kind": "single", "container": "array", "dtype": "int64"})
    >>> check_form({"kind": "sets", "element": "file"})
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: The form of y in this model cannot be: its element is 'file'.
    """
    for name, value in fields.items():
        if name not in FIELDS or not FIELDS[name](value):
            raise ModelFormatError(f"The form of y in this model cannot be: its {name[:40]} is {repr(value)[:80]}.")
    kind, container = fields.get("kind", "single"), fields.get("container", "array")
    columns, dtypes = fields.get("columns") or (), fields.get("dtypes", ())
    wide = {"series": (1,), "frame": (1, len(columns))}.get(container, (0, 1, len(columns)))
    numbers = fields.get("dtype", "str") not in ("str", "object")
    if (
        not re.fullmatch(CONTAINERS[kind], container)
        or len(dtypes) not in wide
        or (container == "frame" and len(columns) != fields.get("width"))
        or (kind == "indicator" and not numbers)
        or (kind in ("sets", "paths") and numbers)
    ):
        raise ModelFormatError("The form of y in this model cannot be: its fields do not fit each other.")
