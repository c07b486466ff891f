"""SCut: one threshold per label, where F1 is best, with Yang's remedies for labels with too few examples."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.decoders.thresholds.levels import count_levels, middle
from cladist.decoders.thresholds.strategy import Mask, Scores, Strategy, is_vector
from cladist.errors import ParameterError, is_positive, one_of
from cladist.kernels import threshold_levels


class SCut(Strategy):
    r"""Every label whose score exceeds the label's own threshold, the one with the highest F1 in `fit`.

    Candidates for label n are the middles between neighbouring scores s_in, and ±∞::

        t_n = argmax_t 2 |{i ∈ P_n : s_in > t}| / (|{i : s_in > t}| + |P_n|),    P_n the examples with label n

    Of equally good thresholds the highest is taken, which assigns the fewest examples. With few positives the best F1
    in `fit` says little about other data; labels whose F1 is below `fbr` then get a threshold that rarely assigns them.

    Parameters
    ----------
    fbr : float, optional
        The least F1 that is trusted, up to 1. None: all are.
    fallback : {"highest", "never"}
        The threshold of a label whose F1 is below `fbr`: the highest score it had in `fit` (SCutFBR.1), or ∞
        (SCutFBR.0).

    Attributes
    ----------
    thresholds_ : array (labels,)
        The threshold of each label.
    f1_ : array (labels,)
        The best F1 of each label in `fit`.

    Notes
    -----
    A label without positives has F1 0 and is never chosen, whatever `fbr` is. One that all examples have gets −∞, and
    is always chosen. A score of −inf is never chosen.

    Cost O(examples · labels · log P) for P positives per label; memory O(positives) beside the scores.

    References
    ----------
    Yang, "A Study of Thresholding Strategies for Text Categorization", SIGIR 2001.

    Examples
    --------
    >>> scores = [[0.9, 0.1], [0.5, 0.6], [0.2, 0.8], [0.1, 0.7]]
    >>> cut = SCut().fit(scores, [[1, 0], [1, 0], [0, 0], [0, 1]])
    >>> cut.thresholds_
    array([0.35, 0.65])
    >>> cut.f1_.round(2)
    array([1.  , 0.67])
    >>> SCut(fbr=0.7).fit(scores, [[1, 0], [1, 0], [0, 0], [0, 1]]).thresholds_
    array([0.35, 0.8 ])
    >>> cut.predict([[0.4, 0.6]]).toarray()
    array([[1, 0]], dtype=int8)
    """

    name: ClassVar[str] = "scut"
    _fitted: ClassVar[tuple[str, ...]] = ("thresholds_", "f1_")
    thresholds_: npt.NDArray[np.float64]
    f1_: npt.NDArray[np.float64]

    def __init__(self, fbr: Any = None, fallback: str = "highest") -> None:
        self.fbr = fbr
        self.fallback = fallback

    def _check_parameters(self) -> None:
        one_of("SCut", "fallback", self.fallback, ("highest", "never"))
        if self.fbr is not None and not (is_positive(self.fbr) and self.fbr <= 1):
            raise ParameterError(f"SCut: fbr must be above 0 and at most 1, or None; got {self.fbr!r}.")

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        levels = count_levels(scores, labels, by_row=False)
        lower, upper, self.f1_ = threshold_levels.best_f1(*levels)
        thresholds = np.where(self.f1_ > 0, middle(lower, upper), np.inf)
        if self.fbr is not None:
            highest = scores.max(axis=0).astype(np.float64)
            # A highest score of −inf would assign every example.
            seen = (levels.positives > 0) & (highest > -np.inf) & (self.fallback == "highest")
            thresholds = np.where(self.f1_ < self.fbr, np.where(seen, highest, np.inf), thresholds)
        self.thresholds_ = thresholds

    def _choose(self, scores: Scores) -> Mask:
        return np.asarray(scores > self.thresholds_)

    def _state_fits(self) -> bool:
        return is_vector(self.thresholds_, self.n_labels_) and is_vector(self.f1_, self.n_labels_)
