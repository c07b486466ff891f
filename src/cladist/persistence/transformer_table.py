"""The table of transformers that a model file may hold: classes by name, and the fitted attributes of each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from cladist.features.embedding import Embedding
from cladist.features.vectorizer import TextFeatures
from cladist.persistence.model_schema import MOST_FEATURES, is_count, is_flag, is_number
from cladist.storage.array_groups import REAL, WHOLE, ArraySpec

TEXT_VECTORIZERS = (CountVectorizer, TfidfVectorizer, HashingVectorizer, TextFeatures, Embedding)


class Attribute(NamedTuple):
    """A fitted attribute: an array as declared, or a value that passes the check; `needed` if `transform` reads it."""

    array: ArraySpec | None = None
    value: Callable[[Any], bool] = lambda value: False
    needed: bool = False


def is_vocabulary(value: Any) -> bool:
    """Tell whether a value numbers terms from 0 on."""
    fits = isinstance(value, dict) and value and all(isinstance(term, str) and is_count(k) for term, k in value.items())
    return bool(fits) and set(value.values()) == set(range(len(value)))


def are_steps(value: Any, lengths: tuple[int, ...] = (2, 3)) -> bool:
    """Tell whether a value is a list of names and transformers, and perhaps columns."""
    return isinstance(value, list) and all(
        isinstance(step, tuple)
        and len(step) in lengths
        and isinstance(step[0], str)
        and (isinstance(step[1], BaseEstimator) or step[1] in ("drop", "passthrough"))
        for step in value
    )


def are_by_name(value: Any, fits: Callable[[Any], bool]) -> bool:
    """Tell whether a value is a dictionary whose values fit."""
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_output_slice(value: Any) -> bool:
    return isinstance(value, slice) and is_count(value.start) and is_count(value.stop) and value.step is None


# NaN: a feature that was missing in all rows has no mean, no range and no fill value.
_PER_FEATURE = ArraySpec(REAL, ("n_features",), missing=True)
_LENGTHS = ArraySpec(REAL, ("n_features",), low=5e-324, missing=True)
_IS_COUNT = Attribute(value=lambda value: is_count(value, MOST_FEATURES) and value >= 1)
_IS_DTYPE = Attribute(value=lambda value: isinstance(value, np.dtype) and value.kind in "biufO")
_IS_NONE = Attribute(value=lambda value: value is None)
_N_FEATURES = {"n_features_in_": _IS_COUNT._replace(needed=True)}
_N_SAMPLES = Attribute(value=lambda value: is_count(value) or (isinstance(value, np.floating) and bool(value >= 0)))
_IS_FLAG = Attribute(value=is_flag)
_VOCABULARY = {"vocabulary_": Attribute(value=is_vocabulary, needed=True), "fixed_vocabulary_": _IS_FLAG}


def _is_of(cls: Any) -> Attribute:
    """Return a fitted attribute that is a transformer of one class, or None."""
    return Attribute(value=lambda value: value is None or type(value) is cls, needed=True)


_OUTPUTS: tuple[dict[str, Any], ...] = ({}, *({"transform": kind} for kind in (None, "default", "pandas", "polars")))
COMMON: dict[str, Attribute] = {
    "n_features_in_": _IS_COUNT,
    "feature_names_in_": Attribute(
        value=lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"
    ),
    "_sklearn_output_config": Attribute(value=lambda value: value in _OUTPUTS),
}
FITTED: dict[str, dict[str, Attribute]] = {
    "CountVectorizer": _VOCABULARY,
    "TfidfVectorizer": _VOCABULARY | {"_tfidf": Attribute(value=lambda v: type(v) is TfidfTransformer, needed=True)},
    "TfidfTransformer": {"idf_": Attribute(ArraySpec(REAL, ("n_features",), low=0))},
    "HashingVectorizer": {},
    "TextFeatures": {
        "words_": _is_of(TfidfVectorizer),
        "characters_": _is_of(CountVectorizer),
        "tfidf_": _is_of(TfidfTransformer),
        "embedding_": _is_of(Embedding)._replace(needed=False),
        "embedding_share_": Attribute(value=lambda value: is_number(value) and 0 < value < 1),
    },
    "Embedding": {"n_columns_": _IS_COUNT._replace(needed=True)},
    "StandardScaler": {
        **_N_FEATURES,
        "n_samples_seen_": _N_SAMPLES._replace(array=ArraySpec((*WHOLE, *REAL), ("n_features",), low=0)),
        "scale_": _IS_NONE._replace(array=_LENGTHS, needed=True),
        "mean_": _IS_NONE._replace(array=_PER_FEATURE, needed=True),
        "var_": _IS_NONE._replace(array=ArraySpec(REAL, ("n_features",), low=0, missing=True)),
    },
    "MaxAbsScaler": {
        **_N_FEATURES,
        "n_samples_seen_": _N_SAMPLES,
        "scale_": Attribute(_LENGTHS, needed=True),
        "max_abs_": Attribute(_PER_FEATURE),
    },
    "MinMaxScaler": {
        **_N_FEATURES,
        "n_samples_seen_": _N_SAMPLES,
        **dict.fromkeys(("scale_", "min_"), Attribute(_PER_FEATURE, needed=True)),
        **dict.fromkeys(("data_min_", "data_max_", "data_range_"), Attribute(_PER_FEATURE)),
    },
    "Normalizer": {},
    "SimpleImputer": {
        **_N_FEATURES,
        "statistics_": Attribute(_PER_FEATURE._replace(types=(*REAL, *WHOLE, "object", "bool")), needed=True),
        "indicator_": _IS_NONE,
        "_fit_dtype": _IS_DTYPE._replace(needed=True),
        "_fill_dtype": _IS_DTYPE,
    },
    "FunctionTransformer": {},  # "passthrough" after fitting; with a function it is refused
    "FeatureUnion": {},
    "Pipeline": {},
    "ColumnTransformer": {
        **_N_FEATURES,
        "transformers_": Attribute(value=lambda value: are_steps(value, (3,)), needed=True),
        "sparse_output_": _IS_FLAG._replace(needed=True),
        "output_indices_": Attribute(value=lambda value: are_by_name(value, _is_output_slice), needed=True),
        "_columns": Attribute(value=lambda value: isinstance(value, list), needed=True),
        "_remainder": Attribute(value=lambda value: are_steps([value], (3,)), needed=True),
        "_transformer_to_input_indices": Attribute(
            value=lambda value: are_by_name(value, lambda k: isinstance(k, list) and all(map(is_count, k)))
        ),
    },
}
_QUICK = (*TEXT_VECTORIZERS, TfidfTransformer, StandardScaler, MaxAbsScaler, MinMaxScaler, Normalizer)
_CLASSES: dict[str, Any] = {cls.__name__: cls for cls in (*_QUICK, FunctionTransformer, FeatureUnion, Pipeline)}
_MODULES = {"ColumnTransformer": "sklearn.compose", "SimpleImputer": "sklearn.impute"}  # slow to import


def find_class(name: str) -> Any:
    """Return a class of the table by its name."""
    return _CLASSES[name] if name in _CLASSES else getattr(import_module(_MODULES[name]), name)
