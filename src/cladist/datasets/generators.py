"""Synthetic data: documents over a tree of topics, the label model of H-RLS, and the set of the Hieron paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.datasets.dataset import Dataset
from cladist.errors import ParameterError
from cladist.labels import LabelMatrix
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Seed = int | np.random.Generator | None

# Zipf-like documents over a tree whose siblings share words, at any scale. A document about leaf ℓ draws each word
# * with probability `noise` from the background, where the word of rank r has weight 1 / (r + 10)**zipf,
# * otherwise from the own words of one node of the path to ℓ, each node of the path equally likely.
# Every node has its own words, drawn at random with a preference for frequent ones. So siblings share the words
# of all their ancestors, and only its own words distinguish a leaf from its siblings.

WORDS_PER_NODE = 50
OWN_WORD_EXPONENT = 0.7  # how unevenly a node uses its own words
PREFERENCE = 2.5  # own words have rank n_features · u**PREFERENCE, u uniform: mid-frequency words, rarely stop words
ZIPF_OFFSET = 10.0  # flattens the head: without it one word would be a tenth of every text
CLASS_SIZE_EXPONENT = 0.8  # the k-th largest class has a share ∝ k**−0.8
LENGTH_SPREAD = 0.45  # log-normal; documents of a collection differ by a factor of about two
LONGEST = 4  # times doc_length
ROWS_AT_ONCE = 8192


def make_topics(
    *,
    n_samples: int = 2000,
    n_features: int = 5000,
    branching: Sequence[int] = (10, 10, 10),
    taxonomy: Taxonomy | None = None,
    doc_length: float = 80,
    informative: float = 1.0,
    zipf: float = 1.0,
    noise: float = 0.6,
    n_test: int = 0,
    random_state: Seed = None,
) -> Dataset[Taxonomy]:
    """Make sparse documents about the leaves of a tree.

    Parameters
    ----------
    n_samples, n_test : int
        Documents to train on and to test on. If `n_samples` is not below the number of leaves, each has one.
    n_features : int
        The number of words; feature 0 is the most frequent.
    branching : sequence of int
        The number of roots, of children of each root, and so on down; not used where `taxonomy` is given.
    taxonomy : Taxonomy, optional
        Documents are about its leaves.
    doc_length : float
        Words in a typical document.
    informative : float in [0, 1]
        The share of leaves whose words come from their own place in the tree; the others have traded places
        among each other. With 0 the classes are as separable as before, but the tree carries no information.
    zipf : float
        The exponent of the background's word frequencies.
    noise : float in [0, 1]
        The share of words that come from the background.
    random_state : int, Generator or None
        The same seed makes the same data.

    Returns
    -------
    Dataset
        `X` in CSR, float32: 1 + log(count), rows of unit length. `y` names of leaves; a few leaves are
        frequent and many rare. Split if `n_test` is not 0.

    Examples
    --------
    >>> make_topics(n_samples=100, n_features=500, branching=(2, 3), n_test=20, random_state=0)
    Dataset(100 + 20 rows, 500 features, 8 nodes, topics)
    """
    _check_range("n_samples", n_samples, 1)
    _check_range("n_test", n_test, 0)
    _check_range("n_features", n_features, 1, 2**31 - 1)
    _check_range("doc_length", doc_length, 1)
    _check_range("informative", informative, 0, 1)
    _check_range("zipf", zipf, 0)
    _check_range("noise", noise, 0, 1)
    rng = np.random.default_rng(random_state)
    tree = taxonomy if taxonomy is not None else _regular_tree(branching)
    leaf = _leaf_of_each_row(rng, len(tree.leaves), n_samples, n_test)
    place = np.arange(len(tree.leaves))  # the leaf whose words each leaf uses
    moved = np.flatnonzero(rng.random(len(place)) >= informative)
    place[moved] = rng.permutation(moved)
    words = _own_words(rng, tree.n_nodes, n_features)
    paths, lengths = _paths(tree)
    blocks = []
    for start in range(0, len(leaf), ROWS_AT_ONCE):
        at = place[leaf[start : start + ROWS_AT_ONCE]]
        row = _row_of_each_word(rng, doc_length, len(at))
        step = (rng.random(len(row)) * lengths[at[row]]).astype(np.int64)
        which = _power_law(rng, len(row), WORDS_PER_NODE, OWN_WORD_EXPONENT, 0.0)
        word = words[paths[at[row], step], which]
        is_noise = rng.random(len(row)) < noise
        word[is_noise] = _power_law(rng, int(is_noise.sum()), n_features, zipf, ZIPF_OFFSET)
        blocks.append(_weigh_words(row, word, len(at), n_features))
    X = sparse.vstack(blocks, format="csr")
    X.has_sorted_indices = True
    y = np.array([tree.names[v] for v in tree.leaves])[leaf]
    parts = (slice(0, n_samples), slice(n_samples, n_samples + n_test)) if n_test else (None, None)
    return Dataset(X, y, tree, source="topics", train_rows=parts[0], test_rows=parts[1])


def _check_range(name: str, value: float, lowest: float, highest: float = np.inf) -> None:
    if not lowest <= value <= highest:
        rule = f"at least {lowest}" if highest == np.inf else f"in {lowest} … {highest}"
        raise ParameterError(f"make_topics: {name} must be {rule}; got {value!r}.")


def _regular_tree(branching: Sequence[int]) -> Taxonomy:
    """Return the forest with branching[0] roots; a node's name lists the branches on its path: "3.0.7"."""
    if not branching or min(branching) < 1:
        raise ParameterError(f"make_topics: branching wants numbers of at least 1; got {branching!r}.")
    turns = [[str(i) for i in range(n)] for n in branching]
    parents: dict[str, str | None] = {}
    for depth in range(1, len(turns) + 1):
        for steps in product(*turns[:depth]):
            parents[".".join(steps)] = ".".join(steps[:-1]) or None
    return Taxonomy.from_parents(parents)


