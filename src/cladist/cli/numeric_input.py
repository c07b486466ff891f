"""Rows of numbers, from svmlight, ARFF-HMC and LSHTC files, with the columns that a model learnt from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from cladist.cli.model_input import DataSource, Remark, features_of
from cladist.datasets import Dataset, read_svmlight
from cladist.datasets.formats.arff.reader import read_arff_hmc, read_arff_rows
from cladist.datasets.formats.lshtc.reader import read_lshtc
from cladist.datasets.formats.svmlight.chunks import Layout, chunks
from cladist.datasets.formats.svmlight.reader import MOST_FEATURES, Rows, read_svmlight_rows
from cladist.errors import DatasetError, ParameterError
from cladist.files import opened
from cladist.taxonomy import Taxonomy

INDEX_ZERO = re.compile(r"the index of '0:[^']*' is not in 1 ")
NEW_INDEX = re.compile(r"the index of .* is not in \d+ … (\d+)\.$")
# What readers advise in Python, and how a command line says it.
IN_OTHER_WORDS = {
    "; if that is meant, read with multilabel=True": "",
    "say it with zero_based": "add --zero-based or --one-based",
    "read with document_id=False": "read with --format svmlight --zero-based",
}
LSHTC_ROWS = Layout(0, MOST_FEATURES - 1, np.dtype(np.float32), several=True, loose=True, document_id="auto")


def read_numbers(source: DataSource, *, taxonomy: Taxonomy | None, model: Any, remark: Remark) -> Dataset:
    """Read rows with their labels; the columns are those of the model, or without one those of the file."""
    with _advised():
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
        X = columns.of(data.X)
        columns.tell(remark)
        return Dataset(X, data.y, data.taxonomy, source=data.source)


def read_rows(source: DataSource, *, model: Any, remark: Remark) -> Iterator[Any]:
    """Yield the rows alone, whatever labels they have, as they are read."""
    with _advised():
        if source.kind == "svmlight":
            n_features = features_of(model)
            assert n_features is not None
            with _hinted(n_features):
                yield from read_svmlight_rows(source.stream, n_features=n_features, zero_based=bool(source.zero_based))
        elif source.kind == "arff":
            yield from _arff_rows(source, model)
        else:
            yield from _lshtc_rows(source, remark)


def _arff_rows(source: DataSource, model: Any) -> Iterator[Any]:
    n_rows = 0
    for X, names in read_arff_rows(source.stream, zero_based=_zero_based(source)):
        _check_columns(source, X, names, model)
        check_complete(source, X, names, model, n_before=n_rows)
        n_rows += X.shape[0]
        yield X


def _lshtc_rows(source: DataSource, remark: Remark) -> Iterator[sparse.csr_matrix]:
    columns, stream, n_rows = KnownColumns(source), source.stream, 0
    with opened(stream) as raw:
        for chunk in chunks(stream, raw, LSHTC_ROWS):
            rows = Rows()
            rows.add(chunk)
            if rows.n_rows:
                n_rows += rows.n_rows
                yield columns.of(rows.matrix(stream, True, None))
    if not n_rows:
        raise DatasetError(f"{source.name}: the file has no rows.")
    columns.tell(remark)


def _zero_based(source: DataSource) -> Any:
    return "auto" if source.zero_based is None else source.zero_based


def _read_svmlight(source: DataSource, *, n_features: int | None, **options: Any) -> Dataset:
    with _hinted(n_features):
        return read_svmlight(source.stream, zero_based=bool(source.zero_based), n_features=n_features, **options)


@contextmanager
def _hinted(n_features: int | None) -> Iterator[None]:
    """Add to what is wrong with an index what may be the reason."""
    try:
        yield
    except DatasetError as problem:
        sentence = str(problem)
        if INDEX_ZERO.search(sentence):
            hint = "if the file counts its features from 0, add --zero-based"
        elif n_features is not None and (found := NEW_INDEX.search(sentence)):
            hint = (
                f"the model learnt from indices up to {found[1]} and has no weights for others: leave out the features "
                "that are new, or train again on rows that have them"
            )
        else:
            raise
        raise DatasetError(f"{sentence.removesuffix('.')}; {hint}.") from problem


@contextmanager
def _advised() -> Iterator[None]:
    """Put what readers advise into the words of the command line."""
    try:
        yield
    except DatasetError as problem:
        sentence = str(problem)
        for said, meant in IN_OTHER_WORDS.items():
            sentence = sentence.replace(said, meant)
        raise problem if sentence == str(problem) else DatasetError(sentence) from problem


def _check_columns(source: DataSource, X: Any, features: Sequence[str], model: Any) -> None:
    """Refuse columns that are not those a model learnt from."""
    if model is None:
        return
    for k, (learnt, found) in enumerate(zip(source.features, features, strict=False)):
        if learnt != found:
            raise DatasetError(
                f"{source.name}: feature {k + 1} is {found!r}, and the model learnt from {learnt!r} in its place; give "
                "it the attributes it was trained on, in their order."
            )
    if X.shape[1] != features_of(model):
        raise DatasetError(
            f"{source.name}: there are {X.shape[1]:,} features, and the model learnt from {features_of(model):,}."
        )


def _names(data: Dataset) -> Sequence[str]:
    return [] if data.feature_names is None else list(data.feature_names)


class KnownColumns:
    """The columns of LSHTC rows that a model learnt from; a feature that is new to it has no weight."""

    def __init__(self, source: DataSource) -> None:
        self.name, self.numbers = source.name, np.array(source.features, np.int64)
        self.new = self.seen = np.zeros(0, np.int64)

    def of(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Return rows with these columns."""
        place = np.searchsorted(self.numbers, X.indices)
        known = self.numbers[np.minimum(place, len(self.numbers) - 1)] == X.indices
        self.seen, self.new = np.union1d(self.seen, X.indices), np.union1d(self.new, X.indices[~known])
        ends = np.concatenate([[0], np.cumsum(known)])
        arrays = X.data[known], place[known].astype(np.int32), ends[X.indptr]
        return sparse.csr_matrix(arrays, shape=(X.shape[0], len(self.numbers)))

    def tell(self, remark: Remark) -> None:
        """Tell how many features were new, if any were."""
        if len(self.new):
            remark(
                f"{len(self.new):,} of the {len(self.seen):,} features in {self.name} were in no row of training; they "
                "are left out."
            )


def missing(X: Any) -> npt.NDArray[np.bool_]:
    """Tell of each value of an array, or of each entry of a CSR matrix, whether it is missing."""
    return np.isnan(X.data if sparse.issparse(X) else X)


def with_imputer(learner: Any) -> Pipeline:
    """Return a learner behind a step that puts the mean of a column, over the rows of training, for what is missing.

    Examples
    --------
    >>> from cladist import Hieron
    >>> with_imputer(Hieron())
    Pipeline(steps=[('imputer', SimpleImputer(keep_empty_features=True)), ('model', Hieron())])
    """
    # Columns without any value stay, as 0, so that the columns of later rows are those of training.
    return Pipeline([("imputer", SimpleImputer(keep_empty_features=True)), ("model", learner)])


def check_complete(source: DataSource, X: Any, features: Sequence[str], model: Any, *, n_before: int = 0) -> None:
    """Refuse rows that miss values if the model, which is fitted, has nothing to put in their place.

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
    raise DatasetError(
        f"{source.name}: row {n_before + row + 1} has no value for {features[column]!r}, and the model has seen no "
        "missing value in training, so it has nothing to put in its place; fill it in, or train on rows that miss some "
        "too."
    )
