"""Tables that are written are read back equal, or not written at all."""

import gzip
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist.datasets import Dataset, read_table
from cladist.datasets.formats.tables.writer import write_table
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy
from tests.datasets.same import same_dataset

KINDS = ("csv", "tsv", "jsonl", "parquet", "arrow")
AWKWARD = "\t\n\r\x0b\x1c\x85\u2028\ufeff\"',;|\\{}[] abé日𝄞\u0301"

any_text = st.text(st.characters(codec="utf-8"), max_size=12) | st.text(AWKWARD, max_size=8)
texts_of = {kind: any_text.map(lambda text: text.replace("\0", "")) for kind in ("csv", "tsv")}
names_of = {kind: texts_of.get(kind, any_text).map(str.strip).filter(bool) for kind in KINDS}
columns = st.sampled_from(["text", "a,b", 'the "text"', "a;b;c", "two\nlines", "日", "sep=", "{", "x\ry"])


def objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def written_and_read(
    path: Path, data: Dataset, *, text: str = "text", label_sep: str | None = None, **options: Any
) -> Dataset:
    write_table(data, path, text=text, label_sep=label_sep, **options)
    return read_table(path, text=text, label="label", label_sep=label_sep, taxonomy=data.taxonomy, **options)


@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # random names may look like paths
@pytest.mark.parametrize("kind", KINDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_single_labels(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    row = st.tuples(texts_of.get(kind, any_text), names_of[kind])
    texts, names = zip(*data.draw(st.lists(row, min_size=1, max_size=6)), strict=True)
    given_data = Dataset(objects(list(texts)), objects(list(names)))
    again = written_and_read(tmp_path / f"t.{kind}", given_data, text=data.draw(columns))
    assert same_dataset(again, given_data)


@pytest.mark.filterwarnings("ignore::cladist.errors.LabelWarning")  # random names may look like paths
@pytest.mark.parametrize("label_sep", [";", " -- ", None])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_several_labels(tmp_path: Path, kind: str, label_sep: str | None, data: st.DataObject) -> None:
    row = st.tuples(texts_of.get(kind, any_text), st.lists(names_of[kind], max_size=3))
    texts, names = zip(*data.draw(st.lists(row, min_size=1, max_size=6)), strict=True)
    given_data = Dataset(objects(list(texts)), list(names))
    path = tmp_path / f"t.{kind}"
    if label_sep is None and kind in ("csv", "tsv"):
        with pytest.raises(ParameterError, match="joins by a label_sep; it is missing"):
            write_table(given_data, path)
        return
    doubtful = label_sep is not None and any(set(label_sep) & set(name) for row in names for name in row)
    with suppress(DatasetError) if doubtful else nullcontext():
        assert same_dataset(written_and_read(path, given_data, label_sep=label_sep), given_data)


@pytest.mark.parametrize("ending", ["csv.gz", "tsv.xz", "jsonl.bz2", "parquet.gz", "feather", "pq", "ipc"])
def test_endings_tell_format_and_packing(tmp_path: Path, ending: str) -> None:
    data = Dataset(["rain coat", "tea cup"], ["wear", "home"])
    assert written_and_read(tmp_path / f"t.{ending}", data).X.tolist() == data.X
    assert written_and_read(tmp_path / "t.dat", data, format="jsonl").y.tolist() == data.y
    if ending == "csv.gz":
        assert gzip.decompress((tmp_path / "t.csv.gz").read_bytes()) == b"text,label\nrain coat,wear\ntea cup,home\n"


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_many_rows_are_written_by_batches(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.datasets.formats.tables.writer.BATCH_CHARACTERS", 50)
    data = Dataset([f"text {k}" for k in range(100)], [[f"l{k}"] * (k % 3) for k in range(100)])
    again = written_and_read(tmp_path / f"t.{kind}", data)
    assert again.X.tolist() == data.X
    assert again.y == data.y


def test_numbers_become_names_and_texts_may_stand_beside_numbers(tmp_path: Path) -> None:
    taxonomy = Taxonomy.from_edges([("1", "11"), ("1", "12")])
    data = Dataset(np.eye(2), np.array([11.0, 12.0]), taxonomy, texts=objects(["a", "b"]))
    again = written_and_read(tmp_path / "t.csv", data)
    assert again.X.tolist() == ["a", "b"]
    assert again.y.tolist() == ["11", "12"]


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (["a", "b\ud800"], ["x", "y"], {}, r"write_table, row 2: '\\ud800' is half of a character, which no file can"),
        (["a"], ["x\udfff"], {"format": "parquet"}, "row 1: .* is half of a character"),
        (["a\0"], ["x"], {}, "row 1: a NUL character, which csv cannot hold; write JSON lines or Parquet"),
        (["a"], [["x\0"]], {"format": "tsv", "label_sep": ";"}, "row 1: a NUL character, which tsv cannot hold"),
        (["a"], [" x"], {}, "row 1: a label must be a name or number without spaces around it; got ' x'"),
        (["a"], [""], {}, "row 1: a label must be a name .*got ''"),
        (["a"], [None], {}, "row 1: a label must be a name .*got None"),
        (["a"], [True], {}, "got True"),
        (["a"], [float("inf")], {}, "got inf"),
        (["a"], [["x", ["y"]]], {"label_sep": ";"}, r"got \['y'\]"),
        (["a", 1], ["x", "y"], {}, "row 2: wanted a text, got 1"),
        (["a", None], ["x", "y"], {}, "row 2: wanted a text, got None"),
        (["a", "b"], [["x"], "y"], {"label_sep": ";"}, "row 2: labels are lists in some rows and single in others"),
        (["a"], [["x;y", "z"]], {"label_sep": ";"}, "row 1: the labels .* cannot be told apart again by ';'"),
        (["a"], [["x:", "z"]], {"label_sep": "::"}, "cannot be told apart"),
        (["a"], ["x;y"], {"label_sep": ";"}, "cannot be told apart"),
        (["a"], [["x"] * 100_001], {"format": "jsonl"}, "row 1: more than 100,000 labels"),
        (np.eye(2), ["x", "y"], {}, "the Dataset has numbers but no texts"),
        (["a"], np.array([[1, 0]]), {}, "wanted one label or one list of labels for each row"),
        ([], [], {}, "at least one row"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path: Path, X: Any, y: Any, options: Any, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("before")
    with pytest.raises(DatasetError, match=message):
        write_table(Dataset(X, y), path, **options)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_limits_of_the_readers_hold_for_the_writers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.datasets.formats.tables.writer.LONGEST_FIELD", 10)
    monkeypatch.setattr("cladist.datasets.formats.tables.writer.LONGEST_LINE", 40)
    data = Dataset(["a" * 50], ["x"])
    with pytest.raises(DatasetError, match="row 1: more than 10 characters; write Parquet"):
        write_table(data, tmp_path / "t.csv")
    with pytest.raises(DatasetError, match="row 1: more than 40 bytes; write Parquet"):
        write_table(data, tmp_path / "t.jsonl")
    assert written_and_read(tmp_path / "t.parquet", data).X.tolist() == data.X


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xlsx"}, "format must be one of"),
        ({"text": ""}, "text must be a name"),
        ({"text": " a"}, "text must be a name without spaces around it; got ' a'"),
        ({"label": "\ufeffa"}, "label must be a name"),
        ({"label": "text"}, "text and label are two columns; both are called 'text'"),
        ({"label_sep": ""}, "label_sep must not be empty"),
    ],
)
def test_wrong_parameters(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        write_table(Dataset(["a"], ["x"]), tmp_path / "t.csv", **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"the ending of '.*t\.txt' tells no format"):
        write_table(Dataset(["a"], ["x"]), tmp_path / "t.txt")
    assert list(tmp_path.iterdir()) == []


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DatasetError, match=r"pip install 'cladist\[tables\]'"):
        write_table(Dataset(["a"], ["x"]), tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []
