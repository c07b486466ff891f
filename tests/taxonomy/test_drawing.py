"""A taxonomy drawn for people."""

from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.taxonomy.inspection import draw
from tests.strategies import forests


def parsed(text):
    """Read a drawing back: each name with its ancestors."""
    path, found = [], {}
    for line in text.splitlines():
        name = line.lstrip("│├└─ ")
        depth = (len(line) - len(name)) // 4
        path[depth:] = [name]
        found[name] = path[:-1]
    return found


@given(forests(max_nodes=20))
def test_a_drawing_shows_every_node_below_its_ancestors(taxonomy):
    drawn = parsed(draw(taxonomy, most_lines=1000, most_children=1000))
    assert drawn == {name: taxonomy.ancestors(name) for name in taxonomy}
    assert str(taxonomy).splitlines()[0] == taxonomy.names[0]


def test_a_drawing():
    taxonomy = Taxonomy.from_parents(
        {"J": None, "J4": "J", "J45": "J4", "J2": "J", "K": None}, titles={"J": "Lungs", "J45": "Asthma"}
    )
    assert str(taxonomy) == "J  Lungs\n├── J4\n│   └── J45  Asthma\n└── J2\nK"


@given(st.integers(1, 30), st.integers(1, 12))
def test_long_lists_of_children_are_cut_and_say_so(children, most):
    star = Taxonomy.from_edges([("root", f"c{k}") for k in range(children)])
    lines = draw(star, most_children=most).splitlines()[1:]
    if children <= most + 1:  # one more takes no more room than saying so
        assert [line[4:] for line in lines] == [f"c{k}" for k in range(children)]
    else:
        assert [line[4:] for line in lines] == [*(f"c{k}" for k in range(most)), f"… {children - most} more"]
    assert [line[:4] for line in lines] == ["├── "] * (len(lines) - 1) + ["└── "]


@given(st.integers(1, 100))
def test_long_drawings_are_cut_and_say_so(n_nodes):
    forest = Taxonomy.from_parents(dict.fromkeys(range(n_nodes)))
    lines = draw(forest, most_lines=20, most_children=1000).splitlines()
    assert len(lines) == min(n_nodes, 21)
    assert (lines[-1] == f"… and more ({n_nodes} nodes in all)") is (n_nodes > 20)


def test_a_forest_of_many_roots_is_cut():
    assert str(Taxonomy.from_parents(dict.fromkeys(range(100)))).splitlines()[-1] == "… 92 more"
