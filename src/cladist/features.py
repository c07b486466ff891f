"""Texts → CSR, by scikit-learn's vectorizers with settings that suit short texts in deep taxonomies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError

# scikit-learn's own pattern drops words of one letter, which "type 1" and "vitamin D" need.
WORDS = r"(?u)\b\w+\b"


def text_features(
    *,
    ngram_range: tuple[int, int] = (1, 2),
    min_df: int | float = 1,
    sublinear_tf: bool = False,
    dtype: npt.DTypeLike = np.float32,
    hashing: bool = False,
    n_features: int = 2**18,
) -> Any:
    """Return an unfitted vectorizer of words and word pairs.

    Parameters
    ----------
    ngram_range : (int, int)
        Lengths of the word sequences that become features.
    min_df : int or float
        Drop features that occur in fewer texts than this (a number, or a fraction of them). Not with `hashing`.
    sublinear_tf : bool
        Weight a word that occurs k times by 1 + log k. Without effect with `hashing`.
    dtype : numpy dtype
        The type of the features.
    hashing : bool
        Return a `HashingVectorizer`, which needs no vocabulary and so suits endless streams: counts, not TF-IDF.
    n_features : int
        The number of columns with `hashing`.

    Returns
    -------
    TfidfVectorizer or HashingVectorizer
        Both scale rows to unit length.

    Examples
    --------
    >>> vectorizer = text_features()
    >>> vectorizer.fit_transform(["acute bronchitis", "chronic bronchitis"]).shape
    (2, 5)
    >>> text_features(hashing=True, n_features=64).transform(["acute bronchitis"]).shape
    (1, 64)
    """
    # Imported here, since most imports of this module never vectorize a text.
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

    if not hashing:
        return TfidfVectorizer(
            ngram_range=ngram_range, min_df=min_df, sublinear_tf=sublinear_tf, dtype=dtype, token_pattern=WORDS
        )
    if min_df != 1:
        raise ParameterError(
            f"text_features: min_df must be 1 with hashing=True, which keeps no vocabulary; got {min_df!r}."
        )
    return HashingVectorizer(
        ngram_range=ngram_range, n_features=n_features, alternate_sign=False, dtype=dtype, token_pattern=WORDS
    )
