"""A classifier per level of the taxonomy: LCL of Silla & Freitas 2011."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from cladist.errors import ModelFormatError
from cladist.labels import LabelMatrix
from cladist.learners.local.linear_choice import LinearChoice
from cladist.learners.local.node_estimators import estimator_at
from cladist.learners.local.walk import Floats, Ids, LocalClassifiers


@dataclass(eq=False, repr=False)
class LocalPerLevel(LocalClassifiers):
    """A classifier per level, of any kind, among all nodes of that level; prediction follows the tree.

    The classifier of a level is trained on the rows whose path reaches it. Prediction starts with the root of highest
    probability; at each next level it chooses among the children of the node before, and so never leaves the tree.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: built from the paths in y, or a star of the classes seen.
    estimator : scikit-learn classifier, mapping or None
        Cloned for every level. A mapping has different ones by level (0 for the roots), and under None for all others.
        None: `FlatLogistic`.
    C, tol : float
        Of `FlatLogistic`, where it is the classifier: the weight of the losses, and the relative duality gap.
    combine : {"multiply", "geometric", "arithmetic", None}
        How `predict_proba` combines the probabilities of the nodes on a path: their product, geometric or arithmetic
        mean, or the last one alone.
    stop : bool
        Whether inner nodes that are labels of rows get a class "stop here". Without it, prediction always goes on to a
        node below which no label was seen.
    n_jobs, executor : int or None, Executor or None
        Threads, or an executor of `cladist.execution`, that fit levels in parallel.
    decode : {"auto", "single"}
        Both mean the same: one path is predicted per row, whatever the form of y.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels at which prediction can end, in taxonomy order.
    estimators_ : dict of int to classifier
        The classifier of each level that has a choice; its classes are the paths of the level's nodes, joined by "::".
    children_, walked_, n_iter_, converged_, history_
        As in `LocalPerNode`.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from cladist import LocalPerLevel
    >>> X = [[1], [2], [3], [4]]
    >>> y = [["Mammal", "Sheep"], ["Mammal", "Cow"], ["Reptile", "Snake"], ["Reptile", "Lizard"]]
    >>> LocalPerLevel(estimator=RandomForestClassifier(random_state=0)).fit(X, y).predict([[1], [4]])
    [['Mammal', 'Sheep'], ['Reptile', 'Lizard']]
    """

    taxonomy: Any = None
    _: KW_ONLY
    estimator: Any = None
    C: float = 1.0
    tol: float = 1e-3
    combine: str | None = "multiply"
    stop: bool = False
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    def problems(self, labels: LabelMatrix) -> dict[int, tuple[Any, Ids, npt.NDArray[Any]]]:
        roots = self.children_[-1]
        texts_of_roots = [_text(labels.taxonomy, int(v)) for v in roots]
        self.children_[-1] = roots[np.argsort(texts_of_roots)]  # the first of equal scores wins, as in the classifier
        find = estimator_at("LocalPerLevel", self.estimator, labels.taxonomy, ())
        texts, problems = np.array(_texts(labels.taxonomy), dtype=np.str_), {}
        rows = np.repeat(np.arange(len(labels)), np.diff(labels.indptr))
        for level in range(int(labels.taxonomy.depth[labels.indices].max()) + 1):
            here = labels.taxonomy.depth[labels.indices] == level
            if len(np.unique(labels.indices[here])) > 1:
                at_level = find(None, level)
                estimator = self.default if at_level is None else at_level
                problems[level] = (estimator, rows[here].astype(np.int64), texts[labels.indices[here]])
        return problems

    def local_scores(self, parent: int, children: Ids, X: Any) -> Floats:
        level = int(self.walked_.depth[children[0]])
        model = self.estimators_.get(level)
        if model is None:  # the only node of its level
            return np.ones((X.shape[0], len(children)))
        columns = self._columns(model, children)
        if hasattr(model, "predict_proba"):
            return np.asarray(model.predict_proba(X)[:, columns], dtype=np.float64)
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        scores = np.stack([-scores / 2, scores / 2], axis=1) if scores.ndim == 1 else scores
        return np.asarray(softmax(scores, axis=1)[:, columns])

    def linear_choice(self, children: Ids) -> LinearChoice:
        model = self.estimators_.get(int(self.walked_.depth[children[0]]))
        if model is None:  # the only node of its level
            return LinearChoice.alone(children, self.n_features_in_)
        return LinearChoice.of_classes(children, model, self._columns(model, children))

    def _columns(self, model: Any, children: Ids) -> Ids:
        return np.searchsorted(model.classes_, [_text(self.walked_, int(v)) for v in children])

    def unpack_state(self, state: dict[str, Any], arrays: Any) -> None:
        super().unpack_state(state, arrays)
        for children in self.children_.values():
            model = self.estimators_.get(int(self.walked_.depth[children[0]]))
            if model is not None and not np.all(
                np.isin([_text(self.walked_, int(v)) for v in children], model.classes_)
            ):
                raise ModelFormatError("The classifier of a level does not know all nodes of the level.")

    def _estimators_by_key(self) -> Mapping[Any, Any]:
        from sklearn.base import clone

        return {level: clone(model) for level, model in self.estimators_.items()}


def _texts(taxonomy: Any) -> list[str]:
    return [_text(taxonomy, v) for v in range(taxonomy.n_nodes)]


def _text(taxonomy: Any, v: int) -> str:
    """Return the path to a node as one text, as HiClass has it: classifiers sort their classes."""
    return "::".join(taxonomy.path_parts(v))
