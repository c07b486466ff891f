"""The transformers that a file may hold, and the attributes that `fit` gives them: one table, checked on loading.

Parameters are checked by scikit-learn's own declarations, as `fit` would.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from cladist.errors import ModelFormatError
from cladist.persistence.model_schema import MOST_FEATURES, is_count, is_flag, is_number
from cladist.persistence.regular_expressions import check_pattern
from cladist.storage.array_groups import REAL, WHOLE, ArraySpec, check_arrays

MOST_JOBS = 1024
TEXT_VECTORIZERS = (CountVectorizer, TfidfVectorizer, HashingVectorizer)
Check = Callable[[Any], bool]


# -------------------------------------------------------------------- values


def _is_features(value: Any) -> bool:
    return is_count(value, MOST_FEATURES) and value >= 1


def _is_none(value: Any) -> bool:
    return value is None


def _is_vocabulary(value: Any) -> bool:
    fits = isinstance(value, dict) and all(isinstance(term, str) and is_count(k) for term, k in value.items())
    return fits and bool(value) and set(value.values()) == set(range(len(value)))


def _are_steps(value: Any, lengths: tuple[int, ...] = (2, 3)) -> bool:
    """Tell whether a value is a list of names and transformers, and perhaps columns."""
    return isinstance(value, list) and all(
        isinstance(step, tuple)
        and len(step) in lengths
        and isinstance(step[0], str)
        and (isinstance(step[1], BaseEstimator) or step[1] in ("drop", "passthrough"))
        for step in value
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"


def _are_output_slices(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(part, slice) and is_count(part.start) and is_count(part.stop) and part.step is None
        for part in value.values()
    )


def _are_input_indices(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(k, list) and all(map(is_count, k)) for k in value.values())


def _is_dtype(value: Any) -> bool:
    return isinstance(value, np.dtype) and value.kind in "biufO"


# -------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Attribute:
    """A fitted attribute: an array as declared, or a value that passes the check; `needed` if `transform` reads it."""

    array: ArraySpec | None = None
    value: Check = lambda value: False
    needed: bool = False


# NaN: a feature that was missing in all rows has no mean, no range and no fill value.
_PER_FEATURE = ArraySpec(REAL, ("n_features",), missing=True)
_LENGTHS = ArraySpec(REAL, ("n_features",), low=5e-324, missing=True)
_VARIANCES = ArraySpec(REAL, ("n_features",), low=0, missing=True)
_FILLS = ArraySpec((*REAL, *WHOLE, "object", "bool"), ("n_features",), missing=True)
_N_FEATURES = {"n_features_in_": Attribute(value=_is_features, needed=True)}
_N_SAMPLES = Attribute(value=lambda value: is_count(value) or (isinstance(value, np.floating) and bool(value >= 0)))
_VOCABULARY = {
    "vocabulary_": Attribute(value=_is_vocabulary, needed=True),
    "fixed_vocabulary_": Attribute(value=is_flag),
}
_OUTPUTS: tuple[dict[str, Any], ...] = ({}, *({"transform": kind} for kind in (None, "default", "pandas", "polars")))
COMMON: dict[str, Attribute] = {
    "n_features_in_": Attribute(value=_is_features),
    "feature_names_in_": Attribute(value=_are_names),
    "_sklearn_output_config": Attribute(value=lambda value: value in _OUTPUTS),
}
FITTED: dict[Any, dict[str, Attribute]] = {
    CountVectorizer: _VOCABULARY,
    TfidfVectorizer: {
        **_VOCABULARY,
        "_tfidf": Attribute(value=lambda value: type(value) is TfidfTransformer, needed=True),
    },
    TfidfTransformer: {"idf_": Attribute(ArraySpec(REAL, ("n_features",), low=0))},
    HashingVectorizer: {},
    StandardScaler: {
        **_N_FEATURES,
        "n_samples_seen_": Attribute(ArraySpec((*WHOLE, *REAL), ("n_features",), low=0), _N_SAMPLES.value),
        "scale_": Attribute(_LENGTHS, _is_none, needed=True),
        "mean_": Attribute(_PER_FEATURE, _is_none, needed=True),
        "var_": Attribute(_VARIANCES, _is_none),
    },
    MaxAbsScaler: {
        **_N_FEATURES,
        "n_samples_seen_": _N_SAMPLES,
        "scale_": Attribute(_LENGTHS, needed=True),
        "max_abs_": Attribute(_PER_FEATURE),
    },
    MinMaxScaler: {
        **_N_FEATURES,
        "n_samples_seen_": _N_SAMPLES,
        "scale_": Attribute(_PER_FEATURE, needed=True),
        "min_": Attribute(_PER_FEATURE, needed=True),
        **dict.fromkeys(("data_min_", "data_max_", "data_range_"), Attribute(_PER_FEATURE)),
    },
    Normalizer: {},
    SimpleImputer: {
        **_N_FEATURES,
        "statistics_": Attribute(_FILLS, needed=True),
        "indicator_": Attribute(value=_is_none),
        "_fit_dtype": Attribute(value=_is_dtype, needed=True),
        "_fill_dtype": Attribute(value=_is_dtype),
    },
    FunctionTransformer: {},  # "passthrough" after fitting; with a function it is refused
    FeatureUnion: {},
    Pipeline: {},
    ColumnTransformer: {
        **_N_FEATURES,
        "transformers_": Attribute(value=lambda value: _are_steps(value, (3,)), needed=True),
        "sparse_output_": Attribute(value=is_flag, needed=True),
        "output_indices_": Attribute(value=_are_output_slices, needed=True),
        "_columns": Attribute(value=lambda value: isinstance(value, list), needed=True),
        "_remainder": Attribute(value=lambda value: _are_steps([value], (3,)), needed=True),
        "_transformer_to_input_indices": Attribute(value=_are_input_indices),
    },
}


# -------------------------------------------------------------------- one transformer


def check_transformer(transformer: Any, where: str, *, trusted: bool) -> None:
    """Raise a `ModelFormatError` unless parameters and fitted attributes are as `fit` leaves them."""
    params = transformer.get_params(deep=False)
    _check_params(transformer, params, where)
    if isinstance(params.get("token_pattern"), str) and not trusted:
        check_pattern(params["token_pattern"])
    fitted = {k: v for k, v in vars(transformer).items() if k not in params}
    _check_fitted(type(transformer), fitted, where)
    if isinstance(transformer, ColumnTransformer) and fitted:
        _check_columns(transformer, where)
    if isinstance(transformer, TEXT_VECTORIZERS) and (fitted or isinstance(transformer, HashingVectorizer)):
        _check_vectorizer(transformer, where)


def _check_fitted(cls: type, fitted: dict[str, Any], where: str) -> None:
    """Refuse fitted attributes that differ from the table."""
    table, name = {**COMMON, **FITTED[cls]}, cls.__name__
    arrays = {k: v for k, v in fitted.items() if isinstance(v, np.ndarray) and table[k].array is not None}
    for key, value in fitted.items():
        if key not in arrays and not table[key].value(value):
            raise ModelFormatError(f"{where}: the attribute {key!r} of {name} cannot be {repr(value)[:60]}.")
    if fitted and (missing := [key for key in table if table[key].needed and key not in fitted]):
        raise ModelFormatError(f"{where}: {name} lacks the attribute {missing[0]!r}.")
    sizes = {"n_features": int(fitted["n_features_in_"])} if "n_features_in_" in fitted else {}
    declared = {key: attribute.array for key, attribute in table.items() if attribute.array is not None}
    try:
        check_arrays({k: v for k, v in arrays.items() if v.dtype != object}, declared, sizes)
    except ModelFormatError as problem:
        raise ModelFormatError(f"{where}: {problem}") from problem
    if "feature_names_in_" in fitted and len(fitted["feature_names_in_"]) != sizes.get("n_features"):
        raise ModelFormatError(f"{where}: {name} has not as many names as features.")


def _check_vectorizer(vectorizer: Any, where: str) -> None:
    """Refuse a vectorizer that fails on plain texts: its parameters are many, and not all are declared."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            vectorizer.transform(["A text, or two.", ""])
    except Exception as problem:  # every prediction would raise it
        raise ModelFormatError(f"{where}: the vectorizer does not work ({problem!r}).") from problem


