"""A taxonomy is a value: frozen, equal by content, hashable, free to copy."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from cladist import Taxonomy
from cladist.taxonomy import as_taxonomy
from tests.strategies import forests, parent_maps

TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
ARRAYS = ["parent", "depth", "leaves", "roots", "is_leaf", "level_start", "child_start"]


@pytest.mark.parametrize("name", [*ARRAYS, "names", "n_nodes", "kind", "levels", "parents", "titles", "new"])
def test_attributes_cannot_be_set_or_deleted(name):
    with pytest.raises(AttributeError, match=f"frozen: '{name}' cannot be set"):
        setattr(TREE, name, None)
    with pytest.raises(AttributeError, match=f"frozen: '{name}' cannot be deleted"):
        delattr(TREE, name)


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("restored", [False, True])
def test_arrays_cannot_be_written(name, restored):
    array = getattr(pickle.loads(pickle.dumps(TREE)) if restored else TREE, name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        array.sort()


def test_levels_and_parents_cannot_be_written():
    for level in TREE.levels:
        with pytest.raises(ValueError, match="read-only"):
            level[0] = 1
    before = TREE.parents.toarray()
    for part in ("data", "indices", "indptr"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(TREE.parents, part)[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        TREE.parents[2, 0] = 5
    np.testing.assert_array_equal(TREE.parents.toarray(), before)


@given(parent_maps())
def test_equal_by_content(parents):
    one, other = Taxonomy.from_parents(parents), Taxonomy.from_parents(dict(parents), titles={"a": "A"})
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    assert one != TREE or parents.keys() == set(TREE.names)
    assert one != one.names


@given(forests(max_nodes=5), forests(max_nodes=5))
def test_unequal_by_names_or_links(one, other):
    same = one.names == other.names and one.parent.tolist() == other.parent.tolist()
    assert (one == other) is same
    assert (one != other) is not same


def test_order_is_content():
    assert Taxonomy.from_parents({"a": None, "b": None}) != Taxonomy.from_parents({"b": None, "a": None})
    assert Taxonomy.from_edges([("a", "b"), ("b", "c")]) != Taxonomy.from_edges([("a", "b"), ("a", "c")])


class Holder(BaseEstimator):
    def __init__(self, taxonomy=None):
        self.taxonomy = taxonomy


def test_copying_gives_the_same_object():
    assert copy.copy(TREE) is TREE
    assert copy.deepcopy(TREE) is TREE
    assert copy.deepcopy({"deep": [TREE]})["deep"][0] is TREE
    assert clone(Holder(TREE)).taxonomy is TREE


@given(forests(), st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_pickle(taxonomy, protocol):
    again = pickle.loads(pickle.dumps(taxonomy, protocol=protocol))
    assert again == taxonomy
    assert hash(again) == hash(taxonomy)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(taxonomy, name))


def test_pickle_keeps_what_equality_leaves_out(tmp_path):
    taxonomy = Taxonomy.from_paths(["a/b/c", "a/d"]).with_stop_leaves(["b"]).with_titles({"a": "A"})
    assert hash(taxonomy) == taxonomy._hash  # a cached value must not travel: other processes hash texts differently
    assert "_hash" not in taxonomy.__getstate__()
    joblib.dump(taxonomy, tmp_path / "taxonomy")
    again = joblib.load(tmp_path / "taxonomy")
    assert again.titles == {"a": "A"}
    assert again.stop_leaves == {"b/*": "b"}
    assert again.find("a/b/c") == taxonomy.index("c")
    dropped = Taxonomy.from_edges([("x", "y"), ("y", "x")], on_cycle="drop")
    assert pickle.loads(pickle.dumps(dropped)).dropped_edges == dropped.dropped_edges == (("y", "x"),)


# ---------------------------------------------------------------- whatever one can be built from


def test_as_taxonomy(tmp_path):
    pytest.importorskip("networkx")
    expected = Taxonomy.from_edges([("a", "b"), ("a", "c")])
    expected.write(tmp_path / "tree.json")
    for value in (
        expected,
        {"a": None, "b": "a", "c": "a"},
        [("a", "b"), ("a", "c")],
        iter([("a", "b"), ("a", "c")]),
        np.array([["a", "b"], ["a", "c"]]),
        expected.to_networkx(),
        tmp_path / "tree.json",
        str(tmp_path / "tree.json"),
    ):
        assert as_taxonomy(value) == expected
    assert as_taxonomy(expected) is expected
