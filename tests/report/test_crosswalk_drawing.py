"""Drawings and pages of crosswalks."""

from __future__ import annotations

from xml.etree import ElementTree

from cladist import Crosswalk, Taxonomy
from cladist.report.crosswalk_drawing import crosswalk_drawing, crosswalk_page

OLD = Taxonomy.from_parents({"a": None, "b<": "a", "c": "a", "d": "a"}, titles={"c": "Cats & dogs"})
WALK = Crosswalk(
    [("a", "a"), ("b<", "x"), ("b<", "y", "split", 0.5, "words"), ("c", None), (None, "z"), ("d", "d2", "move")],
    old=OLD,
)
SPACE = "{http://www.w3.org/2000/svg}"


def test_a_curve_for_every_pair_that_changes() -> None:
    picture = ElementTree.fromstring(crosswalk_drawing(WALK, title="1 < 2"))
    assert len(picture.findall(f".//{SPACE}path")) == 3
    assert len(picture.findall(f".//{SPACE}circle")) == 2, "retired and new nodes have an end only"
    dashed = [path for path in picture.iter(f"{SPACE}path") if path.get("stroke-dasharray")]
    assert len(dashed) == 1
    texts = [text.text for text in picture.iter(f"{SPACE}text")]
    assert {"b<", "c Cats & dogs", "x", "y", "z", "d2"} <= set(texts)
    assert "5 changes of 6 entries" in texts
    hovers = [title.text for title in picture.iter(f"{SPACE}title")]
    assert "b< → y: split, 50% sure; words" in hovers


def test_long_crosswalks_are_cut() -> None:
    walk = Crosswalk([(f"o{k}", f"n{k}") for k in range(300)])
    picture = crosswalk_drawing(walk, max_lines=10)
    assert picture.count("<path") == 10
    assert "300 changes of 300 entries, the first 10 of them drawn" in picture


def test_a_page_lists_changes_the_least_certain_first() -> None:
    page = crosswalk_page(WALK, title="t")
    assert page.index("<td>y</td>") < page.index("<td>x</td>")
    assert "&lt;" in page
    assert "<script" not in page
    nothing = crosswalk_page(Crosswalk([("a", "a")]), title="t")
    assert "0 changes of 1 entries" in nothing
