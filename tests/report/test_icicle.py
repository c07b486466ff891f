"""The icicle: blocks inside blocks, none lost, none too many."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.metrics import report
from cladist.report import icicle
from cladist.report.icicle import MAX_HEIGHT, MIN_BLOCK, WIDTH, place_blocks
from cladist.taxonomy import Taxonomy

SVG = "{http://www.w3.org/2000/svg}"


@st.composite
def taxonomies(draw: st.DrawFn) -> Taxonomy:
    n_nodes = draw(st.integers(1, 25))
    parents = [draw(st.integers(-1, v - 1)) for v in range(n_nodes)]
    return Taxonomy.from_parents({f"n{v}": None if p < 0 else f"n{p}" for v, p in enumerate(parents)})


@given(taxonomies(), st.data())
def test_children_lie_inside_their_parent_one_below_the_other(taxonomy, data):
    own = data.draw(st.lists(st.integers(0, 9), min_size=taxonomy.n_nodes, max_size=taxonomy.n_nodes))
    support = np.array(own, float)
    for v in range(taxonomy.n_nodes - 1, -1, -1):  # as labels count: a node has all rows of its children
        if taxonomy.parent[v] >= 0:
            support[taxonomy.parent[v]] += support[v]
    top, size = place_blocks(taxonomy, support)
    bottom = top + size
    assert bottom.max() <= 1 + 1e-9
    assert size[taxonomy.roots].sum() == pytest.approx(1)
    for v, p in enumerate(taxonomy.parent):
        if p >= 0:
            assert top[p] - 1e-9 <= top[v]
            assert bottom[v] <= bottom[p] + 1e-9
    for level in taxonomy.levels:
        order = level[np.argsort(top[level], kind="stable")]
        assert np.all(bottom[order][:-1] <= top[order][1:] + 1e-9)
    assert np.all(size > 0)


def drawn(taxonomy, y_true, y_pred):
    return ET.fromstring(icicle(report(y_true, y_pred, taxonomy)))


def test_a_block_tells_its_node():
    taxonomy = Taxonomy.from_parents({"a": None, "b": "a", "c": "a"}, titles={"b": "Bees & <wasps>"})
    svg = drawn(taxonomy, ["b", "b"], ["b", "c"])
    titles = [group.find(f"{SVG}title").text for group in svg.iter(f"{SVG}g")]
    assert titles[0] == "a\nF1 1.000 (precision 1.000, recall 1.000)\n2 test rows"
    assert titles[1] == "Bees & <wasps> (b)\nF1 0.667 (precision 1.000, recall 0.500)\n2 test rows"
    assert titles[2] == "c\nno test rows"
    labels = [text.text for text in svg.iter(f"{SVG}text")]
    assert labels == ["a", "Bees & <wasps>", "c"]


def test_colours_are_of_f1_and_missing_rows_have_none():
    taxonomy = Taxonomy.from_paths(["a", "b", "c"])
    rects = list(drawn(taxonomy, ["a", "b"], ["a", "a"]).iter(f"{SVG}rect"))
    assert [rect.get("class") for rect in rects] == [None, None, "none"]
    assert rects[0].get("fill") != rects[1].get("fill")


def test_long_titles_are_cut_and_flat_blocks_have_none():
    names = [f"{k} " + "very " * 60 for k in range(300)]
    taxonomy = Taxonomy.from_parents(dict.fromkeys([*names, "high"]))
    svg = drawn(taxonomy, ["high"] * 100, ["high"] * 100)
    assert [text.text for text in svg.iter(f"{SVG}text")] == ["high"]
    few = drawn(Taxonomy.from_parents(dict.fromkeys(names[:2])), names[:1], names[:1])
    assert all(text.text.endswith("…") for text in few.iter(f"{SVG}text"))


def test_large_taxonomies_stay_drawable():
    taxonomy = Taxonomy.from_parents({f"n{v}": f"n{v // 50}" if v else None for v in range(20_000)})
    leaf = taxonomy.names[-1]
    svg = drawn(taxonomy, [leaf], [leaf])
    rects = list(svg.iter(f"{SVG}rect"))
    assert len(rects) <= len(taxonomy.levels) * MAX_HEIGHT / MIN_BLOCK
    assert svg.get("viewBox") == f"0 0 {WIDTH:g} {MAX_HEIGHT:g}"
    assert sum(float(rect.get("width")) for rect in rects[:1]) <= WIDTH


def test_a_block_shows_the_last_part_of_a_path():
    taxonomy = Taxonomy.from_paths(["home/pots", "garden/pots"])
    labels = [text.text for text in drawn(taxonomy, [*taxonomy.names[2:]], [*taxonomy.names[2:]]).iter(f"{SVG}text")]
    assert labels == ["home", "garden", "pots", "pots"]
