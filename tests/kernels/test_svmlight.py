"""The svmlight kernels and their pure Python twins agree; the twins would fail on a step out of bounds."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.kernels import svmlight

HELPERS = ("_to_float", "_digits", "_number", "_past_blanks", "_ends_token", "_labels", "_features")


@contextmanager
def in_python() -> Iterator[None]:
    """Replace every compiled helper by its twin, so that a whole parse runs in Python."""
    with pytest.MonkeyPatch.context() as patch:
        for name in HELPERS:
            patch.setattr(svmlight, name, getattr(svmlight, name).py_func)
        yield


def parsed(parse, text: np.ndarray, several: bool) -> list:
    """Run a parse with arrays just large enough; return everything it found."""
    n_lines, n_colons = (int(np.count_nonzero(text == c)) for c in (svmlight.LINE_FEED, svmlight.COLON))
    n_labels = n_lines + int(np.count_nonzero(text == svmlight.COMMA))
    starts, ends, label_ends, row_starts = (np.zeros(n, np.int64) for n in (n_labels, n_labels, n_lines, n_lines))
    keys, row_ends = np.zeros(n_labels, np.uint64), np.zeros(n_lines, np.int64)
    indices, values, unsure = (
        np.zeros(n_colons, np.int32),
        np.zeros(n_colons),
        np.zeros((n_colons, 3), np.int64),
    )
    labels, features = (starts, ends, keys, label_ends, row_starts), (indices, values, unsure, row_ends)
    n_rows, n_unsure, error, position = parse(text, several, (0, 2**31 - 1, 1e30), labels, features)
    n, n_labels = (int(e[n_rows - 1]) if n_rows else 0 for e in (row_ends, label_ends))
    found = [n_rows, n_unsure, error, position, unsure[:n_unsure].tolist(), row_starts[:n_rows].tolist()]
    found += [array[:n_rows].tolist() for array in (row_ends, label_ends)]
    found += [array[:n_labels].tolist() for array in (starts, ends, keys)]
    return [*found, indices[:n].tolist(), values[:n].tobytes()]


ROW = b"12,7 1:0.5 3:-2.25e1 #x\n"
pieces = st.sampled_from(
    [
        b"1",
        b"90",
        b",",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"#",
        b".",
        b"e",
        b"-",
        b"+",
        b"\0",
        b"\xff",
        ROW,
        b" 5:1e20 7:1",
    ]
)


@given(st.lists(pieces, max_size=30), st.booleans())
def test_the_parser_equals_its_twin(parts: list[bytes], several: bool) -> None:
    text = np.frombuffer(b"".join(parts) + b"\n", np.uint8)
    compiled = parsed(svmlight.parse_rows, text, several)
    with in_python():
        assert parsed(svmlight.parse_rows.py_func, text, several) == compiled


def test_a_row_is_taken_apart() -> None:
    found = parsed(svmlight.parse_rows, np.frombuffer(ROW, np.uint8), True)
    assert found[:4] == [1, 0, svmlight.FINE, len(ROW)]
    assert found[6:8] == [[2], [2]]
    assert found[8:11] == [[0, 3], [2, 4], [int.from_bytes(b"12", "big"), ord("7")]]
    assert found[11:] == [[1, 3], np.array([0.5, -22.5]).tobytes()]


@given(st.integers(0, 10**18 - 1), st.integers(-150, 150))
def test_a_sure_float_is_the_nearest(mantissa: int, power: int) -> None:
    value, sure = svmlight._to_float(mantissa, power)
    assert (value, sure) == svmlight._to_float.py_func(mantissa, power)
    if sure:
        assert value == float(Fraction(mantissa) * Fraction(10) ** power)
    else:
        # Doubt is allowed for large powers and where the number is about halfway between two doubles.
        assert abs(power) > svmlight.MOST_POWER or is_near_a_tie(Fraction(mantissa) * Fraction(10) ** power)


def is_near_a_tie(exact: Fraction) -> bool:
    nearest = float(exact)
    others = (np.nextafter(nearest, 0.0), np.nextafter(nearest, np.inf))
    return any(abs((Fraction(nearest) + Fraction(float(o))) / 2 - exact) < exact / 2**98 for o in others)
