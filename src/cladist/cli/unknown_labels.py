"""Labelled rows some of whose labels are not in a taxonomy: counted as wrong, or left out."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cladist.cli.input import DataSource, find_node, read_labelled
from cladist.cli.output import join_names
from cladist.errors import DatasetError, LabelWarning, ParameterError, quoted
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.transforms import add_paths

if TYPE_CHECKING:
    from cladist.datasets import Dataset


class KnownRows(NamedTuple):
    """The rows to evaluate, their labels as nodes, and how often each unknown label occurs."""

    rows: npt.NDArray[np.int64]
    labels: LabelMatrix
    unknown: Counter[str]

    def describe(self, policy: str) -> str:
        """Return a sentence about the unknown labels."""
        n, labels = sum(self.unknown.values()), len(self.unknown)
        done = "they count as wrong" if policy == "wrong" else "they are left out"
        names = join_names([quoted(name) for name, _ in self.unknown.most_common()])
        are, times = "label is" if labels == 1 else "labels are", "once" if n == 1 else f"{n:,} times"
        return f"{labels:,} {are} not in the taxonomy ({times}); {done}: {names}."


def match_labels(y: Any, taxonomy: Taxonomy, *, path_sep: str | None, policy: str) -> KnownRows:
    """Return the labels of rows as nodes of the taxonomy, or of one that has the unknown labels too ("wrong").

    An unknown label becomes a node below the deepest known node of its path, so that no prediction equals it. With
    "skip", unknown labels are left out, and with them the rows that have no other.
    """
    sets = [row if isinstance(row, list | tuple) else [row] for row in y]
    counts = Counter(str(label) for row in sets for label in row)
    node_of = {label: find_node(taxonomy, label, path_sep) for label in counts}
    unknown = Counter({label: n for label, n in counts.items() if node_of[label] < 0})
    rows, names = np.arange(len(sets)), {label: taxonomy.names[v] for label, v in node_of.items() if v >= 0}
    if unknown and policy == "wrong":
        root = [taxonomy.names[0]] if len(taxonomy.roots) == 1 else []
        paths = {label: [p.strip() for p in label.split(path_sep)] if path_sep else [*root, label] for label in unknown}
        taxonomy, new = add_paths(taxonomy, list(paths.values()))
        names |= dict(zip(paths, new, strict=True))
    elif unknown:
        rows = np.array([i for i, row in enumerate(sets) if not row or any(str(k) in names for k in row)], np.int64)
    ids = {label: taxonomy.index(name) for label, name in names.items()}
    known = [{ids[str(label)] for label in sets[i] if str(label) in ids} for i in rows.tolist()]
    ends = np.cumsum([0, *map(len, known)])
    return KnownRows(rows, LabelMatrix.from_ids(ends, np.array(list(chain(*known)), np.int64), taxonomy), unknown)


def read_with_unknown(source: DataSource, model: Any, policy: str, notify: Any) -> Dataset:
    """Return labelled rows, with a `LabelMatrix` as their y; `notify` is told of unknown labels."""
    from cladist.cli.input import learner_of
    from cladist.datasets import Dataset
    from cladist.datasets.dataset import take_rows

    if source.kind not in ("table", "svmlight"):
        raise ParameterError(f"--unknown {policy} is for tables and svmlight files; {source.name} is {source.kind}.")
    taxonomy = learner_of(model).taxonomy_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)  # labels are not split while they are read
        data = read_labelled(replace(source, path_sep=None), taxonomy=None, model=model)
    known = match_labels(data.y, taxonomy, path_sep=source.path_sep, policy=policy)
    if not len(known.rows):
        raise DatasetError(f"{source.name}: no row has a label of the taxonomy; {known.describe(policy)}")
    if known.unknown:
        notify(f"{source.name}: {known.describe(policy)}")
    return Dataset(take_rows(data.X, known.rows), known.labels, known.labels.taxonomy, source=data.source)


def lift(labels: LabelMatrix, taxonomy: Taxonomy) -> LabelMatrix:
    """Return labels as nodes of a taxonomy that has all nodes of theirs, by the same names, and others."""
    new_id = np.array([taxonomy.index(name) for name in labels.taxonomy.names], np.int64)
    return LabelMatrix.from_ids(labels.indptr, new_id[labels.indices], taxonomy)