def _leaf_of_each_row(rng: np.random.Generator, n_leaves: int, n_samples: int, n_test: int) -> Ids:
    """Draw classes from a power law; training rows cover every leaf where there are enough of them."""
    share = np.cumsum((1.0 + np.arange(n_leaves)) ** -CLASS_SIZE_EXPONENT)
    by_size = rng.permutation(n_leaves)
    drawn = by_size[np.searchsorted(share, rng.random(n_samples + n_test) * share[-1], side="right")]
    if n_samples >= n_leaves:
        drawn[:n_leaves] = np.arange(n_leaves)
        rng.shuffle(drawn[:n_samples])
    return drawn


def _own_words(rng: np.random.Generator, n_nodes: int, n_features: int) -> npt.NDArray[np.int32]:
    rank = rng.random((n_nodes, WORDS_PER_NODE), dtype=np.float32)
    np.power(rank, PREFERENCE, out=rank)
    rank *= n_features
    return np.minimum(rank.astype(np.int32), n_features - 1)


def _paths(tree: Taxonomy) -> tuple[npt.NDArray[np.int32], Ids]:
    """Return the nodes on the path of each leaf, from the leaf up, and their number."""
    lengths = tree.depth[tree.leaves].astype(np.int64) + 1
    paths = np.zeros((len(lengths), int(lengths.max())), np.int32)
    above = tree.leaves
    for step in range(paths.shape[1]):
        paths[:, step] = above
        above = np.where(above >= 0, tree.parent[above], -1)
    return paths, lengths


def _row_of_each_word(rng: np.random.Generator, doc_length: float, n_rows: int) -> Ids:
    """Draw the documents' lengths; return for each word the document it is in."""
    spread = np.exp(LENGTH_SPREAD * rng.standard_normal(n_rows))
    lengths = np.clip(np.rint(doc_length * spread), 1, LONGEST * doc_length).astype(np.int64)
    return np.repeat(np.arange(n_rows), lengths)


def _power_law(rng: np.random.Generator, size: int, n: int, exponent: float, offset: float) -> Ids:
    """Draw ranks below n with density ∝ (rank + offset)**−exponent, by inverting the continuous law."""
    u = rng.random(size)
    if exponent == 1:
        rank = offset * ((n + offset) / offset) ** u - offset
    else:
        rest = 1 - exponent
        low, high = offset**rest if offset else 0.0, (n + offset) ** rest
        rank = (low + u * (high - low)) ** (1 / rest) - offset
    return np.clip(rank.astype(np.int64), 0, n - 1)


