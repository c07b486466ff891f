"""`VocabularyCount`: a vocabulary and its document frequencies, counted piece by piece of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from cladist.errors import ParameterError
from cladist.features.vectorizer import TextFeatures, count_words


class PieceCount(NamedTuple):
    """The number of texts of a piece, and in how many of them each word (or sequence) and each n-gram occurs."""

    n_texts: int
    words: dict[str, int]
    characters: dict[str, int]


def count_piece(features: TextFeatures, texts: Sequence[str]) -> PieceCount:
    """Count a piece of texts for an unfitted vectorizer."""
    words: dict[str, int] = {}
    characters: dict[str, int] = {}
    if features.words:
        like = features._word_vectorizer()
        counter = CountVectorizer(ngram_range=like.ngram_range, token_pattern=like.token_pattern, dtype=np.int32)
        words = _frequencies(counter, texts)
    if features.characters:
        counts, distinct = count_words(texts, np.int32)
        characters = _frequencies(features._character_counter(), distinct, counts)
    return PieceCount(len(texts), words, characters)


def _frequencies(counter: Any, texts: Sequence[str], places: Any = None) -> dict[str, int]:
    """Return in how many texts, or rows of `places` (rows × texts), each term occurs."""
    try:
        counts = counter.fit_transform(texts)
    except ValueError:  # no text has a term
        return {}
    if places is not None:
        counts = places @ counts
    numbers = np.bincount(counts.indices, minlength=counts.shape[1])
    return dict(zip(counter.get_feature_names_out().tolist(), numbers.tolist(), strict=True))


class VocabularyCount:
    """Fits a `TextFeatures` to texts of which only a piece is in memory; the result is that of ``fit`` on all.

    Examples
    --------
    >>> features = TextFeatures(characters=False)
    >>> count = VocabularyCount(features)
    >>> for piece in (["a fracture"], ["a microfracture"]):
    ...     count.add(count_piece(features, piece))
    >>> count.fitted().get_feature_names_out().tolist()
    ['a', 'a fracture', 'a microfracture', 'fracture', 'microfracture']
    """

    def __init__(self, features: TextFeatures) -> None:
        features.check_parameters()
        if features.max_features is not None:
            raise ParameterError("TextFeatures: max_features must be None where texts are counted piece by piece.")
        if features.embedding is not None:
            raise ParameterError("TextFeatures: embedding must be None where texts are counted piece by piece.")
        self.features, self.n_texts = features, 0
        self.words: Counter[str] = Counter()
        self.characters: Counter[str] = Counter()

    def add(self, piece: PieceCount) -> None:
        """Add the counts of a piece."""
        self.n_texts += piece.n_texts
        self.words.update(piece.words)
        self.characters.update(piece.characters)

    def fitted(self) -> TextFeatures:
        """Return the vectorizer, fitted; without any term a ValueError, as scikit-learn raises it."""
        features: Any = clone(self.features)
        features.words_ = features.characters_ = features.tfidf_ = None
        if features.words:
            features.words_ = features._word_vectorizer()
            features.words_._tfidf = TfidfTransformer(sublinear_tf=features.sublinear_tf)
            self._set(features.words_, features.words_._tfidf, self.words)
        if features.characters:
            features.characters_ = features._character_counter()
            features.tfidf_ = TfidfTransformer(sublinear_tf=features.sublinear_tf)
            self._set(features.characters_, features.tfidf_, self.characters)
        return features

    def _set(self, vectorizer: Any, tfidf: TfidfTransformer, counted: Counter[str]) -> None:
        """Set what fit gives to a vectorizer and to the transformer behind it."""
        fewest = self.features.min_df
        fewest = fewest * self.n_texts if isinstance(fewest, float) else fewest
        terms = sorted(term for term, number in counted.items() if number >= fewest)
        if not terms:
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        vectorizer.vocabulary_ = {term: k for k, term in enumerate(terms)}
        vectorizer.fixed_vocabulary_ = False
        tfidf.idf_ = _inverse_frequencies([counted[term] for term in terms], self.n_texts, self.features.dtype)
        tfidf.n_features_in_ = len(terms)


def _inverse_frequencies(numbers: list[int], n_texts: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return log((1 + texts) / (1 + texts with the term)) + 1 with the roundings of scikit-learn."""
    frequencies = np.array(numbers).astype(dtype) + np.dtype(dtype).type(1)
    inverse = np.full_like(frequencies, n_texts + 1)
    inverse /= frequencies
    np.log(inverse, out=inverse)
    inverse += 1.0
    return inverse
