"""`TextFeatures`: words, sequences of words and character n-grams of texts as sparse rows of unit length."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from cladist.errors import ParameterError, is_count, one_of

# scikit-learn's own pattern drops words of one letter, which "type 1" and "vitamin D" need.
WORDS = r"(?u)\b\w+\b"
WORD_LENGTHS = (1, 2)
# There are 2.5 times as many of lengths 3 to 5, and learners were no better for them in benchmarks/text_features.py.
CHARACTER_LENGTHS = (4, 4)

Lengths = bool | tuple[int, int]


class TextFeatures(TransformerMixin, BaseEstimator):
    """TF-IDF of words and word pairs beside TF-IDF of the character n-grams within words.

    Words tell diagnoses or products apart; characters join "fracture", "fractured" and "microfracture", and words that
    were never seen in training still have some in common with those that were.

    Parameters
    ----------
    words : (int, int) or bool
        Lengths of the word sequences that become features; True: (1, 2), False: none.
    characters : (int, int) or bool
        Lengths of the character n-grams that become features, counted within words, where a space marks both ends of
        a word; True: (4, 4), False: none.
    character_share : float
        The part of a row's squared length that its characters have, the other part being that of its words.
    min_df : int or float
        Drop features that occur in fewer texts than this (a number, or a fraction of them). Not with `hashing`.
    max_features : int, optional
        Keep only so many of the words and word pairs, and so many of the characters: the most frequent. Not with
        `hashing`.
    sublinear_tf : bool
        Weight a feature that occurs k times by 1 + log k. Not with `hashing`.
    hashing : bool
        Number features by hashing, without a vocabulary, which suits endless streams: counts, not TF-IDF. There is
        nothing to fit then.
    n_features : int
        The number of columns with `hashing`; if both words and characters are wanted, one half is for each.
    dtype : numpy dtype
        The type of the features.

    Attributes
    ----------
    words_ : TfidfVectorizer or HashingVectorizer or None
        The fitted vectorizer of words.
    characters_ : CountVectorizer or HashingVectorizer or None
        Counts the n-grams of one word.
    tfidf_ : TfidfTransformer or None
        Weighs the n-grams of a text.

    Examples
    --------
    >>> vectorizer = TextFeatures()
    >>> X = vectorizer.fit_transform(["a fracture", "a microfracture"])
    >>> names = vectorizer.get_feature_names_out()
    >>> [names[j] for j in X[0].multiply(X[1]).nonzero()[1]]
    ['a', '[ a ]', '[actu]', '[ctur]', '[frac]', '[ract]', '[ture]', '[ure ]']
    """

    def __init__(
        self,
        *,
        words: Lengths = WORD_LENGTHS,
        characters: Lengths = CHARACTER_LENGTHS,
        character_share: float = 0.7,
        min_df: int | float = 1,
        max_features: int | None = None,
        sublinear_tf: bool = False,
        hashing: bool = False,
        n_features: int = 2**18,
        dtype: npt.DTypeLike = np.float32,
    ) -> None:
        self.words = words
        self.characters = characters
        self.character_share = character_share
        self.min_df = min_df
        self.max_features = max_features
        self.sublinear_tf = sublinear_tf
        self.hashing = hashing
        self.n_features = n_features
        self.dtype = dtype

    def fit(self, texts: Iterable[str], y: Any = None) -> TextFeatures:
        """Learn the vocabulary of `texts` and how frequent it is; with `hashing`, only check the parameters."""
        self.fit_transform(texts)
        return self

    def fit_transform(self, texts: Iterable[str], y: Any = None) -> sparse.csr_matrix:
        """Learn the vocabulary of `texts`, and return their features as CSR."""
        self.check_parameters()
        if self.hashing:
            return self.transform(texts)
        texts = _as_list(texts)
        blocks = []
        self.words_: Any = None
        self.characters_: Any = None
        self.tfidf_: Any = None
        if self.words:
            self.words_ = self._word_vectorizer()
            blocks.append(self.words_.fit_transform(texts))
        if self.characters:
            self.characters_ = self._character_counter()
            counts, words = count_words(texts, self.dtype)
            counts = self._prune(counts @ self.characters_.fit_transform(words))
            self.tfidf_ = TfidfTransformer(sublinear_tf=self.sublinear_tf)
            blocks.append(self.tfidf_.fit_transform(counts))
        return self._join(blocks)

    def transform(self, texts: Iterable[str]) -> sparse.csr_matrix:
        """Return the features of texts as CSR, each row of unit length, or 0 if nothing in its text is known."""
        check_is_fitted(self)
        texts = _as_list(texts)
        words = self._word_vectorizer() if self.hashing else self.words_
        blocks = [words.transform(texts)] if self.words else []
        if self.characters:
            counter = self._character_counter() if self.hashing else self.characters_
            # A word has the same n-grams wherever it occurs, and there are far fewer words than places of words.
            counts, distinct = count_words(texts, self.dtype)
            counts = counts @ counter.transform(distinct)
            blocks.append(normalize(counts, copy=False) if self.hashing else self.tfidf_.transform(counts))
        return self._join(blocks)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns: words, words joined by spaces, and n-grams in brackets, as in "[frac]"."""
        check_is_fitted(self)
        if self.hashing:
            raise ParameterError("TextFeatures: with hashing=True features have no names, since no vocabulary is kept.")
        names = [] if self.words_ is None else self.words_.get_feature_names_out().tolist()
        if self.characters_ is not None:
            names += [f"[{name}]" for name in self.characters_.get_feature_names_out()]
        return np.array(names, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return self.hashing or hasattr(self, "words_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = not self.hashing
        return tags

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if parameters are out of range or exclude each other."""
        one_of("TextFeatures", "hashing", self.hashing, (True, False))
        if not is_count(self.n_features) or self.n_features < 2:
            raise ParameterError(f"TextFeatures: n_features must be a whole number from 2; got {self.n_features!r}.")
        if not (self.words or self.characters):
            raise ParameterError("TextFeatures: words or characters must be wanted; got words=False, characters=False.")
        if not 0 < self.character_share < 1:
            raise ParameterError(f"TextFeatures: character_share must be in (0, 1); got {self.character_share!r}.")
        if self.hashing and (self.min_df != 1 or self.max_features is not None):
            raise ParameterError(
                "TextFeatures: min_df must be 1 and max_features None with hashing=True, which keeps no vocabulary; "
                f"got {self.min_df!r} and {self.max_features!r}."
            )

    def _word_vectorizer(self) -> TfidfVectorizer | HashingVectorizer:
        shared = {
            "ngram_range": WORD_LENGTHS if self.words is True else self.words,
            "token_pattern": WORDS,
            "dtype": self.dtype,
        }
        if self.hashing:
            n_columns = self.n_features - self.n_features // 2 if self.characters else self.n_features
            return HashingVectorizer(n_features=n_columns, alternate_sign=False, **shared)
        return TfidfVectorizer(
            min_df=self.min_df, max_features=self.max_features, sublinear_tf=self.sublinear_tf, **shared
        )

    def _character_counter(self) -> CountVectorizer | HashingVectorizer:
        """Return a counter of the n-grams in single words."""
        shared = {
            "analyzer": "char_wb",
            "ngram_range": CHARACTER_LENGTHS if self.characters is True else self.characters,
            "dtype": self.dtype,
        }
        if self.hashing:
            n_columns = self.n_features // 2 if self.words else self.n_features
            return HashingVectorizer(n_features=n_columns, alternate_sign=False, norm=None, **shared)
        return CountVectorizer(**shared)

    def _prune(self, counts: sparse.csr_matrix) -> sparse.csr_matrix:
        """Drop rare n-grams from the vocabulary; return the columns of those that stay."""
        n_texts, n_grams = counts.shape
        fewest = self.min_df * n_texts if isinstance(self.min_df, float) else self.min_df
        columns = np.flatnonzero(np.bincount(counts.indices, minlength=n_grams) >= fewest)
        if self.max_features is not None and len(columns) > self.max_features:
            total = np.asarray(counts.sum(axis=0)).ravel()[columns]
            columns = np.sort(columns[np.argsort(-total, kind="stable")[: self.max_features]])
        if not len(columns):
            raise ParameterError(f"TextFeatures: no n-gram is in as many texts as min_df={self.min_df!r} asks for.")
        if len(columns) < n_grams:
            names = self.characters_.get_feature_names_out()
            self.characters_.vocabulary_ = {names[j]: k for k, j in enumerate(columns)}
            counts = counts[:, columns]
        return counts

    def _join(self, blocks: list[sparse.csr_matrix]) -> sparse.csr_matrix:
        """Return blocks of unit rows side by side, in the shares that are set, as unit rows."""
        if len(blocks) == 2:
            for block, share in zip(blocks, (1 - self.character_share, self.character_share), strict=True):
                block.data *= np.sqrt(share, dtype=block.dtype)
            # A text may have no known word, or no known n-gram: the other block is all of its length then.
            blocks = [normalize(sparse.hstack(blocks, format="csr"), copy=False)]
        blocks[0].sort_indices()
        return blocks[0]


def count_words(texts: Sequence[str], dtype: npt.DTypeLike) -> tuple[sparse.csr_matrix, list[str]]:
    """Return how often each text (row) has each word (column), and the words."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    find = re.compile(WORDS).findall
    columns, ends = array("i"), array("q", [0])
    for text in texts:
        columns.extend([number[word] for word in find(text.lower())])
        ends.append(len(columns))
    words = list(number) or [""]  # hashing refuses to transform nothing
    content = (np.ones(len(columns), dtype), np.array(columns, np.int32), np.array(ends))
    return sparse.csr_matrix(content, shape=(len(texts), len(words))), words


def _as_list(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ParameterError("TextFeatures: wanted a list of texts, got one text; write [text].")
    return list(texts)
