"""Drawings of taxonomies: whole where there is room, cut and saying so where there is not."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.report.taxonomy_drawing import lay_out, share_lines, shorten, taxonomy_drawing, text_width
from cladist.taxonomy import Taxonomy
from tests.strategies import awkward_names, dags, forests

SVG = "{http://www.w3.org/2000/svg}"
DIAMOND = Taxonomy.from_edges([("top", "left"), ("top", "right"), ("left", "end"), ("right", "end"), ("top", "far")])


def drawn(taxonomy, **options):
    return ET.fromstring(taxonomy_drawing(taxonomy, **options))


def nodes(svg):
    """The groups of nodes: those that hovering tells something about."""
    return [group for group in svg.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]


def texts(svg):
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


# ---------------------------------------------------------------- which nodes, and where


@given(dags())
def test_everything_is_drawn_where_there_is_room(taxonomy):
    entries = lay_out(taxonomy)
    assert sorted(entry.node for entry in entries) == list(range(len(taxonomy)))
    for entry in entries:
        assert entry.level == taxonomy.depth[entry.node]
        above = entries[entry.parent].node if entry.parent >= 0 else -1
        assert above == taxonomy.deepest_parent[entry.node]
        assert entry.hidden == 0


@given(dags(), st.integers(4, 9), st.integers(1, 4))
def test_what_is_cut_is_counted(taxonomy, max_lines, max_levels):
    entries = lay_out(taxonomy, max_lines=max_lines, max_levels=max_levels)
    shown = [entry.node for entry in entries if entry.node is not None]
    assert len(shown) == len(set(shown))
    assert len(shown) + sum(entry.hidden for entry in entries) == len(taxonomy)
    assert max(entry.level for entry in entries) < max_levels
    parents = {entry.parent for entry in entries}
    ends = [entry.line for k, entry in enumerate(entries) if k not in parents]
    assert len(ends) <= max_lines
    assert np.all(np.diff(ends) > 0.999)
    for k, entry in enumerate(entries):
        below = [child.line for child in entries if child.parent == k]
        if below:
            assert min(below) <= entry.line <= max(below)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30), st.integers(3, 40))
def test_lines_are_shared_fairly(wanted, room):
    shares = share_lines(wanted[: room + 1], len(wanted), room)
    assert all(1 <= share <= want for share, want in zip(shares, wanted, strict=False))
    cut = len(shares) < len(wanted)
    assert sum(shares) + cut <= room
    if sum(wanted) <= room:
        assert shares == wanted
    assert len(wanted) - len(shares) != 1 or len(wanted) > room  # a line for "… 1 more" would do for the one


def test_a_large_family_leaves_room_for_what_is_below():
    taxonomy = Taxonomy.from_paths([f"top/{k}/{j}" for k in range(500) for j in range(3)])
    entries = lay_out(taxonomy, max_lines=20)
    assert {entry.level for entry in entries} == {0, 1, 2}
    assert sum(entry.node is not None for entry in entries if entry.level == 1) == 12


def test_leaves_alone_take_all_the_room():
    entries = lay_out(Taxonomy.from_paths([f"n{k}" for k in range(50)]), max_lines=20)
    assert [entry.node for entry in entries] == [*range(19), None]
    assert entries[-1].siblings == entries[-1].hidden == 31


def test_a_deep_chain_is_cut():
    taxonomy = Taxonomy.from_paths(["/".join(f"n{k}" for k in range(3000))])
    entries = lay_out(taxonomy, max_levels=5)
    assert [entry.node for entry in entries] == [0, 1, 2, 3, 4]
    assert entries[-1].hidden == 2995


# ---------------------------------------------------------------- the picture


@given(forests(names=awkward_names))
def test_every_node_is_in_the_picture_whatever_its_name(taxonomy):
    svg = drawn(taxonomy, title="<&>")
    assert len(nodes(svg)) == len(taxonomy)


@given(dags())
def test_links_are_those_of_the_taxonomy(taxonomy):
    svg = drawn(taxonomy)
    paths = {path.get("class"): path.get("d").count("M") for path in svg.findall(f"{SVG}g/{SVG}path")}
    n_below = int((taxonomy.deepest_parent >= 0).sum())
    assert paths["links"] == n_below
    assert paths.get("others", 0) == taxonomy.n_edges - n_below


def test_labels_and_kinds():
    svg = drawn(DIAMOND, title="a diamond")
    found = {texts(group)[0]: group.get("class") for group in nodes(svg)}
    assert found == {
        "top": None,
        "left ↗1".replace(" ", "  "): None,
        "right": None,
        "end": "leaf several",
        "far": "leaf",
    }
    shown = texts(svg)
    assert shown[:2] == ["a diamond", "A DAG of 5 nodes, 2 leaves, 5 edges, depth 2."]
    assert "several parents" in shown
    assert "level 1 · 3 nodes" in shown


def test_hovering_tells_the_rest():
    taxonomy = Taxonomy.from_parents({"a": None, "b": "a", "c": "a"}, titles={"b": "Bees & <wasps>"})
    hovers = [group.find(f"{SVG}title").text for group in nodes(drawn(taxonomy, rows=np.array([5, 1, 0])))]
    assert hovers == ["a\n2 children\n5 rows", "Bees & <wasps> (b)\nbelow a\n1 row", "c\nbelow a\n0 rows"]
    many = Taxonomy.from_edges([(f"p{k}", "c") for k in range(9)])
    assert "below p0, p1, p2, p3, p4, p5 and 3 more" in taxonomy_drawing(many)


def test_nodes_without_rows_are_pale():
    groups = nodes(drawn(DIAMOND, rows=np.array([3, 1, 2, 0, 2])))
    assert [group.get("class") for group in groups if "empty" in (group.get("class") or "")] == ["leaf empty"]


def test_a_cut_picture_says_so():
    taxonomy = Taxonomy.from_paths([f"top/{k}/{j}" for k in range(40) for j in range(5)])
    shown = texts(drawn(taxonomy, max_lines=10))
    assert any(re.fullmatch(r"A tree of 241 nodes.* Only \d+ of the nodes are drawn\.", text) for text in shown)
    assert "… 34 more, with 170 below" in shown
    assert any(text.endswith("  +5") for text in shown)
    assert "nodes below that are not drawn" in shown


def test_names_of_paths_are_their_last_parts_and_titles_follow_codes():
    assert texts(drawn(Taxonomy.from_paths(["a/x", "b/x"]))).count("x") == 2
    taxonomy = Taxonomy.from_parents({"J45": None}, titles={"J45": "Asthma"})
    assert "J45  Asthma" in texts(drawn(taxonomy))


def test_it_stands_alone():
    page = taxonomy_drawing(DIAMOND, title="</style><script>alert(1)</script>")
    assert re.findall(r"https?://[^\"' )]+", page) == ["http://www.w3.org/2000/svg"]
    tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(page).iter()}
    assert tags == {"svg", "style", "rect", "text", "tspan", "g", "circle", "path", "title"}
    assert "url(" not in page
    assert "@import" not in page
    assert "prefers-color-scheme: dark" in page


@pytest.mark.parametrize("max_lines", [1, 2, 3, 100])
def test_labels_do_not_run_into_the_next_level(max_lines):
    names = ["an awfully long name that goes on and on and on", "WWWWWWWWWWWWWWWWWWWWWWWW", "日本語の分類体系の名前"]
    svg = drawn(Taxonomy.from_paths([f"{name}/{name} below" for name in names]), max_lines=max_lines)
    places = [
        (float(t.get("x")), "".join(t.itertext())) for t in svg.iter(f"{SVG}text") if "label" in (t.get("class") or "")
    ]
    columns = sorted({x for x, _ in places})
    for x, text in places:
        following = [column for column in columns if column > x + 11]
        assert not following or x + text_width(text) < following[0] - 10
        assert x + text_width(text) < float(svg.get("width"))


@given(st.text(max_size=80), st.integers(2, 40))
def test_texts_are_cut(text, most):
    assert len(shorten(text, most)) <= most
