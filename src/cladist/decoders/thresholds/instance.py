"""One threshold per example, predicted from its scores.

Elisseeff & Weston, "A kernel method for multi-labelled classification", NIPS 2001; Gopal & Yang, "Multilabel
classification with meta-level features", SIGIR 2010.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from cladist.decoders.thresholds.cuts import Mask, Scores, Strategy, indicator_of, is_vector, label_scores
from cladist.decoders.thresholds.levels import count_levels, middle
from cladist.errors import LabelError, ParameterError, is_count, is_positive
from cladist.kernels import threshold_levels

Floats = npt.NDArray[np.float64]


class InstanceBased(Strategy):
    """Every label whose score exceeds the example's own threshold, a linear function of the example's scores.

    Each example of `fit` has a best threshold t_i, see `instance_targets`; ridge regression learns t from s::

        min_{w, b} Σ_i (t_i − ⟨w, s_i⟩ − b)² + alpha ‖w‖²

    An example without a score above its threshold gets its best label, ties to the first column.

    Parameters
    ----------
    alpha : float
        The strength of the regularisation, in squared units of the scores.
    top_k : int, optional
        The number of highest scores, in descending order, to regress on instead of all; for many labels. The threshold
        then does not depend on which labels they are.

    Attributes
    ----------
    coef_, intercept_ : array (labels,) or (top_k,), float
        w and b.

    Notes
    -----
    Infinite scores are compared with the threshold as they are; in the regression each counts as the lowest or highest
    finite score of its example, or as 0 where there is none. `fit` costs O(n L (log P + L) + L³) for L labels and P
    positives per example, with k for the second and third L if top_k is given; `predict` costs O(n L).

    Examples
    --------
    >>> scores = [[4.0, 3.0, 0.0], [2.0, 0.0, 0.0], [0.0, 3.0, 2.0], [1.0, 0.0, 4.0]]
    >>> cut = InstanceBased(alpha=0.1, top_k=1).fit(scores, [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]])
    >>> cut.thresholds([[4.0, 0.0, 0.0], [-1.0, -2.0, -2.0]]).round(2)  # about half the highest score
    array([ 1.89, -0.74])
    >>> cut.predict([[4.0, 2.0, 1.0], [-1.0, -2.0, -2.0]]).toarray()
    array([[1, 1, 0],
           [1, 0, 0]], dtype=int8)
    """

    name: ClassVar[str] = "instance"
    _fitted: ClassVar[tuple[str, ...]] = ("coef_", "intercept_")
    coef_: Floats
    intercept_: float

    def __init__(self, alpha: Any = 1.0, top_k: int | None = None) -> None:
        self.alpha = alpha
        self.top_k = top_k

    def _check_parameters(self) -> None:
        if not is_positive(self.alpha) or not np.isfinite(self.alpha):
            raise ParameterError(f"InstanceBased: alpha must be a positive number; got {self.alpha!r}.")
        if self.top_k is not None and not is_count(self.top_k):
            raise ParameterError(f"InstanceBased: top_k must be a whole number from 1 up, or None; got {self.top_k!r}.")

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        n_labels = scores.shape[1]
        if self.top_k is not None and self.top_k > n_labels:
            raise ParameterError(
                f"InstanceBased: top_k must be at most the number of labels, {n_labels}; got {self.top_k!r}."
            )
        targets = _targets(scores, labels)
        has_target = ~np.isnan(targets)
        features = np.concatenate([self._features(chunk) for chunk in self._chunks(scores)])
        self.coef_, self.intercept_ = _ridge(features[has_target], targets[has_target], float(self.alpha))

    def _features(self, scores: Scores) -> Floats:
        """Return the features of the regression: finite scores, all or the k highest in descending order."""
        values = scores.astype(np.float64)
        finite = np.isfinite(values)
        if not finite.all():
            some = finite.any(axis=1, keepdims=True)
            lowest = np.where(finite, values, np.inf).min(axis=1, keepdims=True)
            highest = np.where(finite, values, -np.inf).max(axis=1, keepdims=True)
            values = np.clip(values, np.where(some, lowest, 0.0), np.where(some, highest, 0.0))
        if self.top_k is None:
            return values
        cut = values.shape[1] - self.top_k
        return np.sort(np.partition(values, cut, axis=1)[:, cut:], axis=1)[:, ::-1]

    def thresholds(self, scores: npt.ArrayLike) -> Floats:
        """Return the threshold ⟨w, s⟩ + b of every example; `scores` as in `predict`."""
        values = self._known_columns(scores)
        return np.concatenate([np.zeros(0), *(self._thresholds(chunk) for chunk in self._chunks(values))])

    def _thresholds(self, scores: Scores) -> Floats:
        return self._features(scores) @ self.coef_ + self.intercept_

    def _choose(self, scores: Scores) -> Mask:
        on: Mask = scores > self._thresholds(scores)[:, None]
        empty = np.flatnonzero(~on.any(axis=1))
        on[empty, scores[empty].argmax(axis=1)] = True
        return on

    def _state_fits(self) -> bool:
        n_features = self.n_labels_ if self.top_k is None else self.top_k
        fits = n_features <= self.n_labels_ and is_vector(self.coef_, n_features)
        return fits and isinstance(self.intercept_, float) and bool(np.isfinite([*self.coef_, self.intercept_]).all())


def instance_targets(scores: npt.ArrayLike, Z: Any) -> Floats:
    """Return each example's best threshold t_i = argmin_t #{n ∈ Y_i : s_in ≤ t} + #{n ∉ Y_i : s_in > t}.

    It is the middle of the best interval between neighbouring scores; of several, of the lowest, which misses the
    fewest labels and so has the highest F1. Above the highest score and below the lowest, where an interval has no
    other end, it lies half the mean width of the other examples' best intervals away; where no example has one with
    two ends, as with a single label, 1 away. Infinite scores are no ends; an example without any end has NaN and
    takes no part in the regression.

    Parameters
    ----------
    scores, Z
        As in `Strategy.fit`.

    Examples
    --------
    >>> instance_targets([[3.0, 1.0, 0.0], [3.0, 1.0, 0.5], [3.0, 1.0, 0.0]], [[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    array([2.   , 0.75 , 3.625])
    """
    values = label_scores(scores)
    return _targets(values, indicator_of(Z, values.shape))


def _targets(scores: Scores, labels: sparse.csr_array) -> Floats:
    lower, upper, _ = threshold_levels.fewest_errors(*count_levels(scores, labels, by_row=True))
    has_lower, has_upper = np.isfinite(lower), np.isfinite(upper)
    both = has_lower & has_upper
    half = float(np.mean(upper[both] / 2 - lower[both] / 2)) if both.any() else 1.0
    targets = np.full(len(lower), np.nan)
    targets[has_lower] = lower[has_lower] + half
    targets[has_upper] = upper[has_upper] - half
    targets[both] = middle(lower[both], upper[both])
    return targets


def _ridge(features: Floats, targets: Floats, alpha: float) -> tuple[Floats, float]:
    """Return w and b of ridge regression, b not regularised; no examples give 0."""
    if not len(targets):
        return np.zeros(features.shape[1]), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        means, mean = features.mean(axis=0), float(targets.mean())
        centred = features - means
        gram, product = centred.T @ centred, centred.T @ (targets - mean)
    if not (np.isfinite(gram).all() and np.isfinite(product).all()):
        raise LabelError("InstanceBased: scores are too large to regress on, their squares overflow; scale them down.")
    gram[np.diag_indices_from(gram)] += alpha
    try:
        coef = linalg.cho_solve(linalg.cho_factor(gram), product)
    except linalg.LinAlgError:  # alpha is lost in rounding: take the solution of least norm
        coef = np.linalg.lstsq(gram, product)[0]
    return coef, mean - float(means @ coef)
