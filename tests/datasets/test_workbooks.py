"""Workbooks (.xlsx, .ods), databases and Hugging Face data sets as tables; workbooks as taxonomies."""

import io
import sqlite3
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from cladist.datasets import from_huggingface, read_table, read_texts
from cladist.errors import DatasetError, ParameterError, TaxonomyError
from cladist.taxonomy import Taxonomy

FILES = Path(__file__).parent / "files" / "workbook"
TEXTS, LABELS = ["rain coat", "tea cup", "desk lamp, big"], ["wear/coats", "home/cups", "home/lamps"]


@pytest.fixture
def calamine():
    return pytest.importorskip("python_calamine")


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_sheets_are_tables(calamine, kind):
    path = FILES / f"table.{kind}"
    data = read_table(path, text="text", label="label", path_sep="/")
    assert data.X.tolist() == TEXTS
    assert data.y.tolist() == LABELS
    assert data.taxonomy.names == ("wear", "home", "coats", "cups", "lamps")
    assert read_texts(path, text=["text", "n", "day"]).tolist() == [
        "rain coat 11 2024-05-01", "tea cup 1.5 ", "desk lamp, big TRUE "
    ]  # fmt: skip
    stream = io.BytesIO(path.read_bytes())
    assert read_table(stream, text="text", label="label", format=kind, path_sep="/").X.tolist() == TEXTS
    with pytest.raises(DatasetError, match="row 1: there is no column 'title'; there are 'text', 'label', 'n', 'day'"):
        read_table(path, text="title", label="label")
    with pytest.raises(DatasetError, match="row 5, column 'label': 'home/lamps' is not in the taxonomy"):
        read_table(path, text="text", label="label", path_sep="/", taxonomy=Taxonomy.from_paths(LABELS[:2]))


@pytest.mark.parametrize("kind", ["xlsx", "ods"])
def test_sheets_are_taxonomies(calamine, kind, tmp_path):
    tree = Taxonomy.read(FILES / f"tree.{kind}")
    assert tree.path("cups") == ["home", "cups"]
    assert tree.titles == {"home": "At home"}
    paths = Taxonomy.read(FILES / f"table.{kind}")  # without columns node and parent, each row is a path
    assert paths.path("2024-05-01") == ["rain coat", "wear/coats", "11", "2024-05-01"]


def test_what_is_no_workbook(tmp_path, calamine):
    path = tmp_path / "t.xlsx"
    for content in (b"", b"PK", b"text,label\na,b\n", b"PK\x03\x04" + b"\0" * 100):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match="not a workbook, or a damaged one"):
            read_table(path, text="a", label="b")
        with pytest.raises(TaxonomyError, match="not a workbook, or a damaged one"):
            Taxonomy.read(path)


def test_a_workbook_that_unpacks_to_very_much_is_refused(tmp_path, calamine):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 2**26)
    with pytest.raises(DatasetError, match="unpacks to 67,108,864 bytes; it is not to be trusted"):
        read_table(path, text="a", label="b")


def test_without_calamine_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(DatasetError, match=r"pip install 'cladist\[spreadsheets\]', or save the sheet as CSV"):
        read_table(FILES / "table.xlsx", text="text", label="label")


# ------------------------------------------------------------------ databases


QUERY = "SELECT title, kind FROM items ORDER BY id"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(1, "rain coat", "wear/coats"), (2, "tea cup", "home/cups"), (3, None, "home/cups")]
    with sqlite3.connect("shop.db") as connection:
        connection.execute("CREATE TABLE items (id INTEGER, title TEXT, kind TEXT)")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
    connection.close()
    return rows


def test_queries_are_tables(shop, tmp_path):
    for address in ("sqlite:///shop.db", f"sqlite:///{tmp_path / 'shop.db'}"):
        data = read_table(address, query=QUERY, text="title", label="kind", path_sep="/")
        assert data.X.tolist() == ["rain coat", "tea cup", ""]
        assert data.y.tolist() == ["wear/coats", "home/cups", "home/cups"]
    with pytest.raises(DatasetError, match="the label is empty"):
        read_table("sqlite:///shop.db", query="SELECT title, '' AS kind FROM items", text="title", label="kind")


