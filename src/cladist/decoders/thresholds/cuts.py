"""Thresholding strategies: their base, and cuts at zero, by rank, by proportion, and where the F1 of a label is best.

Yang, "A Study of Thresholding Strategies for Text Categorization", SIGIR 2001, compares RCut, PCut and SCut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from cladist.decoders.scores import first_example, float_scores, refuse_nan
from cladist.decoders.thresholds.levels import count_levels, middle
from cladist.errors import LabelError, ModelFormatError, ParameterError, is_count, is_positive, one_of
from cladist.kernels import threshold_levels
from cladist.labels.matrix import as_bits

Scores = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]

CHUNK_SCORES = 2**24  # scores per chunk, so that working memory stays below 200 MB
COLUMNS_AT_ONCE = 64  # columns are copied to contiguous memory, this many at a time


class Strategy(BaseEstimator):
    """Base of the strategies: a subclass fits in `_fit` and chooses labels in `_choose`; both get validated arrays."""

    name: ClassVar[str] = ""
    by_row: ClassVar[bool] = True  # whether a row's labels depend on that row alone
    _fitted: ClassVar[tuple[str, ...]] = ()

    n_labels_: int

    def _check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        """Set the fitted attributes from validated scores and labels of the same shape."""

    def _choose(self, scores: Scores) -> Mask:
        """Return which labels each row of validated scores gets."""
        raise TypeError(f"{type(self).__name__} has no _choose(scores), which Strategy needs.")

    def _state_fits(self) -> bool:
        """Tell whether restored attributes fit each other and `n_labels_`."""
        return True

    def fit(self, scores: npt.ArrayLike, Z: Any) -> Self:
        """Choose thresholds from scores whose labels are known.

        Parameters
        ----------
        scores : array (examples × labels)
            Scores of examples that the scoring model was not trained on; scores of training rows are too optimistic.
            NaN is a `LabelError`.
        Z : 0/1 matrix (examples × labels), dense or sparse
            Which labels each example has; rows and columns without any are legal.
        """
        self._check_parameters()
        values = label_scores(scores)
        if not len(values):
            raise LabelError(f"{type(self).__name__} needs at least one example; the scores have 0 rows.")
        self._fit(values, indicator_of(Z, values.shape))
        self.n_labels_ = values.shape[1]
        return self

    def predict(self, scores: npt.ArrayLike) -> sparse.csr_array:
        """Return which labels each example gets, as CSR (examples × labels) of int8; columns ascend within a row.

        Parameters
        ----------
        scores : array (examples × labels)
            Columns as in `fit`. NaN is a `LabelError`.
        """
        values = self._known_columns(scores)
        counts: list[npt.NDArray[Any]] = [np.zeros(1, np.int64)]
        columns: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
        for chunk in self._chunks(values):
            mask = self._choose(chunk)
            counts.append(np.count_nonzero(mask, axis=1))
            columns.append(np.nonzero(mask)[1].astype(np.int32))
        indptr, indices = np.cumsum(np.concatenate(counts)), np.concatenate(columns)
        return sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=values.shape)

    def _known_columns(self, scores: npt.ArrayLike) -> Scores:
        who = type(self).__name__
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {who} is not fitted yet; call fit(scores, Z) first.")
        values = label_scores(scores)
        if values.shape[1] != self.n_labels_:
            raise LabelError(f"{who} was fitted to {self.n_labels_} labels; these scores have {values.shape[1]}.")
        return values

    def _chunks(self, values: Scores) -> Iterator[Scores]:
        """Yield chunks of rows, or all rows at once where they depend on each other."""
        rows = max(1, CHUNK_SCORES // values.shape[1]) if self.by_row else max(1, len(values))
        for first in range(0, len(values), rows):
            yield values[first : first + rows]

    def to_dict(self) -> dict[str, Any]:
        """Return a fitted strategy as plain values and arrays, from which `from_dict` makes an equal one."""
        if not hasattr(self, "n_labels_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet, so there is nothing to write.")
        fitted = {name: getattr(self, name) for name in ("n_labels_", *self._fitted)}
        return {"name": self.name, "parameters": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Restore the values of `to_dict`; anything else is a `ModelFormatError`."""
        parameters, fitted = content.get("parameters"), content.get("fitted")
        if (
            content.get("name") != cls.name
            or not (isinstance(parameters, Mapping) and set(parameters) <= set(cls._get_param_names()))
            or not (isinstance(fitted, Mapping) and set(fitted) == {"n_labels_", *cls._fitted})
        ):
            raise ModelFormatError(f"These are not the values that {cls.__name__} writes, or those of another version.")
        restored = cls(**parameters)
        restored._check_parameters()
        for name, value in fitted.items():
            setattr(restored, name, value)
        if not is_count(restored.n_labels_) or not restored._state_fits():
            raise ModelFormatError(f"The fitted values of this {cls.__name__} do not fit its number of labels.")
        return restored


