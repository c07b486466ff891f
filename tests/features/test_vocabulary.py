"""A vocabulary counted piece by piece is the one that ``fit`` learns from all texts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.errors import ParameterError
from cladist.features import TextFeatures
from cladist.features.vocabulary import VocabularyCount, count_piece

TEXTS = st.lists(st.text(alphabet="ab c-é1", max_size=12), min_size=1, max_size=12)
OPTIONS = ({}, {"words": False}, {"characters": False}, {"min_df": 2}, {"min_df": 0.3}, {"sublinear_tf": True})


def fit_pieces(features, texts, size):
    count = VocabularyCount(features)
    for start in range(0, len(texts), size):
        count.add(count_piece(features, texts[start : start + size]))
    return count.fitted()


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 5), st.sampled_from(OPTIONS))
def test_it_is_the_one_of_all_texts(texts, size, options):
    features = TextFeatures(**options)
    try:
        whole = TextFeatures(**options).fit(texts)
    except (ValueError, ParameterError):
        with pytest.raises(ValueError, match="vocabulary"):
            fit_pieces(features, texts, size)
        return
    pieces = fit_pieces(features, texts, size)
    assert pieces.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    np.testing.assert_array_equal(pieces.transform(texts).toarray(), whole.transform(texts).toarray())


def test_it_has_the_attributes_that_fit_gives():
    texts = ["a fracture", "a microfracture of b", "b"]
    whole, pieces = TextFeatures().fit(texts), fit_pieces(TextFeatures(), texts, 2)
    for one, other in (
        (whole, pieces),
        (whole.words_, pieces.words_),
        (whole.words_._tfidf, pieces.words_._tfidf),
        (whole.characters_, pieces.characters_),
        (whole.tfidf_, pieces.tfidf_),
    ):
        assert vars(one).keys() - {"_stop_words_id"} == vars(other).keys()
    assert whole.words_._tfidf.idf_.dtype == pieces.words_._tfidf.idf_.dtype


def test_the_most_frequent_terms_need_all_texts():
    with pytest.raises(ParameterError, match="max_features must be None"):
        VocabularyCount(TextFeatures(max_features=3))
