"""The svmlight kernels and their pure Python twins agree; the twins would fail on a step out of bounds."""

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.kernels import svmlight
from tests.twins import same_as_python

HELPERS = ("to_float", "digits", "number", "_past_blanks", "_ends_token", "_labels", "_features")


@contextmanager
def in_python() -> Iterator[None]:
    """Replace every compiled helper by its twin, so that a whole parse runs in Python."""
    with pytest.MonkeyPatch.context() as patch:
        for name in HELPERS:
            patch.setattr(svmlight, name, getattr(svmlight, name).py_func)
        yield


def parsed(parse, text: np.ndarray, form: tuple[bool, bool, bool]) -> list:
    """Run a parse with arrays just large enough; return everything it found."""
    n_lines, n_colons, n_labels, _ = svmlight.measure(text)
    starts, ends, label_ends, row_starts = (np.zeros(n, np.int32) for n in (n_labels, n_labels, n_lines, n_lines))
    keys, row_ends = np.zeros(n_labels, np.uint64), np.zeros(n_lines, np.int32)
    indices, values, unsure = (
        np.zeros(n_colons, np.int32),
        np.zeros(n_colons),
        np.zeros((n_colons, 2), np.int32),
    )
    labels, features = (starts, ends, keys, label_ends, row_starts), (indices, values, unsure, row_ends)
    n_rows, n_unsure, error, position = parse(text, form, (0, 2**31 - 1, 1e30), labels, features)
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
        b", ",
        b"0:",
        b"x" * 1001,
    ]
)


@given(st.lists(pieces, max_size=30), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_the_parser_equals_its_twin(parts: list[bytes], form: tuple[bool, bool, bool]) -> None:
    text = np.frombuffer(b"".join(parts) + b"\n", np.uint8)
    compiled = parsed(svmlight.parse_rows, text, form)
    with in_python():
        assert parsed(svmlight.parse_rows.py_func, text, form) == compiled


@given(st.lists(pieces, max_size=30))
def test_a_text_is_measured(parts: list[bytes]) -> None:
    text = b"".join(parts) + b"\n"
    n_lines, n_features, n_labels, crowded = same_as_python(svmlight.measure, np.frombuffer(text, np.uint8))
    heads = [line.partition(b"#")[0].partition(b":")[0] for line in text.split(b"\n")]
    assert (n_lines, n_features, crowded) == (text.count(b"\n"), text.count(b":"), -1)
    assert n_labels == n_lines + sum(head.count(b",") for head in heads)


def test_a_crowded_row_is_found() -> None:
    text = np.frombuffer(b"1,2 1:1\n" + b"1," * 100_000 + b"1\n", np.uint8)
    assert svmlight.measure(text)[3] == 8 + 2 * 100_000 - 1
    assert svmlight.measure(text[2:])[3] == 6 + 2 * 100_000 - 1
    assert svmlight.measure(np.append(text[:-4], np.uint8(10)))[3] == -1


rows_of_indices = st.lists(st.lists(st.integers(0, 9), max_size=7), max_size=6)


@given(rows_of_indices)
def test_rows_are_sorted(rows: list[list[int]]) -> None:
    ends = np.cumsum([len(row) for row in rows]).astype(np.int32)
    indices = np.array([i for row in rows for i in row], np.int32)
    values = indices * 0.5 + 1
    copies = indices.copy(), values.copy()
    row, index = svmlight.sort_rows(ends, *copies)
    assert (row, index) == same_as_python(svmlight.sort_rows, ends, indices, values)
    repeating = [k for k, row in enumerate(rows) if len(set(row)) < len(row)]
    if repeating:
        assert row == repeating[0]
        assert rows[row].count(index) > 1
    else:
        assert (row, index) == (-1, -1)
        assert copies[0].tolist() == [i for row in rows for i in sorted(row)]
        assert (copies[1] == copies[0] * 0.5 + 1).all()


def test_a_row_is_taken_apart() -> None:
    found = parsed(svmlight.parse_rows, np.frombuffer(ROW, np.uint8), (True, False, False))
    assert found[:4] == [1, 0, svmlight.FINE, len(ROW)]
    assert found[6:8] == [[2], [2]]
    assert found[8:11] == [[0, 3], [2, 4], [int.from_bytes(b"12", "big"), ord("7")]]
    assert found[11:] == [[1, 3], np.array([0.5, -22.5]).tobytes()]


def test_a_loose_row_is_taken_apart() -> None:
    text = np.frombuffer(b"12,  7 0:99 3:1 1:2\n", np.uint8)
    found = parsed(svmlight.parse_rows, text, (True, True, True))
    assert found[:4] == [1, 0, svmlight.FINE, len(text)]
    assert found[8:10] == [[0, 5], [2, 6]]
    assert found[11:] == [[3, 1], np.array([1.0, 2.0]).tobytes()]
    assert parsed(svmlight.parse_rows, text, (True, True, False))[11] == [0, 3, 1]


@given(st.integers(0, 10**18 - 1), st.integers(-150, 150))
def test_a_sure_float_is_the_nearest(mantissa: int, power: int) -> None:
    value, sure = svmlight.to_float(mantissa, power)
    assert (value, sure) == svmlight.to_float.py_func(mantissa, power)
    if sure:
        assert value == float(Fraction(mantissa) * Fraction(10) ** power)
    else:
        # Doubt is allowed for large powers and where the number is about halfway between two doubles.
        assert abs(power) > svmlight.MOST_POWER or is_near_a_tie(Fraction(mantissa) * Fraction(10) ** power)


def is_near_a_tie(exact: Fraction) -> bool:
    nearest = float(exact)
    others = (np.nextafter(nearest, 0.0), np.nextafter(nearest, np.inf))
    return any(abs((Fraction(nearest) + Fraction(float(o))) / 2 - exact) < exact / 2**98 for o in others)
