"""MeSH tree files: numbers, descriptors, and what happens where they go round in circles."""

from contextlib import suppress

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import CladistError, ParameterError, TaxonomyError
from cladist.taxonomy.formats.mesh import mesh_taxonomy

# Quality of Health Care stands in two places, Utilization Review in two below it.
TREE = """\
Health Services Administration;N04
Patient Care Management;N04.590
Quality of Health Care;N04.761
Quality Assurance, Health Care;N04.761.700
Utilization Review;N04.761.700.900
Health Care Quality, Access, and Evaluation;N05
Quality of Health Care;N05.715
Health Care Evaluation Mechanisms;N05.715.360
Utilization Review;N05.715.360.950
Professional Review Organizations;N05.715.360.950.600
"""
# Each stands above the other once.
CIRCLE = "Top;A01\nOne;A01.1\nTwo;A01.1.1\nTwo;A01.2\nOne;A01.2.1\nThree;A01.2.1.1\n"


def edges(taxonomy: Taxonomy) -> set[tuple[str, str]]:
    return set(taxonomy.to_networkx().edges)


def test_numbers_make_a_forest_with_descriptors_for_titles():
    taxonomy = mesh_taxonomy(TREE, nodes="numbers")
    assert taxonomy.kind == "forest"
    assert taxonomy.n_nodes == 10
    assert taxonomy.path("N05.715.360.950") == ["N05", "N05.715", "N05.715.360", "N05.715.360.950"]
    assert taxonomy.titles["N05.715.360.950"] == taxonomy.titles["N04.761.700.900"] == "Utilization Review"


def test_numbers_below_a_descriptor_are_those_below_any_of_its_places():
    taxonomy = mesh_taxonomy(TREE, nodes="numbers", below="Quality of Health Care")
    assert [taxonomy.names[v] for v in taxonomy.roots] == ["N04.761", "N05.715"]
    assert taxonomy.n_nodes == 7
    assert set(taxonomy.titles) == set(taxonomy.names)
    assert mesh_taxonomy(TREE, nodes="numbers", below="N05.715").names == tuple(
        name for name in taxonomy.names if name.startswith("N05")
    )


def test_a_descriptor_below_itself_is_one_root():
    text = "Care;N01\nReview;N01.1\nCare;N01.1.5\nAudit;N01.1.5.2\n"
    assert mesh_taxonomy(text, nodes="numbers", below="Care").names == ("N01", "N01.1", "N01.1.5", "N01.1.5.2")
    assert mesh_taxonomy(text, nodes="first-number", below="Care").path("Audit") == ["Care", "Audit"]


def test_the_first_number_makes_a_tree_of_descriptors():
    taxonomy = mesh_taxonomy(TREE, nodes="first-number", below="Quality of Health Care")
    assert taxonomy.kind == "tree"
    assert edges(taxonomy) == {
        ("Quality of Health Care", "Quality Assurance, Health Care"),
        ("Quality Assurance, Health Care", "Utilization Review"),
        ("Quality of Health Care", "Health Care Evaluation Mechanisms"),
        ("Utilization Review", "Professional Review Organizations"),
    }
    below_one = mesh_taxonomy(TREE, nodes="first-number", below="N05.715")
    assert below_one.path("Utilization Review")[1] == "Health Care Evaluation Mechanisms"


def test_descriptors_make_a_dag():
    taxonomy = mesh_taxonomy(TREE)
    assert taxonomy.kind == "dag"
    assert edges(taxonomy) == {
        ("Health Services Administration", "Patient Care Management"),
        ("Health Services Administration", "Quality of Health Care"),
        ("Health Care Quality, Access, and Evaluation", "Quality of Health Care"),
        ("Quality of Health Care", "Quality Assurance, Health Care"),
        ("Quality of Health Care", "Health Care Evaluation Mechanisms"),
        ("Quality Assurance, Health Care", "Utilization Review"),
        ("Health Care Evaluation Mechanisms", "Utilization Review"),
        ("Utilization Review", "Professional Review Organizations"),
    }
    below = mesh_taxonomy(TREE, below="Quality of Health Care")
    assert [below.names[v] for v in below.roots] == ["Quality of Health Care"]
    assert edges(below) == {edge for edge in edges(taxonomy) if edge[0] in below.names}
    assert below.n_nodes == 5


