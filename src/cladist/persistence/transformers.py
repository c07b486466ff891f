"""scikit-learn's transformers of text and numbers ↔ JSON values and arrays, without pickle.

A transformer is its class, looked up in a fixed table; its parameters, which go through the constructor; and its fitted
attributes, whose names the table lists. Anything else that it holds is refused, so that what can be saved is restored
completely.
"""

from __future__ import annotations

import inspect
from collections import UserList
from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from cladist.errors import ModelFormatError
from cladist.persistence.transformer_schema import COMMON, FITTED, check_input, check_transformer
from cladist.storage import from_json_value, pack_strings, to_json_value, unpack_strings
from cladist.storage.array_groups import Arrays, prefixed

_CLASSES = {cls.__name__: cls for cls in FITTED}
_UNSAVED = {
    "_stop_words_id",  # an address in memory
    "_transformers_feature_names_out",  # set by each transform
    "force_int_remainder_cols",  # removed in scikit-learn 1.9; it only chose a type of column lists
}


def encode_transformer(transformer: Any) -> tuple[dict[str, Any], Arrays]:
    """Return a transformer as JSON values and named arrays.

    Parameters
    ----------
    transformer : estimator
        Fitted or not: a TF-IDF, count or hashing vectorizer, a TF-IDF transformer, a standard, max-abs or
        min-max scaler, a normalizer, an imputer, or a `FeatureUnion`, `ColumnTransformer` or `Pipeline` of these.
        Subclasses, and parameters that are functions, are refused.

    Returns
    -------
    encoded : dict
        JSON values.
    arrays : dict of str to ndarray
        The arrays that `encoded` refers to, named by paths such as ``FeatureUnion/transformer_list/0/1/_tfidf/idf_``.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> encoded, arrays = encode_transformer(TfidfVectorizer().fit(["a first text", "a second text"]))
    >>> encoded["class"], sorted(arrays)[-1]
    ('TfidfVectorizer', 'TfidfVectorizer/vocabulary_/utf8')
    >>> decode_transformer(encoded, arrays).get_feature_names_out().tolist()
    ['first', 'second', 'text']
    >>> encode_transformer(TfidfVectorizer(tokenizer=str.split))
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: TfidfVectorizer/tokenizer: a value of type method_descriptor cannot be...
    """
    writer = _Writer()
    encoded = writer.transformer(transformer, type(transformer).__name__, depth=0)
    return encoded | {"scikit_learn": sklearn.__version__}, writer.arrays


def decode_transformer(encoded: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], *, trusted: bool = False) -> Any:
    """Return the transformer that `encode_transformer` was given; nothing in the data is run as code.

    A regular expression that may take too long on some texts is refused unless the data are `trusted`.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> decode_transformer(*encode_transformer(StandardScaler(with_mean=False)))
    StandardScaler(with_mean=False)
    >>> decode_transformer({"class": "os.system", "params": {}, "fitted": {}}, {})
    Traceback (most recent call last):
    cladist.errors.ModelFormatError: transformer: 'os.system' is no class that can be loaded; these can: ...
    """
    if not isinstance(encoded, Mapping):
        raise ModelFormatError(f"transformer: an object was wanted, not {repr(encoded)[:60]}.")
    saved_with = f"scikit-learn {encoded.get('scikit_learn')}"
    return _Reader(arrays, saved_with, trusted=trusted).transformer(dict(encoded), "transformer", depth=0)


