"""Every error that a user of cladist can cause, one exception class per package, and every warning.

All errors are `ValueError`s, as scikit-learn's callers expect of bad input; all warnings are `UserWarning`s. A message
is one sentence: what was wanted, what came, and what to do about it. Errors about files also carry the place and the
kind of the problem as fields (`LocatedError`), so that a program need not parse messages. All errors can be pickled.
"""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any, Self

# Characters that a terminal obeys instead of showing them: control characters, line and paragraph separators, marks
# that turn the direction of writing, and halves of characters. Tabs and line feeds are harmless.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class CladistError(ValueError):
    """Base class of all errors that cladist raises on purpose."""


class LocatedError(CladistError):
    """An error that may be about a place in a file; fields that do not apply are None.

    Parameters
    ----------
    message : str
        The sentence, with the place in it.
    file : str, optional
        The name of the file or stream.
    line : int, optional
        The line, from 1.
    column : int or str, optional
        The column: a byte of the line, from 1, or the name of a column of a table.
    kind : str, optional
        A short, stable identifier of the problem, such as "bad-number", "column-count" or "unknown-label".

    Examples
    --------
    >>> error = DatasetError.at("a.svm", 3, 7, "wanted a finite number, got 'x'.", kind="bad-number")
    >>> print(error)
    a.svm, line 3, column 7: wanted a finite number, got 'x'.
    >>> error.line, error.kind
    (3, 'bad-number')
    """

    def __init__(
        self,
        message: str = "",
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | str | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file, self.line, self.column, self.kind = file, line, column, kind

    @classmethod
    def at(
        cls, file: str, line: int | None, column: int | str | None, problem: str, *, kind: str | None = None
    ) -> Self:
        """Return an error whose message begins with the place; a named column is shown in quotes."""
        place = file
        if line is not None:
            place += f", line {line}"
        if column is not None:
            place += f", column {column!r}"
        return cls(f"{place}: {problem}", file=file, line=line, column=column, kind=kind)


class TaxonomyError(LocatedError):
    """A taxonomy that cannot be built or read, or that does not have what was asked of it."""


class LabelError(CladistError):
    """Labels that do not fit the taxonomy or the method."""


class DatasetError(LocatedError):
    """A data file or table that cannot be read or written as asked."""


class ModelFormatError(CladistError):
    """A model folder that cannot be trusted, or a model that cannot be written as one."""


class ParameterError(CladistError):
    """A parameter outside what the method defines."""


class ExecutionError(CladistError):
    """Work on other machines or processes that could not be done."""


class TooLargeError(CladistError):
    """A result that would not fit into the memory limit; the message names what to call instead."""


class CladistWarning(UserWarning):
    """Base class of all warnings of cladist; learners that do not converge warn as scikit-learn's do."""


class TaxonomyWarning(CladistWarning):
    """A taxonomy that can be read, but was probably meant differently."""


class LabelWarning(CladistWarning):
    """Labels that can be trained on, but were probably meant differently, or can never be predicted."""


class DatasetWarning(CladistWarning):
    """Rows that can be read and predicted, but have no feature that the model knows."""


def quoted(text: object) -> str:
    """Return a text in quotes for a message, cut where it is long."""
    shown = str(text)
    return repr(shown if len(shown) <= 100 else shown[:100] + "…")


def shorten(value: object, most: int = 60) -> str:
    """Return how messages show a value, cut where it is long."""
    shown = repr(value)
    return shown if len(shown) <= most else f"{shown[:most]}…"


def visible(text: str) -> str:
    r"""Return a text for a terminal, with characters that it would obey written as escapes, as in JSON."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_of(who: str, parameter: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise a `ParameterError` unless `value` is one of `allowed`."""
    if not any(value is a or (type(value) is type(a) and value == a) for a in allowed):
        choices = ", ".join(repr(a) for a in allowed)
        raise ParameterError(f"{who}: {parameter} must be one of {choices}; got {value!r}.")


def is_positive(value: Any) -> bool:
    """Tell whether a parameter is a number above 0; True and "1" are not."""
    return type(value) is not bool and isinstance(value, Real) and float(value) > 0


def is_count(value: Any) -> bool:
    """Tell whether a parameter is a whole number from 1 up."""
    return type(value) is not bool and isinstance(value, Integral) and int(value) >= 1
