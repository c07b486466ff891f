"""``cladist taxonomy``."""

import gzip
import json
import lzma
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist.cli.input import read_taxonomy
from cladist.cli.taxonomy import Description, TaxonomyFormat, TaxonomyInput, convert
from cladist.cli.taxonomy_report import MAX_LEVELS, level_table, notes, to_dict
from cladist.errors import CladistError, TaxonomyError
from cladist.report.taxonomy_drawing import taxonomy_drawing
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.inspection import inspect

WIDE = {"COLUMNS": "200"}
ARFF = """@relation genes
@attribute x numeric
@attribute class hierarchical root/a,root/b,a/c,b/c,c/d
@data
1,c
2,d@b
?,a
"""
SVM = "Tents 1:1\nTents,Boats 2:1\nCamping 1:2\n 3:1\n"


@pytest.fixture
def tangle(tmp_path):
    """A file whose edges close two cycles."""
    file = tmp_path / "tangle.txt"
    file.write_text("a b\nb c\nc a\nb d\nd d\n")
    return file


# ---------------------------------------------------------------- shape


def test_the_shape_is_counted():
    taxonomy = Taxonomy.from_paths(["a/b/c/d", "a/b/c/e", "a/f"])
    values = to_dict(Description(taxonomy, inspect(taxonomy)))
    assert {name: values[name] for name in ("kind", "nodes", "leaves", "roots", "edges", "depth")} == {
        "kind": "tree",
        "nodes": 6,
        "leaves": 3,
        "roots": 1,
        "edges": 5,
        "depth": 3,
    }
    assert values["nodes_by_level"] == [1, 2, 1, 2]
    assert values["single_child_nodes"] == 1
    assert values["levels"][0] == {
        "level": 0,
        "nodes": 1,
        "leaves": 0,
        "inner": 1,
        "fewest_children": 2,
        "median_children": 2.0,
        "most_children": 2,
        "several_parents": 0,
    }
    assert values["chains"]["example"] == ("b", "c")


def test_it_is_shown_and_drawn(run, shop):
    shown = run("taxonomy", "taxonomy.csv").stdout
    assert "A forest with 3 roots: 30 nodes, 18 leaves, 27 edges, depth 2." in shown
    assert "2 / 2 / 2" in shown
    assert "Nothing in it looks wrong." in shown
    assert "├── Camping" in shown


def test_all_of_it_is_in_the_json(run, tmp_path):
    file = tmp_path / "odd.csv"
    file.write_text("node,parent,name\nA,,One\nb,A,Two\nc,b,two \nB,A,Three\nc,A,two \n")
    found = json.loads(run("taxonomy", file, "--json").stdout)
    assert found["kind"] == "dag"
    assert found["alike_names"] == [{"text": "b", "nodes": ["b", "B"]}]
    assert found["shared_titles"] == [{"text": "two", "nodes": ["b", "c"]}]
    assert found["redundant_edges"] == [["A", "c"]]
    assert found["way_round"] == ["A", "b", "c"]
    assert found["shared_parts"] == found["dropped_edges"] == []
    assert found["levels"][2]["several_parents"] == 1
    assert (found["chains"]["chains"], found["chains"]["contracted_nodes"]) == (1, 3)


def test_what_looks_odd_is_said(run, tmp_path):
    file = tmp_path / "odd.paths"
    file.write_text("shop/Phones/Cases\nshop/laptops/Cases\nshop/Bags/bags\nart\n")
    shown = run("taxonomy", file, env=WIDE).stdout
    assert "3 inner nodes have a single child, in 3 chains; the longest is Phones → shop/Phones/Cases." in shown
    assert "Contracted, 5 nodes would be left." in shown
    assert "1 name is spelt in several ways:\n  bags: 'Bags', 'bags'\n" in shown
    assert "1 last part occurs below several parents:\n  Cases: 'shop/Phones/Cases', 'shop/laptops/Cases'\n" in shown


def test_long_lists_are_cut():
    taxonomy = Taxonomy.from_paths([f"top/{k}/x{j}" for j in range(12) for k in range(13)])
    (parts,) = notes(inspect(taxonomy))
    assert parts.startswith("12 last parts occur below several parents each:")
    assert parts.count("\n") == 11
    assert parts.endswith("… and 2 more")
    assert "and 3 more" in parts
    chain = inspect(Taxonomy.from_paths(["/".join(f"n{k}" for k in range(60))]))
    (said,) = notes(chain)
    assert "n0 → n1 → n2 → n3 → n4 → n5 → n6 → n7 → … → n59" in said
    assert len(level_table(chain, None).rows) == MAX_LEVELS + 1


