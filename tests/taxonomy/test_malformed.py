"""Every way a taxonomy can be malformed: a TaxonomyError that says where and what."""

import networkx as nx
import numpy as np
import pytest

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy import as_taxonomy

FILES = {
    # name: (file name, content, everything the message must hold)
    "cycle": ("t.txt", "a b\nb c\nc a\n", ["cycle", "a", "b", "c", "line 3"]),
    "self loop": ("t.txt", "a b\nb b\n", ["cycle", "b → b", "line 2"]),
    "self loop alone": ("t.txt", "x y\nb b\n", ["cycle", "b → b", "line 2"]),
    "three fields": ("t.edges", "a b\na b c\n", ["line 2", "3 fields", "'a b c'"]),
    "three tabbed fields": ("t.edges", "a\tb\nc\td\te\n", ["line 2", "3 fields"]),
    "empty child": ("t.txt", "a\tb\na\t\n", ["line 2", "empty"]),
    "empty parent": ("t.txt", "a\tb\n\tb\n", ["line 2", "empty"]),
    "empty part": ("t.txt", "a/b\na//c\n", ["line 2", "empty part", "'a//c'"]),
    "slash at the end": ("t.txt", "a/b\n\nb/\n", ["line 3", "'b/'"]),
    "slash in front": ("t.paths", "/a/b\n", ["line 1", "'/a/b'"]),
    "empty file": ("t.txt", "", ["at least one node"]),
    "only comments": ("t.txt", "# nothing\n\n", ["at least one node"]),
    "empty csv": ("t.csv", "", ["line 1", "'node' and 'parent'"]),
    "only a header": ("t.csv", "node,parent\n", ["at least one node"]),
    "csv columns": ("t.csv", "name,parent\na,\n", ["line 1", "'node' and 'parent'", "'name, parent'"]),
    "csv without parent": ("t.csv", "node,above\na,\n", ["line 1", "'parent'"]),
    "csv too wide": ("t.csv", "node,parent\na,\nb,a,c\n", ["line 3", "2 columns", "there are 3", "'b, a, c'"]),
    "csv too narrow": ("t.csv", "node,parent\na,\nb\n", ["line 3", "2 columns", "there are 1"]),
    "csv twice": ("t.csv", "node,parent\na,\nb,a\nb,\n", ["line 4", "'b'", "another row"]),
    "csv empty node": ("t.csv", "node,parent\na,\n,a\n", ["line 3", "empty"]),
    "csv cycle": ("t.csv", "node,parent\na,b\nb,a\n", ["cycle", "line"]),
    "csv self loop": ("t.csv", "node,parent\na,a\n", ["cycle", "a → a", "line 2"]),
    "csv open quote": ("t.csv", 'node,parent\n"a,\n', ["line 2"]),
    "csv open quote in the header": ("t.csv", '"node,parent\n', ["line 1"]),
    "csv text after a quote": ("t.csv", 'node,parent\n"a"b,\n', ["line 2"]),
    "bad json": ("t.json", '{"a": null,\n "b" "a"}', ["line 2, column 6", "not JSON"]),
    "cut json": ("t.json", '{"a": {"b": {}', ["line 1, column", "not JSON"]),
    "empty json": ("t.json", "", ["line 1, column 1", "not JSON"]),
    "no nodes in json": ("t.json", "{}", ["at least one node"]),
    "no nodes in a json list": ("t.json", "[]", ["at least one node"]),
    "json keys twice": ("t.json", '{"a": null, "b": "a", "b": null}', ["'b'", "twice"]),
    "nested json keys twice": ("t.json", '{"a": {"b": {}, "b": {}}}', ["'b'", "twice"]),
    "json text": ("t.json", '"a"', ["the top", "'a'"]),
    "json number": ("t.json", "3", ["the top", "3"]),
    "json truth as a parent": ("t.json", '{"a": true}', ["a", "True"]),
    "json float as a parent": ("t.json", '{"a": 1.5}', ["a", "1.5"]),
    "json mixture": ("t.json", '{"a": {"b": "c"}}', ["a → b", "'c'"]),
    "json edge of three": ("t.json", '[["a", "b"], ["a", "c", "d"]]', ["line 1", '["a", "c", "d"]']),
    "json edge to nothing": ("t.json", '[["a", "b"], ["a", null]]', ["line 1", '["a", null]']),
    "json edge to an empty name": ("t.json", '[["a", ""]]', ["line 1", '["a", ""]']),
    "json edges and a name": ("t.json", '[["a", "b"], "c"]', ["line 1", '"c"']),
    "json edges with a cycle": ("t.json", '[["a", "b"], ["b", "a"]]', ["b → a → b", "line 1"]),
    "csv two roots": ("t.csv", "node,parent\na,\na,\n", ["line 3", "'a'", "already"]),
    "csv two titles": ("t.csv", "node,parent,name\na,,A\nb,,B\nc,a,C\nc,b,D\n", ["line 5", "'D' here", "'C' before"]),
    "json null in a list": ("t.json", '{"a": ["b", null]}', ["line 1: below a", "None"]),
    "json empty name": ("t.json", '{"a": {"": {}}}', ["below a", "empty"]),
    "json empty name in a list": ("t.json", '{"a": [""]}', ["line 1: below a", "''"]),
    "json empty child": ("t.json", '{"": null}', ["line 1", "empty"]),
    "json cycle": ("t.json", '{"a": "b", "b": "a"}', ["cycle", "line 1"]),
    "json too deep": ("t.json", '{"a":' * 50_000 + "{}" + "}" * 50_000, ["nested too deeply", "{child: parent}"]),
    "json lists too deep": ("t.json", "[" * 50_000 + "]" * 50_000, ["nested too deeply"]),
    "json endless number": ("t.json", '{"a": ' + "1" * 5_000 + "}", ["number"]),
    "not UTF-8": ("t.txt", b"a b\nc d\xff\n", ["line 2", "UTF-8", "0xff"]),
    "UTF-16": ("t.csv", "node,parent\na,\n".encode("utf-16"), ["line 1", "UTF-8"]),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "wanted"), FILES.values(), ids=FILES)
