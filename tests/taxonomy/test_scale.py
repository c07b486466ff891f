"""Deep and large taxonomies: nothing recurses, nothing is quadratic."""

import copy
import pickle
import random

import numpy as np
import pytest

from cladist import LabelMatrix, Taxonomy
from cladist.taxonomy.arrays import pack_taxonomy, unpack_taxonomy
from tests.steps import steps

DEEP = 200_000
EDGES = [(f"n{v}", f"n{v + 1}") for v in range(DEEP - 1)]


@pytest.fixture(scope="module")
def chain():
    return Taxonomy.from_edges(EDGES)


def test_every_builder_takes_a_chain(chain):
    parents = {child: above for above, child in EDGES}
    assert Taxonomy.from_parents(dict(reversed(parents.items()))) == chain
    assert Taxonomy.from_paths([[f"n{v}" for v in range(DEEP)]]) == chain
    assert Taxonomy.from_paths(["/".join(f"n{v}" for v in range(DEEP))]) == chain


def test_every_question_to_a_chain(chain):
    last = f"n{DEEP - 1}"
    assert chain.depth[-1] == DEEP - 1
    assert len(chain.levels) == DEEP
    assert chain.distance("n0", last) == DEEP - 1
    assert chain.common_ancestor("n7", last) == "n7"
    assert len(chain.path(last)) == len(chain.descendants("n0")) + 1 == DEEP
    assert chain.find_path([f"n{v}" for v in range(DEEP)]) == DEEP - 1
    assert repr(chain) == f"Taxonomy(tree, {DEEP} nodes, 1 leaf, depth {DEEP - 1})"
    assert str(chain).endswith(f"… and more ({DEEP} nodes in all)")
    assert hash(chain) == hash(pickle.loads(pickle.dumps(chain)))
    assert copy.deepcopy(chain) is chain


def test_every_shape_of_a_chain(chain):
    assert chain.contracted().names == (f"n{DEEP - 1}",)
    assert chain.subtree("n1").n_nodes == DEEP - 1
    assert chain.flattened().depth.max() == 1
    assert chain.flattened(keep="leaves").n_nodes == 1
    assert chain.with_stop_leaves().n_nodes == 2 * DEEP - 1
    assert unpack_taxonomy(*pack_taxonomy(chain)) == chain


@pytest.mark.parametrize("ending", [".edges", ".paths", ".csv", ".tsv", ".json", ".txt"])
def test_files_of_a_chain(chain, ending, tmp_path):
    chain.write(tmp_path / f"chain{ending}")
    assert Taxonomy.read(tmp_path / f"chain{ending}") == chain


def test_labels_of_a_chain(chain):
    labels = LabelMatrix.from_nodes(np.array([DEEP - 1, 0]), chain)
    assert len(labels.indices) == DEEP + 1
    assert labels.nodes("test").tolist() == [DEEP - 1, 0]


def test_a_long_cycle_is_found(chain):
    looped = Taxonomy.from_edges([*EDGES, (f"n{DEEP - 1}", "n0")], on_cycle="drop")
    assert looped.dropped_edges == ((f"n{DEEP - 1}", "n0"),)
    assert looped == chain


def test_building_is_linear():
    rng = random.Random(0)
    edges = [(str(rng.randrange(v)), str(v)) for v in range(1, 200_000)]
    few, more = (steps(lambda n=n: Taxonomy.from_edges(edges[:n])) for n in (2_000, 4_000))
    assert more < 2.2 * few
    taxonomy = Taxonomy.from_edges(edges)
    assert taxonomy.n_nodes == 200_000
    assert np.all(np.diff(taxonomy.depth) >= 0)


def test_a_wide_star():
    star = Taxonomy.from_edges([("root", f"leaf {v}") for v in range(200_000)])
    assert len(star.leaves) == 200_000
    assert len(str(star)) < 1_000
    assert star.distance("leaf 0", "leaf 199999") == 2