def _check_params(transformer: Any, params: dict[str, Any], where: str) -> None:
    """Refuse parameters that scikit-learn would, files to read, and more processes than a machine has."""
    check_input(params, where)
    jobs = params.get("n_jobs")
    if jobs is not None and not (is_count(abs(jobs)) and abs(jobs) <= MOST_JOBS):
        raise ModelFormatError(f"{where}: n_jobs must be a whole number up to {MOST_JOBS}, not {jobs!r}.")
    for key in ("steps", "transformer_list", "transformers"):
        if key in params and not _are_steps(params[key]):
            raise ModelFormatError(f"{where}/{key}: a list of names and transformers was wanted.")
    weights = params.get("transformer_weights")
    if weights is not None and not (isinstance(weights, dict) and all(map(is_number, weights.values()))):
        raise ModelFormatError(f"{where}/transformer_weights: numbers by name were wanted, not {repr(weights)[:60]}.")
    try:
        if hasattr(transformer, "_parameter_constraints"):
            transformer._validate_params()
    except (ValueError, TypeError) as problem:
        raise ModelFormatError(f"{where}: {problem}") from problem


def check_input(params: dict[str, Any], where: str) -> None:
    """Refuse a vectorizer that opens files: nobody expects the texts given to it to be names of files."""
    if params.get("input", "content") != "content":
        raise ModelFormatError(
            f"{where}: a vectorizer with input={params['input']!r} cannot be saved or loaded, as it opens the files"
            " that its rows name; use input='content', and read the files first."
        )