def test_a_malformed_file_names_file_line_and_offender(tmp_path, name, content, wanted):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TaxonomyError) as caught:
        Taxonomy.read(path)
    message = str(caught.value)
    assert str(path) in message
    for part in wanted:
        assert part in message
    assert message.endswith((".", "?"))
    assert "\n" not in message


@pytest.mark.parametrize("crlf", [False, True])
def test_line_numbers_count_every_line(tmp_path, crlf):
    text = "# comment\n\na b\n\n  # x\nb a\n"
    (tmp_path / "t.txt").write_bytes(text.replace("\n", "\r\n" if crlf else "\n").encode())
    with pytest.raises(TaxonomyError, match=r"b → a → b \(closed by line 6\)"):
        Taxonomy.read(tmp_path / "t.txt")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TaxonomyError, match=r"missing\.csv: there is no such file"):
        Taxonomy.read(tmp_path / "missing.csv")
    with pytest.raises(TaxonomyError, match="cannot be read"):
        Taxonomy.read(tmp_path)
    with pytest.raises(TaxonomyError, match="no file can have this name"):
        Taxonomy.read("a\0b")


def test_unknown_formats(tmp_path):
    taxonomy = Taxonomy.from_paths(["a/b"])
    names = "json, csv, tsv, paths, edges, indented, rcv1, mesh, obo, owl, xlsx, ods, turtle, rdfxml, jsonld"
    with pytest.raises(TaxonomyError, match=f"one of {names}; got 'yaml'"):
        Taxonomy.read(tmp_path / "x", format="yaml")
    written = "json, csv, tsv, paths, edges, indented, rcv1, turtle, rdfxml, jsonld"
    with pytest.raises(TaxonomyError, match=f"one of {written}; got 'mesh'"):
        taxonomy.write(tmp_path / "x", format="mesh")


# ---------------------------------------------------------------- from Python


undirected = nx.Graph([("a", "b")])
loop = nx.DiGraph([("a", "b"), ("b", "a")])

