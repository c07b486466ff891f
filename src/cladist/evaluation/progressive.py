"""Progressive validation: every row is first a test, then a lesson."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError
from cladist.labels import LabelMatrix, encode
from cladist.losses import HLoss, SymmetricDifference, ZeroOne
from cladist.losses.costs import Weights
from cladist.taxonomy import Taxonomy

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Progress:
    """What an online learner got wrong on the way, row by row.

    Attributes
    ----------
    predictions : labels
        Of each row, made before it was learnt, in the form of y.
    losses : dict of str to array
        One number a row: "zero_one", "h_loss", and "symmetric_difference", which for single labels is the number of
        edges between the true and the predicted node, the tree-induced error.

    Examples
    --------
    >>> from cladist import Hieron
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=300, n_test=1, branching=(3, 2), random_state=0)
    >>> seen = progressive(Hieron(data.taxonomy), data.X_train, data.y_train)
    >>> len(seen), bool(seen.h_loss[-1] < seen.h_loss[20])
    (300, True)
    """

    predictions: Any
    losses: dict[str, Curve] = field(repr=False)
    single: bool = True

    def __len__(self) -> int:
        return len(self.losses["zero_one"])

    def curve(self, loss: str) -> Curve:
        """Return the mean loss of the first t rows, for t = 1 … n."""
        values = self.losses[loss]
        return np.cumsum(values) / np.arange(1, len(values) + 1)

    @property
    def zero_one(self) -> Curve:
        """The share of the first t rows that were not exactly right."""
        return self.curve("zero_one")

    @property
    def h_loss(self) -> Curve:
        """The mean H-loss of the first t rows."""
        return self.curve("h_loss")

    @property
    def symmetric_difference(self) -> Curve:
        """The mean number of wrong nodes of the first t rows."""
        return self.curve("symmetric_difference")

    @property
    def tree_induced_error(self) -> Curve:
        """The mean number of edges between the true and the predicted node of the first t rows; single labels only."""
        if not self.single:
            raise AttributeError("Sets of labels have no tree-induced error; `symmetric_difference` is its likeness.")
        return self.curve("symmetric_difference")

    def to_dict(self, *, points: int = 100) -> dict[str, Any]:
        """Return the curves at so many rows, evenly spread, as plain numbers."""
        n = len(self)
        at = np.unique(np.linspace(1, n, min(points, n)).astype(int)) if n else np.zeros(0, int)
        curves = {name: self.curve(name)[at - 1].tolist() for name in self.losses}
        return {"rows": at.tolist(), **curves}


def progressive(
    model: Any, X: Any, y: Any, *, classes: Any = None, weights: Weights = "uniform", batch: int = 4096
) -> Progress:
    """Let an online learner predict every row before it learns it, in the rows' order.

    Parameters
    ----------
    model : Hieron, HierarchicalRLS or HierarchicalPerceptron
        Fitted or not; it goes on from where it is, and has learnt all rows in the end.
    X : array-like, CSR or data frame (rows × features)
    y : labels in any form
    classes : sequence of labels, optional
        As for `partial_fit`.
    weights
        The costs of the H-loss, see `cladist.losses.HLoss`.
    batch : int
        Rows handed over at once, which bounds the memory; the result does not depend on it.

    Returns
    -------
    Progress
    """
    if not hasattr(model, "predict_then_learn"):
        raise ParameterError(f"progressive needs a learner that learns row by row; {type(model).__name__} does not.")
    if batch < 1:
        raise ParameterError(f"progressive: batch must be at least 1; got {batch!r}.")
    rows = X if hasattr(X, "shape") else np.asarray(X)
    parts: list[Any] = []
    true: list[LabelMatrix] = []
    for start in range(0, rows.shape[0], batch):
        at = slice(start, start + batch)
        given = rows.iloc[at] if hasattr(rows, "iloc") else rows[at]
        part = y.iloc[at] if hasattr(y, "iloc") else y[at]
        parts.append(model.predict_then_learn(given, part, classes))
        true.append(encode(part, model.taxonomy_).labels)
    found = [encode(part, model.taxonomy_).labels for part in parts]
    losses = _losses(true, found, model.taxonomy_, weights)
    return Progress(_joined(parts), losses, single=not model.decodes_sets)


def _losses(
    true: list[LabelMatrix], found: list[LabelMatrix], taxonomy: Taxonomy, weights: Weights
) -> dict[str, Curve]:
    kinds = {"zero_one": ZeroOne(), "h_loss": HLoss(weights), "symmetric_difference": SymmetricDifference()}
    pairs = list(zip(true, found, strict=True))
    return {
        name: np.concatenate([np.zeros(0), *(loss.per_example(a, b, taxonomy) for a, b in pairs)])
        for name, loss in kinds.items()
    }


def _joined(parts: list[Any]) -> Any:
    """Return predictions that came in pieces as one."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if isinstance(parts[0], LabelMatrix):
        return LabelMatrix.from_parts(parts, parts[0].taxonomy)
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
