"""`Taxonomy.diff`: planted revisions are found, with evidence and a kind."""

from __future__ import annotations

import pytest

from cladist import Crosswalk, Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy.revisions.likeness import Likeness, code_likeness

PARENTS = {
    "A": None, "A1": "A", "A1.1": "A1", "A1.2": "A1", "A2": "A", "A2.1": "A2", "A2.2": "A2",
    "B": None, "B1": "B", "B1.1": "B1", "B1.2": "B1", "B2": "B", "B2.1": "B2", "B2.2": "B2",
}  # fmt: skip
TITLES = {
    "A": "Farming", "A1": "Growing of crops", "A1.1": "Growing of cereals", "A1.2": "Growing of vegetables",
    "A2": "Animal production", "A2.1": "Raising of cattle", "A2.2": "Raising of poultry",
    "B": "Manufacturing", "B1": "Food products", "B1.1": "Bakery products", "B1.2": "Sugar confectionery",
    "B2": "Textiles", "B2.1": "Spinning of textile fibres", "B2.2": "Weaving of carpets",
}  # fmt: skip
OLD = Taxonomy.from_parents(PARENTS, titles=TITLES)


def revised(parents: dict[str, str | None], titles: dict[str, str], *, without: tuple[str, ...] = ()) -> Crosswalk:
    """Return the proposal for a revision of the tree above."""
    kept = {name: parent for name, parent in (PARENTS | parents).items() if name not in without}
    return OLD.diff(Taxonomy.from_parents(kept, titles={name: (TITLES | titles)[name] for name in kept}))


def changes(walk: Crosswalk) -> set[tuple[str | None, str | None, str]]:
    return {(entry.old, entry.new, entry.kind) for entry in walk if entry.kind != "one-to-one"}


def test_nothing_changes() -> None:
    walk = OLD.diff(OLD)
    assert len(walk) == len(OLD)
    assert changes(walk) == set()
    assert {entry.confidence for entry in walk} == {1.0}


def test_a_leaf_that_is_an_inner_node_now_is_split() -> None:
    walk = revised({"A1.11": "A1.1", "A1.12": "A1.1"}, {"A1.11": "Growing of wheat", "A1.12": "Growing of rice"})
    assert changes(walk) == {("A1.1", "A1.11", "split"), ("A1.1", "A1.12", "split")}
    assert walk.check() == ()


def test_a_code_that_changes_and_a_title_that_changes_are_renames() -> None:
    walk = revised(
        {"A1.9": "A1"}, {"A1.9": "Growing of cereals", "B2.2": "Weaving of rugs and carpets"}, without=("A1.1",)
    )
    assert changes(walk) == {("A1.1", "A1.9", "rename"), ("B2.2", "B2.2", "rename")}


def test_a_new_parent_is_a_move() -> None:
    assert changes(revised({"A2.2": "B1"}, {})) == {("A2.2", "A2.2", "move")}
    assert changes(revised({"B1.3": "B1"}, {"B1.3": "Raising of poultry"}, without=("A2.2",))) == {
        ("A2.2", "B1.3", "move")
    }


def test_a_leaf_that_is_gone_goes_to_the_leaf_like_it_beside_it() -> None:
    walk = revised({}, {"B1.2": "Sugar confectionery and bakery products"}, without=("B1.1",))
    assert walk.targets("B1.1") == ("B1.2",)
    assert walk.kind("B1.1") == "merge"
    assert "words" in walk.entries_of("B1.1")[0].evidence


def test_leaves_that_are_gone_share_out_the_new_leaves_beside_them() -> None:
    walk = revised(
        {"B2.5": "B2", "B2.6": "B2", "B2.7": "B2"},
        {
            "B2.5": "Spinning of cotton textile fibres",
            "B2.6": "Spinning of wool textile fibres",
            "B2.7": "Weaving of carpets by machine",
        },
        without=("B2.1", "B2.2"),
    )
    assert walk.targets("B2.1") == ("B2.5", "B2.6")
    assert walk.targets("B2.2") == ("B2.7",)


def test_inner_nodes_follow_the_leaves_below_them() -> None:
    walk = revised({"A3": "A", "A1.1": "A3", "A1.2": "A3"}, {"A3": "Crop husbandry"}, without=("A1",))
    assert changes(walk) == {("A1", "A3", "rename")}
    assert "100% of the leaves" in walk.entries_of("A1")[0].evidence


