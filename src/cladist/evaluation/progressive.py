"""Progressive validation: every row is first a test row, then a training row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import ParameterError
from cladist.labels import LabelMatrix, encode
from cladist.losses import HLoss, SymmetricDifference, Weights, ZeroOne

Curve = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Progress:
    """The predictions of an online learner before it was trained on each row, and their losses.

    Attributes
    ----------
    predictions : labels
        The prediction of each row before it was trained on, in the form of y.
    losses : dict of str to array
        One number per row: "zero_one", "h_loss", and "symmetric_difference", which for single labels is the number of
        edges between the true and the predicted node, the tree-induced error.
    single : bool
        Whether each row has one label.

    Examples
    --------
    >>> from cladist import Hieron
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=300, n_test=1, branching=(3, 2), random_state=0)
    >>> progress = progressive(Hieron(data.taxonomy), data.X_train, data.y_train)
    >>> len(progress), bool(progress.h_loss[-1] < progress.h_loss[20])
    (300, True)
    """

    predictions: Any
    losses: dict[str, Curve] = field(repr=False)
    single: bool = True

    def __len__(self) -> int:
        return len(self.losses["zero_one"])

    def curve(self, loss: str) -> Curve:
        """Return the mean loss of the first t rows, for t = 1 … n; `loss` is a name in `losses`."""
        values = self.losses[loss]
        return np.cumsum(values) / np.arange(1, len(values) + 1)

    @property
    def zero_one(self) -> Curve:
        """The share of the first t rows that were not predicted exactly."""
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
            raise AttributeError("Sets of labels have no tree-induced error; use `symmetric_difference`.")
        return self.curve("symmetric_difference")

    def to_dict(self, *, points: int = 100) -> dict[str, Any]:
        """Return the curves at evenly spaced rows, at most `points`, as plain numbers."""
        n = len(self)
        at = np.unique(np.linspace(1, n, min(points, n)).astype(int)) if n else np.zeros(0, int)
        return {"rows": at.tolist(), **{name: self.curve(name)[at - 1].tolist() for name in self.losses}}


def progressive(
    model: Any, X: Any, y: Any, *, classes: Any = None, weights: Weights = "uniform", batch: int = 4096
) -> Progress:
    """Let an online learner predict every row before it is trained on it, in the order of the rows.

    Parameters
    ----------
    model : Hieron, HierarchicalRLS or HierarchicalPerceptron
        The learner, fitted or not; it continues from its state, and ends trained on all rows.
    X : array-like, CSR or data frame (rows × features)
        The rows.
    y : labels in any form
        Their labels.
    classes : sequence of labels, optional
        All labels that will occur, as for `partial_fit`.
    weights : {"uniform", "sibling", "subtree"} or array of shape (n_nodes,)
        The costs of the H-loss, see `cladist.losses.HLoss`.
    batch : int
        The number of rows per call of the learner, which bounds the memory; the result does not depend on it.

    Examples
    --------
    >>> from cladist import HierarchicalPerceptron
    >>> progress = progressive(HierarchicalPerceptron({"b": "a"}), [[1.0], [-1.0], [1.0]], ["b", "a", "b"])
    >>> progress.losses["zero_one"].tolist()
    [1.0, 1.0, 0.0]
    """
    if not hasattr(model, "predict_then_learn"):
        raise ParameterError(f"progressive needs a learner that learns row by row; {type(model).__name__} does not.")
    if batch < 1:
        raise ParameterError(f"progressive: batch must be at least 1; got {batch!r}.")
    rows = X if hasattr(X, "shape") else np.asarray(X)
    predictions: list[Any] = []
    true: list[LabelMatrix] = []
    for start in range(0, rows.shape[0], batch):
        at = slice(start, start + batch)
        part = y.iloc[at] if hasattr(y, "iloc") else y[at]
        predictions.append(
            model.predict_then_learn(rows.iloc[at] if hasattr(rows, "iloc") else rows[at], part, classes)
        )
        true.append(encode(part, model.taxonomy_).labels)
    taxonomy = model.taxonomy_
    pairs = [(t, encode(p, taxonomy).labels) for t, p in zip(true, predictions, strict=True)]
    kinds = {"zero_one": ZeroOne(), "h_loss": HLoss(weights), "symmetric_difference": SymmetricDifference()}
    losses = {
        name: np.concatenate([np.zeros(0), *(loss.per_example(*pair, taxonomy) for pair in pairs)])
        for name, loss in kinds.items()
    }
    return Progress(_concatenate(predictions), losses, single=not model.decodes_sets)


def _concatenate(parts: list[Any]) -> Any:
    """Return the predictions of all batches as one."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if isinstance(parts[0], LabelMatrix):
        return LabelMatrix.from_parts(parts, parts[0].taxonomy)
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
