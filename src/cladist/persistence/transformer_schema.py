"""What transformers from a file must be: one table of their fitted attributes.

Parameters are checked by scikit-learn's own declarations, as `fit` would.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from cladist.errors import ModelFormatError
from cladist.persistence.regular_expressions import check_pattern
from cladist.storage.schema import REAL, WHOLE, Declared, check_arrays

MOST_FEATURES = 2**31 - 1
MOST_JOBS = 1024
_OUTPUTS = (None, "default", "pandas", "polars")  # what set_output takes
# A feature that was missing in all rows has no mean, no range and nothing to be filled with.
_PER_FEATURE = Declared(REAL, ("n_features",), missing=True)
_LENGTHS = Declared(REAL, ("n_features",), low=5e-324, missing=True)
_COUNTS = Declared((*WHOLE, *REAL), ("n_features",), low=0)
# Attribute → the array it may be, by class; names that end in _ besides are plain values, see VALUES.
ARRAYS: dict[str, dict[str, Declared]] = {
    "TfidfTransformer": {"idf_": Declared(REAL, ("n_features",), low=0)},
    "StandardScaler": {
        "n_samples_seen_": _COUNTS,
        "scale_": _LENGTHS,
        "mean_": _PER_FEATURE,
        "var_": Declared(REAL, ("n_features",), low=0, missing=True),
    },
    "MaxAbsScaler": {"scale_": _LENGTHS, "max_abs_": _PER_FEATURE},
    "MinMaxScaler": dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), _PER_FEATURE),
    "SimpleImputer": {"statistics_": Declared((*REAL, *WHOLE, "object", "bool"), ("n_features",), missing=True)},
}
Check = Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return whole and 0 <= int(value) < 2**62


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and bool(np.isfinite(float(value)))


def _is_features(value: Any) -> bool:
    return _is_count(value) and 1 <= int(value) <= MOST_FEATURES


def _is_vocabulary(value: Any) -> bool:
    fits = isinstance(value, dict) and all(isinstance(term, str) and _is_count(k) for term, k in value.items())
    return fits and bool(value) and set(value.values()) == set(range(len(value)))


def _are_steps(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(step, tuple)
        and len(step) >= 2
        and isinstance(step[0], str)
        and (isinstance(step[1], BaseEstimator) or step[1] in ("drop", "passthrough"))
        for step in value
    )


def _are_names(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"


def _are_rows(value: Any) -> bool:
    """Tell whether a value says where the rows of each part of a ColumnTransformer go."""
    return isinstance(value, dict) and all(
        isinstance(part, slice) and _is_count(part.start) and _is_count(part.stop) and part.step is None
        for part in value.values()
    )


def _are_inputs(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(k, list) and all(map(_is_count, k)) for k in value.values())


def _is_type(value: Any) -> bool:
    return isinstance(value, np.dtype) and value.kind in "biufO"


VALUES: dict[str, Check] = {
    "n_features_in_": _is_features,
    "feature_names_in_": _are_names,
    "vocabulary_": _is_vocabulary,
    "fixed_vocabulary_": lambda value: isinstance(value, bool),
    "_tfidf": lambda value: type(value).__name__ == "TfidfTransformer",
    "n_samples_seen_": lambda value: _is_count(value) or (isinstance(value, np.floating) and bool(value >= 0)),
    **dict.fromkeys(("scale_", "mean_", "var_", "indicator_"), lambda value: value is None),
    **dict.fromkeys(("_fit_dtype", "_fill_dtype"), _is_type),
    "transformers_": lambda value: _are_steps(value) and all(len(step) == 3 for step in value),
    "sparse_output_": lambda value: isinstance(value, bool),
    "output_indices_": _are_rows,
    "_columns": lambda value: isinstance(value, list),
    "_remainder": lambda value: _are_steps([value]) and len(value) == 3,
    "_transformer_to_input_indices": _are_inputs,
    "_sklearn_output_config": lambda value: value in ({}, *({"transform": kind} for kind in _OUTPUTS)),
}
# What transform reads, and fit makes: without it there would be an error in use.
NEEDED = {
    "CountVectorizer": ["vocabulary_"],
    "TfidfVectorizer": ["vocabulary_", "_tfidf"],
    "StandardScaler": ["scale_", "mean_", "n_features_in_"],
    "MaxAbsScaler": ["scale_", "n_features_in_"],
    "MinMaxScaler": ["scale_", "min_", "n_features_in_"],
    "SimpleImputer": ["statistics_", "_fit_dtype", "n_features_in_"],
    "ColumnTransformer": [
        "transformers_",
        "n_features_in_",
        "sparse_output_",
        "output_indices_",
        "_columns",
        "_remainder",
    ],
}


def check_transformer(transformer: Any, where: str, *, trusted: bool) -> None:
    """Raise a `ModelFormatError` unless a transformer's parameters and fitted attributes are such as `fit` makes."""
    params = transformer.get_params(deep=False)
    _check_params(transformer, params, where)
    if "token_pattern" in params and isinstance(params["token_pattern"], str) and not trusted:
        check_pattern(params["token_pattern"])
    name, fitted = type(transformer).__name__, {k: v for k, v in vars(transformer).items() if k not in params}
    declared = ARRAYS.get(name, {})
    arrays = {k: v for k, v in fitted.items() if k in declared and isinstance(v, np.ndarray)}
    sizes = {"n_features": int(fitted["n_features_in_"])} if _is_features(fitted.get("n_features_in_")) else {}
    for key, value in fitted.items():
        if key not in arrays and not (key in VALUES and VALUES[key](value)):
            raise ModelFormatError(f"{where}: the attribute {key!r} of {name} cannot be {repr(value)[:60]}.")
    if fitted and (missing := [key for key in NEEDED.get(name, []) if key not in fitted]):
        raise ModelFormatError(f"{where}: {name} lacks the attribute {missing[0]!r}.")
    try:
        check_arrays({k: v for k, v in arrays.items() if v.dtype != object}, declared, sizes)
    except ModelFormatError as problem:
        raise ModelFormatError(f"{where}: {problem}") from problem
    if name == "ColumnTransformer" and fitted:
        _check_columns(transformer, where)
    if hasattr(transformer, "token_pattern") and (fitted or name == "HashingVectorizer"):
        _try(transformer, where)
    if "feature_names_in_" in fitted and len(fitted["feature_names_in_"]) != sizes.get("n_features"):
        raise ModelFormatError(f"{where}: {name} has not as many names as features.")


