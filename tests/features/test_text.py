"""The text vectorisers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

from cladist.errors import ParameterError
from cladist.features import text_features

TEXTS = ["acute bronchitis", "chronic bronchitis bronchitis", "asthma"]


def test_words_and_word_pairs_by_default() -> None:
    vectoriser = text_features()
    assert isinstance(vectoriser, TfidfVectorizer)
    X = vectoriser.fit_transform(TEXTS)
    assert X.dtype == np.float32
    assert "acute bronchitis" in vectoriser.vocabulary_
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-6)
    damped = text_features(sublinear_tf=True).fit_transform(TEXTS)
    column = vectoriser.vocabulary_["bronchitis"]
    assert damped[1, column] < X[1, column]


def test_words_of_one_letter_count() -> None:
    assert "vitamin d" in text_features().fit(["Vitamin D deficiency"]).vocabulary_


def test_settings_are_passed_on() -> None:
    vectoriser = clone(text_features(ngram_range=(1, 1), min_df=2, dtype=np.float64))
    assert vectoriser.fit_transform(TEXTS).dtype == np.float64
    assert list(vectoriser.vocabulary_) == ["bronchitis"]


def test_hashing_needs_no_vocabulary() -> None:
    vectoriser = text_features(hashing=True, n_features=128)
    assert isinstance(vectoriser, HashingVectorizer)
    X = vectoriser.transform(TEXTS)
    assert X.shape == (3, 128)
    assert X.dtype == np.float32
    assert X.min() >= 0
    with pytest.raises(ParameterError, match="min_df must be 1 with hashing=True"):
        text_features(hashing=True, min_df=2)
