"""Warnings about labels that are probably meant otherwise, or that a model can never predict."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from cladist.errors import LabelWarning, quoted
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.construction import guess_separator

MOST_NAMED = 3


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn in the name of the first caller outside cladist."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").partition(".")[0] == "cladist":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)


def warn_of_joined_paths(who: str, taxonomy: Taxonomy) -> None:
    """Warn if most labels of a star contain a separator of paths: they are trained on as unrelated classes."""
    guess = guess_separator(taxonomy.names) if taxonomy.sep is None else None
    if guess is not None:
        sep, count = guess
        warn_caller(
            f"{who}: there is no hierarchy, and {count:,} of {taxonomy.n_nodes:,} labels contain {sep!r}; if they are "
            f"paths, give taxonomy=Taxonomy.from_paths(set(y), sep={sep!r}).",
            LabelWarning,
        )


def warn_of_lost(model: Any, labels: LabelMatrix, advice: str) -> None:
    """Warn if there are training labels that the model, whose classes are known, can never predict."""
    nodes, n_rows = np.unique(labels.frontier[1], return_counts=True)
    lost = ~np.isin(nodes, model.class_nodes_)
    n_lost = int(lost.sum())
    if not n_lost:
        return
    shown = ", ".join(quoted(model.label_form_.spell(v, model.taxonomy_)) for v in nodes[lost][:MOST_NAMED].tolist())
    warn_caller(
        f"{type(model).__name__} can never predict {n_lost:,} of the {len(nodes):,} labels in y, which "
        f"{int(n_rows[lost].sum()):,} of {len(labels):,} rows have: {shown}{', …' if n_lost > MOST_NAMED else ''}; "
        f"{advice}.",
        LabelWarning,
    )


@contextmanager
def without_label_warnings() -> Iterator[None]:
    """Suppress label warnings of models trained on folds, which would repeat those about all rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelWarning)
        yield
