"""What is written reads back equal, or is refused; what is read is recognised."""

import bz2
import gc
import gzip
import lzma
import os
import stat
import tracemalloc

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist import RelationGraph, Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy.formats.reader import FORMATS, parse
from tests.strategies import AWKWARD, awkward_names, forests, path_lists, plain_names

no_nul = awkward_names.filter(lambda name: "\0" not in name)  # which only JSON can hold
ENDINGS = (".edges", ".paths", ".csv", ".tsv", ".json", ".indented", ".rcv1", ".txt", "")
in_a_folder = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def round_trip(taxonomy, path, **options):
    """Write and read again; None if writing was refused, in which case nothing is left behind."""
    path.unlink(missing_ok=True)
    try:
        taxonomy.write(path, **options)
    except TaxonomyError:
        assert os.listdir(path.parent) == []
        return None
    again = Taxonomy.read(path, **options)
    path.unlink()
    return again


@given(forests())
@in_a_folder
def test_ordinary_names_survive_every_format(tmp_path, taxonomy):
    for ending in ENDINGS:
        assert round_trip(taxonomy, tmp_path / f"tree{ending}") == taxonomy
    for format in FORMATS:  # noqa: A001
        assert round_trip(taxonomy, tmp_path / "tree", format=format) == taxonomy


@given(forests(names=st.one_of(plain_names, no_nul), max_nodes=6), st.sampled_from(["/", ".", "::", " "]))
@in_a_folder
def test_awkward_names_survive_or_are_refused(tmp_path, taxonomy, sep):
    for ending in ENDINGS:
        again = round_trip(taxonomy, tmp_path / f"tree{ending}", sep=sep)
        assert again is None or again == taxonomy
        if ending in (".csv", ".json", ".tsv") and "\ud800" not in "".join(taxonomy.names):
            assert again is not None
    for format in FORMATS:  # noqa: A001
        again = round_trip(taxonomy, tmp_path / "tree", format=format, sep=sep)
        assert again is None or again == taxonomy


@given(path_lists(parts=st.text("ab /#", min_size=1, max_size=2)), st.data())
@in_a_folder
def test_taxonomies_of_paths_and_shapes_of_them_survive_or_are_refused(tmp_path, paths, data):
    try:
        taxonomy = Taxonomy.from_paths(paths, sep=data.draw(st.sampled_from(["/", "|"])))
    except TaxonomyError:
        return
    name = data.draw(st.sampled_from(taxonomy.names))
    shapes = [
        taxonomy,
        taxonomy.subtree(name),
        taxonomy.flattened(),
        taxonomy.contracted(),
        taxonomy.with_stop_leaves(),
    ]
    for shape in shapes:
        for ending in ENDINGS:
            again = round_trip(shape, tmp_path / f"tree{ending}")
            assert again is None or again == shape


@given(path_lists(parts=st.text("ab", min_size=1, max_size=2)))
@in_a_folder
def test_paths_keep_their_identity_in_a_paths_file(tmp_path, paths):
    taxonomy = Taxonomy.from_paths(paths)
    again = round_trip(taxonomy, tmp_path / "tree.paths")
    assert again == taxonomy
    assert [again.joined_path(v) for v in range(len(again))] == [taxonomy.joined_path(v) for v in range(len(again))]


@given(forests(names=no_nul.filter(lambda name: "\ud800" not in name), max_nodes=5), st.data())
@in_a_folder
def test_titles_survive_in_tables(tmp_path, taxonomy, data):
    titles = data.draw(
        st.dictionaries(st.sampled_from(taxonomy.names), plain_names | st.text(' \r\n",\ta', min_size=1))
    )
    titled = taxonomy.with_titles(titles)
    for ending in (".csv", ".tsv"):
        assert round_trip(titled, tmp_path / f"tree{ending}").titles == titles


def test_writing_replaces_a_file_and_keeps_to_the_umask(tmp_path):
    path = tmp_path / "tree.json"
    path.write_text("old")
    Taxonomy.from_paths(["a/b"]).write(path)
    other = tmp_path / "plain"
    other.write_text("")
    assert Taxonomy.read(path).names == ("a", "b")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    with pytest.raises(TaxonomyError, match="cannot hold the name"):
        Taxonomy.from_parents({"a\tb": None}).write(path, format="edges")
    assert Taxonomy.read(path).names == ("a", "b")


def test_writing_where_nothing_can_be_written(tmp_path):
    with pytest.raises(TaxonomyError, match="cannot be written"):
        Taxonomy.from_paths(["a/b"]).write(tmp_path / "no such folder" / "tree.json")