def test_below_a_leaf_is_the_leaf():
    for nodes in ("descriptors", "first-number"):
        assert mesh_taxonomy(TREE, nodes=nodes, below="Patient Care Management").names == ("Patient Care Management",)
    assert mesh_taxonomy(TREE, below="N04.590").names == ("Patient Care Management",)


def test_a_circle_is_refused_or_loses_the_edge_that_closes_it():
    with pytest.raises(TaxonomyError, match=r"Taxonomy has a cycle: .*One.*Two.*closed by line 5"):
        mesh_taxonomy(CIRCLE)
    taxonomy = mesh_taxonomy(CIRCLE, on_cycle="drop")
    assert taxonomy.dropped_edges == (("Two", "One"),)
    assert edges(taxonomy) == {("Top", "One"), ("Top", "Two"), ("One", "Two"), ("One", "Three")}


def test_an_edge_back_to_the_top_is_the_one_dropped():
    taxonomy = mesh_taxonomy(CIRCLE, below="Two", on_cycle="drop")
    assert taxonomy.dropped_edges == (("One", "Two"),)
    assert [taxonomy.names[v] for v in taxonomy.roots] == ["Two"]


def test_a_piece_of_a_file_windows_line_ends_and_blanks():
    piece = "\ufeff Quality of Health Care;N05.715 \r\n\r\nMedical Audit ; N05.715.360\r\n"
    assert mesh_taxonomy(piece, nodes="numbers").names == ("N05.715", "N05.715.360")
    assert mesh_taxonomy(piece).names == ("Quality of Health Care", "Medical Audit")
    assert mesh_taxonomy("Odd; Name;A01").names == ("Odd; Name",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there are none"),
        ("\n \n", "there are none"),
        ("A01\n", "line 1: 'descriptor;tree number' is wanted, as 'Abdomen;A01.047'; got 'A01'"),
        ("Body;A01\n\nAbdomen;\n", "line 3: .*got 'Abdomen;'"),
        ("Body;A01\n;A02\n", "line 2: .*got ';A02'"),
        ("Body|A01\n", "line 1: .*got 'Body|A01'"),
        ("Body;A01.\n", "line 1: "),
        ("Body;a01\n", "line 1: "),
        ("Body;A٠١\n", "line 1: "),
        ("Body;A01" + ".1" * 64, "line 1: "),
        ("Body;" + "A" * 100_000, "line 1: "),
        ("Body;A01\nAbdomen;A01.1\n\nBack;A01.1\n", "line 4: the tree number A01.1 stands on line 2 already"),
        ("Body;A01\nAbdomen;A01.1.7\n", "line 2: A01.1.7 is below A01, but A01.1 between them is missing"),
    ],
)
def test_a_malformed_file_is_refused_where_it_is_wrong(text, message):
    for nodes in ("descriptors", "numbers", "first-number"):
        with pytest.raises(TaxonomyError, match=message) as caught:
            mesh_taxonomy(text, nodes=nodes)
        assert len(str(caught.value)) < 250


def test_what_is_asked_wrongly():
    with pytest.raises(TaxonomyError, match="below='Quality': there is no such descriptor or tree number"):
        mesh_taxonomy(TREE, below="Quality")
    with pytest.raises(ParameterError, match="nodes must be one of 'descriptors', 'numbers', 'first-number'"):
        mesh_taxonomy(TREE, nodes="names")
    with pytest.raises(ParameterError, match="on_cycle must be one of"):
        mesh_taxonomy(TREE, on_cycle="ignore")


@st.composite
def tree_files(draw):
    """Tree numbers closed under parents, in any order, with few enough descriptors to meet again."""
    numbers = ["A01", "B02"][: draw(st.integers(1, 2))]
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.sampled_from(numbers))
        child = f"{parent}.{draw(st.integers(1, 999)):03d}"
        if child not in numbers and child.count(".") < 6:
            numbers.append(child)
    names = st.sampled_from(["Care", "Audit", "Quality, Total", "Review", "Health", "Ward", "Nurse", "Bed"])
    return {number: draw(names) for number in draw(st.permutations(numbers))}


