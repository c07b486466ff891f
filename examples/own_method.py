"""A method of your own: nearest centroids along the path, in a page of code, with saving and every form of labels.

Run as ``python examples/own_method.py [model-folder]``.
"""

import sys
from typing import Any

import numpy as np

import cladist
from cladist.datasets import make_topics
from cladist.decoders import path_scores


class PathCentroids(cladist.HierarchicalClassifier):
    """Scores a path by how near a row is to the centroids of its nodes."""

    def __init__(self, taxonomy: Any = None) -> None:
        self.taxonomy = taxonomy

    def fit(self, X: Any, y: Any) -> "PathCentroids":
        """Average the rows at and below each node."""
        X, labels = self.validate_fit(X, y)
        self.set_classes(np.unique(labels.nodes("PathCentroids")))
        on = labels.to_indicator().astype(float)
        self.centroids_ = (on.T @ X).toarray() / np.maximum(1, on.sum(axis=0))[:, None]
        return self

    def class_scores(self, X: Any) -> np.ndarray:
        """Return the score of every class."""
        nearness = 2 * (X @ self.centroids_.T) - np.square(self.centroids_).sum(axis=1)
        return path_scores(np.asarray(nearness), self.taxonomy_)[:, self.class_nodes_]

    def pack_state(self) -> Any:
        """Return what a saved model holds."""
        return {}, {"centroids": self.centroids_}

    def unpack_state(self, state: Any, arrays: Any) -> None:
        """Restore it."""
        self.centroids_ = arrays["centroids"]


def main(folder: str = "own-method-model") -> None:
    """Train it beside a linear SVM, save it, and load it."""
    data = make_topics(n_samples=600, n_features=500, branching=(4, 4), n_test=300, random_state=0)
    cladist.registry.register("path-centroids", PathCentroids)
    for model in (PathCentroids(data.taxonomy), cladist.FlatSVM(data.taxonomy)):
        accuracy = model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
        print(f"{type(model).__name__}: {accuracy:.3f}")
        if isinstance(model, PathCentroids):
            model.save(folder)
    print(repr(cladist.load(folder)))


if __name__ == "__main__":
    main(*sys.argv[1:])
