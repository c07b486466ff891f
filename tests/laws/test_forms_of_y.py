"""Labels come back as they went in: every form of y, every learner, names with shared last parts included.

The problem is separable: a row has a feature for each node at or above its labels, and nothing else.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cladist import LabelMatrix, NodewiseSVM, Taxonomy, Thresholded
from cladist.labels import encode, to_indicator
from cladist.registry import methods

TREE = Taxonomy.from_paths(["home/pots", "home/pans", "garden/pots", "garden/hoses"])
ROOTED = Taxonomy.from_paths(["shop/home/pots", "shop/home/pans", "shop/garden/pots", "shop/garden/hoses"])
ARROWS = Taxonomy.from_paths([TREE.path_parts(v) for v in range(TREE.n_nodes)], sep=">")
EDGES = Taxonomy.from_edges([("home", "h1"), ("home", "h2"), ("garden", "g1"), ("garden", "g2")])
CODES = Taxonomy.from_parents({1: None, 2: None, 11: 1, 12: 1, 21: 2, 22: 2})
LEAVES = np.tile(TREE.leaves, 5)  # ids; the taxonomies above list their leaves in the same order
SEVERAL = [(k, (k + 1) % 4) if k % 2 else (k,) for k in np.arange(len(LEAVES)) % 4]
ONE_LABEL = {"hieron", "top-down", "per-level", "ot", "hblr"}


def objects(rows):
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


def texts(taxonomy, *, sep=None, below_root=False):
    leaf = [taxonomy.joined_path(int(v), sep=sep, below_root=below_root) for v in taxonomy.leaves]
    return np.array([leaf[k % 4] for k in range(len(LEAVES))])


def columns(taxonomy, *padding, skip=0):
    leaf = [taxonomy.path_parts(int(v))[skip:] for v in taxonomy.leaves]
    rows = [[*leaf[k % 4], *padding] for k in range(len(LEAVES))]
    return np.array(rows, dtype=np.str_ if padding in ((), ("",)) else object)


def collections(kind, label_of):
    """Rows of one or two labels."""
    return [kind(label_of[k] for k in row) for row in SEVERAL]


NAMES = np.array([TREE.names[v] for v in LEAVES])
PATH_LISTS = [TREE.path_parts(v) for v in LEAVES.tolist()]
LEAF_TUPLES = [tuple(TREE.path_parts(int(v))) for v in TREE.leaves]
LEAF_NAMES = [TREE.names[v] for v in TREE.leaves]
LEAF_PATHS = [ROOTED.joined_path(int(v), below_root=True) for v in ROOTED.leaves]
SETS = collections(set, LEAF_NAMES)
SINGLE = {
    "array": (TREE, NAMES),
    "list": (TREE, NAMES.tolist()),
    "object array": (TREE, NAMES.astype(object)),
    "Series": (TREE, pd.Series(NAMES, name="kind")),
    "categorical Series": (TREE, pd.Series(NAMES, dtype="category")),
    "names without paths": (EDGES, np.array(["h1", "h2", "g1", "g2"] * 5)),
    "no taxonomy": (None, NAMES),
    "integers": (CODES, np.array([11, 12, 21, 22] * 5)),
    "small integers": (CODES, np.array([11, 12, 21, 22] * 5, dtype=np.int8)),
    "integers as objects": (CODES, np.array([11, 12, 21, 22] * 5, dtype=object)),
    "floats": (CODES, np.array([11.0, 12.0, 21.0, 22.0] * 5)),
    "integer Series": (CODES, pd.Series([11, 12, 21, 22] * 5, dtype="Int64")),
    "integers, no taxonomy": (None, np.array([30, 10, 20, 40] * 5)),
    "joined paths": (TREE, texts(TREE)),
    "list of joined paths": (TREE, texts(TREE).tolist()),
    "Series of joined paths": (TREE, pd.Series(texts(TREE))),
    "paths below the root": (ROOTED, texts(ROOTED, below_root=True)),
    "paths from the root": (ROOTED, texts(ROOTED)),
    "paths with blanks": (ARROWS, texts(ARROWS, sep=" > ")),
    "paths of edges": (EDGES.with_separator(" > "), texts(EDGES, sep=" > ")),
    "path columns": (TREE, columns(TREE)),
    "padded path columns": (TREE, columns(TREE, "")),
    "path columns of objects": (TREE, columns(TREE).astype(object)),
    "path columns padded with None": (TREE, columns(TREE, None)),
    "path columns below the root": (ROOTED, columns(ROOTED, skip=1)),
    "path columns, no taxonomy": (None, columns(TREE)),
    "lists of parts": (TREE, PATH_LISTS),
    "array of tuples of parts": (TREE, objects(list(map(tuple, PATH_LISTS)))),
    "padded lists, no taxonomy": (None, [[*row, ""] for row in PATH_LISTS]),
    "path frame": (TREE, pd.DataFrame(columns(TREE), columns=["area", "kind"])),
    "padded path frame": (TREE, pd.DataFrame(columns(TREE, float("nan")))),
}
COLLECTIONS = {
    "sets": SETS,
    "frozensets": collections(frozenset, LEAF_NAMES),
    "lists": collections(list, LEAF_NAMES),
    "tuples": collections(tuple, LEAF_NAMES),
    "array of sets": objects(SETS),
    "Series of sets": pd.Series(SETS),
    "sets of paths": collections(set, texts(TREE)[:4].tolist()),
    "lists of paths": collections(list, texts(TREE)[:4].tolist()),
    "sets of tuples of parts": collections(set, LEAF_TUPLES),
    "3-D array": np.array([[LEAF_TUPLES[k] for k in row] + [("", "")] * (2 - len(row)) for row in SEVERAL]),
    "dense 0/1": to_indicator(SETS, TREE).toarray(),
    "0/1 of bool": to_indicator(SETS, TREE).toarray().astype(bool),
    "sparse array": to_indicator(SETS, TREE),
    "sparse matrix": sparse.csc_matrix(to_indicator(SETS, TREE)),
    "0/1 frame": pd.DataFrame(to_indicator(SETS, TREE).toarray(), columns=TREE.names),
    "LabelMatrix": encode(SETS, TREE).labels,
}
MULTI = {name: (TREE, y) for name, y in COLLECTIONS.items()} | {
    "sets below the root": (ROOTED, collections(set, LEAF_PATHS)),
    "sets, no taxonomy": (None, SETS),
    "sets of tuples, no taxonomy": (None, collections(set, LEAF_TUPLES)),
    "sets of integers": (CODES, collections(set, [11, 12, 21, 22])),
}


def only_first(y):
    """The rows that have one label, in the same form: for learners that take no more."""
    kept = [k for k, row in enumerate(SEVERAL) if len(row) == 1]
    if hasattr(y, "iloc"):
        return y.iloc[kept].reset_index(drop=True), kept
    return ([y[k] for k in kept] if isinstance(y, list) else y[kept]), kept


def plain(y):
    """Collections have an order where they are lists; which one, the taxonomy says."""
    return [sorted(row) if isinstance(row, (list, tuple)) else row for row in y]


def assert_equal(found, y):
    if isinstance(y, LabelMatrix):
        assert found == y
    elif isinstance(y, pd.DataFrame):
        pd.testing.assert_frame_equal(found, y)
    elif isinstance(y, pd.Series):
        pd.testing.assert_series_equal(found, y)
    elif sparse.issparse(y):
        assert (type(found), found.dtype, (found != y).nnz) == (type(y), y.dtype, 0)
    elif isinstance(y, np.ndarray) and y.ndim == 3:
        assert found.dtype == y.dtype
        np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(y, axis=1))
    elif isinstance(y, list) and not isinstance(y[0], str):
        assert isinstance(found, list)
        assert plain(found) == plain(y)
        assert {type(row) for row in found} == {type(row) for row in y}
    else:
        wanted = np.asarray(y)  # a list of names comes back as scikit-learn's array
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def build(method, taxonomy):
    cls = method.load()
    options = {"max_iter": 200, "random_state": 0}
    return cls(taxonomy, **{name: value for name, value in options.items() if name in cls._get_param_names()})


def rows_of(nodes_of_row):
    """A feature for each node at or above the labels, of equal length."""
    labels = LabelMatrix.from_sets([[TREE.names[v] for v in nodes] for nodes in nodes_of_row], TREE)
    return labels.to_indicator().toarray() * 2.0


@pytest.mark.parametrize("form", SINGLE)
@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_one_label_a_row_comes_back_as_it_was_given(method, form):
    taxonomy, y = SINGLE[form]
    X = rows_of([[v] for v in LEAVES])
    assert_equal(build(method, taxonomy).fit(X, y).predict(X), y)


@pytest.mark.parametrize("form", MULTI)
@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_several_labels_a_row_come_back_as_they_were_given(method, form):
    taxonomy, y = MULTI[form]
    X = rows_of([TREE.leaves[list(row)] for row in SEVERAL])
    if method.name in ONE_LABEL:
        y, kept = only_first(y)
        X = X[kept]
    assert_equal(build(method, taxonomy).fit(X, y).predict(X), y)


@pytest.mark.parametrize("method", methods(), ids=lambda method: method.name)
def test_paths_are_the_parts_of_the_labels(method):
    X = rows_of([[v] for v in LEAVES])
    for y in (NAMES, texts(TREE), [{name} for name in NAMES]):
        found = build(method, TREE).fit(X, y).predict_paths(X)
        wanted = [TREE.path_parts(v) for v in LEAVES]
        assert found == ([[path] for path in wanted] if isinstance(y, list) else wanted)


@pytest.mark.parametrize("form", MULTI)
def test_a_learnt_threshold_changes_no_form(form):
    taxonomy, y = MULTI[form]
    X = rows_of([TREE.leaves[list(row)] for row in SEVERAL])
    model = Thresholded(NodewiseSVM(taxonomy), cv=2, random_state=0).fit(X, y)
    assert_equal(model.predict(X), y)
    labels = encode(y, model.taxonomy_).labels
    assert model.predict_paths(X) == labels.frontier_paths()
    if taxonomy is TREE:
        assert labels.frontier_paths()[1] == [TREE.path_parts(v) for v in sorted(TREE.leaves[list(SEVERAL[1])])]
