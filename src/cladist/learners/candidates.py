"""The linear methods that fit given labels, and what makes numbers of given rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from cladist.learners.flat import FlatLogistic, FlatSVM
from cladist.learners.local.nodewise import NodewiseSVM
from cladist.learners.local.top_down import TopDown
from cladist.learners.recursive import RecursiveLogistic, RecursiveSVM
from cladist.learners.select_c import Key
from cladist.mixed_rows import MixedRows


@dataclass(frozen=True)
class Candidate:
    """A method, an unfitted learner, and its usual C as a multiple of that of an SVM on the same rows."""

    method: str
    learner: Any
    factor: float = 1.0
    sharing: float | None = None
    after: tuple[str, ...] = ()  # methods that must not be behind the first one for this one to be worth its time

    @property
    def is_flat(self) -> bool:
        """Whether the method leaves the taxonomy aside."""
        return isinstance(self.learner, FlatSVM | FlatLogistic)

    def key(self, C: float) -> Key:
        """Return the value of C and of other parameters as a search names them."""
        return C, () if self.sharing is None else (("sharing", self.sharing),)

    def with_C(self, C: float) -> Any:  # noqa: N802 - the papers' letter
        """Return the learner, unfitted, with a C."""
        parameters = {} if self.sharing is None else {"sharing": self.sharing}
        return clone(self.learner).set_params(C=C, **parameters)


def candidates_for(encoded: Any, shared: dict[str, Any]) -> Iterator[Candidate]:
    """Yield the methods that fit the labels, the cheapest to compare first."""
    taxonomy, labels = encoded.labels.taxonomy, encoded.labels
    is_tree, has_inner_nodes = taxonomy.kind != "dag", taxonomy.n_nodes > len(taxonomy.leaves)
    if encoded.form.is_multi:
        yield Candidate("svm", FlatSVM(targets="nodes", **shared))
        yield Candidate("lr", FlatLogistic(targets="nodes", **shared), factor=10.0)
        if is_tree and has_inner_nodes:
            yield Candidate("h-svm", NodewiseSVM(**shared))
            yield Candidate("hr-lr", RecursiveLogistic(**shared), 10.0, sharing=1.0, after=("lr",))
        return
    ends_above = bool(np.any(~np.isin(labels.frontier[1], taxonomy.leaves)))
    yield Candidate("svm", FlatSVM(**shared))
    if has_inner_nodes and is_tree:
        yield Candidate("top-down", TopDown(stop=ends_above, **shared))
        yield Candidate("hr-svm", RecursiveSVM(**shared), sharing=1.0)
    yield Candidate("lr", FlatLogistic(**shared), factor=10.0)
    if has_inner_nodes and is_tree:
        yield Candidate("hr-lr", RecursiveLogistic(**shared), 10.0, sharing=1.0, after=("lr", "hr-svm"))


def preparation(X: Any, features: Any = None) -> list[tuple[str, Any]]:
    """Return the steps that make numbers of X, unfitted: text features, or an imputer of missing values."""
    if features is None and are_texts(X):
        from cladist.features import text_features

        features = text_features()
    if features is not None:
        return [("features", features)]
    if isinstance(X, MixedRows):
        return []
    rows = X if sparse.issparse(X) else np.asarray(X)
    if not sparse.issparse(rows) and rows.dtype.kind == "f" and np.isnan(rows).any():
        from sklearn.impute import SimpleImputer

        return [("imputer", SimpleImputer(keep_empty_features=True))]
    return []


def fit_steps(steps: list[tuple[str, Any]], X: Any) -> Any:
    """Return the rows as numbers; the steps given stay unfitted."""
    for _, step in steps:
        X = clone(step).fit_transform(X)
    return X if sparse.issparse(X) or isinstance(X, MixedRows) else np.asarray(X)


def are_texts(X: Any) -> bool:
    """Tell whether rows are texts."""
    first = next(iter(X), None) if not sparse.issparse(X) and not hasattr(X, "columns") else None
    return isinstance(first, str)


def scale_ratio(rows: Any) -> float:
    """Return how many times the largest standard deviation of a column is the smallest; 1 for columns of 0 and 1."""
    deviations = np.std(rows, axis=0, dtype=np.float64)
    deviations = deviations[deviations > 0]
    if len(deviations) == 0 or np.all((rows == 0) | (rows == 1)):
        return 1.0
    return float(deviations.max() / deviations.min())