def _check_columns(transformer: Any, where: str) -> None:
    """Refuse a fitted ColumnTransformer with columns that do not exist or that its parts do not take.

    A single column, 0 or "title", is 1-D, for text vectorizers; lists, masks and slices are 2-D, for all others.
    """
    n, names = transformer.n_features_in_, set(getattr(transformer, "feature_names_in_", ()))
    for _, part, columns in transformer.transformers_:
        listed = columns.tolist() if isinstance(columns, np.ndarray) else columns
        is_single = type(listed) in (int, str)
        listed = listed if isinstance(listed, list) else [listed]
        kinds = {type(column) for column in listed}
        exist = (
            kinds <= {slice}
            or (kinds == {bool} and len(listed) == n)
            or (kinds == {int} and all(-n <= column < n for column in listed))
            or (kinds == {str} and names >= set(listed))
        )
        if not exist:
            raise ModelFormatError(f"{where}: there are no columns {repr(columns)[:60]} among its {n}.")
        if part != "drop" and is_single != bool(_takes_texts(part, where)):
            wanted = "several columns, as a list" if is_single else "one column of texts, as a name or a number"
            raise ModelFormatError(f"{where}: a part of it wants {wanted}, not {repr(columns)[:60]}.")


def _takes_texts(transformer: Any, where: str) -> bool | None:
    """Tell whether a transformer takes texts (1-D) or rows of columns (2-D); None if it passes its input through."""
    if isinstance(transformer, (str, FunctionTransformer)):
        return None
    if isinstance(transformer, Pipeline):
        kinds = [kind for _, step in transformer.steps if (kind := _takes_texts(step, where)) is not None]
        if True in kinds[1:]:
            raise ModelFormatError(f"{where}: a step before a text vectorizer leaves no texts for it.")
        return kinds[0] if kinds else None
    if isinstance(transformer, FeatureUnion):
        kinds = [kind for _, part in transformer.transformer_list if (kind := _takes_texts(part, where)) is not None]
        if len(set(kinds)) > 1:
            raise ModelFormatError(f"{where}: parts of a FeatureUnion take texts, and others columns.")
        return kinds[0] if kinds else None
    return isinstance(transformer, TEXT_VECTORIZERS)


# -------------------------------------------------------------------- transformers together