def _weigh_words(row: Ids, word: npt.NDArray[np.integer], n_rows: int, n_features: int) -> sparse.csr_matrix:
    """Return 1 + log(count) of each word of each row, rows scaled to unit length."""
    key = np.sort(row * n_features + word)
    first = np.flatnonzero(np.diff(key, prepend=-1))
    row, word = np.divmod(key[first], n_features)
    weight = 1 + np.log(np.diff(first, append=len(key)))
    indptr = np.searchsorted(row, np.arange(n_rows + 1))
    norm = np.sqrt(np.add.reduceat(weight**2, indptr[:-1]))  # every row has a word, so no run is empty
    arrays = (weight / norm[row]).astype(np.float32), word.astype(np.int32), indptr.astype(np.int32)
    return sparse.csr_matrix(arrays, shape=(n_rows, n_features))


# Behind the analysis of H-RLS (Cesa-Bianchi, Gentile & Zaniboni 2006).

MOST_DRAWS = 1000  # rows drawn per row wanted, before the least margin is called too large


@dataclass(frozen=True, eq=False)
class LabelModel:
    """P(v is on | its parent is on, x) = (1 + u_v·x) / 2, and 0 where its parent is off; all vectors have length 1.

    Attributes
    ----------
    taxonomy : Taxonomy
        A tree or forest.
    u : array (nodes × features)
        The vector of each node.

    Examples
    --------
    >>> model = LabelModel.random(Taxonomy.from_paths(["a/b", "a/c"]), n_features=5, random_state=0)
    >>> data = model.sample(100, random_state=1)
    >>> data
    Dataset(100 rows, 5 features, 3 nodes, label model)
    >>> len(model.predict(data.X))
    100
    """

    taxonomy: Taxonomy
    u: Floats

    @classmethod
    def random(cls, taxonomy: Taxonomy, *, n_features: int, random_state: Seed = None) -> LabelModel:
        """Draw the nodes' vectors uniformly from the sphere."""
        taxonomy.require_tree("LabelModel")
        if n_features < 1:
            raise ParameterError(f"LabelModel: n_features must be at least 1; got {n_features!r}.")
        return cls(taxonomy, _on_sphere(np.random.default_rng(random_state), taxonomy.n_nodes, n_features))

    def predict(self, X: npt.ArrayLike) -> LabelMatrix:
        """Return the labels of the reference classifier, which knows u: on where u·x ≥ 0 and the parent is on."""
        return self._labels(np.asarray(X) @ self.u.T >= 0)

    def draw(self, X: npt.ArrayLike, *, random_state: Seed = None) -> LabelMatrix:
        """Draw labels for rows of unit length."""
        rows = np.asarray(X)
        chance = np.random.default_rng(random_state).random((len(rows), self.taxonomy.n_nodes))
        return self._labels(chance < (1 + rows @ self.u.T) / 2)

    def sample(self, n_samples: int, *, least_margin: float = 0.0, random_state: Seed = None) -> Dataset[Taxonomy]:
        """Draw rows uniformly from the sphere, and their labels.

        Parameters
        ----------
        n_samples : int
            The number of rows.
        least_margin : float
            Rows with ``|u_v·x|`` below this at some node are drawn again; the paper's bound has it in the denominator.
        random_state : int, Generator or None
            The same seed makes the same data.

        Returns
        -------
        Dataset
            y is a `LabelMatrix`.
        """
        if n_samples < 1 or not 0 <= least_margin < 1:
            raise ParameterError(
                "LabelModel: n_samples must be at least 1 and least_margin from 0 to below 1; "
                f"got {n_samples!r} and {least_margin!r}."
            )
        rng = np.random.default_rng(random_state)
        parts: list[Floats] = []
        n_accepted = n_drawn = 0
        while n_accepted < n_samples:
            rows = _on_sphere(rng, n_samples, self.u.shape[1])
            parts.append(rows[np.abs(rows @ self.u.T).min(axis=1) >= least_margin])
            n_accepted, n_drawn = n_accepted + len(parts[-1]), n_drawn + n_samples
            if n_drawn > MOST_DRAWS * n_samples:
                raise ParameterError(
                    f"LabelModel: hardly any row has margins of {least_margin:g} at all nodes; lower least_margin."
                )
        X = np.concatenate(parts)[:n_samples]
        return Dataset(X, self.draw(X, random_state=rng), self.taxonomy, source="label model")

    def _labels(self, on: npt.NDArray[np.bool_]) -> LabelMatrix:
        """Switch off all nodes below a node that is off."""
        for level in self.taxonomy.levels[1:]:
            on[:, level] &= on[:, self.taxonomy.parent[level]]
        indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
        return LabelMatrix(indptr, np.nonzero(on)[1].astype(np.int32), self.taxonomy)


