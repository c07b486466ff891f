"""Parquet and Arrow: every type of column, streamed by batches, and files that lie about themselves."""

import decimal
import gzip
import io
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cladist.datasets import Dataset, read_table, read_texts
from cladist.datasets.formats.tables.records import read_records
from cladist.errors import CladistError, DatasetError, ParameterError
from cladist.taxonomy import Taxonomy

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

FILES = Path(__file__).parent / "files"
TEXTS = ["rain coat", "tea cup", 'über\n\0"x"', ""]
NAMES = ["wear", "home", "wear", "x"]


def parquet(table: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def arrow(table: Any, *, stream: bool = False, rows: int = 3, **options: Any) -> bytes:
    out = io.BytesIO()
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=rows)
    return out.getvalue()


WRITERS: dict[str, Callable[[Any], bytes]] = {
    "parquet": parquet,
    "plain parquet": lambda table: parquet(table, use_dictionary=False, compression="none", row_group_size=2),
    "zstd parquet": lambda table: parquet(table, compression="zstd", data_page_version="2.0", row_group_size=3),
    "arrow": arrow,
    "lz4 arrow": lambda table: arrow(table, compression="lz4"),
    "arrow stream": lambda table: arrow(table, stream=True),
    "zstd arrow stream": lambda table: arrow(table, stream=True, compression="zstd"),
}


def read(content: bytes, **options: Any) -> Dataset:
    return read_table(io.BytesIO(content), **({"text": "text", "label": "label"} | options))


def table(texts: Any = None, labels: Any = None) -> Any:
    n_rows = len(texts if texts is not None else labels if labels is not None else TEXTS)
    return pa.table(
        {
            "id": list(range(n_rows)),
            "text": TEXTS if texts is None else texts,
            "more": [{"x": [1]}] * n_rows,
            "label": NAMES if labels is None else labels,
        }
    )


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_texts_and_labels(writer: Callable[[Any], bytes]) -> None:
    data = read(writer(table()))
    assert data.X.tolist() == TEXTS
    assert data.y.tolist() == NAMES
    assert data.y[0] is data.y[2]
    assert read_texts(io.BytesIO(writer(table())), text=["text", "id"]).tolist()[:2] == ["rain coat 0", "tea cup 1"]


@pytest.mark.parametrize(
    ("ending", "writer"),
    [
        (".parquet", "parquet"),
        (".pq", "zstd parquet"),
        (".PARQUET.gz", "parquet"),
        (".arrow", "arrow"),
        (".arrow", "arrow stream"),
        (".arrows", "arrow stream"),
        (".feather", "lz4 arrow"),
        (".ipc", "zstd arrow stream"),
        (".ipc.gz", "arrow"),
        (".data", "parquet"),
        (".csv", "arrow"),  # the content knows better
    ],
)
def test_files_are_known_by_content_or_ending(tmp_path: Path, ending: str, writer: str) -> None:
    path = tmp_path / f"t{ending}"
    content = WRITERS[writer](table())
    path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    assert read_table(path, text="text", label="label").y.tolist() == NAMES
    with open(path, "rb") as stream:
        assert read_table(stream, text="text", label="label").y.tolist() == NAMES
        assert not stream.closed


def test_a_stream_may_begin_anywhere_and_need_not_seek() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self, content: bytes) -> None:
            self.rest = io.BytesIO(content)

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            return self.rest.readinto(memoryview(buffer)[:100])

    for writer in WRITERS.values():
        content = writer(table())
        assert read_table(io.BufferedReader(Pipe(content)), text="text", label="label").X.tolist() == TEXTS
        late = io.BufferedReader(io.BytesIO(b"skipped" + content))  # type: ignore[arg-type]
        late.read(7)
        assert read_table(late, text="text", label="label").X.tolist() == TEXTS


def test_what_is_held_in_memory_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("cladist.datasets.formats.tables.arrow.LARGEST_TEXT", 100)
    for writer in ("parquet", "arrow"):
        content = WRITERS[writer](table())
        with pytest.raises(
            DatasetError, match=r"more than 100 bytes, packed or from a stream; .* unpack it into a file"
        ):
            read(content)
        (tmp_path / "t").write_bytes(content)
        assert len(read_table(tmp_path / "t", text="text", label="label").y) == 4
    assert len(read(WRITERS["arrow stream"](table())).y) == 4


