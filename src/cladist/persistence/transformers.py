"""Transformers of text and numbers, scikit-learn's and `TextFeatures`, ↔ JSON values and arrays, without pickle.

A transformer is its class, looked up in a fixed table; its parameters, which go through the constructor; and its fitted
attributes, whose names the table lists. Anything else that it holds is refused, so that what can be saved is restored
completely. Loading checks parameters by scikit-learn's own declarations, as `fit` would, and attributes by the table.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections import UserList
from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from cladist.errors import ModelFormatError
from cladist.features.embedding import Embedding, as_embedding
from cladist.features.vectorizer import TextFeatures
from cladist.persistence.foreign import FOREIGN, is_foreign, pack_foreign, unpack_foreign
from cladist.persistence.model_schema import is_count, is_number
from cladist.persistence.regular_expressions import check_pattern
from cladist.persistence.transformer_table import (
    COMMON,
    FITTED,
    TEXT_VECTORIZERS,
    are_by_name,
    are_steps,
    find_class,
    is_vocabulary,
)
from cladist.storage import from_json_value, pack_strings, to_json_value, unpack_strings
from cladist.storage.array_groups import Arrays, check_arrays, prefixed

_UNSAVED = {
    "_stop_words_id",  # an address in memory
    "_transformers_feature_names_out",  # set by each transform
    "force_int_remainder_cols",  # removed in scikit-learn 1.9; it only chose a type of column lists
}


def encode_transformer(transformer: Any) -> tuple[dict[str, Any], Arrays]:
    """Return a transformer of a class in the table, fitted or not, as JSON values and the arrays that they name."""
    writer = _Writer()
    encoded = writer.transformer(transformer, type(transformer).__name__, depth=0)
    return encoded | {"scikit_learn": sklearn.__version__}, writer.arrays


class _Writer:
    """Collects arrays while `to_json_value` walks through parameters and attributes."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def transformer(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        cls, classes = type(value), ", ".join(FITTED)
        if cls.__name__ not in FITTED or cls is not find_class(cls.__name__):
            if is_foreign(value) and (hasattr(value, "transform") or hasattr(value, "fit_transform")):
                entry, self.arrays[f"{where}/skops"] = pack_foreign(value)
                return {**entry, "array": f"{where}/skops"}
            raise ModelFormatError(
                f"{where}: {cls.__module__}.{cls.__qualname__} cannot be saved; these can: {classes}."
            )
        params = {k: v for k, v in value.get_params(deep=False).items() if k not in _UNSAVED}
        fitted = {k: v for k, v in vars(value).items() if k not in params and k not in _UNSAVED}
        if cls is Embedding:
            params, fitted = _embedding_members(value, where)
        if unknown := fitted.keys() - COMMON.keys() - FITTED[cls.__name__].keys():
            raise ModelFormatError(
                f"{where}: the attribute {min(unknown)!r} is not one that fit gives to {cls.__name__} in the"
                " versions of scikit-learn known here, so it cannot be saved; delete it first."
            )
        _check_files(params, where)
        if cls is TextFeatures and value.embedding is not None:
            params["embedding"] = as_embedding(value.embedding)
        encoded: dict[str, Any] = {"class": cls.__name__}
        for key, values in (("params", params), ("fitted", fitted)):
            encoded[key] = {
                name: to_json_value(part, f"{where}/{name}", extend=self, depth=depth + 1)
                for name, part in values.items()
            }
        return encoded

    def __call__(self, value: Any, where: str, depth: int) -> dict[str, Any] | None:
        if isinstance(value, BaseEstimator):
            return {"$transformer": self.transformer(value, where, depth)}
        if isinstance(value, np.ndarray) and value.dtype.kind in "OU" and value.ndim == 1:
            return self.strings("$strings" if value.dtype.kind == "O" else "$unicode", value.tolist(), where)
        if isinstance(value, np.ndarray):
            self.arrays[where] = value
            return {"$array": where}
        if isinstance(value, slice):
            return {"$slice": to_json_value([value.start, value.stop, value.step], where)}
        if isinstance(value, UserList):  # scikit-learn before 1.9 wraps the columns of the remainder in one
            return {"$list": to_json_value(value.data, where)}
        if where.endswith(("/vocabulary", "/vocabulary_")):
            if type(value) is set and all(isinstance(term, str) for term in value):
                return self.strings("$set", sorted(value), where)
            if type(value) is dict and is_vocabulary(value):
                return self.strings("$vocabulary", sorted(value, key=value.__getitem__), where)
        return None

    def strings(self, tag: str, strings: list[str], where: str) -> dict[str, Any]:
        try:
            self.arrays |= prefixed(where, pack_strings(strings))
        except ModelFormatError as error:
            raise ModelFormatError(f"{where}: {error}") from error
        return {tag: where}