def test_a_code_that_is_gone_while_others_persist_may_be_split() -> None:
    """As T40.7X1 of ICD-10-CM, which became T40.711 under the same title, and T40.721 beside it."""
    walk = revised(
        {"B2.21": "B2", "B2.22": "B2"},
        {"B2.21": "Weaving of carpets", "B2.22": "Weaving of synthetic carpets"},
        without=("B2.2",),
    )
    assert changes(walk) == {("B2.2", "B2.21", "split"), ("B2.2", "B2.22", "split")}


def test_a_node_of_a_dag_moves_if_any_parent_changes() -> None:
    old = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"], "d": ["a", "b"]})
    new = Taxonomy.from_parents({"a": None, "b": None, "c": ["a", "b"], "d": "b"})
    assert changes(old.diff(new)) == {("d", "d", "move")}
    assert changes(old.diff(old)) == set()


def test_what_has_no_counterpart_is_retired_or_new() -> None:
    walk = revised({"C": None}, {"C": "Quantum computing"}, without=("B2.1",))
    assert changes(walk) == {("B2.1", None, "retire"), (None, "C", "new")}


def test_a_code_that_now_means_something_else_is_not_the_same_node() -> None:
    titles = {"B1.1": "Quarrying", "B1.7": "Bakery products"}
    walk = revised({"B1.7": "B1"}, titles)
    assert walk.targets("B1.1") == ("B1.7",)
    assert walk.kind(new_name="B1.1") == "new"


def test_rows_show_where_a_new_leaf_comes_from() -> None:
    new = Taxonomy.from_parents(PARENTS | {"B1.3": "B1"}, titles=TITLES | {"B1.3": "Chocolate"})
    texts = {"B1.2": ["dark chocolate", "chocolate bars", "milk chocolate", "toffee"], "B1.1": ["bread", "cake"]}
    assert OLD.diff(new).kind(new_name="B1.3") == "new"
    walk = OLD.diff(new, texts=texts)
    assert walk.targets("B1.2") == ("B1.2", "B1.3")
    assert walk.entries_of("B1.2")[1].evidence == "3 rows of it have words of the new node"
    rows = [row for own in texts.values() for row in own]
    assert OLD.diff(new, texts=(rows, ["B1.2"] * 4 + ["B1.1"] * 2)) == walk
    with pytest.raises(TaxonomyError, match="texts must be a mapping of node to the texts of its rows"):
        OLD.diff(new, texts=["chocolate"])


def test_trees_without_titles_are_compared_by_their_names() -> None:
    old = Taxonomy.from_paths(["phones/smart phones", "phones/fax machines", "audio/radios"])
    new = Taxonomy.from_paths(["phones/smart phones", "office/fax machines", "audio/radios"])
    assert {e.old: e.kind for e in old.diff(new) if e.old} == {
        "phones": "one-to-one", "audio": "one-to-one", "smart phones": "one-to-one", "fax machines": "move",
        "radios": "one-to-one",
    }  # fmt: skip


def test_the_order_of_nodes_does_not_matter() -> None:
    new = Taxonomy.from_parents(
        dict(reversed((PARENTS | {"B2.5": "B2", "B2.6": "B2"}).items())),
        titles=TITLES | {"B2.5": "Spinning", "B2.6": "x"},
    )
    back = Taxonomy.from_parents(dict(reversed(PARENTS.items())), titles=TITLES)
    assert {(e.old, e.new) for e in OLD.diff(new)} == {(e.old, e.new) for e in back.diff(new)}


def test_only_taxonomies_are_compared() -> None:
    with pytest.raises(TaxonomyError, match="compares with another Taxonomy; got dict"):
        OLD.diff({"a": None})  # type: ignore[arg-type]


def test_likeness() -> None:
    likeness = Likeness(["electric cars", "poetry"], ["Electrical cars", ""])
    assert likeness.cosine(0, 0) == pytest.approx(1)
    assert likeness.cosine(1, 0) == likeness.cosine(1, 1) == 0
    assert code_likeness("V20.0XXA", "V20.01XA") > code_likeness("V20.0XXA", "V20.01XD")
    assert code_likeness("shoes", "shoe") == 0