def is_vector(value: Any, length: int) -> bool:
    """Tell whether a restored attribute is an array of this length without NaN."""
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "iuf"
    return is_numeric and value.shape == (length,) and not np.isnan(value).any()


def label_scores(scores: npt.ArrayLike) -> Scores:
    """Return scores as a C-ordered float array (examples × labels), or raise a `LabelError`."""
    values = float_scores(scores)
    if values.ndim != 2 or not values.shape[1]:
        raise LabelError(f"Scores are an array (examples × labels), at least one label; got shape {values.shape}.")
    with np.errstate(invalid="ignore"):
        refuse_nan(first_example(np.isnan(values.max(axis=1))))  # NaN wins every maximum
    return np.ascontiguousarray(values)


def indicator_of(Z: Any, shape: tuple[int, ...]) -> sparse.csr_array:
    """Return Z as CSR without stored zeros, or raise a `LabelError`."""
    matrix = Z if sparse.issparse(Z) else np.asarray(Z)
    if matrix.dtype.kind not in "biuf":
        raise LabelError(f"Z is a matrix of 0 and 1; got {type(Z).__name__} of {matrix.dtype}.")
    if matrix.shape != shape:
        raise LabelError(f"Z needs the shape of the scores, {shape} (examples × labels); got shape {matrix.shape}.")
    return as_bits(matrix, "Z", range(shape[1]))


class Zero(Strategy):
    """Every label whose score is above 0, for scores with a meaningful zero, such as those of an SVM.

    `fit` only stores the number of labels. Cost O(examples · labels).

    Examples
    --------
    >>> Zero().fit([[0.3, -1.0]], [[1, 0]]).predict([[2.0, 0.1], [0.0, -3.0]]).toarray()
    array([[1, 1],
           [0, 0]], dtype=int8)
    """

    name: ClassVar[str] = "zero"

    def _choose(self, scores: Scores) -> Mask:
        return np.asarray(scores > 0)


class RCut(Strategy):
    """The t labels with the highest scores of every example, exactly t; ties to the first column.

    Parameters
    ----------
    t : int, optional
        The number of labels per example, in use as `t_`. None: the mean number of labels per example in `fit`, to the
        nearest whole number, halves up, and at least 1.

    Notes
    -----
    Cost O(examples · labels). A score of −inf is chosen where there are not enough others.

    Examples
    --------
    >>> cut = RCut().fit([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]], [[0, 1, 1], [1, 0, 0]])
    >>> cut.t_  # 1.5 labels per row
    2
    >>> cut.predict([[-1.0, -3.0, -2.0]]).toarray()
    array([[1, 0, 1]], dtype=int8)
    """

    name: ClassVar[str] = "rcut"
    _fitted: ClassVar[tuple[str, ...]] = ("t_",)
    t_: int

    def __init__(self, t: int | None = None) -> None:
        self.t = t

    def _check_parameters(self) -> None:
        if self.t is not None and not is_count(self.t):
            raise ParameterError(f"RCut: t must be a whole number from 1 up, or None; got {self.t!r}.")

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        if self.t is not None and self.t > scores.shape[1]:
            raise ParameterError(f"RCut: t must be at most the number of labels, {scores.shape[1]}; got {self.t!r}.")
        rounded = (2 * labels.nnz + len(scores)) // (2 * len(scores))
        self.t_ = int(self.t) if self.t is not None else max(1, int(rounded))

    def _choose(self, scores: Scores) -> Mask:
        rank = scores.shape[1] - self.t_
        return _highest(scores, np.partition(scores, rank, axis=1)[:, rank], np.full(len(scores), self.t_))

    def _state_fits(self) -> bool:
        return is_count(self.t_) and self.t_ <= self.n_labels_


