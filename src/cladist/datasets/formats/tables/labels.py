"""The label column of a table: cells → names, each different one kept once."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from cladist.datasets.formats.tables.columns import cell_text, is_infinite, refuse_cell, shortened, too_many_labels
from cladist.datasets.rows import MOST_LABELS
from cladist.errors import LabelWarning, quoted
from cladist.files import Source
from cladist.labels import encode
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import is_missing
from cladist.taxonomy.separators import SEPARATORS, guess_separator


class Labels:
    """Collects the labels of rows; of each different one the row it was first seen in is known.

    Parameters
    ----------
    source, unit, column
        Where the labels are: `unit` is what the numbers of rows count.
    sep : str, optional
        What separates several labels in one text.
    """

    def __init__(self, source: Source, unit: str, column: str, sep: str | None) -> None:
        self.source, self.unit, self.column, self.sep = source, unit, column, sep
        self.ids: dict[str, int] = {}
        self.first_seen: list[int] = []
        self.rows = array("q")  # ids, one row after the other
        self.counts = array("q")  # how many a row has, where it may have several
        self.listed: bool | None = None  # None: not known before the first row with a label
        self.first_without: int | None = None

    @property
    def multi(self) -> bool:
        """Whether a row may have several labels."""
        return self.sep is not None or bool(self.listed)

    def add(self, number: int, value: Any) -> None:
        """Take over the labels of the next row."""
        if self.listed is False and self.sep is None and type(value) is str:
            known = self.ids.get(value)
            if known is not None:  # as nearly always: the same text was there before
                self.rows.append(known)
                return
        ids = [self._id(number, part) for part in self._parts(number, value)]
        self.rows.extend(ids)
        self.counts.append(len(ids))

    def finish(self) -> None:
        """Refuse rows without a label where nothing says that they may have none."""
        if not self.multi and self.first_without is not None:
            self._refuse(self.first_without, "the label is empty.")

    def as_y(self, names: list[str]) -> Any:
        """Return y: an array of names, or a list of lists of them; `names` follow the ids."""
        if not self.multi:
            every = np.empty(len(names), dtype=object)
            every[:] = names
            return every[np.frombuffer(self.rows, np.int64)]
        y, start = [], 0
        for count in self.counts:
            y.append([names[i] for i in self.rows[start : start + count]])
            start += count
        return y

    def _parts(self, number: int, value: Any) -> list[Any]:
        if isinstance(value, list):
            self._set_listed(number, True)
            if len(value) > MOST_LABELS:
                self._refuse(number, too_many_labels())
            return value
        text = self._text(number, value)
        if self.sep is not None:
            if text.count(self.sep) >= MOST_LABELS:
                self._refuse(number, too_many_labels())
            return text.split(self.sep) if text.strip() else []
        if is_missing(value) and not isinstance(value, str) and self.listed is not False:
            self.first_without = self.first_without or number  # no label, if labels prove to be lists
            return []
        self._set_listed(number, False)
        return [text]

    def _set_listed(self, number: int, listed: bool) -> None:
        if self.sep is None and self.listed not in (None, listed):
            self._refuse(number, "labels are lists in some rows and single in others.")
        self.listed = listed
        self.finish()

    def _id(self, number: int, part: Any) -> int:
        name = self._text(number, part).strip()
        if not name:
            self._refuse(number, "the label is empty.")
        if name not in self.ids:
            self.first_seen.append(number)
        return self.ids.setdefault(name, len(self.ids))

    def _text(self, number: int, value: Any) -> str:
        text = None if is_infinite(value) else cell_text(value)
        if text is None:
            self._refuse(number, f"wanted a text or a number, got {shortened(value)}.")
        return text

    def _refuse(self, number: int, problem: str) -> NoReturn:
        refuse_cell(self.source, self.unit, number, self.column, problem)

    def resolved(self, path_sep: str | None, taxonomy: Taxonomy | None) -> tuple[list[str], Taxonomy | None]:
        """Return every label seen as it names its node in the taxonomy, and that taxonomy."""
        written = list(self.ids)
        if taxonomy is None:
            warn_of_separators(written, path_sep)
        if path_sep is None and taxonomy is None:
            return written, None
        paths = [self._path(*seen, path_sep) for seen in zip(written, self.first_seen, strict=True)]
        tree = taxonomy or Taxonomy.from_paths(paths, sep=path_sep or "/")
        nodes = []
        for name, path, number in zip(written, paths, self.first_seen, strict=True):
            node = tree.find(name) if path_sep is None else tree.find_path(path)
            if node is None:
                self._refuse(number, f"{shortened(name)} is not in the taxonomy{_hint(name, path, path_sep, tree)}")
            nodes.append(node)
        return (written if path_sep is None else _spelt(written, nodes, paths, tree)), tree

    def _path(self, name: str, number: int, path_sep: str | None) -> list[str]:
        parts = [name] if path_sep is None else [part.strip() for part in name.split(path_sep)]
        if not all(parts):
            self._refuse(number, f"the path {shortened(name)} has an empty part.")
        return parts


def _spelt(written: list[str], nodes: list[int], paths: list[list[str]], tree: Taxonomy) -> list[str]:
    """Return paths as they are written, or alike, or as names, whichever is first to name the nodes of the taxonomy.

    Paths that are not all written in one way are joined by the taxonomy's separator, from where all of them begin.
    """
    names = [tree.names[v] for v in nodes]
    if tree.kind == "dag" or tree.sep is None:
        return names
    below_root = all(len(path) <= tree.depth[v] for path, v in zip(paths, nodes, strict=True))
    joined = [tree.joined_path(v, below_root=below_root) for v in nodes]
    for texts in (written, joined):
        if all(tree.find(text) == v for text, v in zip(texts, nodes, strict=True)):
            form = encode(texts, tree).form
            if texts is joined or [form.spell(v, tree) for v in nodes] == texts:
                return texts
    return names


def warn_of_separators(labels: Sequence[str], path_sep: str | None) -> None:
    """Warn of labels that look like paths and are not split, or not where most of them should be."""
    if path_sep is None:
        found = guess_separator(labels)
        if found is not None:
            sep, count = found
            _warn(
                f"There is no hierarchy, and {count:,} of {len(labels):,} labels contain {sep!r}, as in "
                f"{_first(labels, sep)}; if labels are paths, give path_sep={sep!r} (--path-sep {sep!r})."
            )
        return
    unsplit = [label for label in labels if path_sep not in label]
    near = next((label for label in unsplit if path_sep.strip() and path_sep.strip() in label.strip()), None)
    found = guess_separator(unsplit, besides=path_sep) if 2 * len(unsplit) > len(labels) else None
    if found is not None or near is not None or len(unsplit) == len(labels) > 1:
        others = "" if found is None else f", and {found[1]:,} of these contain {found[0]!r}"
        example = quoted(near) if near is not None else _first(unsplit, found[0] if found else "")
        _warn(
            f"{len(unsplit):,} of {len(labels):,} labels have no {path_sep!r}{others}, as {example}: each is one node; "
            "give path_sep (--path-sep) as the labels have it, and write it alike in all of them."
        )


def _first(labels: Sequence[str], part: str) -> str:
    return quoted(next(label for label in labels if part in label))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, LabelWarning, stacklevel=5)


def _hint(label: str, path: list[str], path_sep: str | None, tree: Taxonomy) -> str:
    """Return the end of a sentence about a label that is not in the taxonomy."""
    if path_sep is None:
        return tree.suggestion(label)
    for sep in SEPARATORS:
        joined = sep.join(path)
        if len(path) > 1 and sep != tree.sep and joined in tree:
            return (
                f", in which {quoted(joined)} is one node: labels are split at {path_sep!r}, and the taxonomy is not "
                f"split at {sep!r}; write both with one separator."
            )
    return tree.suggestion(label if len(path) == 1 else path[-1])