CALLS = {
    "no nodes": (lambda: Taxonomy.from_parents({}), ["at least one node"]),
    "no edges": (lambda: Taxonomy.from_edges([]), ["at least one node"]),
    "no paths": (lambda: Taxonomy.from_paths([]), ["at least one node"]),
    "not a mapping": (lambda: Taxonomy.from_parents([("a", "b")]), ["mapping", "list"]),
    "edges of a text": (lambda: Taxonomy.from_edges("ab"), ["pairs", "str"]),
    "edges of a number": (lambda: Taxonomy.from_edges(3), ["pairs", "int"]),
    "an edge of one": (lambda: Taxonomy.from_edges([("a", "b"), ("c",)]), ["entry 1", "('c',)"]),
    "an edge of three": (lambda: Taxonomy.from_edges([("a", "b", "c")]), ["entry 0", "('a', 'b', 'c')"]),
    "an edge that is a text": (lambda: Taxonomy.from_edges([("a", "b"), "cd"]), ["entry 1", "'cd'"]),
    "an edge that is a number": (lambda: Taxonomy.from_edges([1, 2]), ["entry 0", "1"]),
    "an edge without order": (lambda: Taxonomy.from_edges([{"a", "b"}]), ["entry 0", "pair"]),
    "an edge to nothing": (lambda: Taxonomy.from_edges([("a", "b"), ("a", None)]), ["entry 1", "empty"]),
    "an edge from NaN": (lambda: Taxonomy.from_edges([(float("nan"), "b")]), ["entry 0", "empty"]),
    "an edge to a list": (lambda: Taxonomy.from_edges([("a", ["b"])]), ["entry 0", "['b']"]),
    "a name of bytes": (lambda: Taxonomy.from_parents({b"a": None}), ["entry 0", "b'a'"]),
    "an empty name": (lambda: Taxonomy.from_parents({"a": None, "": "a"}), ["entry 1", "empty"]),
    "a nested mapping": (lambda: Taxonomy.from_parents({"a": {"b": None}}), ["entry 0", "{'b': None}"]),
    "a cycle": (lambda: Taxonomy.from_edges([("a", "b"), ("b", "a")]), ["cycle", "a", "b", "entry 1", "Remove one"]),
    "a self loop": (lambda: Taxonomy.from_parents({"a": "a"}), ["cycle", "a → a", "entry 0"]),
    "a self loop by text": (lambda: Taxonomy.from_parents({"1": 1}), ["cycle", "1 → 1"]),
    "on_cycle": (lambda: Taxonomy.from_edges([("a", "b")], on_cycle="ignore"), ["'error' or 'drop'", "'ignore'"]),
    "paths of a text": (lambda: Taxonomy.from_paths("abc"), ["several paths", "str"]),
    "paths of a mapping": (lambda: Taxonomy.from_paths({"a": "b"}), ["several paths", "dict"]),
    "paths of a number": (lambda: Taxonomy.from_paths(3), ["several paths", "int"]),
    "a path that is a number": (lambda: Taxonomy.from_paths(["a", 3]), ["entry 1", "3"]),
    "a path that is a set": (lambda: Taxonomy.from_paths([{"a", "b"}]), ["entry 0", "sequence"]),
    "a path of bytes": (lambda: Taxonomy.from_paths([b"a/b"]), ["entry 0", "b'a/b'"]),
    "an empty path": (lambda: Taxonomy.from_paths(["a", ""]), ["entry 1", "''"]),
    "an empty tuple": (lambda: Taxonomy.from_paths([("a",), ()]), ["entry 1", "[]"]),
    "only padding": (lambda: Taxonomy.from_paths([("", None)]), ["entry 0", "['', None]"]),
    "a gap in a path": (lambda: Taxonomy.from_paths([("a", "", "b")]), ["entry 0", "['a', '', 'b']"]),
    "an empty part": (lambda: Taxonomy.from_paths(["a//b"]), ["entry 0", "'a//b'"]),
    "a part that is a list": (lambda: Taxonomy.from_paths([("a", ["b"])]), ["entry 0", "['b']"]),
    "an empty sep": (lambda: Taxonomy.from_paths(["a"], sep=""), ["sep must not be empty"]),
    "one spelling for two": (lambda: Taxonomy.from_paths([("a", "b"), ("a|b",)], sep="|"), ["'a|b'", "sep"]),
    "an undirected graph": (lambda: Taxonomy.from_networkx(undirected), ["DiGraph"]),
    "an undirected graph, guessed": (lambda: as_taxonomy(undirected), ["DiGraph"]),
    "a graph with a cycle": (lambda: Taxonomy.from_networkx(loop), ["cycle", "edge 1"]),
    "not a graph": (lambda: Taxonomy.from_networkx({"a": "b"}), ["DiGraph", "dict"]),
    "a graph without nodes": (lambda: Taxonomy.from_networkx(nx.DiGraph()), ["at least one node"]),
    "not a taxonomy": (lambda: as_taxonomy(3), ["must be a Taxonomy", "int"]),
    "no file of that name": (lambda: as_taxonomy("no such file"), ["no such file"]),
    "an array of numbers": (lambda: as_taxonomy(np.arange(3)), ["entry 0", "pair"]),
}  # fmt: skip


@pytest.mark.parametrize(("call", "wanted"), CALLS.values(), ids=CALLS)
def test_malformed_input_names_entry_and_offender(call, wanted):
    with pytest.raises(TaxonomyError) as caught:
        call()
    for part in wanted:
        assert part in str(caught.value)
