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
from cladist.features.embedding import as_embedding
from cladist.features.embedding_share import choose_share

# scikit-learn's own pattern drops words of one letter, which "type 1" and "vitamin D" need.
WORDS = r"(?u)\b\w+\b"
WORD_LENGTHS = (1, 2)
# There are 2.5 times as many of lengths 3 to 5, and learners were no better for them in benchmarks/text_features.py.
CHARACTER_LENGTHS = (4, 4)

EMBEDDING = "(embedding)"  # how explanations call all columns of an embedding together

Lengths = bool | tuple[int, int]
Places = list[tuple[int, float]]  # words of a text, by number, and their shares of a feature


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
    embedding : Embedding, or what names a model, optional
        Dense vectors of the texts beside words and characters, see `Embedding`; "wordllama" needs no network.
    embedding_share : float or "auto"
        The part of a row's squared length that its embedding has. "auto": chosen on the training rows if there are
        labels, 0.2 if not.

    Attributes
    ----------
    words_ : TfidfVectorizer or HashingVectorizer or None
        The fitted vectorizer of words.
    characters_ : CountVectorizer or HashingVectorizer or None
        Counts the n-grams of one word.
    tfidf_ : TfidfTransformer or None
        Weighs the n-grams of a text.
    embedding_ : Embedding or None
        The fitted embedding; its columns are the last ones.
    embedding_share_ : float
        The share of the embedding used.

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
        embedding: Any = None,
        embedding_share: float | str = "auto",
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
        self.embedding = embedding
        self.embedding_share = embedding_share

    def fit(self, texts: Iterable[str], y: Any = None) -> TextFeatures:
        """Learn the vocabulary of `texts` and how frequent it is; with `hashing`, only check the parameters."""
        self.fit_transform(texts, y)
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
        rows = self._join(blocks)
        if self.embedding is None:
            return rows
        self.embedding_ = as_embedding(self.embedding)
        vectors = self.embedding_.fit_transform(texts)
        share = self.embedding_share
        self.embedding_share_ = choose_share(rows, vectors, y) if isinstance(share, str) else float(share)
        return self._append(rows, vectors)

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
        rows = self._join(blocks)
        return rows if self.embedding is None else self._append(rows, self.embedding_.transform(texts))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the columns: words, words joined by spaces, and n-grams in brackets, as in "[frac]"."""
        check_is_fitted(self)
        if self.hashing:
            raise ParameterError("TextFeatures: with hashing=True features have no names, since no vocabulary is kept.")
        names = [] if self.words_ is None else self.words_.get_feature_names_out().tolist()
        if self.characters_ is not None:
            names += [f"[{name}]" for name in self.characters_.get_feature_names_out()]
        if self.embedding is not None:
            names += self.embedding_.get_feature_names_out().tolist()
        return np.array(names, dtype=object)

    def find_features(self, text: str) -> tuple[str, list[tuple[int, int]], dict[int, tuple[str, Places]]]:
        """Return a text in the form whose words are counted, its words, and its features.

        Features are given by column: the name, and the words that it stands for with their shares, which sum to 1. One
        that occurs at several places is divided equally among them, and a sequence of words among its words. All
        columns of an embedding have one name, and no words.
        """
        check_is_fitted(self)
        text = text if len(text.lower()) == len(text) else text.lower()
        spans = [match.span() for match in re.finditer(WORDS, text.lower())]
        words = [text[a:b].lower() for a, b in spans]
        grams: list[tuple[str, list[int]]] = []
        if self.words:
            shortest, longest = WORD_LENGTHS if self.words is True else self.words  # type: ignore[misc]
            for n in range(shortest, longest + 1):
                grams += [(" ".join(words[k : k + n]), list(range(k, k + n))) for k in range(len(words) - n + 1)]
        n_words = len(grams)
        if self.characters:
            split = (self._character_counter() if self.hashing else self.characters_).build_analyzer()
            grams += [(gram, [k]) for k, word in enumerate(words) for gram in split(word)]
        columns = self._columns_of([gram for gram, _ in grams], n_words)
        found: dict[int, tuple[str, Places]] = {}
        for k, (column, (gram, own)) in enumerate(zip(columns, grams, strict=True)):
            if column >= 0:
                entry = found.setdefault(column, (gram if k < n_words else f"[{gram}]", []))[1]
                entry += [(place, 1.0 / len(own)) for place in own]
        for _, entry in found.values():
            total = sum(share for _, share in entry)
            entry[:] = [(place, share / total) for place, share in entry]
        if self.embedding is not None:  # of the text as a whole
            found |= {column: (EMBEDDING, []) for column in self._embedding_columns()}
        return text, spans, found

    def _embedding_columns(self) -> range:
        """Return the columns of the embedding."""
        n_before = sum(len(step.vocabulary_) for step in (self.words_, self.characters_) if step is not None)
        return range(n_before, n_before + self.embedding_.n_columns_)

    def _columns_of(self, grams: list[str], n_words: int) -> list[int]:
        """Return the column of each n-gram, of which the first are of words; −1 of one that is not known."""
        if not self.hashing:
            vocabularies = [{} if step is None else step.vocabulary_ for step in (self.words_, self.characters_)]
            offset = len(vocabularies[0])
            columns = [vocabularies[0].get(gram, -1) for gram in grams[:n_words]]
            others = (vocabularies[1].get(gram) for gram in grams[n_words:])
            return columns + [-1 if k is None else int(k) + offset for k in others]
        columns = []
        offset = self.n_features - self.n_features // 2 if self.words else 0
        steps = ((self._word_vectorizer, grams[:n_words], 0), (self._character_counter, grams[n_words:], offset))
        for new_step, part, start in steps:
            if part:
                hashed = new_step()._get_hasher().transform([[gram] for gram in part])
                columns += [int(j) + start for j in hashed.indices]
        return columns

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
            raise ParameterError(
                "TextFeatures: words or characters must be wanted; got words=False, characters=False. An embedding "
                "alone is cladist.features.Embedding."
            )
        if not 0 < self.character_share < 1:
            raise ParameterError(f"TextFeatures: character_share must be in (0, 1); got {self.character_share!r}.")
        if self.hashing and (self.min_df != 1 or self.max_features is not None):
            raise ParameterError(
                "TextFeatures: min_df must be 1 and max_features None with hashing=True, which keeps no vocabulary; "
                f"got {self.min_df!r} and {self.max_features!r}."
            )
        if self.hashing and self.embedding is not None:
            raise ParameterError("TextFeatures: embedding must be None with hashing=True, where nothing is fitted.")
        share = self.embedding_share
        if not (share == "auto" if isinstance(share, str) else 0 < share < 1):
            raise ParameterError(f"TextFeatures: embedding_share must be in (0, 1) or 'auto'; got {share!r}.")

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

    def _append(self, rows: sparse.csr_matrix, vectors: npt.NDArray[np.float32]) -> sparse.csr_matrix:
        """Return unit rows with the embedding behind them, in the share that was chosen, as unit rows."""
        rows.data *= np.sqrt(1 - self.embedding_share_, dtype=rows.dtype)
        dense = sparse.csr_matrix(vectors.astype(self.dtype) * np.sqrt(self.embedding_share_, dtype=self.dtype))
        return normalize(sparse.hstack([rows, dense], format="csr"), copy=False)


def count_words(texts: Sequence[str], dtype: npt.DTypeLike) -> tuple[sparse.csr_matrix, list[str]]:
    """Return how often each text (row) has each word (column), and the words."""
    number: defaultdict[str, int] = defaultdict()
    number.default_factory = number.__len__
    find = re.compile(WORDS).findall
    columns, ends = array("i"), array("q", [0])
    for text in texts:
        columns.extend([number[word] for word in find(text.lower())])
        ends.append(len(columns))
    number.default_factory = None  # it refers to `number`, which would stay, with all words, until garbage is collected
    words = list(number) or [""]  # hashing refuses to transform nothing
    content = (np.ones(len(columns), dtype), np.array(columns, np.int32), np.array(ends))
    return sparse.csr_matrix(content, shape=(len(texts), len(words))), words


def _as_list(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ParameterError("TextFeatures: wanted a list of texts, got one text; write [text].")
    return list(texts)