class PCut(Strategy):
    """Every label goes to the examples that score highest for it, as many as its share of `fit`'s examples.

    Label n goes to k_n = prior_n · x · (number of examples given) of them, prior_n being the share of examples that
    have it in `fit`; to the nearest whole number, halves up, and at most to all. Ties go to the first rows. Since
    examples are ranked against each other, a whole test set must be given at once; `FixedPCut` is for single examples.

    Parameters
    ----------
    x : float
        The factor of the label frequencies: with 1 labels stay as frequent as in `fit`, with more they are more so.

    Attributes
    ----------
    positives_, n_examples_ : array (labels,), int
        The number of examples with each label in `fit`, and of all.

    Notes
    -----
    A label without positives is never chosen; one that all examples had always is, if x ≥ 1.

    Examples
    --------
    >>> cut = PCut().fit([[0.9, 0.1], [0.8, 0.3], [0.2, 0.4], [0.1, 0.2]], [[1, 0], [1, 0], [0, 1], [0, 0]])
    >>> cut.predict([[5.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]).toarray()
    array([[1, 0],
           [0, 0],
           [0, 0],
           [1, 1]], dtype=int8)
    """

    name: ClassVar[str] = "pcut"
    by_row: ClassVar[bool] = False
    _fitted: ClassVar[tuple[str, ...]] = ("positives_", "n_examples_")
    positives_: Counts
    n_examples_: int

    def __init__(self, x: Any = 1.0) -> None:
        self.x = x

    def _check_parameters(self) -> None:
        if not is_positive(self.x) or not np.isfinite(self.x):
            raise ParameterError(f"PCut: x must be a positive number; got {self.x!r}.")

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        self.positives_ = np.bincount(labels.indices, minlength=scores.shape[1])
        self.n_examples_ = len(scores)

    def _choose(self, scores: Scores) -> Mask:
        n_examples, n_labels = scores.shape
        # Whole numbers as long as possible: with x = 1, as many examples as in fit give exactly fit's counts.
        shares = float(self.x) * (self.positives_ * n_examples) / self.n_examples_
        counts = np.minimum(np.floor(shares + 0.5), n_examples).astype(np.int64)
        on = np.zeros((n_labels, n_examples), bool)
        for first in range(0, n_labels, COLUMNS_AT_ONCE):
            some = slice(first, first + COLUMNS_AT_ONCE)
            columns = np.ascontiguousarray(scores[:, some].T)
            last = [
                np.partition(c, n_examples - k)[n_examples - k] if k else np.inf
                for c, k in zip(columns, counts[some], strict=True)
            ]
            on[some] = _highest(columns, np.array(last), counts[some])
        return on.T

    def _state_fits(self) -> bool:
        is_counted = is_vector(self.positives_, self.n_labels_) and is_count(self.n_examples_)
        return bool(is_counted and self.positives_.min() >= 0 and self.positives_.max() <= self.n_examples_)


class FixedPCut(Strategy):
    """`PCut` for examples that come one at a time: every label whose score exceeds the label's threshold of `fit`.

    The threshold of label n lies between the k_n highest scores of the label in `fit` and all others, k_n being the
    number of examples that have it; so labels stay as frequent, as long as new examples are like those of `fit`.

    Attributes
    ----------
    thresholds_ : array (labels,)
        The threshold of each label; ∞ for one without positives.

    Notes
    -----
    Scores that tie with the k_n-th are not chosen, if not all of them can be. A score of −inf is never chosen.
    Cost O(examples · labels · log examples).

    Examples
    --------
    >>> cut = FixedPCut().fit([[0.9, 0.1], [0.8, 0.3], [0.2, 0.4], [0.1, 0.2]], [[1, 0], [1, 0], [0, 1], [0, 0]])
    >>> cut.thresholds_
    array([0.5 , 0.35])
    >>> cut.predict([[0.6, 0.3]]).toarray()
    array([[1, 0]], dtype=int8)
    """

    name: ClassVar[str] = "fixed-pcut"
    _fitted: ClassVar[tuple[str, ...]] = ("thresholds_",)
    thresholds_: npt.NDArray[np.float64]

    def _fit(self, scores: Scores, labels: sparse.csr_array) -> None:
        n_labels = scores.shape[1]
        counts = np.minimum(np.bincount(labels.indices, minlength=n_labels), np.sum(scores > -np.inf, axis=0))
        self.thresholds_ = np.full(n_labels, np.inf)
        for n in np.flatnonzero(counts):
            column = np.append(scores[:, n].astype(np.float64), -np.inf)
            place = len(column) - 1 - counts[n]
            lower, upper = np.partition(column, (place, place + 1))[place : place + 2]
            self.thresholds_[n] = middle(np.array(lower), np.array(upper))

    def _choose(self, scores: Scores) -> Mask:
        return np.asarray(scores > self.thresholds_)

    def _state_fits(self) -> bool:
        return is_vector(self.thresholds_, self.n_labels_)


