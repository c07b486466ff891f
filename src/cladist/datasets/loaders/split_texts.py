"""Texts of a split Dataset → features that are fitted on its training part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cladist.datasets.dataset import Dataset, T
from cladist.datasets.rows import stack_rows
from cladist.errors import DatasetError


def vectorise(data: Dataset[T], vectoriser: Any) -> Dataset[T]:
    """Return a split Dataset of texts with features for `X`; `texts` then has the texts.

    Its parts follow each other, as `Dataset.from_parts` leaves them.

    Examples
    --------
    >>> from cladist.datasets.rows import as_objects
    >>> from cladist.features import text_features
    >>> texts = Dataset.from_parts(as_objects(["tea cup", "rain coat"]), ["a", "b"], as_objects(["cup of tea"]), ["a"])
    >>> data = vectorise(texts, text_features())
    >>> data, data.texts_test
    (Dataset(2 + 1 rows, 6 features), array(['cup of tea'], dtype=object))
    """
    parts = {"training": data.X_train, "test": data.X_test}
    if data.validation_rows is not None:
        parts["validation"] = data.X_validation
    for name, texts in parts.items():
        if not len(texts):
            raise DatasetError(f"{data.source}: there are no texts in the {name} part.")
    train, *others = parts.values()
    try:
        Xs = [vectoriser.fit_transform(train), *map(vectoriser.transform, others)]
    except ValueError as problem:  # texts without a single word
        raise DatasetError(f"{data.source}: no features can be fitted on the training texts ({problem}).") from problem
    X = stack_rows(Xs)
    X.sort_indices()  # the vectoriser leaves them in the order of first appearance
    return replace(data, X=X, texts=data.X, feature_names=vectoriser.get_feature_names_out())
