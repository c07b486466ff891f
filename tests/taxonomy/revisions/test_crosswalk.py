"""Crosswalks: kinds, questions, composition, inversion, faults, and files."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Crosswalk, Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy import Entry

OLD = Taxonomy.from_parents({"a": None, "a1": "a", "a2": "a", "a3": "a", "b": None, "b1": "b", "b2": "b"})
NEW = Taxonomy.from_parents(
    {"a": None, "a1": "a", "a1x": "a1", "a1y": "a1", "a2": "a", "b": None, "b1": "b", "a3": "b", "c": None}
)
WALK = Crosswalk(
    [
        ("a", "a"),
        ("a1", "a1x", "split", 0.9, "code"),
        ("a1", "a1y", "split", 0.8, "code"),
        ("a2", "a2"),
        ("a3", "a3", "move"),
        ("b", "b"),
        ("b1", "b1"),
        ("b2", "b1"),
        (None, "c"),
    ],
    old=OLD,
    new=NEW,
)


def test_kinds_follow_from_the_entries() -> None:
    kinds = {(entry.old, entry.new): entry.kind for entry in WALK}
    assert kinds == {
        ("a", "a"): "one-to-one",
        ("a1", "a1x"): "split",
        ("a1", "a1y"): "split",
        ("a2", "a2"): "one-to-one",
        ("a3", "a3"): "move",
        ("b", "b"): "one-to-one",
        ("b1", "b1"): "merge",
        ("b2", "b1"): "merge",
        (None, "c"): "new",
    }
    assert WALK.kind("a1") == "split"
    assert WALK.kind(new_name="b1") == "merge"
    assert Crosswalk([("x", "y")]).kind("x") == "rename"
    assert Crosswalk([("x", None)]).kind("x") == "retire"
    assert Crosswalk([("x", "x", "split")]).kind("x") == "one-to-one", "a file may say what is no longer true"


def test_questions() -> None:
    assert WALK.targets("a1") == ("a1x", "a1y")
    assert WALK.sources("b1") == ("b1", "b2")
    assert WALK.sources("c") == ()
    assert WALK.candidates("a1") == ("a1x", "a1y")
    assert Crosswalk({"z": "a1"}, new=NEW).candidates("z") == ("a1x", "a1y"), "an inner node stands for its leaves"
    assert "a1" in WALK
    assert "c" not in WALK
    assert len(WALK) == 9
    assert [entry.old for entry in WALK][:2] == ["a", "a1"]


def test_text() -> None:
    assert repr(WALK) == (
        "Crosswalk(7 old nodes → 8 new nodes: 4 one-to-one, 2 split, 2 merge, 1 move, 1 new)".replace("4 one", "3 one")
    )
    titled = Crosswalk([("b2", "b1")], old=OLD.with_titles({"b2": "Second"}), new=NEW)
    assert str(titled).splitlines()[0] == "rename  b2 Second → b1"
    many = Crosswalk([(f"o{k}", f"n{k}") for k in range(100)])
    assert "… and 60 more entries" in str(many)


@pytest.mark.parametrize(
    ("entries", "part"),
    [
        ([("a", "b"), ("a", "b")], "entry from 'a' to 'b' twice"),
        ([(None, None)], "names no node"),
        ([("a", None), ("a", "b")], "is retired and has a successor"),
        ([(None, "b"), ("a", "b")], "is new and has a source"),
        ([("a",)], "is a pair"),
        ([("a", "b", "joined")], "must be one of"),
        ([("a", "b", "rename", 2)], "from 0 to 1"),
        ([("a", "b", "rename", float("nan"))], "from 0 to 1"),
        ("ab", "made of pairs"),
    ],
)
def test_bad_entries(entries: object, part: str) -> None:
    with pytest.raises(TaxonomyError, match=part):
        Crosswalk(entries)  # type: ignore[arg-type]


def test_unknown_names_and_missing_taxonomies() -> None:
    with pytest.raises(TaxonomyError, match="no old node 'q'"):
        WALK.targets("q")
    with pytest.raises(TaxonomyError, match="no new node 'q'"):
        WALK.sources("q")
    with pytest.raises(TaxonomyError, match="no entry from 'a1' to 'a2'"):
        WALK.kind("a1", "a2")
    with pytest.raises(TaxonomyError, match="needs an old node"):
        WALK.kind()
    with pytest.raises(TaxonomyError, match="needs the new taxonomy"):
        Crosswalk({"a": "b"}).candidates("a")
    with pytest.raises(TaxonomyError, match="needs both taxonomies"):
        Crosswalk({"a": "b"}).completed()


def test_completed_adds_what_a_table_of_changes_leaves_out() -> None:
    changes = Crosswalk([("a1", "a1x"), ("a1", "a1y"), ("b2", "b1"), ("b1", "b1")], old=OLD, new=NEW).completed()
    assert changes.kind("a") == "one-to-one"
    assert changes.kind("a3") == "move"
    assert changes.kind(new_name="c") == "new"
    assert "a1" not in changes.new_names, "the nodes below it have sources"
    assert changes.check() == ()


def test_check() -> None:
    assert WALK.check() == ()
    faults = Crosswalk([("a1", "nowhere"), ("ghost", "a2", "rename", 0.2)], old=OLD, new=NEW).check()
    assert {fault.kind: fault.nodes for fault in faults} == {
        "unknown-old": ("ghost",),
        "unknown-new": ("nowhere",),
        "missing-old": ("b", "a2", "a3", "b1", "b2"),
        "missing-new": ("c", "b1", "a3", "a1x", "a1y"),
        "low-confidence": ("ghost",),
    }


def test_compose_and_invert() -> None:
    first = Crosswalk([("a", "b", "rename", 0.5), ("a", "c"), (None, "d"), (None, "e"), ("z", None)])
    second = Crosswalk([("b", "x", "rename", 0.5), ("c", "x"), ("d", "y"), ("e", None), (None, "w")])
    both = {(entry.old, entry.new): entry.confidence for entry in first.compose(second)}
    assert both == {("a", "x"): 1.0, (None, "y"): 1.0, ("z", None): 1.0, (None, "w"): 1.0}
    assert WALK.invert().targets("b1") == ("b1", "b2")
    with pytest.raises(TaxonomyError, match="no old node 'c'"):
        first.compose(Crosswalk([("b", "x")]))


def test_frozen_equal_and_copied() -> None:
    assert copy.deepcopy(WALK) == WALK == pickle.loads(pickle.dumps(WALK))
    assert hash(WALK) == hash(Crosswalk(WALK.entries))
    with pytest.raises(AttributeError, match="frozen"):
        WALK.old = None


NAMES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=6)
PAIRS = st.lists(st.tuples(NAMES, NAMES), max_size=8, unique=True)


@given(PAIRS)
def test_inverting_twice_changes_nothing(pairs: list[tuple[str, str]]) -> None:
    walk = Crosswalk(pairs)
    assert walk.invert().invert() == walk


@given(PAIRS, PAIRS)
def test_compose_equals_the_product_of_relations(one: list[tuple[str, str]], two: list[tuple[str, str]]) -> None:
    second = [*two, *((new, "end") for new in {new for _, new in one} - {old for old, _ in two})]
    product = {(a, d) for a, b in one for c, d in second if b == c}
    composed = Crosswalk(one).compose(Crosswalk(second))
    assert {(entry.old, entry.new) for entry in composed} == product


@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.floats(0, 1).map(lambda p: float(f"{p:.6g}")), NAMES),
        max_size=5,
        unique_by=lambda r: r[:2],
    )
)
def test_files_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, float, str]]
) -> None:
    walk = Crosswalk([Entry(old, new, "rename", sure, why) for old, new, sure, why in rows])
    for ending in (".csv", ".tsv.gz"):
        path = tmp_path_factory.mktemp("walk") / f"walk{ending}"
        walk.write(path)
        assert Crosswalk.read(path) == walk


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("one,two\na,b\n", "columns 'old' and 'new'"),
        ("old,new\na\n", "line 2: 2 columns are needed"),
        ("old,new,kind\na,b,\na,c,joined\n", "line 3, column 'kind'"),
        ("old,new,confidence\na,b,much\n", "line 2, column 'confidence'"),
        ("old,new\n,\n", "line 2: the row names no node"),
    ],
)
def test_faulty_files(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "walk.csv"
    path.write_text(text)
    with pytest.raises(TaxonomyError, match=part):
        Crosswalk.read(path)
