"""Tables as people and programs really write them, and tables written to do harm."""

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.datasets import Dataset, read_table, read_texts
from cladist.datasets.dataset import MOST_LABELS
from cladist.datasets.formats.tables.records import FORMATS, open_table, read_records
from cladist.errors import CladistError, DatasetError, ParameterError
from cladist.files.delimited import DELIMITERS, MOST_COLUMNS, count_fields
from cladist.taxonomy import Taxonomy

MEGABYTE = 2**20


def read(content: str | bytes, **options: object) -> Dataset:
    stream = io.BytesIO(content.encode() if isinstance(content, str) else content)
    return read_table(stream, **({"text": "text", "label": "label"} | options))  # type: ignore[arg-type]


@contextmanager
def at_most(megabytes: float) -> Iterator[None]:
    """Fail if the block ever holds more than this."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < megabytes * MEGABYTE, f"{peak / MEGABYTE:.0f} MB"


# Delimiters


@pytest.mark.parametrize("ending", [".csv", ".txt"])
@pytest.mark.parametrize(
    "content",
    [
        "id;text;label\n1;rain, coat;a\n2;tea | cup;b\n",
        "id|text|label\n1|rain, coat|a\n2|tea | cup|b\n".replace("tea | cup", '"tea | cup"'),
        "id\ttext\tlabel\n1\train, coat\ta\n2\ttea | cup\tb\n",
        'id,text,label\n1,"rain, coat",a\n2,tea | cup,b\n',
        "sep=;\nid;text;label\n1;rain, coat;a\n2;tea | cup;b\n",
        "\ufeffsep=;\r\n\r\nid;text;label\r\n1;rain, coat;a\r\n2;tea | cup;b\r\n",
        '"sep=\t"\nid\ttext\tlabel\n1\train, coat\ta\n2\ttea | cup\tb\n',
        "SEP=^\nid^text^label\n1^rain, coat^a\n2^tea | cup^b\n",
        '"id";"text";"label"\n"1";"rain, coat";"a"\n"2";"tea | cup";"b"\n',
        "id;price, EUR, net;text;label\n1;2,50;rain, coat;a\n2;3,50;tea | cup;b\n",  # more commas than semicolons
    ],
)
def test_the_delimiter_is_recognised_from_the_header(tmp_path: Path, content: str, ending: str) -> None:
    path = tmp_path / f"t{ending}"
    path.write_bytes(content.encode())
    data = read_table(path, text="text", label="label")
    assert data.X.tolist() == ["rain, coat", "tea | cup"]
    assert data.y.tolist() == ["a", "b"]


def test_names_may_hold_delimiters() -> None:
    assert read("a;b|c,label\nx;y,z\n", text="a;b|c").X.tolist() == ["x;y"]
    assert read('"a,b";label\nx,y;z\n', text="a,b").X.tolist() == ["x,y"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "text,label\na,x\n",
            {"format": "tsv"},
            "line 1: there is no column 'text'; there are 'text,label'; its fields look separated by ',', not by a ta",
        ),
        (
            "text:label\na:x\n",
            {},
            "line 1: there is no column 'text'; there are 'text:label'; its fields look separated by ':', "
            "not by ',' or ';' or a tab or '|'.",
        ),
        ("text label\na x\n", {}, "look separated by a space"),
        ("sep=,\ntext;label\na;x\n", {}, "line 2: there is no column 'text'.* look separated by ';', not by ','."),
        ("titel;label\na;x\n", {}, "line 1: there is no column 'text'; there are 'titel', 'label'.$"),
        ("sep=;\n\n", {}, "neither a header nor rows"),
        ("sep=;\ntext;label\na,x\n", {}, "line 3, column 2: the row has 1 field, the header 2; a text with ';'"),
    ],
)
def test_a_wrong_delimiter_is_named(content: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(content, **options)


# Headers and rows


def test_columns_nobody_asked_for_may_be_double_or_nameless() -> None:
    assert read("id,id,text,,,label\n1,2,a,,,x\n").X.tolist() == ["a"]
    with pytest.raises(DatasetError, match="line 1: the header names 'id' twice, so it is not clear which is meant"):
        read("id,id,text,label\n1,2,a,x\n", text=["text", "id"])
    with pytest.raises(DatasetError, match="the header names 'id' twice"):
        list(read_records(io.BytesIO(b"id,id\n1,2\n")))


def test_a_message_names_the_line_of_the_header_and_not_too_many_columns() -> None:
    with pytest.raises(DatasetError, match="line 3: there is no column 'text'; there are 'a', 'b'"):
        read("\n\na,b\n1,2\n")
    with pytest.raises(DatasetError, match=r"'c18', 'c19' and 80 more\.$") as caught:
        read(",".join(f"c{k}" for k in range(100)) + "\n")
    assert len(str(caught.value)) < 300


def test_lines_of_blanks_are_empty_lines_unless_they_are_the_text() -> None:
    assert read("text,label\n\n   \na,x\n \t \n").X.tolist() == ["a"]
    assert read_texts(io.BytesIO(b"text\na\n\n  \n"), text="text").tolist() == ["a", "  "]


def test_a_header_may_span_lines() -> None:
    data = read('"the\ntext",label\na,x\nb,y\n', text="the\ntext")
    assert data.X.tolist() == ["a", "b"]
    with pytest.raises(DatasetError, match="line 4, column 'label': the label is empty"):
        read('"the\ntext",label\na,x\nb,\n', text="the\ntext")


def test_rows_before_a_fault_are_read_first() -> None:
    """A fault that is met first is told first, though rows are parsed many at a time."""
    for fault in ['"x"y,b\n', "\xff\n", "a\rb,c\n"]:
        with pytest.raises(DatasetError, match="line 3, column 'label': the label is empty"):
            read(("text,label\na,x\nb,\n" + fault).encode("latin-1"))


def test_lone_carriage_returns_are_told_of_in_every_format() -> None:
    for content in ["text,label\ra,x\r", 'text,label\n"a",x\rb,y\n', 'text,label\r"a",x\r']:
        with pytest.raises(DatasetError, match=r"line [12], column \d+: .*carriage return alone"):
            read(content)
    with pytest.raises(DatasetError, match=r"line 1, column 29: not valid JSON .*carriage return alone"):
        read('{"text": "a", "label": "x"}\r{"text": "b", "label": "y"}\r')


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\na,x\n".encode("utf-16"), "line 1, column 1: byte 0xff is not UTF-8 .it looks like UTF-16."),
        (
            "text,label\na,x\n".encode("utf-16-le"),
            "line 1, column 2: a NUL byte; if the file is UTF-16, save it as UTF-8",
        ),
        (b"PK\x03\x04\x14\0\x06\0", "a zip archive; unpack it, or if it is a workbook, name its format, xlsx or ods"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old Excel workbook"),
        (b"FEA1\0\0\0\0", "Feather version 1"),
    ],
)
def test_files_of_other_kinds_are_named(content: bytes, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(content)


def test_letters_alone_do_not_make_a_binary_file() -> None:
    for name in ("PAR1", "FEA1", "ARROW1"):
        assert read(f"{name},label\na,x\n", text=name).X.tolist() == ["a"]
        assert read_texts(io.BytesIO(f"{name}\na\n".encode()), text=name).tolist() == ["a"]


def test_text_must_name_a_column() -> None:
    for reader in (lambda: read("a,label\nb,x\n", text=[]), lambda: read_texts(io.BytesIO(b"a\n"), text=[])):
        with pytest.raises(ParameterError, match="text must name at least one column"):
            reader()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": 3}, "read_table: text must be the name of a column, or several; got 3"),
        ({"text": None}, "read_table: text must be the name of a column, or several; got None"),
        ({"text": ["text", 3]}, "read_table: text must be the name of a column, or several; got 3"),
        ({"text": b"text"}, "read_table: text must be the name of a column"),
        ({"label": ["label"]}, r"read_table: label must be the name of one column; got \['label'\]"),
        ({"label": None}, "read_table: label must be the name of one column; got None"),
        ({"label_sep": 3}, "read_table: label_sep must be a text, or None; got 3"),
        ({"path_sep": ["/"]}, r"read_table: path_sep must be a text, or None; got \['/'\]"),
    ],
)
def test_columns_are_named_by_texts(options: dict[str, object], message: str) -> None:
    for content in ("text,label\nb,x\n", '{"text": "b", "label": "x"}\n'):
        with pytest.raises(ParameterError, match=message):
            read(content, **options)
    if "text" in options:
        with pytest.raises(ParameterError, match=message.replace("read_table", "read_texts")):
            read_texts(io.BytesIO(b"text\na\n"), **options)  # type: ignore[arg-type]


# JSON lines


def test_labels_of_mixed_types_are_one_label() -> None:
    data = read('{"text": "a", "label": 11}\n{"text": "b", "label": "11"}\n{"text": "c", "label": 11.0}\n')
    assert data.y.tolist() == ["11", "11", "11"]
    assert data.y[0] is data.y[1] is data.y[2]
    taxonomy = Taxonomy.from_edges([("1", "11")])
    assert read('{"text": "a", "label": [11.0, 1e0]}', taxonomy=taxonomy).y == [["11", "1"]]
    assert read('{"text": 2.0, "label": 1e22}').y.tolist() == ["10000000000000000000000"]


def test_what_is_no_number_is_nothing_and_infinity_is_no_label() -> None:
    assert read('{"text": NaN, "label": "x", "more": Infinity}\n').X.tolist() == [""]
    for value in ("NaN", "null"):
        with pytest.raises(DatasetError, match="line 2, column 'label': the label is empty"):
            read(f'{{"text": "a", "label": "x"}}\n{{"text": "a", "label": {value}}}')
    for value in ("Infinity", "-Infinity", "1e999", "[1, 1e999]"):
        with pytest.raises(DatasetError, match=r"line 1, column 'label': wanted a text or a number, got -?inf"):
            read(f'{{"text": "a", "label": {value}}}')


def test_nothing_among_lists_is_no_label() -> None:
    rows = ['{"text": "a", "label": null}', '{"text": "b", "label": ["x"]}', '{"text": "c", "label": null}']
    assert read("\n".join(rows)).y == [[], ["x"], []]
    with pytest.raises(DatasetError, match="line 1, column 'label': the label is empty"):
        read("\n".join([rows[0], rows[2]]))
    with pytest.raises(DatasetError, match="line 2, column 'label': the label is empty"):
        read("\n" + rows[0] + '\n{"text": "b", "label": "x"}\n')


def test_half_characters_are_refused_where_they_are_wanted() -> None:
    whole = '{"text": "\\ud834\\udd1e", "label": "x", "more": "\\ud834"}\n'
    assert read(whole).X.tolist() == ["𝄞"]
    for half in ('{"text": "a\\ud834", "label": "x"}', '{"text": "a", "label": ["\\uDD1E"]}'):
        with pytest.raises(DatasetError, match=r"line 2, column '(text|label)': the text has '.*', which is half"):
            read(whole + half, text="text")
    with pytest.raises(DatasetError, match="column 'more'"):
        list(read_records(io.BytesIO(whole.encode())))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text":' * 100_000, "nested too deeply"),
        ('{\n  "text": "a"\n}\n', "line 1, column .*each line must be one whole JSON object"),
        ('[\n{"text": "a"}\n]\n', "a JSON array; write one JSON object per line"),
        ('{"text": ' + "9" * 5000 + "}", "line 1, column 1: not a row of a table"),
        ('{"text": "a", "label": "' + "x" * 1000 + '\\"', "not valid JSON"),
        ('"text"', "wanted a JSON object, got str"),
        ('{"text": "a", "label": {"x": ' + "[0]" * 1 + "}}", "wanted a text or a number, got {'x': "),
    ],
)
def test_json_lines_that_are_not_rows(content: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message) as caught:
        read(content, format="jsonl")
    assert len(str(caught.value)) < 300


# Sizes


def test_a_row_may_have_many_labels_but_not_any_number() -> None:
    most = ";".join(["x"] * MOST_LABELS)
    assert len(read(f"text,label\na,{most}\n", label_sep=";").y[0]) == MOST_LABELS
    too_many = r"line (1|2), column 'label': more than 100,000 labels, which is the most that a row may have\.$"
    for content in (f"text,label\na,{most};x\n", json.dumps({"text": "a", "label": ["x"] * (MOST_LABELS + 1)})):
        with pytest.raises(DatasetError, match=too_many):
            read(content, label_sep=";")


def test_millions_of_labels_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cladist.datasets.formats.tables.records.MOST_VALUES", 100_000
    )  # a million takes a while to count
    field = b"text,label\na," + b"xyz;" * 4_000_000 + b"x\n"  # as texts, each of them would take 60 bytes
    row = b'{"text": "a", "label": [' + b'"xy",' * 4_000_000 + b'"x"]}\n'
    with at_most(9 * len(field) / MEGABYTE), pytest.raises(DatasetError, match=r"line 2, .*more than 100,000 labels"):
        read(field, label_sep=";")
    with at_most(6 * len(row) / MEGABYTE), pytest.raises(DatasetError, match=r"line 1, .*more than 100,000 values"):
        read(row)


@pytest.mark.parametrize("delimiter", DELIMITERS)
def test_millions_of_columns_are_refused_before_they_are_made(delimiter: str) -> None:
    header = (f"a{delimiter}" * 10_000_000 + "\n").encode()
    with at_most(6 * len(header) / MEGABYTE), pytest.raises(DatasetError, match=r"line 1, .*more than the 100,000 col"):
        read(header)


def test_a_table_may_have_many_columns_but_not_any_number() -> None:
    names = ["text", "label", *(f"c{k}" for k in range(MOST_COLUMNS - 2))]
    assert read(",".join(names) + "\n" + ",".join(["a"] * MOST_COLUMNS) + "\n").y.tolist() == ["a"]
    spread = ['"c\n"'] * (MOST_COLUMNS + 1)  # over as many lines, each of them short
    with pytest.raises(DatasetError, match="line 1: 100,001 columns, which is more than the 100,000 that are read"):
        read(",".join(spread) + "\n", format="csv")


@pytest.mark.parametrize("field", ["", '"xy"', 'x"y', '"x""y"', "x"])
def test_rows_of_millions_of_fields_are_refused_before_they_are_made(field: str) -> None:
    row = f"{field}," * (15_000_000 // (len(field) + 1))
    content = f"text,label\na,x\n{row}\n".encode()
    with at_most(6 * len(content) / MEGABYTE), pytest.raises(DatasetError, match=r"line 3, .*more than 100,000 fields"):
        read(content)


def test_fields_are_counted_over_the_lines_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.files.delimited.MOST_COLUMNS", 10)
    monkeypatch.setattr("cladist.files.delimited.ORDINARY_ROW", 0)
    assert read("text,label\n" + '"a\n,,,,,,,,,,,,\n",x\n').X.tolist() == ["a\n,,,,,,,,,,,,\n"]
    with pytest.raises(DatasetError, match="line 2, column 11: the row has more than 10 fields"):
        read("text,label\n" + '"a\n",' * 12)


def test_a_row_may_be_long_in_characters_alone() -> None:
    text = "so, " * MOST_COLUMNS * 4
    assert read(f'text,label\n"{text}",x\n"1\n{text}""\n{text}",y\n').X.tolist() == [text, f'1\n{text}"\n{text}']


def test_a_row_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.files.delimited.ORDINARY_ROW", 10)
    monkeypatch.setattr("cladist.files.delimited.LONGEST_LINE", 1000)
    with pytest.raises(DatasetError, match="line 2, column 1: the row is longer than 1,000 characters; a quote may"):
        read("text,label\n" + '"a\n",' * 1000)


rows_of_fields = st.lists(st.text(' a,"\n', max_size=6), min_size=1, max_size=8)


@given(rows_of_fields, st.sampled_from(DELIMITERS), st.booleans())
def test_fields_are_counted_as_csv_counts_them(fields: list[str], delimiter: str, all_quoted: bool) -> None:
    out = io.StringIO()
    style = csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, lineterminator="", quoting=style).writerow(fields)
    n_delimiters, n_quotes = 0, 0
    for line in out.getvalue().split("\n"):
        n_delimiters += count_fields(line + "\n", delimiter, in_quotes=n_quotes % 2 == 1)
        n_quotes += line.count('"')
    assert n_delimiters == len(fields) - 1


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_reading_takes_little_more_than_what_it_returns(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    words = [f"word{k}" for k in range(50)]
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,text,label\n" if kind == "csv" else "")
        for k in range(40_000):
            row = {"id": k, "text": " ".join(words[k % 7 :]) + f" {k}", "label": f"class {k % 500}"}
            file.write(",".join(map(str, row.values())) if kind == "csv" else json.dumps(row))
            file.write("\n")
    assert path.stat().st_size > 12 * MEGABYTE
    tracemalloc.start()
    data = read_table(path, text="text", label="label")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data.y) == 40_000
    assert peak < 1.5 * kept
    assert len({id(name) for name in data.y}) == 500


# Whatever comes


def readings(content: bytes) -> None:
    for kind in (None, *FORMATS):
        with suppress(CladistError):
            data = read(content, format=kind)
            assert len(data.X) == len(data.y) > 0
    for options in ({"label_sep": ";"}, {"path_sep": "/"}):
        with suppress(CladistError):
            read(content, **options)
    with suppress(CladistError), open_table(io.BytesIO(content), text=["text"]) as rows:
        for _ in rows:
            pass
    with suppress(CladistError):
        list(read_records(io.BytesIO(content)))


pieces = st.sampled_from(
    ["text", "label", ",", ";", "\t", "|", '"', "\n", "\r", "\r\n", "a", " ", "\0", "\ufeff", "{", "}", "[", "]", ":",
     '{"text": "a", "label": "x"}\n', '"text"', "1", "1.0", "NaN", "null", "true", "\\ud800", "sep=", "/", "é", "PAR1"]
)  # fmt: skip
VALID = [
    b'text,label\nrain coat,wear/coats\n\n"tea, cup",home;x\n',
    b"sep=;\r\nid;text;label\r\n1;a;x\r\n",
    b'{"text": "a", "label": "x"}\n{"text": "b\\ud834\\udd1e", "label": 11.0, "more": [1, {"x": null}]}\n',
    b'{"text": "a", "label": ["x/y", 1]}\n{"text": null, "label": []}\n',
]
splices = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 9), pieces.map(str.encode) | st.binary(max_size=4)))


@pytest.mark.filterwarnings("ignore::cladist.errors.CladistWarning")  # any labels may look like paths
@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=80), st.lists(pieces, max_size=25).map(lambda p: "".join(p).encode())))
@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    readings(content)


@pytest.mark.filterwarnings("ignore::cladist.errors.CladistWarning")  # any labels may look like paths
@settings(max_examples=300)
@given(st.sampled_from(VALID), splices)
@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")
def test_damaged_tables_are_read_or_refused(content: bytes, changes: list[tuple[int, int, bytes]]) -> None:
    for place, removed, added in changes:
        start = place % (len(content) + 1)
        content = content[:start] + added + content[start + removed :]
    readings(content)
