"""Rows of numbers from svmlight, ARFF-HMC and LSHTC files, with the columns that a model was trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from cladist.cli.input import DataSource, Notify, features_of
from cladist.datasets import Dataset, read_arff_hmc, read_lshtc, read_svmlight
from cladist.datasets.formats.arff import read_arff_rows
from cladist.datasets.formats.sparse_text import MOST_FEATURES, RowFormat
from cladist.datasets.formats.svmlight import read_matrices, read_svmlight_rows
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy

# Problems for which a reader recommends a parameter in Python, in the words of the command line.
SENTENCES = {
    "no-label": "the row has no label.",
    "index-base": "no row tells whether indices begin at 0 or at 1; add --zero-based or --one-based.",
    "no-document-id": (
        "wanted the document's number as 0:number, as in the first row; if 0 is a feature like others, read with "
        "--format svmlight --zero-based."
    ),
}
LSHTC_ROWS = RowFormat(0, MOST_FEATURES - 1, np.dtype(np.float32), several=True, loose=True, document_id="auto")


def read_numbers(source: DataSource, *, taxonomy: Taxonomy | None, model: Any, notify: Notify) -> Dataset:
    """Read rows with their labels; the columns are those of the model, or without one those of the file."""
    with _reworded():
        if source.kind == "svmlight":
            return _read_svmlight(source, taxonomy=taxonomy, n_features=None if model is None else features_of(model))
        if source.kind == "arff":
            data = read_arff_hmc(source.stream, taxonomy=taxonomy, zero_based=_zero_based(source))
            _check_columns(source, data.X, _names(data), model)
            check_complete(source, data.X, _names(data), model)
            return data
        if taxonomy is None:
            raise ParameterError(
                f"{source.name} is an LSHTC file, whose hierarchy is a file of its own; name that with --taxonomy FILE."
            )
        data = read_lshtc(source.stream, taxonomy, compact=model is None)
        if model is None:
            return data
        columns = KnownColumns(source)
        X = columns.select(data.X)
        columns.report(notify)
        return Dataset(X, data.y, data.taxonomy, source=data.source)


def read_rows(source: DataSource, *, model: Any, notify: Notify) -> Iterator[Any]:
    """Yield the rows without their labels, as they are read."""
    with _reworded():
        if source.kind == "svmlight":
            n_features = features_of(model)
            assert n_features is not None
            with _hinted(source, n_features):
                yield from read_svmlight_rows(source.stream, n_features=n_features, zero_based=bool(source.zero_based))
        elif source.kind == "arff":
            yield from _arff_rows(source, model)
        else:
            yield from _lshtc_rows(source, notify)


def _arff_rows(source: DataSource, model: Any) -> Iterator[Any]:
    n_rows = 0
    for X, names in read_arff_rows(source.stream, zero_based=_zero_based(source)):
        _check_columns(source, X, names, model)
        check_complete(source, X, names, model, n_before=n_rows)
        n_rows += X.shape[0]
        yield X


def _lshtc_rows(source: DataSource, notify: Notify) -> Iterator[sparse.csr_matrix]:
    columns = KnownColumns(source)
    for rows in read_matrices(source.stream, LSHTC_ROWS, True, None):
        yield columns.select(rows)
    columns.report(notify)


def _zero_based(source: DataSource) -> Any:
    return "auto" if source.zero_based is None else source.zero_based


def _read_svmlight(source: DataSource, *, n_features: int | None, **options: Any) -> Dataset:
    with _hinted(source, n_features):
        return read_svmlight(source.stream, zero_based=bool(source.zero_based), n_features=n_features, **options)


@contextmanager
def _hinted(source: DataSource, n_features: int | None) -> Iterator[None]:
    """Add the likely reason to an error about an index."""
    try:
        yield
    except DatasetError as problem:
        if problem.kind == "index-zero":
            hint = "if the file counts its features from 0, add --zero-based"
        elif problem.kind == "index-range" and n_features is not None:
            hint = (
                f"the model was trained on indices up to {n_features - bool(source.zero_based)} and has no weights for "
                "others: leave out the features that are new, or train again on rows that have them"
            )
        else:
            raise
        raise _reworded_error(problem, f"{str(problem).removesuffix('.')}; {hint}.") from problem


@contextmanager
def _reworded() -> Iterator[None]:
    """Put the advice of readers into the words of the command line."""
    try:
        yield
    except DatasetError as problem:
        if problem.kind not in SENTENCES or problem.file is None:
            raise
        place = problem.file, problem.line, problem.column
        raise DatasetError.at(*place, SENTENCES[problem.kind], kind=problem.kind) from problem


def _reworded_error(problem: DatasetError, sentence: str) -> DatasetError:
    """Return an error with the fields of another and its own sentence."""
    fields = {name: getattr(problem, name) for name in ("file", "line", "column", "kind")}
    return DatasetError(sentence, **fields)


def _check_columns(source: DataSource, X: Any, features: Sequence[str], model: Any) -> None:
    """Refuse columns other than those that a model was trained on."""
    if model is None:
        return
    for k, (wanted, name) in enumerate(zip(source.features, features, strict=False)):
        if wanted != name:
            problem = (
                f"feature {k + 1} is {name!r}, and the model was trained on {wanted!r} in its place; give it the "
                "attributes it was trained on, in their order."
            )
            raise DatasetError.at(source.name, None, None, problem, kind="feature-names")
    if X.shape[1] != features_of(model):
        problem = f"there are {X.shape[1]:,} features, and the model was trained on {features_of(model):,}."
        raise DatasetError.at(source.name, None, None, problem, kind="column-count")


def _names(data: Dataset) -> Sequence[str]:
    return [] if data.feature_names is None else list(data.feature_names)


class KnownColumns:
    """The columns of LSHTC rows that a model was trained on; a feature that is new to it has no weight."""

    def __init__(self, source: DataSource) -> None:
        self.name, self.numbers = source.name, np.array(source.features, np.int64)
        self.new = self.seen = np.zeros(0, np.int64)

    def select(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return rows with these columns only."""
        place = np.searchsorted(self.numbers, X.indices)
        known = self.numbers[np.minimum(place, len(self.numbers) - 1)] == X.indices
        self.seen, self.new = np.union1d(self.seen, X.indices), np.union1d(self.new, X.indices[~known])
        ends = np.concatenate([[0], np.cumsum(known)])
        arrays = X.data[known], place[known].astype(np.int32), ends[X.indptr]
        return sparse.csr_matrix(arrays, shape=(X.shape[0], len(self.numbers)))

    def report(self, notify: Notify) -> None:
        """Report how many features were new, if any were."""
        if len(self.new):
            notify(
                f"{len(self.new):,} of the {len(self.seen):,} features in {self.name} were in no row of training; they "
                "are left out."
            )