def _try(vectorizer: Any, where: str) -> None:
    """Refuse a vectorizer that fails on plain texts: its parameters are many, and not all are declared."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            vectorizer.transform(["A text, or two.", ""])
    except Exception as problem:  # whatever it is, it would come out of every prediction
        raise ModelFormatError(f"{where}: a vectorizer so made does not work ({problem!r}).") from problem


def _check_params(transformer: Any, params: dict[str, Any], where: str) -> None:
    """Refuse parameters that scikit-learn would, files to read, and more processes than a machine has."""
    check_input(params, where)
    jobs = params.get("n_jobs")
    if jobs is not None and not (_is_count(abs(jobs)) and abs(jobs) <= MOST_JOBS):
        raise ModelFormatError(f"{where}: n_jobs must be a whole number up to {MOST_JOBS}, not {jobs!r}.")
    for key in ("steps", "transformer_list", "transformers"):
        if key in params and not _are_steps(params[key]):
            raise ModelFormatError(f"{where}/{key}: a list of names and transformers was wanted.")
    weights = params.get("transformer_weights")
    if weights is not None and not (isinstance(weights, dict) and all(map(_is_real, weights.values()))):
        raise ModelFormatError(f"{where}/transformer_weights: numbers by name were wanted, not {repr(weights)[:60]}.")
    try:
        if hasattr(transformer, "_parameter_constraints"):
            transformer._validate_params()
    except (ValueError, TypeError) as problem:
        raise ModelFormatError(f"{where}: {problem}") from problem


def check_input(params: dict[str, Any], where: str) -> None:
    """Refuse a vectorizer that opens files: whoever gives it texts would not expect them to be names of files."""
    if params.get("input", "content") != "content":
        raise ModelFormatError(
            f"{where}: a vectorizer with input={params['input']!r} cannot be saved or loaded, as it opens the files"
            " that its rows name; use input='content', and read the files first."
        )


def _check_columns(transformer: Any, where: str) -> None:
    """Refuse a fitted ColumnTransformer whose parts take columns that there are not."""
    n, names = transformer.n_features_in_, set(getattr(transformer, "feature_names_in_", ()))
    for _, _, columns in transformer.transformers_:
        listed = columns.tolist() if isinstance(columns, np.ndarray) else columns
        listed = listed if isinstance(listed, list) else [listed]
        kinds = {type(column) for column in listed}
        fits = (
            kinds <= {slice}
            or (kinds == {bool} and len(listed) == n)
            or (kinds == {int} and all(-n <= column < n for column in listed))
            or (kinds == {str} and names >= set(listed))
        )
        if not fits:
            raise ModelFormatError(f"{where}: there are no columns {repr(columns)[:60]} among its {n}.")