@pytest.mark.parametrize(
    ("labels", "y"),
    [
        (pa.array(["a", "b", "a"]), ["a", "b", "a"]),
        (pa.array(["a", "b", "a"], pa.large_string()), ["a", "b", "a"]),
        (pa.array(["a", "b", "a"], pa.binary()), ["a", "b", "a"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.DictionaryArray.from_arrays([0, 1, 0], [f"l{k}" for k in range(100)]), ["l0", "l1", "l0"]),
        (pa.array([11, 12, 11], pa.int8()), ["11", "12", "11"]),
        (pa.array([11, 12, 2**64 - 1], pa.uint64()), ["11", "12", "18446744073709551615"]),
        (pa.array([11.0, 0.5, 11.0]), ["11", "0.5", "11"]),
        (pa.array([11.0, 0.5, 11.0], pa.float16()), ["11", "0.5", "11"]),
        (pa.array([decimal.Decimal("11.00"), decimal.Decimal("0.50"), decimal.Decimal("1e3")]), ["11", "0.50", "1000"]),
        (pa.array([["a", "b"], [], None]), [["a", "b"], [], []]),
        (pa.array([["a", "b"], [], None], pa.large_list(pa.large_string())), [["a", "b"], [], []]),
        (pa.array([["a", "b"], ["b", "a"], None], pa.list_(pa.string(), 2)), [["a", "b"], ["b", "a"], []]),
        (pa.array([[11], [12.0], []]), [["11"], ["12"], []]),
        (pa.array([None, ["a"], ["b"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))), [[], ["a"], ["b"]]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
@pytest.mark.parametrize("writer", ["parquet", "arrow", "arrow stream"])
def test_labels_of_every_type(labels: Any, y: list[Any], writer: str) -> None:
    data = read(WRITERS[writer](table(texts=["p", "q", "r"], labels=labels)))
    assert list(data.y) == y


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string_view())])
def test_views(kind: Any) -> None:
    column = pa.array(["a", None, "a text longer than a view holds by itself"], pa.string_view())
    if pa.types.is_dictionary(kind):
        column = pa.DictionaryArray.from_arrays([0, None, 2], column)
    assert read(arrow(table(column, ["x"] * 3))).X.tolist() == ["a", "", "a text longer than a view holds by itself"]


def test_nothing_in_a_text_is_an_empty_text() -> None:
    for column in (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode(), pa.array([None, None])):
        for writer in WRITERS.values():
            assert read(writer(table(column, ["x", "y"]))).X.tolist()[1] == ""
    assert read(parquet(table(pa.array([1.0, float("nan")]), ["x", "y"]))).X.tolist() == ["1", ""]


def test_labels_may_be_joined_texts_or_paths() -> None:
    content = parquet(table(["p", "q", "r"], ["a/b;a", None, "a/c"]))
    data = read(content, label_sep=";", path_sep="/")
    assert data.y == [["a/b", "a"], [], ["a/c"]]
    assert data.taxonomy == Taxonomy.from_paths(["a/b", "a/c"])


@pytest.mark.parametrize(
    ("made", "options", "message"),
    [
        (
            table(),
            {"label": "class"},
            "the stream: there is no column 'class'; there are 'id', 'text', 'more', 'label'",
        ),
        (table(), {"label": "more"}, "column 'more' holds struct<x: list.*; wanted texts or numbers, or lists of them"),
        (table(), {"text": "more"}, r"column 'more' holds struct<x: .*; wanted texts or numbers\.$"),
        (table([["a"], ["b"]], ["x", "y"]), {}, r"column 'text' holds list<.*; wanted texts or numbers\.$"),
        (table(labels=pa.array([True, False, True, True])), {}, "column 'label' holds bool"),
        (table(labels=pa.array([[[1]], [], [], []])), {}, "column 'label' holds list<.*list<"),
        (table(labels=pa.array([0, 1, 2, 3], pa.timestamp("s"))), {}, "column 'label' holds timestamp"),
        (table(labels=pa.array([b"a", b"\xff", b"c", b"d"])), {}, "not of this format .*UTF8"),
        (table(labels=["a", "b", None, "d"]), {}, "the stream, row 3, column 'label': the label is empty"),
        (table(labels=["a", "b", " ", "d"]), {}, "row 3, column 'label': the label is empty"),
        (table(labels=[["a"], ["b", None], [], []]), {}, "row 2, column 'label': the label is empty"),
        (table(labels=[1.0, float("inf"), 2.0, 3.0]), {}, "row 2, column 'label': wanted a text or a number, got inf"),
        (
            table(),
            {"taxonomy": Taxonomy.from_edges([("r", "wear")])},
            "row 2, column 'label': 'home' is not in the tax",
        ),
        (table([], []), {}, "no rows"),
        (pa.table([["a"], ["b"], ["x"]], names=["text", "text", "label"]), {}, "the header names 'text' twice"),
    ],
)
@pytest.mark.parametrize("writer", ["parquet", "arrow", "arrow stream"])
def test_what_is_no_table_of_texts_is_refused(made: Any, options: Any, message: str, writer: str) -> None:
    with pytest.raises(DatasetError, match=message):
        read(WRITERS[writer](made), **options)


def test_columns_nobody_asked_for_may_be_double() -> None:
    made = pa.table([["a"], ["b"], ["c"], ["x"]], names=["id", "id", "text", "label"])
    for writer in WRITERS.values():
        assert read(writer(made)).X.tolist() == ["c"]


def test_records_are_numbered_and_have_all_columns_if_none_are_named() -> None:
    made = table().select(["id", "label"])
    for writer in WRITERS.values():
        rows = list(read_records(io.BytesIO(writer(made))))
        assert rows[1] == (2, {"id": 1, "label": "home"})
        assert list(read_records(io.BytesIO(writer(table())), columns=["label"]))[3] == (4, {"label": "x"})


def test_a_row_may_not_have_any_number_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.datasets.formats.tables.arrow.MOST_LABELS", 3)
    content = arrow(table(["p"] * 5, [["a"] * 3, None, [], ["a"], ["a"] * 4]), rows=2)
    with pytest.raises(DatasetError, match="row 5, column 'label': more than 100,000 labels"):
        read(content)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_other_files_are_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"t.{kind}"
    for content in (b"", b"text,label\na,x\n", WRITERS[kind](table())[:-20], WRITERS[kind](table())[:40]):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match=f"t.{kind}: damaged, cut short or not of this format"):
            read_table(path, text="text", label="label")
    with pytest.raises(ParameterError, match="format must be one of"):
        read_table(path, text="text", label="label", format="feather")


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet(table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for options in ({}, {"format": "parquet"}, {"format": "arrow"}):
        with pytest.raises(
            DatasetError, match=r"need pyarrow, which is not installed; pip install 'cladist\[tables\]'"
        ):
            read(content, **options)
    assert read(b"text,label\na,x\n").y.tolist() == ["x"]


# Files that lie


def varint(number: int) -> bytes:
    number *= 2  # zigzag
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def with_rows(content: bytes, n_rows: int, promised: int) -> bytes:
    """Write another number of rows wherever a Parquet footer says how many there are."""
    n_footer = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - n_footer : -8].replace(varint(n_rows), varint(promised))
    return content[: -8 - n_footer] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def peak_of_pool(work: Callable[[], object]) -> int:
    """Return by how much the most that pyarrow ever held has risen."""
    pool = pa.default_memory_pool()
    before = max(pool.max_memory(), 0)
    work()
    return max(pool.max_memory(), 0) - before


