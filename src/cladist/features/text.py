"""Texts → CSR, by scikit-learn's vectorisers with the settings that suit short texts in deep taxonomies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError

# scikit-learn's own pattern leaves out words of one letter; "type 1" and "vitamin D" need them.
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
    """Return an unfitted vectoriser of words and word pairs.

    Parameters
    ----------
    ngram_range : (int, int)
        Lengths of the word sequences that become features.
    min_df : int or float
        Leave out features in fewer texts than this (a number, or a share of them). Not with `hashing`.
    sublinear_tf : bool
        Weigh a word seen k times with 1 + log k. Has no meaning with `hashing`.
    dtype : numpy dtype
        Of the features.
    hashing : bool
        A `HashingVectorizer`, which needs no vocabulary and so reads texts without end: counts, not TF-IDF.
    n_features : int
        The number of columns with `hashing`.

    Returns
    -------
    TfidfVectorizer or HashingVectorizer
        Both scale rows to unit length.

    Examples
    --------
    >>> vectoriser = text_features()
    >>> vectoriser.fit_transform(["acute bronchitis", "chronic bronchitis"]).shape
    (2, 5)
    >>> text_features(hashing=True, n_features=64).transform(["acute bronchitis"]).shape
    (1, 64)
    """
    # Imported here: readers of numbers come by without ever vectorising a text.
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