def _embedding_members(embedding: Embedding, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is saved of an embedding: the name of its model; a loaded one fetches nothing and has no cache."""
    if not isinstance(embedding.model, (str, os.PathLike)):
        kind = "vectors computed before" if isinstance(embedding.model, tuple) else "a function"
        raise ModelFormatError(
            f"{where}: an embedding that is {kind} cannot be saved; give Embedding the name of a model or the path of "
            "a file or folder, or save the learner alone (model[-1])."
        )
    params = {"model": str(embedding.model), "batch_size": embedding.batch_size, "cache": None, "allow_download": False}
    return params, {"n_columns_": embedding.n_columns_} if hasattr(embedding, "n_columns_") else {}


def _check_files(params: dict[str, Any], where: str) -> None:
    """Refuse parameters that open files: texts are not expected to be names of files; joblib's cache holds pickles."""
    if params.get("memory") is not None:
        raise ModelFormatError(f"{where}/memory: a cache cannot be saved or loaded; set memory to None.")
    if params.get("input", "content") != "content":
        raise ModelFormatError(
            f"{where}: a vectorizer with input={params['input']!r} cannot be saved or loaded, as it opens the files"
            " that its rows name; use input='content', and read the files first."
        )


def decode_transformer(encoded: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, trusted: bool = False) -> Any:
    """Return the transformer that `encode_transformer` was given; nothing in the data is run as code.

    A regular expression that may take too long on some texts is refused unless the data are `trusted`.
    """
    if not isinstance(encoded, Mapping):
        raise ModelFormatError(f"transformer: an object was wanted, not {repr(encoded)[:60]}.")
    saved_with = f"scikit-learn {encoded.get('scikit_learn')}"
    return _Reader(arrays, saved_with, trusted=trusted).transformer(dict(encoded), "transformer", depth=0)


class _Reader:
    """Looks arrays up while `from_json_value` walks through parameters and attributes."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], saved_with: str, *, trusted: bool) -> None:
        self.arrays, self.saved_with, self.trusted = arrays, saved_with, trusted

    def transformer(self, encoded: Any, where: str, depth: int) -> Any:
        if not isinstance(encoded, dict):
            raise ModelFormatError(f"{where}: a transformer must be an object, not {encoded!r}.")
        name, params, fitted = (encoded.get(key) for key in ("class", "params", "fitted"))
        if name == FOREIGN:
            return unpack_foreign(encoded, self.find(encoded.get("array"), where))
        if not isinstance(name, str) or name not in FITTED:
            classes = ", ".join(FITTED)
            raise ModelFormatError(f"{where}: {name!r} is no class that can be loaded; these can: {classes}.")
        cls = find_class(name)
        params = self.members(params, inspect.signature(cls).parameters.keys(), f"{where}/params", depth)
        fitted = self.members(fitted, COMMON.keys() | FITTED[name].keys(), f"{where}/fitted", depth)
        _check_files(params, where)
        try:
            restored = cls(**params)
        except TypeError as error:
            raise ModelFormatError(f"{where}: {name} cannot be made from what was saved: {error}.") from error
        vars(restored).update(fitted)
        _check_transformer(restored, fitted, where, trusted=self.trusted)
        return restored

    def members(self, values: Any, names: Any, where: str, depth: int) -> dict[str, Any]:
        if not isinstance(values, dict):
            raise ModelFormatError(f"{where}: an object was wanted, not {values!r}.")
        if unknown := values.keys() - names:
            raise ModelFormatError(
                f"{where}: {min(unknown)!r} is not known to scikit-learn {sklearn.__version__};"
                f" the transformer was saved with {self.saved_with}."
            )
        return {
            name: from_json_value(value, f"{where}/{name}", extend=self, depth=depth + 1)
            for name, value in values.items()
        }

    def __call__(self, tag: str, body: Any, where: str, depth: int) -> Any:
        if tag == "$transformer":
            return self.transformer(body, where, depth)
        if tag == "$slice" and isinstance(body, list) and len(body) == 3:
            return slice(*(from_json_value(part, where) for part in body))
        if tag == "$list" and isinstance(body, list):
            return from_json_value(body, where)
        if tag == "$array":
            return self.find(body, where)
        if tag not in ("$strings", "$unicode", "$set", "$vocabulary"):
            return None
        strings = unpack_strings(self.find(f"{body}/utf8", where), self.find(f"{body}/offsets", where))
        if tag in ("$strings", "$unicode"):
            return np.array(strings, dtype=object if tag == "$strings" else np.str_)
        if len(set(strings)) != len(strings):
            raise ModelFormatError(f"{where}: a term is in the vocabulary twice.")
        return set(strings) if tag == "$set" else dict(zip(strings, range(len(strings)), strict=True))

    def find(self, name: Any, where: str) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFormatError(f"{where}: the array {name!r} is missing.")
        return self.arrays[name]


def _check_transformer(transformer: Any, fitted: dict[str, Any], where: str, *, trusted: bool) -> None:
    """Raise a `ModelFormatError` unless parameters and fitted attributes are as `fit` leaves them."""
    params = transformer.get_params(deep=False)
    _check_params(transformer, params, where)
    if isinstance(params.get("token_pattern"), str) and not trusted:
        check_pattern(params["token_pattern"])
    _check_fitted(type(transformer), fitted, where)
    if type(transformer).__name__ == "ColumnTransformer" and fitted:
        _check_columns(transformer, where)
    if isinstance(transformer, TEXT_VECTORIZERS) and (fitted or _is_hashing(transformer)):
        if isinstance(transformer, Embedding):  # its model may be missing here, which is said when it is needed
            return
        transformer = _without_embedding(transformer)
        try:  # its parameters are many, and not all are declared
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                transformer.transform(["A text, or two.", ""])
        except Exception as problem:  # every prediction would raise it
            raise ModelFormatError(f"{where}: the vectorizer does not work ({problem!r}).") from problem


def _is_as_saved(embedding: Any) -> bool:
    """Tell whether an embedding is as models are written: nothing that a stranger sends fetches or writes files."""
    if not isinstance(embedding, Embedding) or not isinstance(embedding.model, str):
        return False
    return embedding.cache is None and embedding.allow_download is False


def _without_embedding(transformer: Any) -> Any:
    """Return text features without their embedding, which is checked by itself; any other transformer as it is."""
    if not isinstance(transformer, TextFeatures) or transformer.embedding is None:
        return transformer
    if not hasattr(transformer, "embedding_") or not hasattr(transformer, "embedding_share_"):
        raise ModelFormatError("TextFeatures lacks the fitted embedding that its parameters name.")
    words = copy(transformer)
    words.embedding = None
    return words


def _check_params(transformer: Any, params: dict[str, Any], where: str) -> None:
    """Refuse parameters that scikit-learn would, and more processes than a machine has."""
    jobs = params.get("n_jobs")
    if jobs is not None and not is_count(abs(jobs), 1024):
        raise ModelFormatError(f"{where}: n_jobs must be a whole number up to 1024, not {jobs!r}.")
    for key in ("steps", "transformer_list", "transformers"):
        if key in params and not are_steps(params[key]):
            raise ModelFormatError(f"{where}/{key}: a list of names and transformers was wanted.")
    weights = params.get("transformer_weights")
    if weights is not None and not are_by_name(weights, is_number):
        raise ModelFormatError(f"{where}/transformer_weights: numbers by name were wanted, not {repr(weights)[:60]}.")
    try:
        if hasattr(transformer, "_parameter_constraints"):
            transformer._validate_params()
        if isinstance(transformer, (Embedding, TextFeatures)):
            transformer.check_parameters()
        embedding = transformer if isinstance(transformer, Embedding) else params.get("embedding")
        if embedding is not None and not _is_as_saved(embedding):
            raise ModelFormatError(
                f"{where}: an embedding in a model is the name of one, without a cache or a download."
            )
    except (ValueError, TypeError) as problem:
        raise ModelFormatError(f"{where}: {problem}") from problem


def _check_fitted(cls: type, fitted: dict[str, Any], where: str) -> None:
    """Refuse fitted attributes that differ from the table."""
    table, name = {**COMMON, **FITTED[cls.__name__]}, cls.__name__
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
    if not isinstance(transformer, (Pipeline, FeatureUnion)):
        return isinstance(transformer, TEXT_VECTORIZERS)
    parts = transformer.steps if isinstance(transformer, Pipeline) else transformer.transformer_list
    kinds = [kind for _, part in parts if (kind := _takes_texts(part, where)) is not None]
    if isinstance(transformer, Pipeline) and True in kinds[1:]:
        raise ModelFormatError(f"{where}: a step before a text vectorizer leaves no texts for it.")
    if isinstance(transformer, FeatureUnion) and len(set(kinds)) > 1:
        raise ModelFormatError(f"{where}: parts of a FeatureUnion take texts, and others columns.")
    return kinds[0] if kinds else None


def _is_hashing(transformer: Any) -> bool:
    """Tell whether a transformer hashes texts, and so has nothing to fit."""
    return isinstance(transformer, HashingVectorizer) or bool(getattr(transformer, "hashing", False))


def check_width(transformer: Any, n_columns: int, where: str) -> None:
    """Raise a `ModelFormatError` unless a transformer is fitted and makes rows of `n_columns` numbers."""
    _takes_texts(transformer, where)
    width, is_missing = _trace(transformer, None, False, where)
    if is_missing:
        raise ModelFormatError(f"{where}: it scales a feature by NaN, and nothing after it fills in what is missing.")
    if width not in (None, n_columns):
        raise ModelFormatError(f"{where}: its rows have {width:,} columns, and the learner's {n_columns:,}.")


def _trace(transformer: Any, width: int | None, is_missing: bool, where: str) -> tuple[int | None, bool]:
    """Return the number of columns after a transformer (None: unknown), and whether values may be missing there."""
    cls = type(transformer)
    if cls.__name__ not in FITTED:  # of another library, about which nothing is known
        return None, False
    if _is_hashing(transformer):
        return int(transformer.n_features), is_missing
    needed = [key for key, attribute in FITTED[cls.__name__].items() if attribute.needed]
    needed += ["idf_"] if cls is TfidfTransformer and transformer.use_idf else []
    if missing := [key for key in needed if not hasattr(transformer, key)]:
        raise ModelFormatError(f"{where}: {cls.__name__} is not fitted: it lacks the attribute {missing[0]!r}.")
    if cls is Pipeline:
        for _, step in transformer.steps:
            if not isinstance(step, str):
                width, is_missing = _trace(step, width, is_missing, where)
        return width, is_missing
    if cls is FeatureUnion:
        parts = [part for _, part in transformer.transformer_list]
        traces = [_trace(part, width, is_missing, where) for part in parts if not isinstance(part, str)]
        widths = [after for after, _ in traces if after is not None]
        is_known = len(widths) == len(traces) and "passthrough" not in parts
        return sum(widths) if is_known else None, any(missing for _, missing in traces)
    n_columns = None if hasattr(transformer, "vocabulary_") else getattr(transformer, "n_features_in_", None)
    if None not in (width, n_columns) and width != n_columns:
        raise ModelFormatError(f"{where}: {cls.__name__} wants {n_columns} columns, and is given {width}.")
    if cls.__name__ == "ColumnTransformer":
        return _trace_columns(transformer, is_missing, where)
    if cls.__name__ == "SimpleImputer":
        keeps_all = transformer.strategy == "constant" or transformer.keep_empty_features
        return sum(keeps_all or value == value for value in transformer.statistics_.tolist()), False  # NaN: dropped
    if cls is TextFeatures:
        total = 0
        if transformer.words:
            _trace(transformer.words_, None, is_missing, where)
            total += len(transformer.words_.vocabulary_)
        if transformer.characters:
            n_grams = len(transformer.characters_.vocabulary_)
            _trace(transformer.tfidf_, n_grams, is_missing, where)
            total += n_grams
        if transformer.embedding is not None:
            total += _trace(transformer.embedding_, None, is_missing, where)[0] or 0
        return total, is_missing
    if cls is Embedding:
        return int(transformer.n_columns_), is_missing
    if cls is TfidfVectorizer:
        return _trace(transformer._tfidf, len(transformer.vocabulary_), is_missing, where)
    if cls is CountVectorizer:
        return len(transformer.vocabulary_), is_missing
    idf = getattr(transformer, "idf_", None)
    if idf is not None and width is not None and width != len(idf):
        raise ModelFormatError(f"{where}: {cls.__name__} has {len(idf)} weights for {width} columns.")
    declared = [key for key, attribute in FITTED[cls.__name__].items() if attribute.array is not None]
    arrays = [np.asarray(getattr(transformer, key, None)) for key in declared]
    is_missing = is_missing or any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in arrays)
    return n_columns if n_columns is not None else width, is_missing


def _trace_columns(transformer: Any, is_missing: bool, where: str) -> tuple[int | None, bool]:
    """Do as `_trace` for a ColumnTransformer; one whose parts do not have the widths of its output is refused."""
    slices, leaves_missing = transformer.output_indices_, False
    indices = getattr(transformer, "_transformer_to_input_indices", {})
    if {part for part, _, _ in transformer.transformers_} | {"remainder"} != slices.keys() | {"remainder"}:
        raise ModelFormatError(f"{where}: the parts of its ColumnTransformer are not those of its columns.")
    for name, part, columns in transformer.transformers_:
        before = _count_columns(transformer, columns, where)
        listed = indices.get(name, [0] * (before or 1))
        fits = before in (None, len(listed)) and max(listed, default=0) < transformer.n_features_in_
        width, part_leaves_missing = None, False
        if not isinstance(part, str):
            width, part_leaves_missing = _trace(part, before, is_missing, where)
        leaves_missing = leaves_missing or part_leaves_missing
        if width is not None:
            fits = fits and name in slices and width == slices[name].stop - slices[name].start
        if not fits:
            raise ModelFormatError(f"{where}: part {name[:40]!r} of its ColumnTransformer does not fit its columns.")
    return max((part.stop for part in slices.values()), default=0), leaves_missing


def _count_columns(transformer: Any, columns: Any, where: str) -> int | None:
    """Return how many columns a part of a ColumnTransformer takes; None for a single one, which is 1-D."""
    if isinstance(columns, (int, str)):
        return None
    if not isinstance(columns, slice):
        return int(sum(columns)) if all(isinstance(column, (bool, np.bool_)) for column in columns) else len(columns)
    names = list(getattr(transformer, "feature_names_in_", ()))
    try:  # the last of two names is part of a slice
        start = names.index(columns.start) if isinstance(columns.start, str) else columns.start
        stop = names.index(columns.stop) + 1 if isinstance(columns.stop, str) else columns.stop
        return len(range(*slice(start, stop, columns.step).indices(transformer.n_features_in_)))
    except (TypeError, ValueError) as problem:
        raise ModelFormatError(f"{where}: there are no columns {repr(columns)[:60]}.") from problem
