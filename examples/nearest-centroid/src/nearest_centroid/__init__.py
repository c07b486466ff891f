"""Nearest centroids on a taxonomy: a method for cladist in a package of its own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from cladist import HierarchicalClassifier
from cladist.decoders import path_scores
from cladist.errors import ModelFormatError, ParameterError

__all__ = ["NearestCentroid"]


class NearestCentroid(HierarchicalClassifier):
    """Score a path by how near a row is to the centroids m_v of its nodes v.

    S_r(x) = Σ_{v ∈ path(r)} depth_v^(−power) (2 m_v·x − ‖m_v‖²), where depth_v counts from 1 at the roots and m_v is
    the mean of all rows at v or below. The label of highest S_r is predicted; on a star it is the nearest centroid.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels. None: a star of the labels in y.
    power : float
        How fast the influence of nodes falls with their depth; 0: all nodes count the same.

    Examples
    --------
    >>> model = NearestCentroid({"sport": None, "tennis": "sport", "chess": "sport", "art": None})
    >>> model.fit([[2.0, 1.0], [2.0, 0.0], [0.0, 2.0]], ["tennis", "chess", "art"]).predict_paths([[3.0, 1.0]])
    [['sport', 'tennis']]
    """

    def __init__(self, taxonomy: Any = None, *, power: float = 0.0) -> None:
        self.taxonomy = taxonomy
        self.power = power

    def check_parameters(self) -> None:
        """Refuse a power that is not a number."""
        if not isinstance(self.power, (int, float)) or not np.isfinite(self.power):
            raise ParameterError(f"NearestCentroid: power must be a finite number; got {self.power!r}.")

    def fit(self, X: Any, y: Any) -> Self:
        """Compute the centroid of every node.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
            The training rows.
        y : labels in any form
            One label per row.
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_classes(np.unique(labels.nodes("NearestCentroid")))  # refuses rows with several labels
        on = labels.to_indicator().astype(np.float64)  # rows × nodes, CSR; a row has its label and all above it
        sums = on.T @ X
        sums = np.ascontiguousarray(sums.toarray() if sparse.issparse(sums) else sums)
        self.centroids_ = sums / np.maximum(1.0, on.sum(axis=0))[:, None]
        return self

    def class_scores(self, X: Any) -> Any:
        """Return S_r of every class r and row."""
        nearness = 2.0 * (X @ self.centroids_.T) - np.square(self.centroids_).sum(axis=1)
        influence = (1.0 + self.taxonomy_.depth) ** -float(self.power)
        return path_scores(nearness * influence, self.taxonomy_)[:, self.class_nodes_]

    def pack_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the fitted state: plain values, and arrays by name."""
        return {}, {"centroids": self.centroids_}

    def unpack_state(self, state: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Restore what `pack_state` returned; a file may hold anything, so its shape is checked."""
        centroids = arrays["centroids"]
        if centroids.dtype != np.float64 or centroids.shape != (self.taxonomy_.n_nodes, self.n_features_in_):
            raise ModelFormatError("Its centroids do not fit its taxonomy and its features.")
        self.centroids_ = centroids