def test_names_are_not_taken_for_markup(run, tmp_path):
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({"[red]": ["[/]", ":smile:", "[bold]x"]}))
    shown = run("taxonomy", file).stdout
    assert all(name in shown for name in ("[red]", "[/]", ":smile:", "[bold]x"))


def test_progress_is_shown(run, shop):
    shown = run("taxonomy", "taxonomy.csv", env={"FORCE_COLOR": "1", "TERM": "xterm"}).stderr
    assert "Reading taxonomy.csv" in shown
    assert "Inspecting" in shown
    assert run("taxonomy", "taxonomy.csv").stderr == ""


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("ending", [kind for kind in TaxonomyFormat if kind != "rcv1"])  # its names have no spaces
def test_it_is_converted(run, shop, ending):
    result = run("taxonomy", "taxonomy.csv", "--convert", f"tree.{ending}", "--json")
    assert json.loads(result.stdout)["converted_to"] == f"tree.{ending}"
    assert Taxonomy.read(f"tree.{ending}") == Taxonomy.read("taxonomy.csv")


def test_what_is_converted_can_be_packed(run, shop):
    for name, unpack in (("tree.json.gz", gzip.open), ("tree.JSON.xz", lzma.open)):
        run("taxonomy", "taxonomy.csv", "--convert", name)
        with unpack(name) as stream:
            assert json.load(stream)["Tents"] == "Camping"


@pytest.mark.parametrize("ending", ["edges", "csv", "tsv", "json", "rcv1"])
def test_a_dag_is_converted(run, tmp_path, ending):
    (tmp_path / "genes.arff").write_text(ARFF)
    run("taxonomy", tmp_path / "genes.arff", "--convert", tmp_path / f"genes.{ending}")
    genes = Taxonomy.read(tmp_path / f"genes.{ending}")
    assert genes.kind == "dag"
    assert genes.parents_of("c") == ["a", "b"]


@pytest.mark.parametrize("ending", ["paths", "indented", "paths.gz"])
def test_a_dag_has_no_paths(refused, tmp_path, ending):
    (tmp_path / "genes.arff").write_text(ARFF)
    said = refused("taxonomy", tmp_path / "genes.arff", "--convert", tmp_path / f"genes.{ending}")
    assert f"genes.{ending}: Paths and indented text hold trees and forests only; write a DAG as" in said
    assert said.endswith(" --spanning-forest and --flatten make it a tree or forest.")


@pytest.mark.parametrize("ending", ["paths", "indented", "csv"])
def test_a_dag_is_made_a_tree_or_a_star(run, tmp_path, ending):
    file, out = tmp_path / "genes.arff", tmp_path / f"genes.{ending}"
    file.write_text(ARFF)
    result = run("taxonomy", file, "--convert", out, "--spanning-forest", "--json")
    assert json.loads(result.stdout)["kind"] == "dag"  # what is shown is what was read
    assert list(Taxonomy.read(out).edges()) == [("b", "c"), ("c", "d")]
    run("taxonomy", file, "--convert", out, "--flatten")
    assert Taxonomy.read(out) == Taxonomy.from_parents(dict.fromkeys("abcd"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--flatten"], "--flatten is about the file that is written; name it with --convert OUT."),
        (["--spanning-forest"], "--spanning-forest is about the file that is written"),
        (["--convert", "x.csv", "--flatten", "--spanning-forest"], "are two shapes; give one of them."),
    ],
)
def test_shapes_that_are_not_written(refused, shop, options, said):
    assert said in refused("taxonomy", "taxonomy.csv", *options)


@pytest.mark.parametrize("ending", TaxonomyFormat)
def test_titles_that_are_lost_are_counted(run, tmp_path, ending):
    file, out = tmp_path / "codes.csv", tmp_path / f"again.{ending}"
    file.write_text("node,parent,name\nJ,,Lungs\nJ45,J,Asthma\nJ20,J,\n")
    notes = run("taxonomy", file, "--convert", out, env=WIDE | {"COLUMNS": "500"}).stderr
    lost = f"2 titles are left out: {out} has no place for them; .csv, .tsv, .json and .rcv1 have."
    assert (lost in notes.splitlines()) == (Taxonomy.read(out).titles == {})
    assert run("taxonomy", file, "--convert", out, "--quiet").stderr == ""
    file.write_text("node,parent,name\nJ,,\nJ45,J,\n")
    assert "left out" not in run("taxonomy", file, "--convert", out).stderr


