"""A row of a stream: what it says, what its label is called in the taxonomy, and what is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from scipy import sparse

from cladist.datasets.formats.tables.columns import cell_text
from cladist.datasets.formats.tables.json_records import read_json_objects
from cladist.datasets.formats.tables.reader import join_text
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import is_missing

FEATURES = "x"  # the key of a row's numbers


@dataclass(frozen=True)
class Reader:
    """How rows are read, as the model notes it; `features` counts the numbers of a row where it learnt from numbers."""

    name: str
    text: tuple[str, ...]
    label: str
    label_sep: str | None
    path_sep: str | None
    id: str
    features: int | None

    def record(self, line: bytes, number: int) -> dict[str, Any]:
        """Return the object in a line."""
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise DatasetError(f"{self.name}, line {number}: this is not UTF-8 text.") from None
        columns = (*self.text, self.label, self.id)  # what a row's answer repeats, or a model keeps
        found = [record for _, record in read_json_objects(self.name, iter([(number, text)]), columns)]
        return found[0] if found else {}

    def row_id(self, record: Mapping[str, Any], number: int) -> Any:
        """Return the row's id, or None."""
        value = record.get(self.id)
        if isinstance(value, (list, dict)) or (isinstance(value, float) and not isfinite(value)):
            came = value if isinstance(value, float) else type(value).__name__
            raise DatasetError(f"{self.name}, line {number}: an id is a text or a number; got {came}.")
        return value

    def value(self, record: Mapping[str, Any], number: int) -> Any:
        """Return what the row is judged by: its text, or its numbers."""
        if self.features is None:
            return join_text(self.name, number, record, self.text)
        numbers = record.get(FEATURES)
        if not isinstance(numbers, (list, dict)):
            raise DatasetError(
                f"{self.name}, line {number}: the numbers of a row are a list or an object in {FEATURES!r}."
            )
        try:
            pairs = enumerate(numbers) if isinstance(numbers, list) else ((int(k), v) for k, v in numbers.items())
            found = {int(k): float(v) for k, v in pairs}
        except (TypeError, ValueError, OverflowError):
            found = {0: float("nan")}
        if not all(map(isfinite, found.values())):
            raise DatasetError(f"{self.name}, line {number}: {FEATURES!r} holds something that is no number.")
        outside = [k for k in found if not 0 <= k < self.features]
        if outside or (isinstance(numbers, list) and len(numbers) != self.features):
            raise DatasetError(f"{self.name}, line {number}: the model knows {self.features} features, from 0 on.")
        return found

    def labels(self, record: Mapping[str, Any], number: int) -> list[list[str]] | None:
        """Return the labels of a row, each as the parts of a path (one part: a name), or None where it has none."""
        value = record.get(self.label)
        if value is None or (is_missing(value) and not isinstance(value, str)):
            return None
        values = value if isinstance(value, list) else [value]
        if isinstance(value, str) and self.label_sep:
            values = value.split(self.label_sep) if value.strip() else []
        texts = [cell_text(part) for part in values]
        if any(text is None or (not text.strip() and not isinstance(value, list)) for text in texts):
            if value == "" and not self.label_sep:
                return None
            raise DatasetError(f"{self.name}, line {number}: {self.label!r} holds no label: {str(value)[:100]!r}.")
        return [
            [part.strip() for part in ((text or "").split(self.path_sep) if self.path_sep else [text or ""])]
            for text in texts
        ]


def matrix_of(values: Sequence[Any], features: int | None) -> Any:
    """Return rows as a model's first step takes them: texts, or CSR."""
    if features is None:
        texts = np.empty(len(values), dtype=object)
        texts[:] = values
        return texts
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in values])]).astype(np.int64)
    indices = np.array([k for row in values for k in sorted(row)], np.int64)
    data = np.array([row[k] for row in values for k in sorted(row)], np.float64)
    return sparse.csr_array((data, indices, indptr), shape=(len(values), features))


def node_of(taxonomy: Taxonomy, parts: Sequence[str]) -> int | None:
    """Return the node that a label names, or None."""
    return taxonomy.find(parts[0]) if len(parts) == 1 else taxonomy.find_path(parts)


def growth(taxonomy: Taxonomy, labels: Sequence[Sequence[str]]) -> list[tuple[str, str | None]]:
    """Return the nodes that paths lack in a taxonomy, each with its parent, in the order to add them in.

    Examples
    --------
    >>> growth(Taxonomy.from_paths(["sport/tennis"]), [["sport", "ball", "golf"], ["art"]])
    [('ball', 'sport'), ('golf', 'ball'), ('art', None)]
    """
    found: list[tuple[str, str | None]] = []
    for parts in labels:
        if node_of(taxonomy, parts) is not None:
            continue
        for k in range(1, len(parts) + 1):
            is_there = taxonomy.find_path(parts[:k]) is not None
            if is_there or (k == 1 and node_of(taxonomy, parts[:1]) is not None):
                continue
            above = taxonomy.find_path(parts[: k - 1]) if k > 1 else None
            if k > 1 and above is None:
                raise ParameterError(f"{'/'.join(parts)!r}: {parts[k - 2]!r} stands elsewhere in the taxonomy.")
            found.append((parts[k - 1], None if above is None else taxonomy.names[above]))
            taxonomy = taxonomy.with_node(*found[-1])
    return found


def answer_of(label: Any, taxonomy: Taxonomy) -> dict[str, Any]:
    """Return what is written about a prediction."""
    if isinstance(label, (set, frozenset, list, tuple)):
        names = sorted(str(name) for name in label)
        return {"labels": names, "paths": [taxonomy.shortest_path_parts(taxonomy.index(n)) for n in names]}
    plain = label.item() if hasattr(label, "item") else label
    return {"label": plain, "path": taxonomy.shortest_path_parts(taxonomy.index(plain))}