def check_width(transformer: Any, n_columns: int, where: str) -> None:
    """Raise a `ModelFormatError` unless a transformer is fitted and makes rows of `n_columns` numbers."""
    _takes_texts(transformer, where)
    width = _width(transformer, None, where)
    if _leaves_missing(transformer, before=False):
        raise ModelFormatError(f"{where}: it scales a feature by NaN, and nothing after it fills in what is missing.")
    if width not in (None, n_columns):
        raise ModelFormatError(f"{where}: its rows have {width:,} columns, and the learner's {n_columns:,}.")


def _width(transformer: Any, before: int | None, where: str) -> int | None:
    """Return the number of columns after a transformer, given the number before; None if it is not known."""
    cls = type(transformer)
    needed = [key for key, attribute in FITTED[cls].items() if attribute.needed]
    needed += ["idf_"] if cls is TfidfTransformer and transformer.use_idf else []
    if missing := [key for key in needed if not hasattr(transformer, key)]:
        raise ModelFormatError(f"{where}: {cls.__name__} is not fitted: it lacks the attribute {missing[0]!r}.")
    wanted = getattr(transformer, "n_features_in_", None) if not hasattr(transformer, "vocabulary_") else None
    if cls not in (Pipeline, FeatureUnion) and None not in (before, wanted) and before != wanted:
        raise ModelFormatError(f"{where}: {cls.__name__} wants {wanted} columns, and is given {before}.")
    if cls is CountVectorizer:
        return len(transformer.vocabulary_)
    if cls is TfidfVectorizer:
        return _width(transformer._tfidf, len(transformer.vocabulary_), where)
    if cls is HashingVectorizer:
        return int(transformer.n_features)
    if cls is Pipeline:
        for _, step in transformer.steps:
            before = before if isinstance(step, str) else _width(step, before, where)
        return before
    if cls is FeatureUnion:
        return _union_width(transformer, before, where)
    if cls is ColumnTransformer:
        _check_outputs(transformer, where)
        return max((part.stop for part in transformer.output_indices_.values()), default=0)
    if cls is SimpleImputer:
        keeps_all = transformer.strategy == "constant" or transformer.keep_empty_features
        return sum(keeps_all or value == value for value in transformer.statistics_.tolist())  # NaN: dropped
    idf = getattr(transformer, "idf_", None)
    if idf is not None and before not in (None, len(idf)):
        raise ModelFormatError(f"{where}: {cls.__name__} has {len(idf)} weights for {before} columns.")
    return wanted if wanted is not None else before


def _union_width(union: Any, before: int | None, where: str) -> int | None:
    widths = [_width(part, before, where) for _, part in union.transformer_list if not isinstance(part, str)]
    if any(part == "passthrough" for _, part in union.transformer_list if isinstance(part, str)):
        return None
    return None if None in widths else sum(width for width in widths if width is not None)


def _check_outputs(transformer: Any, where: str) -> None:
    """Refuse a ColumnTransformer whose parts do not have the widths of its output."""
    slices = transformer.output_indices_
    if {part for part, _, _ in transformer.transformers_} | {"remainder"} != slices.keys() | {"remainder"}:
        raise ModelFormatError(f"{where}: the parts of its ColumnTransformer are not those of its columns.")
    for name, part, _ in transformer.transformers_:
        width, output = None if isinstance(part, str) else _width(part, None, where), slices.get(name)
        if width is not None and (output is None or width != output.stop - output.start):
            raise ModelFormatError(f"{where}: part {name[:40]!r} of its ColumnTransformer does not fit its columns.")


def _leaves_missing(transformer: Any, *, before: bool) -> bool:
    """Tell whether rows may lack values after a transformer, given whether they may `before` it."""
    cls = type(transformer)
    if cls is Pipeline:
        for _, step in transformer.steps:
            before = before if isinstance(step, str) else _leaves_missing(step, before=before)
        return before
    if cls in (FeatureUnion, ColumnTransformer):
        parts = transformer.transformer_list if cls is FeatureUnion else transformer.transformers_
        return any(_leaves_missing(part[1], before=before) for part in parts if not isinstance(part[1], str))
    if cls is SimpleImputer:
        return False
    declared = [key for key, attribute in FITTED[cls].items() if attribute.array is not None]
    arrays = [np.asarray(getattr(transformer, key)) for key in declared if getattr(transformer, key, None) is not None]
    return before or any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in arrays)
