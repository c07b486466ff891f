"""Warnings of labels that are probably meant otherwise, or that a model can never predict."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cladist.errors import LabelWarning, quoted
from cladist.labels import LabelMatrix
from cladist.taxonomy.separators import look_like_paths

MOST_NAMED = 3


def warn_of_paths(model: Any, y: Any) -> None:
    """Warn of lists that read as paths where nothing says that they are: they are learnt as sets of labels.

    `model` has the form of y already.
    """
    form = model.label_form_
    listed = form.kind == "sets" and form.element in ("list", "tuple")
    if model.taxonomy is None and listed and look_like_paths(row for row in y):
        warnings.warn(
            f"{type(model).__name__}: rows of y read as paths, and without a taxonomy they are learnt as sets of "
            "unrelated labels. If they are paths, give a 2-D array, np.array(rows, dtype=object) with short rows "
            'padded by ""; if they are sets of labels, write sets, or give a taxonomy.',
            LabelWarning,
            stacklevel=4,
        )


def warn_of_lost(model: Any, labels: LabelMatrix, advice: str) -> None:
    """Warn of labels to learn from that the model, whose classes are known, can never predict."""
    nodes, n_rows = np.unique(labels.frontier[1], return_counts=True)
    lost = ~np.isin(nodes, model.class_nodes_)
    n_lost = int(lost.sum())
    if not n_lost:
        return
    shown = ", ".join(quoted(model.label_form_.spell(v, model.taxonomy_)) for v in nodes[lost][:MOST_NAMED].tolist())
    warnings.warn(
        f"{type(model).__name__} can never predict {n_lost:,} of the {len(nodes):,} labels in y, which "
        f"{int(n_rows[lost].sum()):,} of {len(labels):,} rows have: {shown}{', …' if n_lost > MOST_NAMED else ''}; "
        f"{advice}.",
        LabelWarning,
        stacklevel=3,
    )


@contextmanager
def without_label_warnings() -> Iterator[None]:
    """Keep models that learn from folds of the rows from repeating what is said of all of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        yield