@pytest.mark.parametrize("promised", [10**12, 2**62, 77_778])
def test_a_promise_of_too_many_rows_takes_no_memory(promised: int) -> None:
    nulls = pa.table({"text": pa.nulls(7_777, pa.string()), "label": pa.array([[]] * 7_777, pa.list_(pa.string()))})
    content = parquet(nulls, write_statistics=False, store_schema=False)
    assert len(read(content).y) == 7_777
    liar = with_rows(content, 7_777, promised)

    def refused() -> None:
        with pytest.raises(DatasetError, match=r"promises .* rows in .* bytes|damaged") as caught:
            read(liar)
        assert promised < 10**5 or f"promises {promised:,} rows" in str(caught.value)

    tracemalloc.start()
    assert peak_of_pool(refused) < 2**24
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def test_parts_must_add_up() -> None:
    content = parquet(table(["p"] * 1000, ["x"] * 1000), row_group_size=300)
    with pytest.raises(DatasetError, match="its parts do not add up to the 5,000 rows it promises"):
        read(with_rows(content, 1000, 5000))


def test_rows_of_nothing_are_believed_only_in_measure() -> None:
    """A column of type null takes no bytes, however many rows there are."""
    nothing = pa.table({"text": pa.nulls(10**9), "label": pa.nulls(10**9)})
    for stream in (False, True):
        content = arrow(nothing, stream=stream, rows=10**9)
        assert len(content) < 2000
        with pytest.raises(DatasetError, match="promises 1,000,000,000 rows in"):
            read_texts(io.BytesIO(content), text="text")