# ---------------------------------------------------------------- reading


def read(tmp_path, content, name="tree.txt", **options):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Taxonomy.read(path, **options)


SAME = {
    "edges": "sport tennis\nsport chess\nart film\n",
    "edges with arrows": "sport -> tennis\nsport -> chess\nart   ->   film\n",
    "edges with tabs": "sport\ttennis\nsport\tchess\nart\tfilm\n",
    "paths": "sport/tennis\nsport/chess\nart/film\n",
    "paths of more than two words": "sport tennis\nsport chess\nart film\nart film\n",
    "csv": "node,parent\nsport,\ntennis,sport\nchess,sport\nart,\nfilm,art\n",
    "csv in any order and case": "Parent,CHILD\nsport,tennis\nsport,chess\nart,film\n",
    "csv by hand": "node, parent\nsport,\ntennis, sport\nchess, sport\nart,\nfilm, art\n",
    "csv with quotes": '"id","parent"\n"sport",""\n"tennis","sport"\n"chess","sport"\n"film","art"\n',
    "tsv": "code\tparent\tname\nsport\t\tS\ntennis\tsport\t\nchess\tsport\t\nfilm\tart\tF\n",
    "json": '{"sport": null, "tennis": "sport", "chess": "sport", "film": "art"}',
    "nested json": '{"sport": {"tennis": {}, "chess": null}, "art": {"film": []}}',
    "nested json with lists": '{"sport": ["tennis", "chess"], "art": ["film"]}',
    "json list": ' [{"sport": ["tennis", {"chess": {}}]}, {"art": {"film": null}}]',
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
@pytest.mark.parametrize("dress", ["plain", "bom", "crlf", "cr", "bom and crlf", "no last line break", "blank lines"])
def test_one_taxonomy_in_every_format_recognised_by_content(tmp_path, text, dress):
    if "bom" in dress:
        text = "\ufeff" + text
    if "cr" in dress:
        text = text.replace("\n", "\r\n" if "crlf" in dress else "\r")
    if dress == "no last line break":
        text = text.removesuffix("\n")
    if dress == "blank lines":
        text = text.replace("\n", "\n\n") + "\n"
    expected = {"tennis": "sport", "chess": "sport", "film": "art"}
    taxonomy = read(tmp_path, text)
    assert {name: taxonomy.ancestors(name) for name in expected} == {n: [p] for n, p in expected.items()}
    assert set(taxonomy.names) == {"sport", "art", *expected}


def test_the_ending_decides_before_the_content(tmp_path):
    assert read(tmp_path, "a/b c/d\n", "tree.edges").names == ("a/b", "c/d")
    assert read(tmp_path, "a/b c/d\n", "tree.txt").names == ("a", "b c", "d")
    assert read(tmp_path, "{a {b\n", "tree.edges").names == ("{a", "{b")
    assert read(tmp_path, "a b\n", "tree.PATHS").names == ("a", "b")


def test_the_format_decides_before_the_ending(tmp_path):
    assert read(tmp_path, "a/b\n", "tree.json", format="paths").names == ("a", "b")
    assert read(tmp_path, "node,parent\nb,a\n", "tree.txt", format="paths", sep=",").names == (
        "node",
        "b",
        "parent",
        "a",
    )


def test_comments_and_lone_roots(tmp_path):
    text = "# parent\tchild, with a tab in the comment\nsport tennis\n\n   # more\nart\nsport   chess  \n"
    assert read(tmp_path, text).names == ("sport", "art", "tennis", "chess")
    assert read(tmp_path, "table tennis\tball\nnew york\n").names == ("table tennis", "new york", "ball")
    assert read(tmp_path, "#a/b\nsport/tennis\n").names == ("sport", "tennis")


def test_paths_of_any_separator(tmp_path):
    assert read(tmp_path, "a > b\na > c d\n", sep=" > ").names == ("a", "b", "c d")
    assert read(tmp_path, "1 2 3\n1 4\n").names == ("1", "2", "4", "3")


def test_line_breaks_inside_quoted_names_are_part_of_them(tmp_path):
    taxonomy = read(tmp_path, b'node,parent\r\n"a\r\nb",\r\n"c\rd","a\r\nb"\r\n', "tree.csv")
    assert taxonomy.names == ("a\r\nb", "c\rd")


def test_names_in_tables_keep_blanks_in_quotes(tmp_path):
    assert read(tmp_path, 'node,parent\n" a",\nb ," a"\n', "tree.csv").names == (" a", "b")


def test_numbers_in_json_are_names(tmp_path):
    assert read(tmp_path, '{"11": null, "1101": 11}').names == ("11", "1101")
    assert read(tmp_path, '{"11": [1101, 1102]}').names == ("11", "1101", "1102")


def test_nested_json_follows_the_rules_of_paths(tmp_path):
    text = '{"a": {"x": {}, "y": {}}, "b": {"x": {}}}'
    assert read(tmp_path, text).names == ("a", "b", "a/x", "y", "b/x")
    assert read(tmp_path, text, sep=">").names == ("a", "b", "a>x", "y", "b>x")


INDENTED = "sport\n  tennis\n  # a remark\n  chess\n    blitz\nart\n"
RCV1 = """parent: None         child: Root         child-description: Root
parent: Root         child: CCAT         child-description: CORPORATE/INDUSTRIAL
parent: CCAT         child: C15          child-description: PERFORMANCE
"""


@pytest.mark.parametrize("text", [INDENTED, INDENTED.replace("  ", "\t"), INDENTED.replace("\n", "\r\n")])
def test_indented_text_is_recognised(tmp_path, text):
    taxonomy = read(tmp_path, text, "tree.txt")
    assert taxonomy == Taxonomy.from_paths(["sport/tennis", "sport/chess/blitz", "art"])


def test_an_arrow_may_stand_between_parent_and_child(tmp_path):
    expected = Taxonomy.from_edges([("hand tools", "forks"), ("hand tools", "and/or"), ("forks", "e->f")])
    text = "# a -> b\nhand tools -> forks\nhand tools -> and/or\nforks -> e->f\n"
    for name in ("tree.txt", "tree.edges"):
        assert read(tmp_path, text, name) == expected
    assert read(tmp_path, "a -> b\nart\nb -> c\n").names == ("a", "art", "b", "c")


def test_where_an_arrow_is_part_of_a_name_or_joins_paths(tmp_path):
    assert read(tmp_path, "a/b -> c\na/d\n").names == ("a", "b -> c", "d")
    for name in ("tree.txt", "tree.paths"):
        for sep in ("->", " -> "):
            assert read(tmp_path, "a -> b -> c\na -> d\n", name, sep=sep).names == ("a", "b", "d", "c")
    assert read(tmp_path, "x -> y\tz\n").names == ("x -> y", "z")


@given(forests(names=st.text("-> a/", min_size=1, max_size=6) | st.sampled_from(["->", "a -> b", "a->b"]), max_nodes=6))
@in_a_folder
def test_names_with_arrows_survive_or_are_refused(tmp_path, taxonomy):
    for ending in (".edges", ".paths", ".indented", ".txt", ""):
        again = round_trip(taxonomy, tmp_path / f"tree{ending}")
        assert again is None or again == taxonomy


def test_indentation_may_be_of_any_width_but_not_of_two():
    taxonomy = parse("a\n   b\n     c\n   d\n", "indented")
    assert taxonomy == Taxonomy.from_paths(["a/b/c", "a/d"])
    for text, line in (("a\n   b\n  c\n", 3), ("a\n  b\n\tc\n", 3), (" a\nb\n", 1)):
        with pytest.raises(TaxonomyError, match=f"line {line}: .* the same indentation"):
            parse(text, "indented")


def test_rcv1_topics_are_recognised(tmp_path):
    taxonomy = read(tmp_path, RCV1, "rcv1.topics.hier.orig")
    assert taxonomy.path("C15") == ["Root", "CCAT", "C15"]
    assert taxonomy.titles["CCAT"] == "CORPORATE/INDUSTRIAL"
    assert parse("parent: A child: C15\nparent: B child: C15", "rcv1").parents_of("C15") == ["A", "B"]
    with pytest.raises(TaxonomyError, match="line 2: the node 'C15' is called 'b' here, 'a' before"):
        parse("parent: A child: C15 child-description: a\nparent: B child: C15 child-description: b", "rcv1")
    with pytest.raises(TaxonomyError, match="line 1: 'parent: X child: Y' is wanted"):
        parse("parent: A", "rcv1")


def test_an_edge_file_with_a_line_too_long_is_not_taken_for_paths(tmp_path):
    with pytest.raises(TaxonomyError, match="line 3: an edge is 'parent child', but there are 3 fields"):
        read(tmp_path, "1 2\n2 3\n2 3 4\n", "tree.txt")
    assert read(tmp_path, "1 2\n1 3 4\n1 3 5\n", "tree.txt").path("5") == ["1", "3", "5"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": "b",\n"b": "a"}', r"closed by line 1"),
        ('{"a": null,\n"b": "a",\n"a": "b"}', "line 3: the key 'a' is in one JSON object twice"),
    ],
)
def test_json_errors_name_the_line(tmp_path, text, message):
    with pytest.raises(TaxonomyError, match=message):
        read(tmp_path, text, "tree.json")