# ---------------------------------------------------------------- standard input


def test_a_taxonomy_on_standard_input(run, shop):
    result = run("taxonomy", "-", "--json", "--svg", "tree.svg", input=Path("taxonomy.csv").read_text())
    assert json.loads(result.stdout)["nodes"] == 30
    assert "standard input" in Path("tree.svg").read_text()
    found = json.loads(run("taxonomy", "-", "--format", "edges", "--json", input="a/b c/d\n").stdout)
    assert found["nodes_by_level"] == [1, 1]
    run("taxonomy", "-", "--format", "arff", "--convert", "genes.csv", input=ARFF)
    assert Taxonomy.read("genes.csv").kind == "dag"
    assert json.loads(run("taxonomy", "-", "--format", "lshtc", "--json", input="1 2 9\n1 3 9\n").stdout)["nodes"] == 4


def test_standard_input_may_be_packed_and_shows_that_it_is_read(run, shop):
    packed = gzip.compress(Path("taxonomy.csv").read_bytes())
    result = run("taxonomy", "-", input=packed, env={"FORCE_COLOR": "1", "TERM": "xterm"})
    assert "30 nodes" in result.stdout
    assert "Reading standard input" in result.stderr


def test_what_is_wrong_with_standard_input(refused, shop):
    assert "line 2: an edge is 'parent child'" in refused("taxonomy", "-", "--format", "edges", input="a b\na b c\n")
    assert "1 edge closes a cycle (b → a)" in refused("taxonomy", "-", input="a b\nb a\n")
    assert "at least one node" in refused("taxonomy", "-", input="")
    said = refused("taxonomy", "-", "--data", "-", "--label", "category", input="a b\n")
    assert said == "FILE and --data are both standard input; name a file for one of them."


def test_names_that_a_format_cannot_hold(refused, shop):
    said = refused("taxonomy", "taxonomy.csv", "--convert", "tree.rcv1", "--svg", "tree.svg")
    assert said.startswith("tree.rcv1: The format 'rcv1' cannot hold the name")


def test_the_format_can_be_forced(run, tmp_path):
    file = tmp_path / "tree.txt"
    file.write_text("a>b\na>c\n")
    found = json.loads(run("taxonomy", file, "--format", "paths", "--path-sep", ">", "--json").stdout)
    assert found["nodes_by_level"] == [1, 2]


def test_a_node_of_lshtc_is_its_number(run, tmp_path):
    file = tmp_path / "hierarchy.txt"
    file.write_text("1 2 9\n1 3 9\n")
    assert json.loads(run("taxonomy", file, "--format", "lshtc", "--json").stdout)["kind"] == "dag"
    assert json.loads(run("taxonomy", file, "--json").stdout)["kind"] == "tree"


def test_formats_in_are_those_out_and_some_more():
    more = ["mesh", "obo", "owl", "xlsx", "ods", "arff", "lshtc"]
    assert sorted([*TaxonomyFormat, *more]) == sorted(TaxonomyInput)


@pytest.mark.parametrize("out", ["tree.txt", "tree", "nowhere/tree.csv", "model", "tree.arff"])
def test_what_cannot_be_written_is_refused(refused, shop, out):
    assert out.partition("/")[0] in refused("taxonomy", "taxonomy.csv", "--convert", out)


def test_a_drawing_in_a_file(run, shop):
    result = run("taxonomy", "taxonomy.csv", "--svg", "tree.svg", "--json")
    assert json.loads(result.stdout)["svg"] == "tree.svg"
    page = Path("tree.svg").read_text()
    assert "Sleeping bags" in "".join(ET.fromstring(page).itertext())
    assert "taxonomy.csv" in page


@pytest.mark.parametrize("out", ["nowhere/tree.svg", "model"])
def test_a_drawing_that_cannot_be_written(refused, shop, out):
    assert out.partition("/")[0] in refused("taxonomy", "taxonomy.csv", "--convert", "tree.json", "--svg", out)