def test_a_page_that_promises_gigabytes_takes_no_memory() -> None:
    """The header of a page in this file says 2,147,483,621 bytes; a reader with buffers makes one of that size."""
    content = (FILES / "page-of-two-gigabytes.parquet").read_bytes()

    def refused() -> None:
        with pytest.raises(DatasetError, match=r"Page was smaller \(159\) than expected \(2147483621\)"):
            read(content)

    assert peak_of_pool(refused) < 2**24


def test_many_columns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cladist.datasets.formats.tables.records.MOST_COLUMNS", 3)
    for writer in WRITERS.values():
        with pytest.raises(DatasetError, match="4 columns, which is more than the 3 that are read"):
            read(writer(table()))


def test_reading_takes_little_more_than_what_it_returns(tmp_path: Path) -> None:
    n_rows = 40_000
    words = [f"word{k}" for k in range(50)]
    texts = [" ".join(words[k % 7 :]) + f" {k}" for k in range(n_rows)]
    made = pa.table({"id": range(n_rows), "text": texts, "label": [f"class {k % 500}" for k in range(n_rows)]})
    path = tmp_path / "t.parquet"
    path.write_bytes(parquet(made, compression="none", use_dictionary=["label"]))
    assert path.stat().st_size > 12 * 2**20
    del made, texts
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    found: list[Dataset] = []
    n_held = peak_of_pool(lambda: found.append(read_table(path, text="text", label="label")))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found[0].y) == n_rows
    assert peak < 2.5 * kept  # the bytes of a row group, as they are in the file, are held too
    assert n_held < kept
    assert pa.total_allocated_bytes() <= before


# Whatever comes

VALID = [writer(table(labels=labels)) for writer in WRITERS.values() for labels in (NAMES, [["a"], [], None, ["b"]])]
splices = st.lists(
    st.tuples(
        st.integers(0, 2**12),
        st.sampled_from([0, 1, 1, 2, 4, 8]),
        st.binary(max_size=8) | st.sampled_from([b"\xff" * 4, b"\x7f", b"\0" * 4, (10**12).to_bytes(8, "little")]),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.filterwarnings("ignore::cladist.errors.CladistWarning")  # any labels may look like paths
@settings(max_examples=400)
@given(st.sampled_from(VALID), splices, st.booleans())
def test_damaged_files_are_read_or_refused(content: bytes, changes: list[tuple[int, int, bytes]], at_end: bool) -> None:
    for place, removed, added in changes:
        start = place % (len(content) + 1)
        start = len(content) - start if at_end else start
        content = content[:start] + added + content[start + removed :]
    with suppress(CladistError):
        assert isinstance(read(content), Dataset)
    with suppress(CladistError):
        list(read_records(io.BytesIO(content)))


@given(st.sampled_from(["parquet", "arrow"]), st.sampled_from([b"", b"PAR1", b"ARROW1\0\0", b"\xff" * 4]), st.binary())
def test_any_bytes_are_refused(kind: str, head: bytes, rest: bytes) -> None:
    for content in (head + rest, head + rest + head):
        with pytest.raises(DatasetError):
            read(content, format=kind)