# ---------------------------------------------------------------- input that cannot break us


@pytest.mark.parametrize("ending", ENDINGS)
def test_reading_takes_at_most_three_times_what_it_returns(tmp_path, ending):
    """What a taxonomy holds is measured; the two megabytes are buffers, the same for any file."""
    taxonomy = Taxonomy.from_paths([(f"area{k // 1000}", f"topic{k // 50}", f"class{k}") for k in range(40_000)])
    path = tmp_path / f"tree{ending}"
    taxonomy.write(path)
    del taxonomy
    gc.collect()
    tracemalloc.start()
    try:
        taxonomy = Taxonomy.read(path)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(taxonomy) > 40_000
    assert peak <= 3 * held + 2 * 2**20


def test_reading_a_dag_or_a_label_graph_takes_at_most_three_times_what_it_returns(tmp_path):
    edges = [(f"node{k // 3}", f"node{k + 1}") for k in range(40_000)] + [
        ("node0", f"node{k}") for k in range(5, 20_000)
    ]
    taxonomy = Taxonomy.from_edges(edges)
    taxonomy.write(tmp_path / "dag.json")
    RelationGraph.from_taxonomy(taxonomy).write(tmp_path / "graph.tsv")
    del taxonomy, edges
    for read, name in ((Taxonomy.read, "dag.json"), (RelationGraph.read, "graph.tsv")):
        gc.collect()
        tracemalloc.start()
        try:
            found = read(tmp_path / name)
            held, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert found.n_nodes == 40_001
        assert peak <= 3 * held + 2 * 2**20


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_packed_files_are_read_whatever_their_name(tmp_path, pack):
    for name in ("tree.csv", "tree.csv.gz"):
        (tmp_path / name).write_bytes(pack("\ufeffnode,parent\r\na,\r\nb,a\r\n".encode()))
        assert Taxonomy.read(tmp_path / name).names == ("a", "b")


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2"])
def test_files_are_packed_by_their_ending(tmp_path, ending):
    taxonomy = Taxonomy.from_paths(["a/b", "a/c"])
    taxonomy.write(tmp_path / f"tree.json.{ending}")
    assert not (tmp_path / f"tree.json.{ending}").read_bytes().startswith(b"{")
    assert Taxonomy.read(tmp_path / f"tree.json.{ending}") == taxonomy


