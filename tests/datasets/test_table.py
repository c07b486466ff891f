"""Text tables: what is read, and what is refused where."""

import bz2
import csv
import gzip
import io
import json
import lzma
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist.datasets import Dataset, read_table, read_texts
from cladist.datasets.formats.tables.records import read_records
from cladist.errors import DatasetError, ParameterError
from cladist.files.delimited import LONGEST_FIELD, _long_fields
from cladist.taxonomy import Taxonomy

CSV = "title,body,class\nrain coat,for rain,wear\n\ntea cup,,home\n"
TEXTS = ["rain coat for rain", "tea cup "]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(content: str | bytes, **options: object) -> Dataset:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return read_table(stream, **({"text": "text", "label": "label"} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", CSV.encode()),
        ("t.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("t.csv", CSV.replace("\n", "\r\n").encode()),
        ("t.tsv", CSV.replace(",", "\t").encode()),
        ("t.txt", CSV.replace(",", "\t").encode()),
        ("t.txt", CSV.encode()),
        ("t.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("t.CSV.XZ", lzma.compress(CSV.encode())),
        ("t.tab.bz2", bz2.compress(CSV.replace(",", "\t").encode())),
        (
            "t.jsonl",
            b'{"title": "rain coat", "body": "for rain", "class": "wear"}\n\n'
            b'{"class": "home", "body": null, "title": "tea cup"}\n',
        ),
        (
            "t.json",
            b'\n{"title": "rain coat", "body": "for rain", "class": "wear", "more": [1]}\n'
            b'{"class": "home", "body": "", "title": "tea cup"}',
        ),
    ],
)
def test_every_format_gives_the_same(tmp_path: Path, name: str, content: bytes) -> None:
    path = written(tmp_path / name, content)
    data = read_table(path, text=["title", "body"], label="class")
    assert data.X.tolist() == TEXTS
    assert data.y.tolist() == ["wear", "home"]
    assert data.taxonomy is None
    assert data.source == str(path)
    assert read_texts(path, text=["title", "body"]).tolist() == TEXTS


def test_format_overrides_the_ending(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "text\tlabel\na,b\tc\n")
    assert read_table(path, text="text", label="label", format="tsv").X.tolist() == ["a,b"]


def test_quoted_fields_may_span_lines_and_errors_still_name_the_line() -> None:
    content = 'text,label\n"two\nlines, and a ""quote""",a\n\nx,b\n"three\n\nlines", \n'
    with pytest.raises(DatasetError, match=r"the stream, line 6, column 'label': the label is empty"):
        read(content)
    good = read(content.replace(" \n", "c\n"))
    assert good.X.tolist() == ['two\nlines, and a "quote"', "x", "three\n\nlines"]
    assert good.y.tolist() == ["a", "b", "c"]


def test_numbers_become_texts() -> None:
    data = read('{"text": 3, "label": 111}\n{"text": 2.5, "label": "112"}\n')
    assert data.X.tolist() == ["3", "2.5"]
    assert data.y.tolist() == ["111", "112"]


def test_several_labels() -> None:
    assert read("text,label\na,x; y\nb,z\n", label_sep=";").y == [["x", "y"], ["z"]]
    assert read("text,label\na,x;y\nb,\nc, \n", label_sep=";").y == [["x", "y"], [], []]
    assert read('{"text": "a", "label": ["x", 7]}\n{"text": "b", "label": []}\n').y == [["x", "7"], []]
    assert read('{"text": "a", "label": ["x"]}\n{"text": "b", "label": "y;z"}\n', label_sep=";").y == [
        ["x"],
        ["y", "z"],
    ]


def test_paths_build_the_taxonomy_and_stay_paths() -> None:
    data = read("text,label\na,phone > case\nb,laptop > case\nc,laptop > bag\nd,laptop\n", path_sep=">")
    assert data.taxonomy == Taxonomy.from_paths(["phone>case", "laptop>case", "laptop>bag"], sep=">")
    assert data.y.tolist() == ["phone > case", "laptop > case", "laptop > bag", "laptop"]
    assert [data.taxonomy.names[data.taxonomy.index(label)] for label in data.y[2:]] == ["bag", "laptop"]


def test_paths_written_in_several_ways_are_written_in_one() -> None:
    data = read("text,label\na,phone > case\nb,laptop>case\nc,laptop> bag\n", path_sep=">")
    assert data.y.tolist() == ["phone>case", "laptop>case", "laptop>bag"]


def test_several_paths() -> None:
    data = read("text,label\na,x/y;x/z\nb,x/z\n", path_sep="/", label_sep=";")
    assert data.y == [["x/y", "x/z"], ["x/z"]]
    assert data.taxonomy.names == ("x", "y", "z")


def test_labels_are_found_in_a_given_taxonomy(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_paths(["goods/phone/case", "goods/laptop/case"])
    by_path = read("text,label\na,phone/case\nb,goods/laptop\n", path_sep="/", taxonomy=taxonomy)
    assert by_path.y.tolist() == ["goods/phone/case", "goods/laptop"]
    assert by_path.taxonomy is taxonomy
    below_root = read("text,label\na,phone/case\nb,laptop\n", path_sep="/", taxonomy=taxonomy)
    assert below_root.y.tolist() == ["phone/case", "laptop"]
    edges = written(tmp_path / "tree.txt", "1 11\n1 12\n")
    assert read("text,label\na,1 > 11\n", taxonomy=edges, path_sep=" > ").y.tolist() == ["1 > 11"]
    assert read("text,label\na,1 > 11\n", taxonomy=Taxonomy.read(edges), path_sep=" > ").y.tolist() == ["11"]
    assert read("text,label\na,11\n", taxonomy=edges).taxonomy == Taxonomy.from_edges([("1", "11"), ("1", "12")])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "text,label\na,x\nb,q\n",
            {"taxonomy": Taxonomy.from_paths(["r/x"])},
            "line 3, column 'label': 'q' is not in",
        ),
        (
            "text,label\na,r/q\n",
            {"taxonomy": Taxonomy.from_paths(["r/x"]), "path_sep": "/"},
            "line 2, column 'label'",
        ),
        ("text,label\na,x/\n", {"path_sep": "/"}, "line 2, column 'label': the path 'x/' has an empty part"),
        ("text,label\na,x;;y\n", {"label_sep": ";"}, "line 2, column 'label': the label is empty"),
        ("text,label\na,x\nb,\n", {}, "line 3, column 'label': the label is empty"),
        (
            "text,label\na,x\nb,y,z\n",
            {},
            "line 3, column 3: the row has 3 fields, the header 2; a text with ',' or a line break in it needs quotes",
        ),
        ("text,label\na,x\n\nb\n", {}, "line 4, column 2: the row has 1 field, the header 2"),
        ("text,label,text\na,x,b\n", {}, "line 1: the header names 'text' twice"),
        (
            "text,label\na,x\n",
            {"label": "class"},
            "line 1: there is no column 'class'; there are 'text', 'label'",
        ),
        (
            "text,label\na,x\n",
            {"text": ["text", "body"]},
            "there is no column 'body'; there are 'text', 'label'",
        ),
        ('text,label\n"a"b,x\n', {}, r"line 2, column 1: not a valid row"),
        ('text,label\na,x\n"b,y\nc,z\n', {}, r"line 3, column 1: not a valid row.*quote"),
        ("text,label\ra,x\rb,y\r", {}, "line 1, column 11: lines end with a carriage return alone"),
        (b"text,label\na,x\nbl\xe4h,y\n", {}, "line 3, column 3: byte 0xe4 is not UTF-8"),
        ("", {}, "the file is empty"),
        (" \n\n", {}, "the file is empty"),
        ("text,label\n", {}, "a header but no rows"),
        ('{"text": "a", "label": "x"}\n{"text": "b", label: "y"}\n', {}, "line 2, column 15: not valid JSON"),
        ('{"text": "a", "label": "x"}\n["b"]\n', {}, "line 2, column 1: wanted a JSON object, got list"),
        (
            '{"text": "a", "label": "x"}\n{"text": "b"}\n',
            {},
            "line 2: there is no column 'label'; there are 'text'",
        ),
        ('{"text": "a", "label": null}\n', {}, "line 1, column 'label': the label is empty"),
        ('{"text": "a", "label": true}\n', {}, "line 1, column 'label': wanted a text or a number, got True"),
        ('{"text": {}, "label": "x"}\n', {}, "line 1, column 'text': wanted a text or a number"),
        ('{"text": "a", "label": ["x", ["y"]]}\n', {}, "line 1, column 'label': wanted a text or a number"),
        (
            '{"text": "a", "label": "x"}\n{"text": "b", "label": ["y"]}\n',
            {},
            "line 2, column 'label': labels are lists",
        ),
        ('{"text": ' + "[" * 100_000, {}, "line 1, column"),
        ('{"text": ' + "9" * 5000 + "}", {}, "line 1, column 1: not a row of a table"),
        ('[{"text": "a"}]', {}, "one JSON object per line"),
    ],
)
def test_a_malformed_table_is_refused_where_it_is_wrong(
    content: str | bytes, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read(content, **options)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    half = gzip.compress(CSV.encode() * 100, mtime=0)[:60]
    for path, message in [
        (tmp_path / "absent.csv", "there is no such file"),
        (tmp_path, "cannot be read"),
        (written(tmp_path / "half.csv.gz", half), "damaged or cut short"),
    ]:
        with pytest.raises(DatasetError, match=message) as caught:
            read_table(path, text="title", label="class")
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("option", [{"format": "xls"}, {"label_sep": ""}, {"path_sep": ""}])
def test_wrong_parameters(option: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match=next(iter(option))):
        read("text,label\na,x\n", **option)


LONG = f"text,label\na,x\n{'b' * 140_000},y\nc,z\n"  # longer than csv's own limit


def test_long_texts_are_read_and_the_limit_of_others_stays() -> None:
    limit = csv.field_size_limit()
    for _, record in read_records(io.BytesIO(LONG.encode())):
        assert csv.field_size_limit() == limit
        assert set(record) == {"text", "label"}
    assert csv.field_size_limit() == limit
    assert len(read(LONG).X[1]) == 140_000


def test_of_readers_that_overlap_the_last_puts_the_limit_back() -> None:
    limit = csv.field_size_limit()
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(_long_fields)
        second.enter_context(_long_fields)
        first.close()
        assert csv.field_size_limit() == LONGEST_FIELD
        second.close()
        assert csv.field_size_limit() == limit


def test_a_text_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.files.delimited.LONGEST_FIELD", 1)
    limit = csv.field_size_limit()
    with pytest.raises(DatasetError, match=r"line 3, column 1: .*quote may never be closed, .* JSON lines"):
        read(LONG)
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("name", ["t.ARFF", "t.arff.gz", "t.xls"])
def test_formats_that_are_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(DatasetError, match=r"files are not read yet; convert texts to CSV|read_arff_hmc reads it"):
        read_table(path, text="title", label="class")
    path.write_text(CSV)
    if not name.endswith(".gz"):
        assert read_table(path, text="title", label="class", format="csv").y.tolist() == ["wear", "home"]


def test_texts_without_rows_are_none_if_the_header_fits() -> None:
    assert read_texts(io.BytesIO(b"text\n"), text="text").tolist() == []
    for text in ("title", ["text", "title"]):
        with pytest.raises(DatasetError, match="line 2: there is no column 'title'; there are 'text', 'label'"):
            read_texts(io.BytesIO(b"\ntext,label\n"), text=text)


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
names = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5)


@pytest.mark.filterwarnings("ignore::cladist.errors.CladistWarning")  # any labels may look like paths
@given(st.lists(st.tuples(fields, names), min_size=1, max_size=8), st.sampled_from(["csv", "tsv", "jsonl"]))
def test_what_is_written_is_read(rows: list[tuple[str, str]], kind: str) -> None:
    out = io.StringIO()
    if kind == "jsonl":
        out.writelines(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows)
    else:
        dialect = "excel" if kind == "csv" else "excel-tab"
        csv.writer(out, dialect).writerows([("text", "label"), *rows])
    data = read(out.getvalue(), format=kind)
    assert list(zip(data.X, data.y, strict=True)) == rows