def make_label_model(
    *, n_samples: int = 1000, n_features: int = 10, taxonomy: Taxonomy | None = None, random_state: Seed = None
) -> Dataset[Taxonomy]:
    """Make data in which siblings are drawn independently, each on with probability (1 + u·x) / 2 below its parent.

    Parameters
    ----------
    n_samples, n_features : int
        The shape of `X`.
    taxonomy : Taxonomy, optional
        A binary tree of seven nodes by default.
    random_state : int, Generator or None
        The same seed makes the same data.

    Examples
    --------
    >>> make_label_model(n_samples=50, random_state=0)
    Dataset(50 rows, 10 features, 7 nodes, label model)
    """
    rng = np.random.default_rng(random_state)
    tree = taxonomy or Taxonomy.from_parents({v: (v - 1) // 2 if v else None for v in range(7)})
    return LabelModel.random(tree, n_features=n_features, random_state=rng).sample(n_samples, random_state=rng)


def _on_sphere(rng: np.random.Generator, n_rows: int, n_features: int) -> Floats:
    rows = rng.standard_normal((n_rows, n_features))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# The synthetic set of Dekel, Keshet & Singer (2004), section 5.

N_LABELS = 121  # a ternary tree of depth 4: 1 + 3 + 9 + 27 + 81
BRANCHING = 3


def make_hieron_synthetic(
    *, noise_variance: float = 0.04, n_train: int = 100, n_test: int = 50, random_state: Seed = None
) -> Dataset[Taxonomy]:
    """Make noisy prototypes of the 121 nodes of a ternary tree; every node is a label, including the root.

    x = W^y + η with W^v = Σ_{u ∈ path(v)} w_u, root included; w_0 … w_120 are a random orthonormal basis of
    R^121 and η is Gaussian of variance `noise_variance` in each coordinate.

    Parameters
    ----------
    noise_variance : float
        The paper prints 0.16, with which its results cannot be reached; 0.04 is a fit to them.
    n_train, n_test : int
        Samples per label in each part.
    random_state : int, Generator or None
        The same seed makes the same data.

    Returns
    -------
    Dataset
        Split, dense float64, each part in random order; names "0" (the root) to "120", breadth first.

    Examples
    --------
    >>> make_hieron_synthetic(n_train=2, n_test=1, random_state=0)
    Dataset(242 + 121 rows, 121 features, 121 nodes, Hieron synthetic, noise variance 0.04)
    """
    if noise_variance < 0 or n_train < 1 or n_test < 0:
        raise ParameterError(
            "make_hieron_synthetic: noise_variance and n_test must not be negative and n_train at least 1; "
            f"got {noise_variance!r}, {n_test!r}, {n_train!r}."
        )
    rng = np.random.default_rng(random_state)
    taxonomy = Taxonomy.from_parents({v: (v - 1) // BRANCHING if v else None for v in range(N_LABELS)})
    prototypes, _ = np.linalg.qr(rng.standard_normal((N_LABELS, N_LABELS)))
    for v in range(1, N_LABELS):  # parents come first, so each row becomes the sum along its path
        prototypes[v] += prototypes[(v - 1) // BRANCHING]
    labels = np.concatenate([rng.permutation(np.repeat(np.arange(N_LABELS), n_each)) for n_each in (n_train, n_test)])
    X = prototypes[labels]
    X += np.sqrt(noise_variance) * rng.standard_normal(X.shape)
    source = f"Hieron synthetic, noise variance {noise_variance:g}"
    train, test = slice(0, N_LABELS * n_train), slice(N_LABELS * n_train, len(labels))
    return Dataset(X, labels.astype(str), taxonomy, source=source, train_rows=train, test_rows=test)