def test_a_folder_is_no_taxonomy(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "folder" in refused("taxonomy", tmp_path / "folder")


def test_quiet_still_gives_the_result(run, shop):
    result = run("taxonomy", "taxonomy.csv", "--convert", "tree.json", "--svg", "tree.svg", "--quiet")
    assert "30 nodes" in result.stdout
    assert result.stderr == ""
    assert Path("tree.json").is_file()


# ---------------------------------------------------------------- cycles


@pytest.mark.parametrize("options", [(), ("--json",), ("--svg", "x.svg")])
def test_the_edges_that_close_cycles_are_named(refused, tangle, options):
    assert refused("taxonomy", tangle, *options) == (
        f"{tangle}: 2 edges close cycles (c → a, d → d), the first of them a → b → c → a; remove them, or leave them "
        "out with --drop-cycles."
    )


def test_a_single_one_is_it(refused, tmp_path):
    file = tmp_path / "cycle.txt"
    file.write_text("a b\nb a\n")
    assert refused("taxonomy", file).endswith("1 edge closes a cycle (b → a): a → b → a; remove it, or leave it out "
                                              "with --drop-cycles.")  # fmt: skip


def test_many_of_them_are_cut(refused, tmp_path):
    file = tmp_path / "loops.txt"
    file.write_text(
        "".join(f"n{k} n{k + 1}\n" for k in range(40)) + "n40 n0\n" + "".join(f"n{k} n{k}\n" for k in range(30))
    )
    said = refused("taxonomy", file)
    assert "31 edges close cycles (n40 → n0, n0 → n0, " in said
    assert "n8 → n8 and 21 more)" in said
    assert "n0 → n1 → n2 → n3 → n4 → n5 → n6 → n7 → … → n0" in said


def test_cycles_can_be_dropped(run, tangle, tmp_path):
    result = run("taxonomy", tangle, "--drop-cycles", "--convert", tmp_path / "tree.json", "--json")
    assert json.loads(result.stdout)["dropped_edges"] == [["c", "a"], ["d", "d"]]
    assert list(Taxonomy.read(tmp_path / "tree.json").edges()) == [("a", "b"), ("b", "c"), ("b", "d")]
    assert (
        "2 edges closed cycles and were dropped:\n  c → a\n  d → d\n" in run("taxonomy", tangle, "--drop-cycles").stdout
    )


@pytest.mark.parametrize(("name", "text", "options"), [
    ("tangle.arff", ARFF.replace("c/d", "c/d,d/a"), ()),
    ("tangle.txt", "1 2 3\n3 1\n", ("--format", "lshtc")),
    ("tangle.csv", "node,parent\na,b\nb,a\n", ()),
    ("tangle.json", '[["a", "b"], ["b", "a"]]', ()),
])  # fmt: skip
def test_cycles_in_every_format(run, refused, tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    assert "closes a cycle" in refused("taxonomy", tmp_path / name, *options)
    found = json.loads(run("taxonomy", tmp_path / name, *options, "--drop-cycles", "--json").stdout)
    assert len(found["dropped_edges"]) == 1


# ---------------------------------------------------------------- against data


def data_of(run, *arguments):
    return json.loads(run("taxonomy", *arguments, "--json").stdout)["data"]


def test_a_table_beside_its_taxonomy(run, shop):
    found = data_of(run, "taxonomy.csv", "--data", "train.csv", "--label", "category")
    assert (found["rows"], found["rows_without_label"]) == (252, 0)
    assert found["unknown_labels"] == found["empty_leaves"] == found["empty_subtrees"] == found["inner_labels"] == []
    assert [level["rows"] for level in found["levels"]] == [252, 252, 252]
    assert [level["ending"] for level in found["levels"]] == [0, 0, 252]
    assert "rows_below" not in found
    shown = run("taxonomy", "taxonomy.csv", "--data", "train.csv", "--label", "category", env=WIDE).stdout
    assert "train.csv: 252 rows; every label is in the taxonomy and every leaf has rows.\n" in shown


@pytest.mark.parametrize("column", ["Boats|tents |Camping", "a;b|Tents;Camping|"])
def test_labels_that_are_not_in_it_are_reported(run, shop, column):
    several = ";" in column
    Path("odd.csv").write_text("c,t\n" + "".join(f"{label},x\n" for label in column.split("|")))
    given = ["--data", "odd.csv", "--label", "c", *(["--label-sep", ";"] if several else [])]
    found = data_of(run, "taxonomy.csv", *given)
    assert found["rows"] == 3
    assert found["rows_without_label"] == 2
    if several:
        assert [label["label"] for label in found["unknown_labels"]] == ["a", "b"]
        assert found["implied_labels"] == 1
    else:
        assert found["unknown_labels"] == [
            {"label": "Boats", "count": 1, "near": []},
            {"label": "tents", "count": 1, "near": ["Tents"]},
        ]
        assert found["inner_labels"] == [{"node": "Camping", "rows": 1}]
    shown = run("taxonomy", "taxonomy.csv", *given, env=WIDE).stdout
    assert "2 labels are not in the taxonomy:" in shown
    assert "2 rows have no label in the taxonomy." in shown
    assert several or "'tents' (1); did you mean 'Tents'?" in shown


def test_what_stays_empty(run, shop):
    Path("few.csv").write_text("c\nTents\nTents\nOutdoors\n")
    given = ("taxonomy.csv", "--data", "few.csv", "--label", "c")
    found = data_of(run, *given)
    assert len(found["empty_leaves"]) == 17
    tree = Taxonomy.read("taxonomy.csv")
    assert {tree.names[v] for v in tree.roots} - {"Outdoors"} < set(found["empty_subtrees"])
    assert "Camping" not in found["empty_subtrees"]
    assert found["empty_inner_nodes"] == 12 - 2
    shown = run("taxonomy", *given, "--svg", "tree.svg", env=WIDE).stdout
    assert "17 leaves have no rows: " in shown
    assert "10 inner nodes have no rows at or below; the topmost: " in shown
    assert "1 label ends at 1 inner node: Outdoors (1)." in shown
    assert "no rows" in Path("tree.svg").read_text()


def test_labels_can_be_paths(run, tmp_path):
    (tmp_path / "tree.paths").write_text("a>x\nb>x\n")
    (tmp_path / "rows.jsonl").write_text('{"c": ["a > x", "b>y"]}\n{"c": []}\n')
    found = data_of(run, tmp_path / "tree.paths", "--data", tmp_path / "rows.jsonl", "--label", "c", "--path-sep", ">")
    assert found["empty_leaves"] == ["b>x"]
    assert [label["label"] for label in found["unknown_labels"]] == ["b>y"]


def test_numbers_have_labels_too(run, shop):
    Path("rows.svm").write_text(SVM)
    found = data_of(run, "taxonomy.csv", "--data", "rows.svm")
    assert (found["rows"], found["rows_without_label"], found["inner_labels"]) == (
        4,
        1,
        [{"node": "Camping", "rows": 1}],
    )
    assert found["unknown_labels"] == [{"label": "Boats", "count": 1, "near": []}]


def test_arff_beside_its_own_header(run, tmp_path):
    (tmp_path / "genes.arff").write_text(ARFF)
    found = data_of(run, tmp_path / "genes.arff", "--data", tmp_path / "genes.arff")
    assert (found["rows"], found["implied_labels"], found["unknown_labels"]) == (3, 1, [])
    assert found["inner_labels"] == [{"node": "a", "rows": 1}, {"node": "c", "rows": 1}]


def test_lshtc_rows(run, tmp_path):
    (tmp_path / "hierarchy.txt").write_text("1 2\n1 3\n")
    (tmp_path / "rows.txt").write_text("2, 4 0:1 7:1\n0 0:2 9:1\n")
    given = ("--format", "lshtc", "--data", tmp_path / "rows.txt", "--data-format", "lshtc")
    found = data_of(run, tmp_path / "hierarchy.txt", *given)
    assert (found["rows"], found["rows_without_label"]) == (2, 1)
    assert found["unknown_labels"] == [{"label": "4", "count": 1, "near": []}]


def test_data_on_standard_input(run, shop):
    table = Path("train.csv").read_text()
    given = ("taxonomy", "taxonomy.csv", "--data", "-", "--label", "category", "--json")
    assert json.loads(run(*given, input=table).stdout)["data"]["rows"] == 252


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label", "category"], "taxonomy.csv, line 1: there is no column 'category'"),
        (["--label-sep", ";"], "--label-sep is about labelled data; name its file with --data FILE."),
        (["--data-format", "csv"], "--data-format is about labelled data"),
        (["--data", "train.csv"], "name its columns with --label COLUMN."),
        (["--data", "train.csv", "--label", "kind"], "there is no column 'kind'"),
        (["--data", "numbers.svm", "--label", "kind"], "in which no columns are named; leave out --label."),
        (["--data", "nowhere.csv", "--label", "kind"], "nowhere.csv: there is no such file"),
        (["--data", "shop.xlsx", "--label", "kind"], "shop.xlsx: not a workbook, or a damaged one"),
        (["--data", "empty.svm"], "empty.svm: the file has no rows."),
        (["--data", "header.csv", "--label", "kind"], "header.csv: the file has no rows."),
        (["--data", "empty.csv", "--label", "kind"], "empty.csv: the file is empty"),
        (["--path-sep", ""], "--path-sep must not be empty"),
    ],
)
def test_what_is_refused(refused, shop, options, said):
    Path("empty.svm").write_text("")
    Path("empty.csv").write_text("")
    Path("shop.xlsx").touch()
    Path("header.csv").write_text("kind\n")
    outputs = ("--svg", "tree.svg", "--convert", "tree.json")
    assert said in refused("taxonomy", "taxonomy.csv", *options, *outputs)