def _highest(values: Scores, last: Scores, counts: Counts) -> Mask:
    """Mark the counts[i] highest values of each row i, of which last[i] is the lowest; ties to the first."""
    on = np.asarray(values >= last[:, None])
    for i in np.flatnonzero(np.count_nonzero(on, axis=1) != counts):  # more tie for the last places than there are
        tied = np.flatnonzero(values[i] == last[i])
        on[i, tied[len(tied) - (np.count_nonzero(on[i]) - counts[i]) :]] = False
    return on


class SCut(Strategy):
    r"""Every label whose score exceeds the label's own threshold, the one with the highest F1 in `fit`.

    Candidates for label n are the middles between neighbouring scores s_in, ∞, and a number just below all scores::

        t_n = argmax_t 2 |{i ∈ P_n : s_in > t}| / (|{i : s_in > t}| + |P_n|),    P_n the examples with label n

    Of equally good thresholds the highest is taken. With few positives the best F1 in `fit` says little about other
    data; labels whose F1 is below `fbr` then get a threshold that rarely assigns them.

    Parameters
    ----------
    fbr : float, optional
        The least F1 that is trusted, up to 1. None: all are, which may assign a label to most examples.
    fallback : {"highest", "never"}
        The threshold of a label whose F1 is below `fbr`: the highest score it had in `fit` (SCutFBR.1), or ∞
        (SCutFBR.0).

    Attributes
    ----------
    thresholds_, f1_ : arrays (labels,)
        The threshold of each label, and its best F1 in `fit`.

    Notes
    -----
    A label without positives has F1 0 and is never chosen, whatever `fbr` is. No threshold is −∞: where F1 is best if
    all examples get the label, the threshold is the highest number below their scores. A score of −inf is never chosen.
    With the default of `fbr`, micro and macro F1 of `FlatLogistic` were higher than with thresholds 0 on each of four
    data sets, out of fold on training rows (``benchmarks/thresholds.py fbr``). Cost O(examples · labels · log P) for P
    positives per label; memory O(positives) beside the scores.

    Examples
    --------
    >>> scores, Z = [[0.9, 0.1], [0.5, 0.6], [0.2, 0.8], [0.1, 0.7]], [[1, 0], [1, 0], [0, 0], [0, 1]]
    >>> cut = SCut().fit(scores, Z)
    >>> cut.thresholds_, cut.f1_.round(2)
    (array([0.35, 0.65]), array([1.  , 0.67]))
    >>> SCut(fbr=0.7).fit(scores, Z).thresholds_
    array([0.35, 0.8 ])
    >>> cut.predict([[0.4, 0.6]]).toarray()
    array([[1, 0]], dtype=int8)
    """

    name: ClassVar[str] = "scut"
    _fitted: ClassVar[tuple[str, ...]] = ("thresholds_", "f1_")
    thresholds_: npt.NDArray[np.float64]
    f1_: npt.NDArray[np.float64]

    def __init__(self, fbr: Any = 0.1, fallback: str = "highest") -> None:
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
            has_highest = (levels.positives > 0) & (highest > -np.inf) & (self.fallback == "highest")
            thresholds = np.where(self.f1_ < self.fbr, np.where(has_highest, highest, np.inf), thresholds)
        self.thresholds_ = thresholds

    def _choose(self, scores: Scores) -> Mask:
        return np.asarray(scores > self.thresholds_)

    def _state_fits(self) -> bool:
        return is_vector(self.thresholds_, self.n_labels_) and is_vector(self.f1_, self.n_labels_)
