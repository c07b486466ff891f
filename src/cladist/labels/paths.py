"""Encode labels that are written as the parts of their paths: tables, lists of lists, and collections of paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import LabelError, shorten
from cladist.labels.matrix import Encoded, LabelForm, LabelMatrix, find_scalar
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.structure import as_text, is_missing

Path = tuple[Any, ...]


def are_paths(rows: Sequence[Any], taxonomy: Taxonomy | None, *, needs_parts: bool) -> bool:
    """Tell whether lists can only be paths: they are padded, or all of them are paths of the taxonomy.

    With `needs_parts`, lists of one name each are names.
    """
    if taxonomy is None:
        return any(is_missing(row[-1]) for row in rows)
    known: set[Path] = set()
    try:
        for row in rows:
            path = _as_path(row)
            if path not in known and taxonomy.find_path(_split_path(path, 0)) is None:
                return False  # sets of labels are known by the first rows
            known.add(path)
    except (TypeError, LabelError):  # no path at all: whoever encodes the rows tells why
        return False
    return not needs_parts or max(map(len, rows)) > 1


def refuse_ambiguous(form: LabelForm, rows: Any) -> None:
    """Raise a `LabelError` if rows are lists that may be paths or sets of labels; it says how to write either."""
    rows = list(rows)
    if form.kind == "sets" and form.element in ("list", "tuple") and all(map(len, rows)):
        raise LabelError(
            f"Row 0 of y is {shorten(list(rows[0]))}, which may be a path or a set of labels; for paths, give "
            'decode="single", or a 2-D array, np.array(rows, dtype=object) with short rows padded by ""; for sets, '
            'write sets, {"a", "b"}, or give decode="multi"; or give the taxonomy.'
        )


def encode_paths(rows: Sequence[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    """Encode one path per row."""
    if not len(rows):
        raise LabelError("There are no labels: y has 0 rows.")
    paths = [_as_path(row) for row in rows]
    if form.kind == "path lists" and any(is_missing(row[-1]) for row in rows):
        form = replace(form, width=max(map(len, rows)))
    taxonomy, nodes, form = _find_nodes(paths, range(len(rows)), taxonomy, form)
    filler = next((row[-1] for row in rows if len(row) and is_missing(row[-1])), "")
    return Encoded(taxonomy, LabelMatrix.from_nodes(nodes, taxonomy), _with_filler(form, filler))


def encode_path_sets(rows: Sequence[Any], taxonomy: Taxonomy | None, form: LabelForm) -> Encoded:
    """Encode a collection of paths per row, which may be empty; paths without a part do not count."""
    is_cube = form.container == "3-D array"
    filler, width, of_row, paths = "", 0, [], []
    for k, row in enumerate(rows):
        for path in row:
            if not isinstance(path, (list, tuple, np.ndarray)):
                raise LabelError(
                    f"Row {k} has {path!r} beside paths, which are lists or tuples of their parts; write ({path!r},)."
                )
            if len(path) and is_missing(path[-1]):
                filler, width = path[-1], max(width, len(path))
            if not is_cube or any(not is_missing(part) for part in path):
                paths.append(_as_path(path))
                of_row.append(k)
    if not paths and taxonomy is None:
        raise LabelError("No row has a label, so there are no classes to learn; give a taxonomy.")
    if is_cube:
        width = len(rows[0][0]) if len(rows) and len(rows[0]) else 0
    taxonomy, nodes, form = _find_nodes(paths, of_row, taxonomy, replace(form, width=width))
    indptr = np.searchsorted(np.array(of_row, np.int64), np.arange(len(rows) + 1))
    return Encoded(taxonomy, LabelMatrix.from_ids(indptr, nodes, taxonomy), _with_filler(form, filler))


def _as_path(row: Any) -> Path:
    return tuple("" if is_missing(part) else part for part in row)


def _with_filler(form: LabelForm, filler: Any) -> LabelForm:
    return replace(form, padding=filler if filler is None or isinstance(filler, str) else "nan")


def _find_nodes(
    paths: list[Path], rows: Sequence[int], taxonomy: Taxonomy | None, form: LabelForm
) -> tuple[Taxonomy, npt.NDArray[np.int64], LabelForm]:
    """Return the taxonomy, built from the paths if None, the node at the end of each path, and the form of paths.

    Each distinct path is looked up once, since data repeat few paths many times.
    """
    first_row = _find_first_rows(paths, rows)
    parts_of = {path: _split_path(path, k) for path, k in first_row.items()}
    if taxonomy is None:
        taxonomy = Taxonomy.from_paths(parts_of.values())
    node_of: dict[Path, int] = {}
    for path, parts in parts_of.items():
        node = taxonomy.find_path(parts)
        if node is None:
            raise LabelError(f"Row {first_row[path]}: {' → '.join(parts)} is not a path of the taxonomy.")
        node_of[path] = node
    below_root = taxonomy.kind != "dag" and all(len(parts_of[p]) <= taxonomy.depth[v] for p, v in node_of.items())
    scalar = find_scalar(part for part in chain.from_iterable(first_row) if part != "")
    nodes = np.fromiter((node_of[path] for path in paths), np.int64, len(paths))
    return taxonomy, nodes, replace(form, below_root=below_root and bool(paths), scalar=scalar)


def _find_first_rows(paths: list[Path], rows: Sequence[int]) -> dict[Path, int]:
    """Return the row in which each distinct path stands first."""
    first: dict[Path, int] = {}
    for path, k in zip(paths, rows, strict=True):
        try:
            first.setdefault(path, k)
        except TypeError:
            raise LabelError(f"Row {k}: a part of a path is a text or a number; got {list(path)}.") from None
    return first


def _split_path(path: Path, k: int) -> list[str]:
    end = len(path)
    while end and path[end - 1] == "":
        end -= 1
    if end == 0:
        raise LabelError(f"Row {k} has an empty path; every row needs at least one part.")
    gap = next((c for c in range(end) if path[c] == ""), None)
    if gap is not None:
        raise LabelError(f"Row {k} has a gap in its path at column {gap}: {list(path)}; pad at the end only.")
    return [as_text(part) for part in path[:end]]