def test_what_people_write_is_read_as_they_mean_it(tmp_path):
    expected = Taxonomy.from_paths(["Home & Garden/Hand tools/Forks", "Home & Garden/Seeds"])
    for text in (
        "Home & Garden\tHand tools\tForks\nHome & Garden\tSeeds\n",
        "Home & Garden > Hand tools > Forks\nHome & Garden > Seeds",
    ):
        assert read(tmp_path, text, sep=">").names == expected.names
    for text in ("node;parent\na;\nb;a\n", "parent|node\n|a\na|b\n"):
        for name in ("tree.csv", "tree.txt"):
            assert read(tmp_path, text, name) == Taxonomy.from_edges([("a", "b")])
    frame = pd.DataFrame({"one": ["a", "a"], "two": ["b", None]})
    assert Taxonomy.from_paths(frame) == Taxonomy.from_edges([("a", "b")])
    with pytest.raises(TaxonomyError, match="on_cycle must be 'error' or 'drop'"):
        read(tmp_path, "a b", on_cycle="ignore")


def test_paths_whose_names_would_fill_the_memory_are_refused(tmp_path):
    for line in ("/".join("a" * 100_000), "a" + "/b" * 100_000):
        with pytest.raises(TaxonomyError, match="over the limit of 33,554,432"):
            read(tmp_path, line, "tree.paths")
    with pytest.raises(TaxonomyError, match="over the limit"):
        Taxonomy.from_paths([[*(f"n{k}" for k in range(60_000)), "x/y"]])


TEXTS = [
    "a b\na c\nb d\n",
    "a\tb\na\tc d\n",
    "a/b\na/c/d\n",
    "1 2 20\n1 3 30\n",
    "node,parent,name\na,,A\nb,a,B\nb,c,\nc,,\n",
    "node\tparent\na\t\nb\ta\n",
    '{"a": null, "b": "a"}',
    '{"a": {"b": [1, "c"]}}',
    '[["a", "b"], ["c"]]',
    "a\n  b\n    c\n  d\n",
    "parent: None child: A child-description: x y\nparent: A child: B\n",
]