def test_converting_is_a_function_too(tmp_path):
    with pytest.raises(TaxonomyError, match=r"must be one of \.edges, \.paths"):
        convert(Taxonomy.from_paths(["a"]), tmp_path / "tree.txt")


# ---------------------------------------------------------------- whatever comes in

VALID = (
    "a b\nb c\na c\n",
    "a/b\nc/b\nc/B \n",
    "node,parent,name\na,,A\nb,a,B\nb,c,B\n",
    '{"a": null, "b": "a"}',
    "a\n  b\n  c\n",
    "parent: None child: a\nparent: a child: b child-description: Bees\n",
    ARFF,
    '[["a"], ["a", "\\ud800"], ["\\ud800", "\\u0000"]]',
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_only_our_errors_come_out(tmp_path, data):
    text = data.draw(st.sampled_from(VALID)).encode()
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.binary(max_size=3)) + text[at + data.draw(st.integers(0, 2)) :]
    file = tmp_path / "odd.txt"
    file.write_bytes(text)
    kind = data.draw(st.sampled_from([None, *TaxonomyInput]))
    try:
        taxonomy = read_taxonomy(file, format=kind, advice="", drop_cycles=data.draw(st.booleans()))
    except CladistError:
        return
    found = inspect(taxonomy)
    assert found.nodes == len(taxonomy)
    assert all(map(str, notes(found)))
    ET.fromstring(taxonomy_drawing(taxonomy, title=file.name))


