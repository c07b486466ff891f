"""Classifiers of other libraries at the nodes of a taxonomy: which one stands where, and the rows it is given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, validate_data

from cladist import checkpoints
from cladist.errors import ParameterError
from cladist.execution import Executor
from cladist.labels.encoder import frame_library
from cladist.labels.frames import read_frame
from cladist.learners.base import CHUNK_BYTES, take_rows
from cladist.mixed_rows import csr_if_mixed
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]


def listed(estimator: Any) -> list[Any]:
    """Return the classifiers in a parameter `estimator`: one, those of a mapping, or none."""
    values = list(estimator.values()) if isinstance(estimator, Mapping) else [estimator]
    return [value for value in values if value is not None]


def check_estimators(who: str, estimator: Any, methods: tuple[str, ...] = ("predict",)) -> None:
    """Raise a `ParameterError` unless a parameter `estimator` is a classifier, or a mapping to classifiers."""
    if isinstance(estimator, Mapping):
        for key in estimator:
            if key is not None and not isinstance(key, (str, int, np.integer)):
                raise ParameterError(
                    f"{who}: the keys of estimator must be levels (whole numbers from 0), names of nodes, or None for "
                    f"all others; got {key!r}."
                )
    for value in listed(estimator):
        if isinstance(value, type) or is_regressor(value) or not any(hasattr(value, name) for name in methods):
            wanted = "" if methods == ("predict",) else f" with {' or '.join(methods)}"
            made = f", a class; write {value.__name__}()" if isinstance(value, type) else ""
            raise ParameterError(f"{who}: estimator must be a classifier{wanted}; got {value!r}{made}.")


def estimator_at(
    who: str, estimator: Any, taxonomy: Taxonomy, names: Iterable[str]
) -> Callable[[str | None, int], Any]:
    """Return a function of a node's name and a level that returns the classifier to clone there, or None.

    A mapping has names of nodes, levels, and None for all others; a name counts before a level. `names` are the nodes
    that a name may stand for.
    """
    if not isinstance(estimator, Mapping):
        return lambda name, level: estimator
    known, deepest = set(names), int(taxonomy.depth.max(initial=0))
    by_key: dict[Any, Any] = {}
    for key, value in estimator.items():
        v = taxonomy.find(key) if isinstance(key, str) else None
        name = None if v is None else taxonomy.names[v]
        if (isinstance(key, str) and name not in known) or (isinstance(key, (int, np.integer)) and key > deepest):
            raise ParameterError(
                f"{who}: estimator has the key {key!r}, where no classifier stands; levels go from 0 to {deepest}, and "
                f"names are those of nodes{'' if known else ' in other learners'}."
            )
        by_key[key if name is None else name] = value

    return lambda name, level: by_key.get(name or level, by_key.get(level, by_key.get(None)))


def check_takes_weights(who: str, estimator: Any, sample_weight: Any) -> None:
    """Refuse sample weights if a classifier takes none."""
    for value in listed(estimator) if sample_weight is not None else ():
        if "sample_weight" not in inspect.signature(value.fit).parameters:
            name = type(value).__name__
            raise ParameterError(f"{who}: {name} takes no sample_weight; leave it out or choose another classifier.")


# -------------------------------------------------------------------- fits


def map_fits(executor: Executor, fit: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
    """Yield the fitted classifier of each task in order, those of a checkpoint as they were kept."""
    from cladist.persistence.models import pack_learner, unpack_learner

    return checkpoints.scope("nodes").map(
        executor, fit, tasks, pack=pack_learner, unpack=lambda kept: unpack_learner(*kept)
    )


# -------------------------------------------------------------------- rows


def rows_for(model: Any, estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return rows for the classifiers of a parameter `estimator`: numbers as CSR or an array, which may have NaN.

    Texts, categories and frames with columns that are no numbers are left as they are, and so are frames for a
    Pipeline, which may name their columns.
    """
    X = csr_if_mixed(X)
    has_columns = frame_library(X) != "" and hasattr(X, "columns")
    if _are_numbers(X) and not (has_columns and any(isinstance(value, Pipeline) for value in listed(estimator))):
        X = validate_data(
            model, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays unchanged
            X.sum_duplicates()
        return X
    validate_data(model, X, reset=reset, skip_check_array=True)
    return X if has_columns else np.asarray(X, dtype=object)


def _are_numbers(X: Any) -> bool:
    if sparse.issparse(X):
        return True
    library = frame_library(X)
    if library and hasattr(X, "columns"):
        if library == "pandas":
            return all(getattr(dtype, "kind", "O") in "biuf" for dtype in X.dtypes)
        return all(dtype.is_numeric() or dtype == "Boolean" for dtype in read_frame(X, library).schema.values())
    try:
        array = np.asarray(X)
    except (TypeError, ValueError):  # rows of different lengths, which scikit-learn's check refuses
        return True
    try:
        if array.dtype.kind in "OUST":
            array.astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def row_pieces(X: Any, n_nodes: int) -> Iterator[Any]:
    """Yield rows in pieces whose scores of all nodes take little memory."""
    n_rows, size = _num_samples(X), max(1, CHUNK_BYTES // (8 * max(1, n_nodes)))
    if 0 < n_rows <= size:
        yield X
        return
    for first in range(0, n_rows, size):
        yield take_rows(X, np.arange(first, min(first + size, n_rows)))


def input_tags(tags: Any, estimator: Any) -> Any:
    """Return scikit-learn's tags of a learner with those of the rows that its classifiers take."""
    for value in listed(estimator):
        theirs = get_tags(value).input_tags
        tags.input_tags.allow_nan &= theirs.allow_nan
        tags.input_tags.sparse &= theirs.sparse
    return tags