def missing(X: Any) -> npt.NDArray[np.bool_]:
    """Tell of each value of an array, or of each entry of a CSR matrix, whether it is missing."""
    return np.isnan(X.data if sparse.issparse(X) else X)


def with_imputer(learner: Any) -> Pipeline:
    """Return a learner behind a step that replaces missing values by the mean of their column in training.

    Examples
    --------
    >>> from cladist import Hieron
    >>> with_imputer(Hieron())
    Pipeline(steps=[('imputer', SimpleImputer(keep_empty_features=True)), ('model', Hieron())])
    """
    # Columns without any value stay, as 0, so that later rows have the same columns as those of training.
    return Pipeline([("imputer", SimpleImputer(keep_empty_features=True)), ("model", learner)])


def check_complete(source: DataSource, X: Any, features: Sequence[str], model: Any, *, n_before: int = 0) -> None:
    """Refuse rows with missing values if the fitted model has nothing to put in their place.

    `n_before` rows of the file came before these.
    """
    steps = model.steps if isinstance(model, Pipeline) else []
    if model is None or any(isinstance(step, SimpleImputer) for _, step in steps):
        return
    is_missing = missing(X)
    if not is_missing.any():
        return
    if sparse.issparse(X):
        entry = int(np.argmax(is_missing))
        row, column = int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
    else:
        row, column = map(int, np.unravel_index(np.argmax(is_missing), is_missing.shape))
    problem = (
        f"row {n_before + row + 1} has no value for {features[column]!r}, and the model has seen no missing value in "
        "training, so it has nothing to put in its place; fill it in, or train on rows that miss some too."
    )
    raise DatasetError.at(source.name, None, None, problem, kind="missing-value")
