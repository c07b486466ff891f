"""How leaves fall into blocks: every law by brute force over random trees."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cladist.kernels.lanes import WIDTH
from cladist.linear_model.problem_tree import build_leaf_blocks, schedule_rounds
from tests.solvers.joint_reference import random_tree


@st.composite
def trees(draw):
    """A random tree with up to a few blocks of leaves, and which nodes are counted."""
    seed, n_nodes = draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([1, 5, 20, 60, 120]))
    tree, roots_count = random_tree(seed, n_nodes), draw(st.booleans())
    return tree, np.ones(n_nodes, bool) if roots_count else tree.parent >= 0


def path_of(tree, leaf):
    """The leaf and what is above it."""
    path = [int(leaf)]
    while tree.parent[path[-1]] >= 0:
        path.append(int(tree.parent[path[-1]]))
    return path


def counted_path(tree, counted, leaf):
    above = path_of(tree, leaf)[1:]
    return {int(leaf)} | {n for n in above if counted[n]}


def lanes_of(bits):
    return [k for k in range(WIDTH) if int(bits) >> k & 1]


@given(trees())
def test_every_problem_has_one_lane(given_tree):
    tree, counted = given_tree
    layout = build_leaf_blocks(tree, "zero" if counted.all() else "fixed")
    everywhere = np.concatenate([block.classes for block in layout.blocks])
    assert sorted(everywhere.tolist()) == list(range(len(tree.leaves)))
    assert [len(block.classes) for block in layout.blocks[:-1]] == [WIDTH] * (len(layout.blocks) - 1)
    assert 1 <= len(layout.blocks[-1].classes) <= WIDTH


@given(trees())
def test_overlap_is_the_number_of_nodes_two_paths_share(given_tree):
    tree, counted = given_tree
    layout = build_leaf_blocks(tree, "zero" if counted.all() else "fixed")
    ones = np.ones(len(layout.stored_nodes))
    for block in layout.blocks:
        paths = [counted_path(tree, counted, leaf) for leaf in tree.leaves[block.classes]]
        shared = np.zeros((WIDTH, WIDTH))
        shared[: len(paths), : len(paths)] = [[len(one & other) for other in paths] for one in paths]
        np.testing.assert_array_equal(block.overlap(ones), shared)
        stored = set(layout.stored_nodes.tolist())
        shared[: len(paths), : len(paths)] = [[len((one & other) - stored) for other in paths] for one in paths]
        np.testing.assert_array_equal(block.local, shared)
        assert block.local.dtype == np.float32


@given(trees(), st.integers(0, 2**32 - 1))
def test_stored_nodes_count_as_often_as_they_are_told_to(given_tree, seed):
    tree, counted = given_tree
    layout = build_leaf_blocks(tree, "zero" if counted.all() else "fixed")
    counts = np.random.default_rng(seed).integers(0, 9, len(layout.stored_nodes))
    times = dict(zip(layout.stored_nodes.tolist(), counts.tolist(), strict=True))
    for block in layout.blocks:
        paths = [counted_path(tree, counted, leaf) for leaf in tree.leaves[block.classes]]
        expected = [[sum(times.get(n, 1) for n in one & other) for other in paths] for one in paths]
        np.testing.assert_array_equal(block.overlap(counts)[: len(paths), : len(paths)], expected)


@given(trees())
def test_stored_nodes_are_those_above_several_blocks(given_tree):
    tree, counted = given_tree
    layout = build_leaf_blocks(tree, "zero" if counted.all() else "fixed")
    blocks_below = {}
    for b, block in enumerate(layout.blocks):
        for leaf in tree.leaves[block.classes]:
            for n in counted_path(tree, counted, leaf):
                blocks_below.setdefault(n, set()).add(b)
    assert layout.stored_nodes.tolist() == sorted(n for n, found in blocks_below.items() if len(found) > 1)
    for b, block in enumerate(layout.blocks):
        above = [n for n in layout.stored_nodes.tolist() if b in blocks_below[n]]
        assert layout.stored_nodes[block.stored].tolist() == above


@given(trees())
def test_bits_say_which_stored_nodes_are_above_which_lanes(given_tree):
    tree, counted = given_tree
    layout = build_leaf_blocks(tree, "zero" if counted.all() else "fixed")
    for block in layout.blocks:
        above = [set(path_of(tree, leaf)) & set(layout.stored_nodes.tolist()) for leaf in tree.leaves[block.classes]]
        for u, bits in zip(block.stored.tolist(), block.above, strict=True):
            assert lanes_of(bits) == [k for k, nodes in enumerate(above) if layout.stored_nodes[u] in nodes]


@given(trees())
def test_the_leaves_below_any_node_stand_side_by_side(given_tree):
    tree, counted = given_tree
    order = np.concatenate(
        [block.classes for block in build_leaf_blocks(tree, "zero" if counted.all() else "fixed").blocks]
    )
    places = {}
    for place, leaf in enumerate(tree.leaves[order]):
        for n in path_of(tree, leaf):
            places.setdefault(n, []).append(place)
    for found in places.values():
        assert found == list(range(found[0], found[0] + len(found)))


@given(trees())
def test_free_roots_are_stored_and_fixed_ones_play_no_part(given_tree):
    tree, _ = given_tree
    roots = set(tree.inner[tree.parent[tree.inner] < 0].tolist())
    zero, free, fixed = (set(build_leaf_blocks(tree, root).stored_nodes.tolist()) for root in ("zero", "free", "fixed"))
    assert free == zero | roots
    assert fixed == zero - roots


# ---------------------------------------------------------------- rounds


@given(st.integers(0, 50), st.integers(1, 60))
def test_rounds_take_the_next_block_of_each_stretch(n_blocks, size):
    rounds = schedule_rounds(n_blocks, size)
    assert sorted(b for together in rounds for b in together) == list(range(n_blocks))
    assert all(len(together) <= size for together in rounds)
    assert len(rounds) <= -(-n_blocks // size) + 1
    for one, next_one in pairwise(rounds):
        assert {b - 1 for b in next_one} <= set(one)
