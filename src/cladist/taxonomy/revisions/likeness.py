"""How much the words of two nodes, and their codes, have in common."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from math import log, sqrt

from cladist.taxonomy.inspection import normalise

_WORD = re.compile(r"\w+")
STEM_LENGTH = 6  # letters of a word that count: "electric", "electricity" and "electrical" are one
MOST_WORDS = 2_000  # of one node, its rows together
MOST_TEXT = 50_000  # characters of one node that are looked at

Vector = dict[str, float]


def stems(text: str) -> list[str]:
    """Return the words of a text without the differences that people overlook, cut to their first letters."""
    return [word[:STEM_LENGTH] for word in _WORD.findall(normalise(text[:MOST_TEXT]))][:MOST_WORDS]


class Likeness:
    """Cosines of the words of old and new nodes, rare words counting most; vectors are made when first needed.

    Parameters
    ----------
    old_words, new_words : sequence of str
        The words of each node, in the order of the taxonomies.
    """

    def __init__(self, old_words: Sequence[str], new_words: Sequence[str]) -> None:
        self.words = (old_words, new_words)
        self.vectors: tuple[dict[int, Vector], dict[int, Vector]] = ({}, {})
        counts: Counter[str] = Counter()
        for text in (*old_words, *new_words):
            counts.update(set(stems(text)))
        total = len(old_words) + len(new_words)
        self.rarity = {word: 1.0 + log(total / count) for word, count in counts.items()}

    def vector(self, side: int, v: int) -> Vector:
        """Return the weights of the words of a node, of length 1; `side` is 0 for old, 1 for new."""
        made = self.vectors[side]
        if v not in made:
            counts = Counter(stems(self.words[side][v]))
            weights = {word: (1.0 + log(count)) * self.rarity[word] for word, count in counts.items()}
            length = sqrt(sum(weight * weight for weight in weights.values())) or 1.0
            made[v] = {word: weight / length for word, weight in weights.items()}
        return made[v]

    def cosine(self, old: int, new: int) -> float:
        """Return the cosine of an old and a new node, from 0 to 1."""
        one, other = self.vector(0, old), self.vector(1, new)
        if len(other) < len(one):
            one, other = other, one
        return min(1.0, sum(weight * other.get(word, 0.0) for word, weight in one.items()))

    def shared(self, old: int, new: int) -> list[str]:
        """Return the rarest words, at most three, that an old and a new node share, for people."""
        one, other = self.vector(0, old), self.vector(1, new)
        both = sorted(one.keys() & other.keys(), key=lambda word: (-self.rarity[word], word))[:3]
        spelt = {word[:STEM_LENGTH]: word for word in _WORD.findall(normalise(self.words[0][old][:MOST_TEXT]))}
        return [spelt.get(word, word) for word in both]


class Index:
    """Finds the new node that is most like an old one, among some."""

    def __init__(self, likeness: Likeness, nodes: Iterable[int]) -> None:
        self.likeness = likeness
        self.postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for v in nodes:
            for word, weight in likeness.vector(1, v).items():
                self.postings[word].append((v, weight))

    def best(self, old: int) -> tuple[int, float] | None:
        """Return the new node with the largest cosine, and the cosine; None if none shares a word."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self.likeness.vector(0, old).items():
            for v, other in self.postings.get(word, ()):
                scores[v] += weight * other
        if not scores:
            return None
        found = min(scores, key=lambda v: (-scores[v], v))
        return found, min(1.0, scores[found])


def code_likeness(old: str, new: str) -> float:
    """Return how much two codes have in common, from 0 to 1; names without digits are no codes, and have 0."""
    if not any(map(str.isdigit, old)) or not any(map(str.isdigit, new)):
        return 0.0
    return SequenceMatcher(None, old, new, autojunk=False).ratio()


def collect_words(own: Sequence[str], names: Sequence[str], texts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the words of each node with those of its rows."""
    return [". ".join([text, *texts.get(name, ())])[:MOST_TEXT] for name, text in zip(names, own, strict=True)]