def test_names_that_no_terminal_can_show(tmp_path):
    (tmp_path / "odd.json").write_text(VALID[-1])
    for options, code in ((["--svg", str(tmp_path / "x.svg")], 0), (["--convert", str(tmp_path / "x.json")], 2)):
        command = [sys.executable, "-m", "cladist.cli", "taxonomy", str(tmp_path / "odd.json"), *options]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert not (tmp_path / "x.json").exists()


def test_the_tree_of_a_column(run, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = ["rain coat,wear > coats", "tea cup,home > cups", "desk lamp,home > lamps", "mug,home > cups"]
    Path("train.csv").write_text("\n".join(["t,c", *rows]) + "\n")
    given = ("taxonomy", "train.csv", "--label", "c", "--path-sep", " > ")
    shown = run(*given, "--convert", "tree.json").stdout
    assert "A forest with 2 roots: 5 nodes, 3 leaves, 3 edges, depth 1." in shown
    assert Taxonomy.read("tree.json").names == ("wear", "home", "coats", "cups", "lamps")
    told = json.loads(run(*given, "--json").stdout)
    assert told["data"]["rows"] == 4
    piped = run("taxonomy", "-", *given[2:], "--data-format", "csv", "--json", input=Path("train.csv").read_text())
    assert json.loads(piped.stdout) == told
    assert "3 of 3 labels contain ' > '" in refused(*given[:-2])
    Path("bad.csv").write_text("t,c\na,b >  > c\n")
    assert "has an empty part" in refused("taxonomy", "bad.csv", *given[2:])
