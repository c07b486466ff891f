"""How many columns the rows have that come out of a transformer from a file, and that those between agree on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cladist.errors import ModelFormatError
from cladist.persistence.transformer_schema import ARRAYS, NEEDED


def _check_fitted(transformer: Any, where: str) -> None:
    """Refuse a transformer that cannot transform, as nobody has fitted it."""
    name = type(transformer).__name__
    needed = NEEDED.get(name, ["idf_"] if name == "TfidfTransformer" and transformer.use_idf else [])
    if missing := [key for key in needed if not hasattr(transformer, key)]:
        raise ModelFormatError(f"{where}: {name} is not fitted: it lacks the attribute {missing[0]!r}.")
    if name == "ColumnTransformer":
        _check_columns(transformer, where)


def _check_columns(transformer: Any, where: str) -> None:
    """Refuse a `ColumnTransformer` whose parts are not those that its rows are put together from."""
    places = transformer.output_indices_
    if {part for part, _, _ in transformer.transformers_} | {"remainder"} != places.keys() | {"remainder"}:
        raise ModelFormatError(f"{where}: the parts of its ColumnTransformer are not those of its columns.")
    for part, fitted, _ in transformer.transformers_:
        width, place = None if isinstance(fitted, str) else _width(fitted, None, where), places.get(part)
        if width is not None and (place is None or width != place.stop - place.start):
            raise ModelFormatError(f"{where}: part {part[:40]!r} of its ColumnTransformer does not fit its columns.")


def check_width(transformer: Any, n_columns: int, where: str) -> None:
    """Raise a `ModelFormatError` unless a transformer is fitted, and makes rows of so many columns of numbers."""
    width = _width(transformer, None, where)
    if _leaves_missing(transformer, before=False):
        raise ModelFormatError(f"{where}: it scales a feature by NaN, and nothing after it fills in what is missing.")
    if width not in (None, n_columns):
        raise ModelFormatError(f"{where}: its rows have {width:,} columns, and the learner's {n_columns:,}.")


def _leaves_missing(transformer: Any, *, before: bool) -> bool:
    """Tell whether rows may lack values after a transformer whatever was given, or lacked them `before` it."""
    name = type(transformer).__name__
    if name == "Pipeline":
        for _, step in transformer.steps:
            before = before if isinstance(step, str) else _leaves_missing(step, before=before)
        return before
    if name in ("FeatureUnion", "ColumnTransformer"):
        parts = transformer.transformer_list if name == "FeatureUnion" else transformer.transformers_
        return any(_leaves_missing(part[1], before=before) for part in parts if not isinstance(part[1], str))
    if name == "SimpleImputer":
        return False
    declared = ARRAYS.get(name, {})
    arrays = [np.asarray(getattr(transformer, key)) for key in declared if getattr(transformer, key, None) is not None]
    return before or any(array.dtype.kind == "f" and bool(np.isnan(array).any()) for array in arrays)


def _width(transformer: Any, before: int | None, where: str) -> int | None:
    """Return how many columns rows have after a transformer, given how many before; None if that is not known."""
    name = type(transformer).__name__
    _check_fitted(transformer, where)
    wanted = getattr(transformer, "n_features_in_", None) if not hasattr(transformer, "vocabulary_") else None
    if name not in ("Pipeline", "FeatureUnion") and None not in (before, wanted) and before != wanted:
        raise ModelFormatError(f"{where}: {name} wants {wanted} columns, and is given {before}.")
    if name in ("CountVectorizer", "TfidfVectorizer"):
        n_terms = len(transformer.vocabulary_)
        return n_terms if name == "CountVectorizer" else _width(transformer._tfidf, n_terms, where)
    if name == "HashingVectorizer":
        return int(transformer.n_features)
    if name == "Pipeline":
        for _, step in transformer.steps:
            before = before if isinstance(step, str) else _width(step, before, where)
        return before
    if name == "FeatureUnion":
        kept = [part for _, part in transformer.transformer_list if not isinstance(part, str)]
        widths = [_width(part, before, where) for part in kept]
        passed = any(part == "passthrough" for _, part in transformer.transformer_list if isinstance(part, str))
        return None if passed or None in widths else sum(width for width in widths if width is not None)
    if name == "ColumnTransformer":
        return max((part.stop for part in transformer.output_indices_.values()), default=0)
    if name == "SimpleImputer":
        return None
    idf = getattr(transformer, "idf_", None)
    if idf is not None and before not in (None, len(idf)):
        raise ModelFormatError(f"{where}: {name} has {len(idf)} weights for {before} columns.")
    return wanted if wanted is not None else before
