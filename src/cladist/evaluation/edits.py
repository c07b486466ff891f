"""Suggested edits of labels and of a taxonomy: written to be reviewed, and applied where they are accepted."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

from cladist.errors import DatasetError, one_of
from cladist.files import open_for_reading, open_for_writing
from cladist.taxonomy import Taxonomy

ACTIONS = ("relabel", "drop", "move", "merge", "remove", "review")
COLUMNS = ("accept", "action", "row", "node", "old", "new", "sure", "evidence")
YES = ("yes", "y", "x", "1", "true")
MOST_CELL = 2000  # letters of evidence in a file


class Edit(NamedTuple):
    """A suggested change.

    Attributes
    ----------
    action : {"relabel", "drop", "move", "merge", "remove", "review"}
        Give row `row` the label `new` instead of `old` (of sets: "" for `old` adds, "" for `new` removes); leave the
        row out; put node `node` below `new` instead of `old`; make `node` one with the node `new`, with its rows and
        children; take `node` out, its children move up. "review" changes nothing: a person has to look.
    row : int
        The row, counted from 0; −1 for edits of nodes.
    sure : float
        How sure the finding is, from 0 to 1.
    """

    action: str
    row: int = -1
    node: str = ""
    old: str = ""
    new: str = ""
    sure: float = 0.0
    evidence: str = ""


def write_edits(path: str | PathLike[str], edits: Iterable[Edit]) -> None:
    """Write edits as a table whose first column, `accept`, is empty: a person writes yes where an edit is right.

    Parameters
    ----------
    path : path
        The CSV file.
    edits : sequence of Edit
        Such as `Diagnosis.edits`.
    """
    from io import StringIO

    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for edit in edits:
        row = "" if edit.row < 0 else edit.row + 1
        cells = [edit.action, row, edit.node, edit.old, edit.new, f"{edit.sure:.3f}", edit.evidence[:MOST_CELL]]
        writer.writerow(["", *map(_plain, cells)])
    with open_for_writing(path) as file:
        file.write(text.getvalue().encode())


def _plain(value: Any) -> Any:
    """Return a cell that spreadsheets do not evaluate as a formula."""
    return f"'{value}" if isinstance(value, str) and value.lstrip("'")[:1] in tuple("=+-@\t\r") else value


def read_edits(path: str | PathLike[str]) -> list[Edit]:
    """Return the accepted edits of a file that `write_edits` has written."""
    with open_for_reading(path) as stream:
        try:
            lines = list(csv.reader(stream.read().decode("utf-8-sig").splitlines()))
        except (UnicodeDecodeError, csv.Error) as problem:
            raise DatasetError(f"{path}: wanted a CSV file of edits in UTF-8 ({problem}).") from problem
    if not lines or not set(COLUMNS) <= set(lines[0]):
        raise DatasetError(f"{path}: wanted the columns {', '.join(COLUMNS)}, as doctor --fix writes.")
    header = lines[0]
    return [
        _read_line(path, number, dict(zip(header, cells, strict=False)))
        for number, cells in enumerate(lines[1:], 2)
        if cells and cells[header.index("accept")].strip().lower() in YES
    ]


def _read_line(path: Any, number: int, cells: dict[str, str]) -> Edit:
    texts = {name: _unquoted(cells.get(name, "")) for name in COLUMNS}
    try:
        one_of("edits", "action", texts["action"], ACTIONS)
        row = int(texts["row"]) - 1 if texts["row"] else -1
        needs_row = texts["action"] in ("relabel", "drop")
        if needs_row != (row >= 0) and texts["action"] != "review":
            raise ValueError("a row" if needs_row else "a node and no row")
        sure = float(texts["sure"] or 0)
    except ValueError as problem:
        raise DatasetError(f"{path}, line {number}: this is no edit ({problem}).") from problem
    return Edit(texts["action"], row, texts["node"], texts["old"], texts["new"], sure, texts["evidence"])


def _unquoted(text: str) -> str:
    return text[1:] if text[:1] == "'" and text.lstrip("'")[:1] in tuple("=+-@\t\r") else text


@dataclass(frozen=True)
class Applied:
    """Data after edits.

    Attributes
    ----------
    rows : list of int
        The rows that are kept.
    labels : list of set of str
        The labels of each of them.
    taxonomy : Taxonomy
        The taxonomy after the edits.
    n_edits : int
        The number of edits that changed something.
    """

    rows: list[int]
    labels: list[set[str]]
    taxonomy: Taxonomy
    n_edits: int


def apply_edits(edits: Sequence[Edit], labels: Sequence[Iterable[str]], taxonomy: Taxonomy) -> Applied:
    """Apply edits to the labels of rows, as names of nodes, and to their taxonomy.

    An edit that does not fit, as its row or node is not there or its old value is another one, is a `DatasetError`.

    Parameters
    ----------
    edits : sequence of Edit
        The accepted edits; rows are edited before nodes.
    labels : sequence of collections of str
        The names of the deepest nodes of each row.
    taxonomy : Taxonomy

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "games/go"])
    >>> edits = [Edit("move", node="chess", old="sport", new="games"), Edit("relabel", 0, old="tennis", new="go")]
    >>> result = apply_edits(edits, [["tennis"], ["chess"]], taxonomy)
    >>> result.labels, result.taxonomy.path("chess")
    ([{'go'}, {'chess'}], ['games', 'chess'])
    """
    tree = {name: set(taxonomy.parents_of(name)) for name in taxonomy.names}
    rows = [set(row) for row in labels]
    dropped: set[int] = set()
    n_edits = 0
    for edit in sorted(edits, key=lambda e: ACTIONS.index(e.action)):  # rows first, by the names they have now
        if edit.action == "review":
            continue
        n_edits += 1
        if edit.action in ("relabel", "drop"):
            _edit_row(edit, rows, dropped, tree)
        else:
            _edit_tree(edit, rows, tree)
    order = {name: k for k, name in enumerate(taxonomy.names)}
    parents = {name: sorted(tree[name], key=order.__getitem__) for name in taxonomy.names if name in tree}
    single = {name: above[0] if above else None for name, above in parents.items()}
    several = any(len(above) > 1 for above in parents.values())
    changed = Taxonomy.from_parents(parents if several else single).with_texts(
        taxonomy.titles, taxonomy.descriptions, taxonomy.synonyms
    )
    kept = [i for i in range(len(rows)) if i not in dropped]
    return Applied(kept, [rows[i] for i in kept], changed, n_edits)


def _edit_row(edit: Edit, rows: list[set[str]], dropped: set[int], tree: dict[str, set[str]]) -> None:
    if edit.row >= len(rows):
        raise DatasetError(f"An edit is of row {edit.row + 1:,}, and there are {len(rows):,}; is it of other data?")
    if edit.action == "drop":
        dropped.add(edit.row)
        return
    if edit.old and edit.old not in rows[edit.row]:
        raise DatasetError(f"An edit takes the label {edit.old!r} from row {edit.row + 1:,}, which does not have it.")
    if edit.new:
        _require(edit.new, tree)
    rows[edit.row] = (rows[edit.row] - {edit.old}) | ({edit.new} if edit.new else set())


def _edit_tree(edit: Edit, rows: list[set[str]], tree: dict[str, set[str]]) -> None:
    _require(edit.node, tree)
    if edit.action == "move":
        if edit.new:
            _require(edit.new, tree)
        if edit.old and edit.old not in tree[edit.node]:
            raise DatasetError(f"An edit moves {edit.node!r} from {edit.old!r}, which is not above it.")
        tree[edit.node] = (tree[edit.node] - {edit.old}) | ({edit.new} if edit.new else set())
        return
    above = {edit.new} if edit.action == "merge" else tree[edit.node]
    if edit.action == "merge":
        _require(edit.new, tree)
        for row in rows:
            if edit.node in row:
                row.discard(edit.node)
                row.add(edit.new)
    elif any(edit.node in row for row in rows):
        raise DatasetError(f"An edit removes the node {edit.node!r}, which is the label of rows; relabel these first.")
    for parents in tree.values():
        if edit.node in parents:
            parents.remove(edit.node)
            parents |= above
    del tree[edit.node]
    for parents in tree.values():
        parents.discard(edit.node)


def _require(name: str, tree: dict[str, set[str]]) -> None:
    if name not in tree:
        raise DatasetError(f"An edit names the node {name!r}, which is not in the taxonomy, or no more.")
