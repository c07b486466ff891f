"""Every error a user of cladist can cause, one class a room; and warnings of what may not be as meant.

All errors are `ValueError`s, as scikit-learn's callers expect of bad input, all warnings `UserWarning`s. A message says
what was wanted, what came, and what to do about it.
"""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any

# What a terminal obeys instead of showing it: control characters, line and paragraph separators, marks that turn the
# direction of writing, and halves of characters. Tabs and line feeds are what they are.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class CladistError(ValueError):
    """Base class of all errors that cladist raises on purpose."""


class TaxonomyError(CladistError):
    """A taxonomy that cannot be built, read or asked this."""


class LabelError(CladistError):
    """Labels that do not fit the taxonomy or the method."""


class DatasetError(CladistError):
    """A data file or table that cannot be read as asked."""


class ModelFormatError(CladistError):
    """A model folder that cannot be trusted, or a model that cannot be written as one."""


class ParameterError(CladistError):
    """A parameter outside what the method defines."""


class TooLargeError(CladistError):
    """An answer that would not fit into the memory limit; the message names what to call instead."""


class CladistWarning(UserWarning):
    """Base class of all warnings of cladist's own; learners that do not converge warn as scikit-learn's do."""


class LabelWarning(CladistWarning):
    """Labels that can be learnt as they are, but were probably meant otherwise, or can never be predicted."""


class DatasetWarning(CladistWarning):
    """Rows that can be read and answered, but say nothing that a model knows."""


def quoted(text: object) -> str:
    """Return a text in quotes for a message, cut where it is long.

    Examples
    --------
    >>> quoted("tennis"), len(quoted("a" * 1000))
    ("'tennis'", 103)
    """
    shown = str(text)
    return repr(shown if len(shown) <= 100 else shown[:100] + "…")


def visible(text: str) -> str:
    r"""Return a text for a terminal: what that would obey is written as an escape, as in JSON.

    Examples
    --------
    >>> print(visible("\x1b]0;title\x07 naïve"))
    \u001b]0;title\u0007 naïve
    """
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_of(who: str, parameter: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise a `ParameterError` unless `value` is one of `allowed`.

    Examples
    --------
    >>> one_of("Hieron", "update", "max_loss", ("max_loss", "prediction"))
    >>> one_of("Hieron", "update", "best", ("max_loss", "prediction"))
    Traceback (most recent call last):
    cladist.errors.ParameterError: Hieron: update must be one of 'max_loss', 'prediction'; got 'best'.
    """
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        choices = ", ".join(repr(a) for a in allowed)
        raise ParameterError(f"{who}: {parameter} must be one of {choices}; got {value!r}.")


def is_positive(value: Any) -> bool:
    """Tell whether a parameter is a number above 0; True and "1" are not.

    Examples
    --------
    >>> is_positive(0.5), is_positive("1"), is_positive(True)
    (True, False, False)
    """
    return type(value) is not bool and isinstance(value, Real) and float(value) > 0


def is_count(value: Any) -> bool:
    """Tell whether a parameter is a whole number from 1 up.

    Examples
    --------
    >>> is_count(3), is_count(0), is_count(2.5)
    (True, False, False)
    """
    return type(value) is not bool and isinstance(value, Integral) and int(value) >= 1