def test_queries_of_duckdb(shop):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect("shop.duckdb") as connection:
        connection.execute("CREATE TABLE items (id INTEGER, title TEXT, kind TEXT)")
        connection.executemany("INSERT INTO items VALUES (?, ?, ?)", shop)
    data = read_table("duckdb:///shop.duckdb", query=QUERY, text="title", label="kind", path_sep="/")
    assert data.X.tolist() == ["rain coat", "tea cup", ""]
    with pytest.raises(DatasetError, match="the query failed"):
        read_table("duckdb:///shop.duckdb", query="DROP TABLE items", text="title", label="kind")


@pytest.mark.parametrize(
    ("address", "query", "kind", "said"),
    [
        ("sqlite:///shop.db", None, ParameterError, "is a database: say which rows to read, with a query"),
        ("shop.csv", QUERY, ParameterError, "A query is for databases, as sqlite:///shop.db"),
        ("sqlite://", QUERY, DatasetError, "names no file; write sqlite:///shop.db"),
        ("sqlite:///nowhere.db", QUERY, DatasetError, "nowhere.db: there is no such file"),
        ("sqlite:///text.db", QUERY, DatasetError, "the query failed .*not a database"),
        ("sqlite:///shop.db", "SELECT * FROM nowhere", DatasetError, "the query failed .*no such table"),
        ("sqlite:///shop.db", "DELETE FROM items", DatasetError, "the query failed .*readonly"),
        ("sqlite:///shop.db", "SELECT title FROM items", DatasetError, "there is no column 'kind'; there are 'title'"),
    ],
)
def test_queries_that_are_refused(shop, address, query, kind, said):
    Path("text.db").write_text("no database " * 100)
    with pytest.raises(kind, match=said):
        read_table(address, query=query, text="title", label="kind")
    assert len(read_table("sqlite:///shop.db", query=QUERY, text="title", label="kind", path_sep="/").y) == 3


# ------------------------------------------------------------------ Hugging Face


class Rows(dict):
    """What `datasets.Dataset` has."""

    def __init__(self, feature, **columns):
        super().__init__(columns)
        self.features, self.column_names = {"kind": feature}, list(columns)


def test_huggingface_rows():
    names = SimpleNamespace(names=["wear/coats", "home/cups"])
    train = Rows(names, title=["rain coat", "tea cup", "mug"], kind=[0, 1, 1])
    data = from_huggingface(train, text="title", label="kind", path_sep="/")
    assert (data.X.tolist(), data.y.tolist()) == (
        ["rain coat", "tea cup", "mug"], ["wear/coats", "home/cups", "home/cups"]
    )  # fmt: skip
    parts = from_huggingface(
        {"test": Rows(names, title=["a cup"], kind=[1]), "train": train}, text="title", label="kind", path_sep="/"
    )
    assert (len(parts.X_train), parts.X_test.tolist(), parts.y_test.tolist()) == (3, ["a cup"], ["home/cups"])
    lists = Rows(SimpleNamespace(feature=names), title=["coat", "all"], kind=[[0], [0, 1]])
    assert from_huggingface(lists, text="title", label="kind", path_sep="/").y == [
        ["wear/coats"],
        ["wear/coats", "home/cups"],
    ]
    with pytest.raises(DatasetError, match="there is no column 'text'; there are 'title', 'kind'"):
        from_huggingface(train, text="text", label="kind")
    with pytest.raises(DatasetError, match="the label -1 is none of the 2 class labels"):
        from_huggingface(Rows(names, title=["a"], kind=[-1]), text="title", label="kind")


def test_the_library_itself():
    datasets = pytest.importorskip("datasets")
    features = datasets.Features({"title": datasets.Value("string"), "kind": datasets.ClassLabel(names=["a", "b"])})
    rows = datasets.Dataset.from_dict({"title": ["x", "y", "z"], "kind": [0, 1, 1]}, features=features)
    data = from_huggingface(rows.train_test_split(1, seed=0), text="title", label="kind")
    assert sorted(data.y.tolist()) == ["a", "b", "b"]
    assert len(data.y_test) == 1
