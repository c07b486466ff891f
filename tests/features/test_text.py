"""Words and characters of texts as features."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

import cladist
from cladist.errors import ParameterError
from cladist.features import TextFeatures, text_features
from cladist.features.vectorizer import WORDS

TEXTS = ["Acute bronchitis", "chronic bronchitis bronchitis", "asthma", "a fracture of the hip, closed", "", "?!"]
NEW = ["bronchial asthma", "fractured HIPS", "zzz", "", "a-b a_b"]
LENGTHS = [(4, 4), (3, 5), (1, 2), (2, 20)]


def lengths(X):
    return np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())


def test_words_word_pairs_and_characters_by_default():
    vectorizer = text_features()
    X = vectorizer.fit_transform(TEXTS)
    assert X.dtype == np.float32
    assert X.has_sorted_indices
    names = vectorizer.get_feature_names_out().tolist()
    assert {"acute", "acute bronchitis", "[cute]", "[ute ]"} <= set(names)
    assert len(set(names)) == len(names) == X.shape[1]
    np.testing.assert_allclose(lengths(X)[:4], 1, rtol=1e-6)
    damped = text_features(sublinear_tf=True).fit_transform(TEXTS)
    for name in ("bronchitis", "[bron]"):
        column = names.index(name)
        assert damped[1, column] < X[1, column]


def test_words_of_one_letter_count():
    assert "vitamin d" in text_features().fit(["Vitamin D deficiency"]).get_feature_names_out()


@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"min_df": 0.1}, {"sublinear_tf": True}, {"words": (2, 3)}])
def test_words_are_those_of_scikit_learn(options):
    texts = TEXTS * 2 + NEW
    ours = text_features(characters=False, **options).fit(texts)
    settings = {"ngram_range": options.get("words", (1, 2)), **{k: v for k, v in options.items() if k != "words"}}
    theirs = TfidfVectorizer(token_pattern=WORDS, dtype=np.float32, **settings).fit(texts)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_array_equal(ours.transform(NEW).toarray(), theirs.transform(NEW).toarray())


@pytest.mark.parametrize("options", [{}, {"min_df": 2}, {"min_df": 0.25}, {"sublinear_tf": True}])
@pytest.mark.parametrize("span", LENGTHS)
def test_characters_are_those_of_scikit_learn(span, options):
    """Counting the n-grams of each distinct word once gives the same rows as counting those of each text."""
    texts = [text.replace(",", "") for text in TEXTS[:5]] * 2 + ["fractured hips"]
    ours = text_features(words=False, characters=span, **options)
    theirs = TfidfVectorizer(analyzer="char_wb", ngram_range=span, dtype=np.float32, **options)
    wanted = theirs.fit_transform(texts)
    found = ours.fit_transform(texts)
    assert [name[1:-1] for name in ours.get_feature_names_out()] == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(found.toarray(), wanted.toarray(), rtol=1e-5)
    np.testing.assert_allclose(ours.transform(NEW[:4]).toarray(), theirs.transform(NEW[:4]).toarray(), rtol=1e-5)


def test_both_blocks_have_their_shares_of_the_length():
    vectorizer = text_features(character_share=0.2).fit(TEXTS)
    is_character = np.char.startswith(vectorizer.get_feature_names_out().astype(str), "[")
    X = vectorizer.transform([*TEXTS[:4], "bronchiti", "xyz"])
    np.testing.assert_allclose(lengths(X[:, is_character])[:4] ** 2, 0.2, rtol=1e-5)
    # No word of the fifth text is known, and nothing of the last.
    np.testing.assert_allclose(lengths(X), [1, 1, 1, 1, 1, 0], rtol=1e-5)
    assert X[4, ~is_character].nnz == 0


def test_the_most_frequent_features_are_kept():
    vectorizer = text_features(max_features=2, words=(1, 1)).fit(["bron bron xylo", "bron xylo", "fern"])
    assert vectorizer.get_feature_names_out().tolist() == ["bron", "xylo", "[ bro]", "[bron]"]
    assert vectorizer.transform(["bron fern"]).shape == (1, 4)


def test_settings_are_passed_on():
    vectorizer = clone(text_features(words=(1, 1), characters=False, min_df=2, dtype=np.float64))
    assert vectorizer.fit_transform(TEXTS).dtype == np.float64
    assert vectorizer.get_feature_names_out().tolist() == ["bronchitis"]
    short, explicit = text_features(words=True, characters=True), text_features()
    assert (short.fit_transform(TEXTS) != explicit.fit_transform(TEXTS)).nnz == 0


def test_hashing_needs_no_vocabulary():
    vectorizer = text_features(hashing=True, n_features=129)
    X = vectorizer.transform(TEXTS)
    assert X.shape == (6, 129)
    assert X.dtype == np.float32
    assert X.min() >= 0
    np.testing.assert_allclose(lengths(X)[:4], 1, rtol=1e-6)
    assert lengths(X)[4:].tolist() == [0, 0]
    assert (vectorizer.fit_transform(TEXTS) != X).nnz == 0
    words = HashingVectorizer(ngram_range=(1, 2), n_features=128, alternate_sign=False, dtype=np.float32)
    words.set_params(token_pattern=WORDS)
    alone = text_features(hashing=True, n_features=128, characters=False).transform(TEXTS)
    np.testing.assert_array_equal(alone.toarray(), words.transform(TEXTS).toarray())
    assert text_features(hashing=True, n_features=64, words=False).transform(["", "!"]).shape == (2, 64)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hashing": True, "min_df": 2}, "min_df must be 1 and max_features None with hashing=True"),
        ({"hashing": True, "max_features": 9}, "keeps no vocabulary; got 1 and 9"),
        ({"words": False, "characters": False}, "words or characters must be wanted"),
        ({"character_share": 0}, r"character_share must be in \(0, 1\); got 0"),
        ({"words": False, "min_df": 99}, "no n-gram is in as many texts as min_df=99"),
    ],
)
def test_impossible_settings_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        text_features(**options).fit(TEXTS)


def test_one_text_instead_of_a_list_is_refused():
    with pytest.raises(ParameterError, match=r"write \[text\]"):
        text_features().fit(TEXTS).transform("acute bronchitis")


def test_hashed_features_have_no_names():
    with pytest.raises(ParameterError, match="no names"):
        text_features(hashing=True).get_feature_names_out()
    assert not hasattr(cladist.features, "Embeddings")
    assert type(text_features()) is TextFeatures


def test_a_pipeline_predicts_texts_with_unknown_words():
    model = make_pipeline(text_features(), cladist.FlatSVM()).fit(["bronchitis", "fracture"] * 5, ["lung", "bone"] * 5)
    assert model.predict(["bronchial", "microfractures"]).tolist() == ["lung", "bone"]
