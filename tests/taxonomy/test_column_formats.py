"""Tables of nodes and parents: blanks around cells, delimiters, and the line that says one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import TaxonomyError
from cladist.taxonomy.formats.reader import parse
from tests.strategies import AWKWARD

TREE = Taxonomy.from_edges([("a", "b"), ("b", "c d")])
cells = st.text(AWKWARD.replace("\0", "") + "ab1", min_size=1, max_size=5)
blanks = st.sampled_from(["", " ", "   "])


@given(st.lists(cells, min_size=1, max_size=5, unique=True), st.sampled_from(",;|\t"), st.booleans(), st.data())
def test_blanks_outside_of_quotes_are_stripped_and_those_inside_stay(names, delimiter, said, data):
    lines = [f"sep={delimiter}"] if said else []
    lines.append(f"node{delimiter}parent")
    for name in names:
        quotable = not (name.startswith('"') or any(c in name for c in f"{delimiter}\r\n") or name != name.strip(" "))
        plain = quotable and data.draw(st.booleans())
        cell = name if plain else '"' + name.replace('"', '""') + '"'
        before, after, behind = (data.draw(blanks) for _ in range(3))
        lines.append(f"{before}{cell}{after}{delimiter}{behind}")
    assert parse("\n".join(lines), "csv").names == tuple(names)


def test_blanks_around_cells_in_every_place():
    text = 'node , parent , name \na , , " A "\n b,a  ,B  \r\n"c d" , "b" ,"x\n y " \n   \n'
    taxonomy = parse(text, "csv")
    assert taxonomy == TREE
    assert taxonomy.titles == {"a": " A ", "b": "B", "c d": "x\n y "}


def test_a_quote_inside_a_cell_is_a_letter():
    assert parse('node,parent\n5" disk ,\n"3"" disk " ,5" disk \n', "csv").names == ('5" disk', '3" disk ')


@pytest.mark.parametrize("cell", ['"a" "b"', '"a" b', '"a"b', '"a'])
def test_text_behind_a_closing_quote_is_refused(cell):
    with pytest.raises(TaxonomyError, match="line 2: "):
        parse(f"node,parent\n{cell},", "csv")


@pytest.mark.parametrize("first", ["sep={}\n", "SEP={}\r\n", '"sep={}"\n', "sep={}\r", "\ufeffsep={} \n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", ":", "^"])
@pytest.mark.parametrize("name", ["tree.csv", "tree.tsv", "tree.txt"])
def test_the_line_of_excel_says_the_delimiter(tmp_path, first, delimiter, name):
    text = first.format(delimiter) + "node,parent\na,\nb,a\nc d,b\n".replace(",", delimiter)
    (tmp_path / name).write_bytes(text.encode())
    assert Taxonomy.read(tmp_path / name) == TREE


def test_the_said_delimiter_holds_whatever_the_header_has():
    text = "sep=;\nnode;parent;a,b\na;;1,2\nb;a;\nc d;b;\n"
    assert parse(text, "csv") == TREE
    with pytest.raises(TaxonomyError, match=r"line 2: .* which has 'node,parent'"):
        parse("sep=;\nnode,parent\na,\n", "csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("header", ["node,parent", '"node","parent"', "Parent , Name , Node"])
def test_the_header_tells_the_delimiter_of_a_csv_file(tmp_path, delimiter, header):
    rows = [["x", "y", "z"], ["a", "A", "b"]] if "Name" in header else [["b", "a"]]
    text = "\n".join([header, *map(",".join, rows)]).replace(",", delimiter)
    (tmp_path / "tree.csv").write_text(text)
    assert Taxonomy.read(tmp_path / "tree.csv").ancestors("b") == ["a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("code;above\nJ;\n", "line 1: the columns 'node' and 'parent' must be in the header, which has 'code, above'."),
        (
            "code\tabove\nJ\t\n",
            "line 1: the columns 'node' and 'parent' must be in the header, which has 'code, above'.",
        ),
        ("sep=;\n", "line 1: the columns 'node' and 'parent' must be in the header, which has ''."),
        ("sep=;\nnode;node;parent\n", "line 2: the header names 'node' twice, so it is not clear which is meant."),
        ("sep=;\nnode;parent\na;\nb;a;c\n", "line 4: 2 columns are needed; there are 3: 'b, a, c'."),
        ("sep=;\nnode;parent\na;\n ;a\n", "A node needs a name; line 4 has an empty one."),
        ("sep=ab\nnode,parent\n", "line 1: the columns 'node' and 'parent' must be in the header, which has 'sep=ab'."),
        ('sep="\nnode,parent\n', "line 1: the columns 'node' and 'parent' must be in the header, which has 'sep=\"'."),
        ("node;parent\na;\na ;\n", "line 3: the node 'a' has a row without a parent already."),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, message):
    with pytest.raises(TaxonomyError) as caught:
        parse(text, "csv")
    assert str(caught.value) == message
