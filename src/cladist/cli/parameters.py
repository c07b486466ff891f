"""A method's parameters as the command line writes them: NAME=VALUE, with the value as in TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from cladist import registry
from cladist.errors import ParameterError

NOT_FOR_A_SHELL = ("taxonomy", "estimator", "executor")  # objects; the first has an option of its own
BARE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")  # what may stand without TOML's quotes


def parse_parameters(assignments: Iterable[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` texts.

    A value is a TOML value, or a single word, which is a text without quotes.

    Examples
    --------
    >>> parse_parameters(["C=0.1", "average=false", "update=prediction"])
    {'C': 0.1, 'average': False, 'update': 'prediction'}
    >>> parse_parameters(["C=0,1"])
    Traceback (most recent call last):
    cladist.errors.ParameterError: --param C=0,1: the value is a number, true, false, a word or a text in double quotes.
    """
    found: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = (part.strip() for part in assignment.partition("="))
        if not (name and equals and value):
            raise ParameterError(f"--param {assignment}: wanted NAME=VALUE.")
        if name in found:
            raise ParameterError(f"--param {assignment}: {name} is given twice.")
        found[name] = _value(assignment, value)
    return found


def _value(assignment: str, value: str) -> Any:
    try:
        read = tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        read = {"value": value} if BARE_WORD.fullmatch(value) else {}
    if list(read) != ["value"]:
        wanted = "the value is a number, true, false, a word or a text in double quotes."
        raise ParameterError(f"--param {assignment}: {wanted}")
    return read["value"]


def new_learner(method: str, parameters: dict[str, Any]) -> Any:
    """Return an unfitted learner with these parameters.

    Examples
    --------
    >>> new_learner("top-down", {"C": 0.1})
    TopDown(C=0.1)
    >>> new_learner("top-down", {"c": 0.1})
    Traceback (most recent call last):
    cladist.errors.ParameterError: top-down has no parameter 'c'; it has C, decode, ...
    """
    learner = registry.find(method).load()()
    known = sorted(name for name in learner.get_params(deep=False) if name not in NOT_FOR_A_SHELL)
    for name in parameters:
        if name not in known:
            raise ParameterError(f"{method} has no parameter {name!r}; it has {', '.join(known)}.")
    return learner.set_params(**parameters)
