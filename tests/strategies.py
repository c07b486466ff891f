"""What random tests are fed with: names, forests, rows of labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from hypothesis import strategies as st

from cladist import Taxonomy

# What file formats trip over, one by one and beside letters.
AWKWARD = " \t\n\r\x0b\x0c\x1c\x85\u2028\u00a0\ufeff\x00\"'#/\\,;:{}[]→|*é日𝄞\u0301"

plain_names = st.text("abcdeXYZ019_-.é日", min_size=1, max_size=6)
awkward_names = st.one_of(
    st.text(AWKWARD + "ab1", min_size=1, max_size=5),
    st.sampled_from(
        ["node", "parent", "name", "child", "node,parent", "node\tparent", "{", "[1]", '{"a": null}', "None", "nan",
         "null", "NaN", "-1", "1.0", "01", "a/b", "a/*", "*", "# a", "parent: a child: b", "a b c", "ß", "SS", "\ud800"]
    ),
)  # fmt: skip


@st.composite
def parent_maps(draw, *, names=plain_names, max_nodes=12):
    """A mapping {child: parent or None} in random order that makes a forest."""
    order = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    parent = {name: draw(st.sampled_from([None, *order[:k]])) for k, name in enumerate(order)}
    return {name: parent[name] for name in draw(st.permutations(order))}


def forests(*, names=plain_names, max_nodes=12):
    """Trees and forests of any shape, ids and order of names unrelated."""
    return parent_maps(names=names, max_nodes=max_nodes).map(Taxonomy.from_parents)


@st.composite
def edge_lists(draw, *, names=plain_names, max_nodes=9, acyclic=True):
    """Nodes and (parent, child) edges in random order; of a DAG, unless cycles are asked for."""
    order = draw(st.lists(names, min_size=1, max_size=max_nodes, unique=True))
    last = len(order) - 1
    pairs = draw(st.lists(st.tuples(st.integers(0, last), st.integers(0, last)), max_size=3 * len(order)))
    if acyclic:
        pairs = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]
    return draw(st.permutations(order)), [(order[p], order[c]) for p, c in pairs]


@st.composite
def dags(draw, *, names=plain_names, max_nodes=9):
    """Taxonomies where nodes may have several parents; trees and forests are among them."""
    nodes, edges = draw(edge_lists(names=names, max_nodes=max_nodes))
    parents = {node: [p for p, c in edges if c == node] for node in nodes}
    return Taxonomy.from_parents(parents)


@st.composite
def parent_arrays(draw, *, max_nodes=12):
    """Parent ids in topological order, −1 at roots; not breadth first."""
    n_nodes = draw(st.integers(1, max_nodes))
    return np.array([draw(st.integers(-1, v - 1)) for v in range(n_nodes)], dtype=np.int64)


def breadth_first(parent: np.ndarray) -> np.ndarray:
    """The same forest with its nodes numbered level by level, siblings side by side."""
    order, level = [], np.flatnonzero(parent < 0).tolist()
    while level:
        order += level
        level = [c for v in level for c in np.flatnonzero(parent == v).tolist()]
    return np.append(np.argsort(order), -1)[parent[order]]


def path_lists(*, parts=plain_names, max_paths=8):
    """Root-to-node paths as tuples; a part may stand in several of them."""
    return st.lists(st.lists(parts, min_size=1, max_size=4).map(tuple), min_size=1, max_size=max_paths)


@st.composite
def node_sets(draw, *, max_rows=6, min_rows=1, **forest):
    """A forest and, for each of some rows, a set of its node ids, not closed."""
    taxonomy = draw(forests(**forest))
    row = st.sets(st.integers(0, taxonomy.n_nodes - 1), max_size=4)
    return taxonomy, draw(st.lists(row, min_size=min_rows, max_size=max_rows))


def small_forests(max_nodes: int) -> Iterator[Taxonomy]:
    """Every forest of up to `max_nodes` nodes, up to the order of nodes more than once."""
    for n_nodes in range(1, max_nodes + 1):
        for parent in itertools.product(*(range(-1, v) for v in range(n_nodes))):
            yield Taxonomy.from_parents({v: None if p < 0 else p for v, p in enumerate(parent)})


def consistent_sets(parent: np.ndarray) -> np.ndarray:
    """Every labelling of a forest that is closed under ancestors, one 0/1 row each."""
    every = np.array(list(itertools.product([0, 1], repeat=len(parent))), dtype=np.int8)
    below = np.flatnonzero(parent >= 0)
    return every[np.all(every[:, below] <= every[:, parent[below]], axis=1)]


@st.composite
def multilabel_problems(draw, *, max_nodes=7, max_rows=25, n_features=4):
    """A forest, rows some of which are zero or repeated, and a closed 0/1 matrix of labels."""
    taxonomy = draw(forests(max_nodes=max_nodes))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(1, max_rows))
    X = random.normal(size=(n_rows, n_features)) * (random.random((n_rows, n_features)) < 0.7)
    on = random.random((n_rows, taxonomy.n_nodes)) < 0.6
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            on[:, v] &= on[:, p]
    return taxonomy, X, on.astype(np.int8)