@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.sampled_from(AWKWARD + "ab1"), st.booleans())),
    st.sampled_from([None, *FORMATS]),
    st.sampled_from(["error", "drop"]),
)
def test_any_mutated_file_is_read_or_refused(tmp_path_factory, text, mutations, format, on_cycle):  # noqa: A002
    for place, length, piece, double in mutations:
        text = text[:place] + piece + text[place + length :] * (2 if double and len(text) < 500 else 1)
    check_read_or_refused(tmp_path_factory, text.encode("utf-8", "surrogatepass"), format, on_cycle)


@given(st.binary(max_size=100), st.sampled_from([None, *FORMATS]), st.sampled_from(["error", "drop"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, format, on_cycle):  # noqa: A002
    check_read_or_refused(tmp_path_factory, content, format, on_cycle)


def check_read_or_refused(tmp_path_factory, content, format, on_cycle):  # noqa: A002
    path = tmp_path_factory.mktemp("fuzz") / "tree"
    path.write_bytes(content)
    try:
        taxonomy = Taxonomy.read(path, format=format, on_cycle=on_cycle)
    except TaxonomyError as problem:
        assert str(path) in str(problem)  # noqa: PT017 - no error at all is fine, too
        return
    assert len(set(taxonomy.names)) == len(taxonomy) >= 1
    taxonomy.write(path, format="json")
    assert Taxonomy.read(path, format="json") == taxonomy


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.json", '{"z":{"v":["q"],":x":{}, ":x":{}}}', "line 1: the key ':x' is in one JSON object twice"),
        ("t.csv", "node,parent,parent\na,,\nb,a,c\n", "line 1: the header names 'parent' twice"),
        ("t.csv", "node,node,parent\na,b,\n", "line 1: the header names 'node' twice"),
        ("t.txt", "sport tennis\n".encode("utf-16-le"), "line 1: a byte 0, which no text has"),
        ("t.arff", "@relation x\n", "read_arff_hmc"),
        ("t.txt", "a,b\na,c\n", "say so in a first line parent,child"),
        ("t.json", '{"a": null, "b": "a",}', "another entry is wanted after a comma"),
        ("t.json", '[["a", "b"],]', "another entry is wanted after a comma"),
        ("t.parquet", "PAR1", "not taxonomy files"),
        ("t.txt", "a->b\na->c\n", "put blanks around it: parent -> child"),
        ("t.txt", "a -> b\na -> c -> d\n", "line 2: an edge of this file is 'parent -> child'.* name '->' as"),
        ("t.txt", "a -> b\nart\na chess\n", "line 3: an edge of this file is 'parent -> child', but here is 'a chess'"),
        ("t.edges", "a -> b\na ->\n", "line 2: an edge of this file is 'parent -> child', but here is 'a ->'"),
        ("t.paths", "a -> b\na -> c\n", "line 1: an arrow is no part of a path: 'a -> b'. If it joins the parts, name"),
        ("t.txt", "a\t->\tb\n", "line 1: an arrow is no part of a path"),
    ],
)
def test_files_that_were_once_misread_are_refused(tmp_path, name, text, message):
    with pytest.raises(TaxonomyError, match=message):
        read(tmp_path, text, name)


def test_messages_are_short_whatever_they_are_about():
    ring = [(f"n{k}", f"n{(k + 1) % 5000}") for k in range(5000)]
    for call in (lambda: Taxonomy.from_edges(ring), lambda: Taxonomy.from_paths(["a/b"]).index("x" * 10**6)):
        with pytest.raises(TaxonomyError) as caught:
            call()
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text",
    ["parent: a child: b child-description: x" + " " * 1_000_000 + "y", '{"r":' * 300 + "{}" + "}" * 300],
)
def test_long_runs_are_read(tmp_path, text):
    assert len(read(tmp_path, text)) >= 2  # one that tries every way to split a run would not come to an end


def test_a_deep_tree_is_not_written_as_its_own_square(tmp_path):
    chain = Taxonomy.from_edges([(f"n{k}", f"n{k + 1}") for k in range(50_000)])
    with pytest.raises(TaxonomyError, match="As indented text this taxonomy would take about"):
        chain.write(tmp_path / "tree.indented")
    assert list(tmp_path.iterdir()) == []