def as_text(places):
    return "".join(f"{descriptor};{number}\n" for number, descriptor in places.items())


def merged(places):
    return {(places[n.rpartition(".")[0]], d) for n, d in places.items() if "." in n}


@given(tree_files())
def test_numbers_say_where_they_hang(places):
    taxonomy = mesh_taxonomy(as_text(places), nodes="numbers")
    parents = {number: number.rpartition(".")[0] or None for number in places}
    assert set(taxonomy.names) == set(parents)
    assert edges(taxonomy) == {(p, n) for n, p in parents.items() if p}
    assert taxonomy.titles == places


@given(tree_files(), st.data())
def test_first_numbers_always_make_a_forest_of_all_descriptors(places, data):
    below = data.draw(st.sampled_from([None, *places, *places.values()]))
    taxonomy = mesh_taxonomy(as_text(places), nodes="first-number", below=below)
    tops = [n for n, d in places.items() if below in (None, n, d)]
    inside = {n: d for n, d in places.items() if any(f"{n}.".startswith(f"{top}.") for top in tops)}
    assert set(taxonomy.names) == set(inside.values())
    assert edges(taxonomy) <= merged(places)
    for descriptor in taxonomy.names:
        first = min(n for n, d in inside.items() if d == descriptor)
        parent = first.rpartition(".")[0]
        assert taxonomy.path(descriptor)[-2:-1] == ([inside[parent]] if parent in inside else [])


@given(tree_files(), st.data())
def test_dropping_leaves_everything_below_a_root(places, data):
    below = data.draw(st.sampled_from([None, *places.values()]))
    taxonomy = mesh_taxonomy(as_text(places), below=below, on_cycle="drop")
    whole = nx.DiGraph()
    whole.add_nodes_from(places.values())
    whole.add_edges_from(merged(places))
    tops = {places[n] for n in places if "." not in n} if below is None else {below}
    reached = tops.union(*(nx.descendants(whole, top) for top in tops))
    assert set(taxonomy.names) == reached
    inside = {(p, c) for p, c in whole.edges if p in reached}
    assert edges(taxonomy) | set(taxonomy.dropped_edges) == inside
    graph = taxonomy.to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    assert tops.union(*(nx.descendants(graph, top) for top in tops)) == reached
    assert all(nx.has_path(graph, c, p) for p, c in taxonomy.dropped_edges)


@given(
    st.text(max_size=60) | st.text("AB;.01\n\r ", max_size=60),
    st.sampled_from(["numbers", "first-number", "descriptors"]),
)
def test_only_our_error_comes_out(text, nodes):
    with suppress(CladistError):
        assert mesh_taxonomy(text, nodes=nodes, on_cycle="drop").n_nodes > 0


@given(tree_files(), st.integers(0, 200), st.text("AB;.01\n", max_size=3))
def test_a_damaged_file_gives_a_result_or_our_error(places, position, damage):
    text = as_text(places)
    text = text[:position] + damage + text[position + len(damage) :]
    with suppress(CladistError):
        assert mesh_taxonomy(text, nodes="first-number").n_nodes > 0


def test_a_tree_file_is_read_like_any_taxonomy(tmp_path):
    path = tmp_path / "mtrees2005.bin"
    path.write_text("Body Regions;A01\nAbdomen;A01.047\nHead;A01.456\n", encoding="utf-8")
    assert Taxonomy.read(path) == Taxonomy.read(path, format="mesh") == mesh_taxonomy(path.read_text(encoding="utf-8"))
    path.write_text("A;A01\nB;A01.047\nB;A02\nA;A02.100\n", encoding="utf-8")
    with pytest.raises(TaxonomyError, match=r"mtrees2005\.bin: .*cycle"):
        Taxonomy.read(path)
    assert len(Taxonomy.read(path, on_cycle="drop").dropped_edges) == 1
