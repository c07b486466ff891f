"""One threshold for all labels."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from cladist.decoders.thresholds.cuts import Mask, Scores, Strategy
from cladist.decoders.thresholds.levels import count_levels, middle
from cladist.errors import ParameterError
from cladist.kernels import threshold_levels


class GlobalCut(Strategy):
    """Every label whose score exceeds one threshold, the same for all labels and examples.

    Parameters
    ----------
    t : float, optional
        The threshold, in use as `t_`. None: the one with the highest F1 in `fit`, of the counts added up over labels;
        of equally good ones the highest, ∞ if no example has a label.

    Notes
    -----
    For scores on one scale for all labels: a single number is fitted to all examples, so that rare labels do no harm.
    Cost O(scores · log P) for P positives.

    Examples
    --------
    >>> cut = GlobalCut().fit([[0.9, 0.1], [0.5, 0.6], [0.2, 0.8]], [[1, 0], [0, 1], [0, 1]])
    >>> round(cut.t_, 2)
    0.55
    >>> cut.predict([[0.6, 0.5]]).toarray()
    array([[1, 0]], dtype=int8)
    """

    name: ClassVar[str] = "global"
    _fitted: ClassVar[tuple[str, ...]] = ("t_",)
    t_: float

    def __init__(self, t: Any = None) -> None:
        self.t = t

    def _check_parameters(self) -> None:
        is_number = isinstance(self.t, Real) and not isinstance(self.t, bool)
        if self.t is not None and not (is_number and np.isfinite(float(self.t))):
            raise ParameterError(f"GlobalCut: t must be a number, or None; got {self.t!r}.")

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        if self.t is not None:
            self.t_ = float(self.t)
            return
        column = sparse.csr_array(labels.reshape((-1, 1)))
        lower, upper, _ = threshold_levels.best_f1(*count_levels(scores.reshape(-1, 1), column, by_row=False))
        self.t_ = float(middle(lower, upper)[0])

    def _choose(self, scores: Scores) -> Mask:
        return np.asarray(scores > np.float64(self.t_))  # a Python float would be rounded to scores of float32

    def _state_fits(self) -> bool:
        return isinstance(self.t_, float) and not np.isnan(self.t_)
