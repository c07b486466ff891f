"""True and predicted labels in any form, as two arrays with the same rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError, ParameterError
from cladist.labels import LabelMatrix, encode
from cladist.labels.matrix import as_indicator
from cladist.taxonomy import Taxonomy


class NodeRows(NamedTuple):
    """The ascending node ids of each row, as CSR; not necessarily closed under ancestors."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]


def read_vectors(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> tuple[NodeRows, NodeRows]:
    """Return both sides as 0/1 vectors; a 0/1 matrix need not be closed under ancestors."""
    _check_taxonomy(taxonomy)
    true = _read_vector_rows(y_true, taxonomy, "y_true")
    pred = _read_vector_rows(y_pred, taxonomy, "y_pred")
    _check_rows(len(true.indptr) - 1, len(pred.indptr) - 1)
    return true, pred


def read_labels(y_true: Any, y_pred: Any, taxonomy: Taxonomy) -> tuple[LabelMatrix, LabelMatrix]:
    """Return both sides as label matrices; a 0/1 matrix that is not closed under ancestors is a `LabelError`."""
    _check_taxonomy(taxonomy)
    true = _encode_side(y_true, taxonomy, "y_true")
    pred = _encode_side(y_pred, taxonomy, "y_pred")
    _check_rows(len(true), len(pred))
    return true, pred


def check_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Return one weight per row, all ones for None; checked to be finite, not negative and not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(sample_weight).__name__
        raise ParameterError(f"sample_weight must hold numbers; got {kind}.") from None
    if weight.shape != (n_rows,):
        raise ParameterError(f"sample_weight must be one number per row, here {n_rows}; got shape {weight.shape}.")
    wrong = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(wrong):
        row = int(wrong[0])
        raise ParameterError(f"sample_weight must be finite and at least 0; row {row} has {weight[row]}.")
    if not weight.any():
        raise ParameterError("sample_weight must have a positive entry; all are 0.")
    return weight


def weighted_mean(values: npt.NDArray[np.float64], sample_weight: Any) -> float:
    """Return the weighted mean of one value per row."""
    weight = check_weights(sample_weight, len(values))
    # Not a BLAS product: its last digits depend on the number of threads.
    return float((weight * values).sum() / weight.sum())


def _check_taxonomy(taxonomy: Any) -> None:
    if not isinstance(taxonomy, Taxonomy):
        raise ParameterError(
            f"taxonomy must be a Taxonomy; got {type(taxonomy).__name__}. "
            "Build one with Taxonomy.from_parents, from_edges or from_paths."
        )


def _check_rows(n_true: int, n_pred: int) -> None:
    if n_true != n_pred:
        raise LabelError(f"y_true has {n_true} rows and y_pred has {n_pred}; give one prediction per true row.")
    if n_true == 0:
        raise LabelError("There is nothing to compare: y_true and y_pred have 0 rows.")


def _read_vector_rows(y: Any, taxonomy: Taxonomy, side: str) -> NodeRows:
    matrix = _find_indicator(y, taxonomy)
    if matrix is None:
        labels = _encode_side(y, taxonomy, side)
        return NodeRows(labels.indptr, labels.indices)
    try:
        indicator = as_indicator(matrix, taxonomy)
    except LabelError as error:
        raise LabelError(f"{side}: {error}") from None
    return NodeRows(indicator.indptr.astype(np.int64), indicator.indices.astype(np.int32))


def _find_indicator(y: Any, taxonomy: Taxonomy) -> Any:
    """Return y as a matrix if it is a 0/1 matrix by the rules of `encode`, else None."""
    if sparse.issparse(y):
        return y
    is_frame = hasattr(y, "columns") and hasattr(y, "to_numpy")
    values = y.to_numpy() if is_frame else y
    if not (isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] != 1):
        return None
    if values.dtype.kind not in "biuf":
        return None
    if is_frame and not (values.shape[1] == taxonomy.n_nodes and np.all((values == 0) | (values == 1))):
        return None  # a frame of numbers may hold paths of numeric codes
    return values


def _encode_side(y: Any, taxonomy: Taxonomy, side: str) -> LabelMatrix:
    try:
        return encode(y, taxonomy).labels
    except LabelError as error:
        raise LabelError(f"{side}: {error}") from None
