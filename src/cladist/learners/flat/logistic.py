"""One-vs-rest logistic regression over the labels: LR of Gopal & Yang 2013."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from cladist.errors import LabelError
from cladist.learners.flat.base import FlatLinear


class Probabilities:
    """`predict_proba` for learners whose scores are log odds."""

    _fitted_rows: Any
    _scored: Any
    decodes_sets: bool
    _one_a_label: bool
    targets: str
    class_nodes_: npt.NDArray[np.int64]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of every class (rows × classes).

        For sets of labels, σ(score) of each class by itself. For single labels these, divided by their sum, as in
        LIBLINEAR; of two classes, σ and 1 − σ of the one classifier. With `targets="nodes"` and single labels there
        are none: a path's sum of scores is no log odds.
        """
        rows = self._fitted_rows(X)
        if self.targets == "nodes" and not self.decodes_sets:
            raise LabelError(
                f"{type(self).__name__}: predict_proba needs targets='leaves', or sets of labels; sums over paths are "
                "no probabilities."
            )
        parts = [self._probabilities(scores) for scores in self._scored(rows)]
        return np.concatenate([np.zeros((0, len(self.class_nodes_))), *parts])

    def _probabilities(self, scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        scores = scores.astype(np.float64)
        if not self._one_a_label:
            scores = scores * 2  # halves of the score of the one classifier that tells two labels apart
        probabilities = expit(scores)
        if self.decodes_sets:
            return probabilities
        total = probabilities.sum(axis=1, keepdims=True)
        # All scores far below 0: σ is 0 in float64, and e^score tells them apart.
        lost = total[:, 0] < np.finfo(np.float64).tiny
        probabilities[lost] = np.exp(scores[lost] - scores[lost].max(axis=1, keepdims=True))
        return probabilities / probabilities.sum(axis=1, keepdims=True)


class FlatLogistic(Probabilities, FlatLinear):
    """Logistic regression for every label against all others.

    min_w ½‖w‖² + C Σ_i s_i log(1 + e^(−y_i w·x_i)) for every label, the problem of LIBLINEAR, solved for sixteen labels
    at a time to a certified duality gap. Parameters, attributes and costs are those of `FlatSVM`, without `loss` and
    without the dual form of weights, since every row has a share in every classifier.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
    C : float or "cv"
    targets : {"leaves", "nodes"}
    repair : {"top_down", "bottom_up", "best"}
    fit_intercept : bool
    class_weight : None, "balanced" or mapping of label to number
    weights : {"auto", "dense", "sparse"}
    prune : float
    tol : float
    max_iter : int
    warm_start : bool
    random_state : int, RandomState or None
    n_jobs : int or None
    executor : Executor, optional
    decode : {"auto", "single", "multi"}
    verbose : bool or int

    Examples
    --------
    >>> from cladist import FlatLogistic, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = FlatLogistic(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict([[0, 3]]).tolist()
    ['art']
    >>> model.predict_proba([[0, 3]]).round(2).tolist()
    [[0.77, 0.0, 0.23]]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
        targets: str = "leaves",
        repair: str = "top_down",
        fit_intercept: bool = True,
        class_weight: Any = None,
        weights: str = "auto",
        prune: float = 0.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.targets = targets
        self.repair = repair
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.weights = weights
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    @property
    def _loss(self) -> str:
        return "logistic"
