"""The plain values of all models: one table of what each must be, checked when a model is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cladist.errors import ModelFormatError

Check = Callable[[Any], bool]
MOST_FEATURES = 2**31 - 1  # features are numbered by int32


def _is_count(value: Any, most: int = 2**53) -> bool:
    return _is_real(value) and not isinstance(value, (float, np.floating)) and bool(0 <= value <= most)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))


def _is_number(value: Any) -> bool:
    return _is_real(value) and bool(abs(value) <= _LARGEST)


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_record(value: Any) -> bool:
    """Tell whether a value is an entry of a history: names, and single values."""
    plain = (type(None), bool, int, float, str, np.generic)
    return isinstance(value, dict) and all(isinstance(part, plain) for part in value.values())


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _is(kind: type) -> Check:
    return lambda value: isinstance(value, kind)


_LARGEST = 1e308  # of a float, past which there is only infinity; ints are compared exactly
CONTENT: dict[str, tuple[Check, str]] = {
    "class": (_is(str), "a text"),
    "parameters": (_is(dict), "an object"),
    "has_taxonomy": (_is_truth, "true or false"),
    "estimator": (_is(dict), "an object"),
    "n_features": (lambda value: _is_count(value, MOST_FEATURES) and value >= 1, f"from 1 to {MOST_FEATURES:,}"),
    "taxonomy": (_is(dict), "an object"),
    "label_form": (_is(dict), "an object"),
    "state": (_is(dict), "an object"),
}
STATE: dict[str, tuple[Check, str]] = {
    "history": (_list_of(_is_record), "a list of records"),
    "cv_results": (_or_none(_list_of(_is_record)), "a list of records, or null"),
    **dict.fromkeys(("n_iter", "rows_seen", "n_support"), (_is_count, "a whole number from 0 up")),
    "n_constraints": (_or_none(_is_count), "a whole number from 0 up, or null"),
    **dict.fromkeys(("converged", "has_relations", "strategy_by_name"), (_is_truth, "true or false")),
    **dict.fromkeys(
        ("gamma", "C", "c"),
        (_or_none(lambda value: _is_number(value) and value >= 0), "a number from 0 up, or null"),
    ),
    **dict.fromkeys(("radius", "step", "eta"), (_or_none(_is_real), "a number, or null")),
    "sharing": (lambda value: _is_number(value) and value >= 0, "a number from 0 up"),
    "solver": (_is(str), "a text"),
    "stops": (_list_of(_is(str)), "a list of names"),
    "estimators": (_is(dict), "an object"),
    "decisions": (_list_of(lambda value: type(value) is int), "a list of node ids"),
    "estimator": (_is(dict), "an object"),
    "strategy": (_is(dict), "an object"),
}


def check_values(values: Any, table: Mapping[str, tuple[Check, str]]) -> None:
    """Raise a `ModelFormatError` unless all values are as declared.

    Examples
    --------
    >>> check_values({"n_iter": 3, "converged": True}, STATE)
    >>> check_values({"n_iter": -3}, STATE)
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: Its value 'n_iter' must be a whole number from 0 up, not -3.
    """
    if not isinstance(values, dict):
        raise ModelFormatError(f"Its values must be an object, not {_shown(values)}.")
    for name, value in values.items():
        if name not in table:
            raise ModelFormatError(f"Its value {_shown(name)} is none that a model of its kind has.")
        fits, wanted = table[name]
        if not fits(value):
            raise ModelFormatError(f"Its value {name!r} must be {wanted}, not {_shown(value)}.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
