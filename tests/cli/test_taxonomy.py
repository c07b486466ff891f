"""``cladist taxonomy``."""

import json
from pathlib import Path

import pytest

from cladist.cli.taxonomy import TaxonomyFormat, shape
from cladist.taxonomy import Taxonomy


def test_the_shape_is_counted():
    tree = Taxonomy.from_paths(["a/b/c/d", "a/b/c/e", "a/f"])
    assert shape(tree) == {
        "kind": "tree",
        "nodes": 6,
        "leaves": 3,
        "roots": 1,
        "depth": 3,
        "nodes_by_level": [1, 2, 1, 2],
        "single_child_nodes": 1,
    }


def test_it_is_drawn(run, shop):
    shown = run("taxonomy", "taxonomy.csv").stdout
    assert "A forest with 3 roots: 30 nodes, 18 leaves, depth 2." in shown
    assert "├── Camping" in shown


def test_names_are_not_taken_for_markup(run, tmp_path):
    file = tmp_path / "odd.json"
    file.write_text(json.dumps({"[red]": ["[/]", ":smile:", "[bold]x"]}))
    shown = run("taxonomy", file).stdout
    assert all(name in shown for name in ("[red]", "[/]", ":smile:", "[bold]x"))


@pytest.mark.parametrize("ending", [kind for kind in TaxonomyFormat if kind != "rcv1"])  # its names have no spaces
def test_it_is_converted(run, shop, ending):
    result = run("taxonomy", "taxonomy.csv", "--convert", f"tree.{ending}", "--json")
    assert json.loads(result.stdout)["converted_to"] == f"tree.{ending}"
    assert Taxonomy.read(f"tree.{ending}") == Taxonomy.read("taxonomy.csv")


def test_the_format_can_be_forced(run, tmp_path):
    file = tmp_path / "tree.txt"
    file.write_text("a>b\na>c\n")
    found = json.loads(run("taxonomy", file, "--format", "paths", "--path-sep", ">", "--json").stdout)
    assert found["nodes_by_level"] == [1, 2]


@pytest.mark.parametrize("out", ["tree.txt", "tree", "nowhere/tree.csv", "model"])
def test_what_cannot_be_written_is_refused(refused, shop, out):
    assert out.partition("/")[0] in refused("taxonomy", "taxonomy.csv", "--convert", out)


def test_a_cycle_is_named(refused, tmp_path):
    file = tmp_path / "cycle.txt"
    file.write_text("a b\nb a\n")
    assert "cycle" in refused("taxonomy", file)


def test_a_folder_is_no_taxonomy(refused, tmp_path):
    (tmp_path / "folder").mkdir()
    assert "folder" in refused("taxonomy", tmp_path / "folder")


def test_quiet_still_gives_the_result(run, shop):
    result = run("taxonomy", "taxonomy.csv", "--convert", "tree.json", "--quiet")
    assert "30 nodes" in result.stdout
    assert result.stderr == ""
    assert Path("tree.json").is_file()