class _Writer:
    """Collects arrays while `to_json_value` walks through parameters and attributes."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def transformer(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        cls = type(value)
        if cls not in FITTED:
            raise ModelFormatError(
                f"{where}: {cls.__module__}.{cls.__qualname__} cannot be saved; these can: {', '.join(_CLASSES)}."
            )
        params = {k: v for k, v in value.get_params(deep=False).items() if k not in _UNSAVED}
        fitted = {k: v for k, v in vars(value).items() if k not in params and k not in _UNSAVED}
        if unknown := fitted.keys() - COMMON.keys() - FITTED[cls].keys():
            raise ModelFormatError(
                f"{where}: the attribute {min(unknown)!r} is not one that fit gives to {cls.__name__} in the"
                " versions of scikit-learn known here, so it cannot be saved; delete it first."
            )
        _check_memory(params, where)
        check_input(params, where)
        return {
            "class": cls.__name__,
            "params": self.members(params, where, depth),
            "fitted": self.members(fitted, where, depth),
        }

    def members(self, values: dict[str, Any], where: str, depth: int) -> dict[str, Any]:
        return {
            name: to_json_value(value, f"{where}/{name}", extend=self, depth=depth + 1)
            for name, value in values.items()
        }

    def __call__(self, value: Any, where: str, depth: int) -> dict[str, Any] | None:
        if isinstance(value, BaseEstimator):
            return {"$transformer": self.transformer(value, where, depth)}
        if isinstance(value, np.ndarray):
            return self.array(value, where)
        if isinstance(value, slice):
            return {"$slice": to_json_value([value.start, value.stop, value.step], where)}
        if isinstance(value, UserList):  # scikit-learn before 1.9 wraps the columns of the remainder in one
            return {"$list": to_json_value(value.data, where)}
        if where.endswith(("/vocabulary", "/vocabulary_")):
            return self.vocabulary(value, where)
        return None

    def array(self, value: NDArray[Any], where: str) -> dict[str, Any]:
        if value.dtype.kind in "OU" and value.ndim == 1:
            return self.strings("$strings" if value.dtype.kind == "O" else "$unicode", value.tolist(), where)
        self.arrays[where] = value
        return {"$array": where}

    def vocabulary(self, value: Any, where: str) -> dict[str, Any] | None:
        if type(value) not in (set, dict) or not all(isinstance(term, str) for term in value):
            return None
        if type(value) is set:
            return self.strings("$set", sorted(value), where)
        terms: list[Any] = [None] * len(value)
        for term, column in value.items():
            if not isinstance(column, (int, np.integer)) or not 0 <= column < len(terms):
                return None
            terms[column] = term
        return None if None in terms else self.strings("$vocabulary", terms, where)

    def strings(self, tag: str, strings: list[str], where: str) -> dict[str, Any]:
        try:
            packed = pack_strings(strings)
        except ModelFormatError as error:
            raise ModelFormatError(f"{where}: {error}") from error
        self.arrays |= prefixed(where, packed)
        return {tag: where}


class _Reader:
    """Looks arrays up while `from_json_value` walks through parameters and attributes."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], saved_with: str, *, trusted: bool) -> None:
        self.arrays, self.saved_with, self.trusted = arrays, saved_with, trusted

    def transformer(self, encoded: Any, where: str, depth: int) -> Any:
        if not isinstance(encoded, dict):
            raise ModelFormatError(f"{where}: a transformer must be an object, not {encoded!r}.")
        name, params, fitted = (encoded.get(key) for key in ("class", "params", "fitted"))
        cls = _CLASSES.get(name) if isinstance(name, str) else None
        if cls is None:
            raise ModelFormatError(
                f"{where}: {name!r} is no class that can be loaded; these can: {', '.join(_CLASSES)}."
            )
        params = self.members(params, inspect.signature(cls).parameters.keys(), f"{where}/params", depth)
        fitted = self.members(fitted, COMMON.keys() | FITTED[cls].keys(), f"{where}/fitted", depth)
        _check_memory(params, where)
        try:
            restored = cls(**params)
        except TypeError as error:
            raise ModelFormatError(f"{where}: {name} cannot be made from what was saved: {error}.") from error
        vars(restored).update(fitted)
        check_transformer(restored, where, trusted=self.trusted)
        return restored

    def members(self, values: Any, known: Any, where: str, depth: int) -> dict[str, Any]:
        if not isinstance(values, dict):
            raise ModelFormatError(f"{where}: an object was wanted, not {values!r}.")
        if unknown := values.keys() - known:
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
        if tag in ("$strings", "$unicode", "$set", "$vocabulary"):
            return self.strings(tag, body, where)
        return None

    def strings(self, tag: str, body: Any, where: str) -> Any:
        strings = unpack_strings(self.find(f"{body}/utf8", where), self.find(f"{body}/offsets", where))
        if tag in ("$strings", "$unicode"):
            return np.array(strings, dtype=object if tag == "$strings" else np.str_)
        if len(set(strings)) != len(strings):
            raise ModelFormatError(f"{where}: a term stands twice in the vocabulary.")
        return set(strings) if tag == "$set" else dict(zip(strings, range(len(strings)), strict=True))

    def find(self, name: Any, where: str) -> NDArray[Any]:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelFormatError(f"{where}: the array {name!r} is missing.")
        return self.arrays[name]


def _check_memory(params: dict[str, Any], where: str) -> None:
    # joblib's cache holds pickles: a folder that a file names must never be opened as one.
    if params.get("memory") is not None:
        raise ModelFormatError(f"{where}/memory: a cache cannot be saved or loaded; set memory to None.")
