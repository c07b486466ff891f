"""The ARFF kernels and their pure Python twins agree; the twins would fail on a step out of bounds."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.kernels import arff, arff_tokens
from tests.strategies import parent_arrays
from tests.twins import kernels_not_named_in, same_as_python

HELPERS = (
    "is_blank",
    "past_blanks",
    "past_line",
    "token",
    "numeric",
    "nominal",
    "_is_missing",
    "label_set",
    "row_end",
    "find",
    "_hash",
    "_ends_field",
)
ROW_HELPERS = ("_note", "_put", "_dense_row", "_sparse_row")

# gene (ignored), x (a number), strand (w or c), class (labels), y (a number)
KINDS = [arff_tokens.IGNORED, arff_tokens.NUMERIC, arff_tokens.NOMINAL, arff_tokens.LABELS, arff_tokens.NUMERIC]
NAMES = [(2, 0, b"w"), (2, 1, b"c c"), (3, 0, b"1"), (3, 1, b"1/2"), (3, 2, b"w")]


@contextmanager
def in_python() -> Iterator[None]:
    """Replace every compiled helper by its twin, so that a whole parse runs in Python."""
    with pytest.MonkeyPatch.context() as patch:
        for module, names in ((arff_tokens, HELPERS), (arff, (*HELPERS, *ROW_HELPERS))):
            for name in names:
                if hasattr(module, name):
                    patch.setattr(module, name, getattr(module, name).py_func)
        yield


def table(names: list[tuple[int, int, bytes]]) -> tuple[np.ndarray, ...]:
    starts = np.cumsum([0, *(len(name) for _, _, name in names)])
    owners, codes = (np.array([entry[k] for entry in names], np.int32) for k in (0, 1))
    pool = np.frombuffer(b"".join(name for _, _, name in names), np.uint8)
    slots = np.full(2 << len(names).bit_length(), -1, np.int32)
    slots = same_as_python(arff_tokens.fill_slots, slots, starts, owners, pool)[0]
    return slots, starts, owners, codes, pool


SCHEMA = (np.array(KINDS, np.uint8), np.array([0, 0, 1, 3, 3]), np.array([0, 1, 2, 0, 1]), np.array([2]))
TABLE = table(NAMES)
DENSE = b"a,0.5,w,1@1/2,3\n"
SPARSE = b"{1 0.5, 3 1@1/2, 2 'c c'}\n"


def parsed_dense(parse, text: np.ndarray, most_rows: int) -> list:
    """Parse a whole text, some rows at a time; return everything that was found."""
    i, found = 0, []
    while i < len(text):
        X, unsure = np.zeros((most_rows, 4)), np.zeros((5, 4), np.int32)
        labels = (
            np.zeros(arff_tokens.MOST_LABELS + 2, np.int32),
            np.zeros(most_rows, np.int64),
            np.zeros(most_rows, np.int64),
        )
        outcome = parse(text, i, SCHEMA, 1e30, TABLE, X, labels, unsure)
        i, n_rows, n_labels, n_unsure, error, _ = outcome
        found += [tuple(map(int, outcome)), X[:n_rows].tobytes(), labels[0][:n_labels].tolist()]
        found += [labels[1][:n_rows].tolist(), labels[2][:n_rows].tolist(), unsure[:n_unsure].tolist()]
        if error != arff_tokens.FINE:
            break
    return found


def parsed_sparse(parse, text: np.ndarray, first_index: int) -> list:
    """Parse a whole text, at most two rows at a time; return everything that was found."""
    i, rows_before, seen, found = 0, 0, np.zeros(5, np.int64), []
    while i < len(text):
        entries = np.zeros(9, np.int32), np.zeros(9), np.zeros(2, np.int64)
        unsure = np.zeros((6, 4), np.int32)
        labels = np.zeros(arff_tokens.MOST_LABELS + 2, np.int32), np.zeros(2, np.int64), np.zeros(2, np.int64)
        outcome = parse(text, i, SCHEMA, (1e30, first_index), TABLE, entries, labels, unsure, seen, rows_before)
        i, n_rows, n, n_labels, n_unsure, error, _ = outcome
        rows_before += n_rows
        found += [tuple(map(int, outcome)), entries[0][:n].tolist(), entries[1][:n].tobytes(), seen.tolist()]
        found += [entries[2][:n_rows].tolist(), labels[0][:n_labels].tolist(), unsure[:n_unsure].tolist()]
        if error != arff_tokens.FINE:
            break
    return found


pieces = st.sampled_from(
    [b"1", b"90", b",", b"@", b"/2", b" ", b"\n", b"\r", b"%", b".", b"e", b"-", b"?", b"{", b"}", b"'", b'"', b"\\",
     b"\0", b"\xff", b"w", b"'c c'", b"1@1/2", DENSE, SPARSE, b"a,9007199254740993.1,'\\w',1,?\n", b"{1 1e29, 3 w}\n"]
)  # fmt: skip
texts = st.lists(pieces, max_size=20).map(lambda parts: np.frombuffer(b"".join(parts) + b"\n", np.uint8))


@given(texts, st.integers(1, 3))
def test_dense_rows_as_their_twin(text: np.ndarray, most_rows: int) -> None:
    compiled = parsed_dense(arff.parse_dense, text, most_rows)
    with in_python():
        assert parsed_dense(arff.parse_dense.py_func, text, most_rows) == compiled


@given(texts, st.integers(0, 1))
def test_sparse_rows_as_their_twin(text: np.ndarray, first_index: int) -> None:
    compiled = parsed_sparse(arff.parse_sparse, text, first_index)
    with in_python():
        assert parsed_sparse(arff.parse_sparse.py_func, text, first_index) == compiled


def test_a_dense_row_is_taken_apart() -> None:
    outcome, X, ids, ends, starts, unsure = parsed_dense(arff.parse_dense, np.frombuffer(DENSE, np.uint8), 2)
    assert outcome == (len(DENSE), 1, 2, 0, arff_tokens.FINE, 0)
    assert np.array([0.5, 1, 0, 3]).tobytes() == X
    assert (ids, ends, starts, unsure) == ([0, 1], [2], [0], [])


def test_a_sparse_row_is_taken_apart() -> None:
    text = np.frombuffer(SPARSE, np.uint8)
    outcome, columns, values, seen, ends, ids, unsure = parsed_sparse(arff.parse_sparse, text, 0)
    assert outcome == (len(SPARSE), 1, 2, 2, 0, arff_tokens.FINE, 0)
    assert columns == [0, 2]
    assert values == np.array([0.5, 1]).tobytes()
    assert (seen, ends, ids, unsure) == ([0, 1, 1, 1, 0], [2], [0, 1], [])


@given(st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=4)), min_size=1, max_size=20), st.binary(max_size=4))
def test_names_are_found(names: list[tuple[int, bytes]], other: bytes) -> None:
    entries = [(owner, code, name) for code, (owner, name) in enumerate(names)]
    searched = table(entries)
    for owner, name in [*names, (0, other), (1, other)]:
        text = np.frombuffer(b"x" + name + b"x", np.uint8)
        expected = names.index((owner, name)) if (owner, name) in names else -1
        assert arff_tokens.find(text, 1, 1 + len(name), owner, searched) == expected
        assert arff_tokens.find.py_func(text, 1, 1 + len(name), owner, searched) == expected
        assert same_as_python(arff_tokens._hash, text, 1, 1 + len(name), owner) < 2**32


@given(parent_arrays(), st.data())
def test_the_label_that_implies_the_others(parent: np.ndarray, data: st.DataObject) -> None:
    n_nodes = len(parent)
    rows = data.draw(st.lists(st.lists(st.integers(0, n_nodes - 1), max_size=5), min_size=1, max_size=6))
    # A second parent, where there is room above a node.
    above = [
        {int(p)} - {-1} | ({data.draw(st.integers(0, v - 1))} if v and v % 3 == 0 else set())
        for v, p in enumerate(parent)
    ]
    start = np.cumsum([0, *map(len, above)])
    parents = np.array([p for one in above for p in sorted(one)], np.int32)
    closed: list[set[int]] = []
    for v in range(n_nodes):
        closed.append({v}.union(*(closed[p] for p in above[v])))
    ids, ends = np.array([v for row in rows for v in row], np.int32), np.cumsum([len(row) for row in rows])
    marks, stack, only = np.full(n_nodes, -1), np.zeros(n_nodes, np.int64), np.zeros(len(rows), np.int32)
    only = same_as_python(arff.only_labels, ids, ends, start, parents, marks, stack, only)[-1]
    for row, got in zip(rows, only.tolist(), strict=True):
        implying = {v for v in row if set(row) <= closed[v]}
        assert got == (implying.pop() if implying else arff.SEVERAL_LABELS if row else arff.NO_LABEL)


def test_every_kernel_is_named_here() -> None:
    named = {f"arff_tokens.{name}" for name in HELPERS} | {f"arff.{name}" for name in ROW_HELPERS}
    missing = [f"arff_tokens.{n}" for n in kernels_not_named_in(__file__, arff_tokens)]
    missing += [f"arff.{n}" for n in kernels_not_named_in(__file__, arff)]
    assert set(missing) <= named
