"""LSHTC files: rows in any order of features, hierarchies of edges or paths, and what is refused."""

import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist import files
from cladist.datasets import Dataset
from cladist.datasets.formats.lshtc import read_hierarchy, read_lshtc, write_lshtc
from cladist.errors import CladistError, DatasetError, ParameterError, TaxonomyError
from cladist.taxonomy import Taxonomy
from tests.datasets.hostile import Repeated, damaged, peak_memory
from tests.datasets.same import same_dataset
from tests.strategies import dags, forests

PATHS = b"1 2 20 29\n1 2 20 33\n1 3 31\n7 70 71\n"
TREE = Taxonomy.from_edges([("1", "2"), ("2", "20"), ("20", "29"), ("20", "33"), ("1", "3"), ("3", "31")])
DRY_RUN = b"29 0:202 7:1 3:2 5:4\n33 0:256 2:1\n"
KAGGLE = b"Data\n29, 31 1250:1 634:0.5\n33 5:2\n"


def read(content: bytes, hierarchy: object = TREE, **options: object) -> Dataset:
    if isinstance(hierarchy, bytes):
        hierarchy = io.BytesIO(hierarchy)
    return read_lshtc(io.BytesIO(content), hierarchy, **options)  # type: ignore[arg-type]


def test_the_document_number_is_left_out_and_features_are_sorted() -> None:
    data = read(DRY_RUN, PATHS)
    assert data.y.tolist() == ["29", "33"]
    assert data.X.shape == (2, 8)
    assert data.X.has_canonical_format
    assert data.X.dtype == np.float32
    assert data.X.indices.tolist() == [3, 5, 7, 2]
    assert data.X.data.tolist() == [2, 4, 1, 1]
    assert data.feature_names is None
    assert data.taxonomy is not None
    assert data.taxonomy.path("29") == ["1", "2", "20", "29"]
    assert data.taxonomy.n_nodes == 10


def test_features_can_be_numbered_anew() -> None:
    data = read(DRY_RUN, compact=True)
    assert data.feature_names is not None
    assert list(data.feature_names) == ["2", "3", "5", "7"]
    assert data.X.toarray().tolist() == [[0, 2, 4, 1], [1, 0, 0, 0]]
    assert read(b"29\n33\n", compact=True).X.shape == (2, 0)
    far = read(b"29 2147483646:1 7:2\n33 7:3\n", compact=True)
    assert far.X.toarray().tolist() == [[2, 1], [3, 0]]
    assert far.feature_names is not None
    assert list(far.feature_names) == ["7", "2147483646"]


@pytest.mark.parametrize("content", [KAGGLE, KAGGLE[5:], b'\r\n"Data"\r\n' + KAGGLE[5:].replace(b"\n", b"\r\n")])
def test_files_of_kaggle(content: bytes) -> None:
    data = read(content)
    assert data.y == [["29", "31"], ["33"]]
    assert data.X.shape == (2, 1251)
    assert read(b"29,31 1:1\n").y == read(b"29,   31 1:1\n").y == [["29", "31"]]


def test_zero_is_no_label_unless_it_is_a_node() -> None:
    content = b"29 1:1\n0 2:1\n 3:1\n0, 31 4:1\n"
    assert read(content).y == [["29"], [], [], ["31"]]
    with_zero = Taxonomy.from_edges([("0", "29"), ("0", "31")])
    assert read(content, with_zero).y == [["29"], ["0"], [], ["0", "31"]]
    assert read(b"0 1:1\n0 2:1\n").y == [[], []]
    assert read(b"29 1:1\n", multilabel=True).y == [["29"]]
    with pytest.raises(DatasetError, match="line 2, column 1: the row has no label; if that is meant, read with multi"):
        read(b"29 1:1\n0 2:1\n", multilabel=False)


def test_files_with_and_without_document_numbers() -> None:
    assert read(b"29 5:1 0:3\n33 0:2\n").X.toarray().tolist() == [[3, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0]]
    assert read(DRY_RUN, document_id=False).X[:, 0].toarray().ravel().tolist() == [202, 256]
    assert read(b"# 0:1\n29 00:1 2:1 # x\n33 0:7\n").X.shape == (2, 3)
    with_id, without = io.BytesIO(DRY_RUN), io.BytesIO(b"29 2:1\n")
    data = read_lshtc(with_id, TREE, test=without)
    assert data.X_test.toarray().tolist() == [[0, 0, 1, 0, 0, 0, 0, 0]]


def test_parts_agree_about_their_columns() -> None:
    parts = {"test": io.BytesIO(b"33 0:1 9:1\n"), "validation": io.BytesIO(b"31 0:1 2:1\n33 0:2 4:1\n")}
    data = read_lshtc(io.BytesIO(DRY_RUN), TREE, **parts)
    assert (data.X_train.shape, data.X_test.shape, data.X_validation.shape) == ((2, 10), (1, 10), (2, 10))
    assert (data.y_train.tolist(), data.y_test.tolist()) == (["29", "33"], ["33"])
    assert data.y_validation.tolist() == ["31", "33"]
    assert not read(DRY_RUN).is_split


def test_packed_files_and_hierarchies_of_every_kind(tmp_path: Path) -> None:
    rows, hierarchy = tmp_path / "train.txt.gz", tmp_path / "hierarchy.txt.gz"
    rows.write_bytes(gzip.compress(DRY_RUN))
    hierarchy.write_bytes(gzip.compress(b"\xef\xbb\xbf1 2\r\n2\t20\r\n20 29\r\n\r\n20 33\r\n# a comment\r\n3\r\n"))
    data = read_lshtc(rows, hierarchy)
    assert data.source == str(rows)
    assert data.taxonomy == Taxonomy.from_parents({"1": None, "2": "1", "20": "2", "29": "20", "33": "20", "3": None})
    for given_hierarchy in (TREE, {"29": "1", "33": "1"}, [("1", "29"), ("1", "33")]):
        assert len(read_lshtc(rows, given_hierarchy).y) == 2


def test_a_node_below_several_parents_makes_a_dag() -> None:
    for hierarchy in (b"1 29\n1 33\n33 29\n", b"1 33 29\n1 29\n"):
        taxonomy = read(DRY_RUN, hierarchy).taxonomy
        assert taxonomy is not None
        assert taxonomy.kind == "dag"
        assert taxonomy.ancestors("29") == ["1", "33"]


def test_cycles() -> None:
    hierarchy = b"1 29\n29 33\n33 29\n"
    with pytest.raises(TaxonomyError, match=r"the stream: Taxonomy has a cycle: .*line 3"):
        read(DRY_RUN, hierarchy)
    taxonomy = read(DRY_RUN, hierarchy, on_cycle="drop").taxonomy
    assert taxonomy is not None
    assert taxonomy.dropped_edges == (("33", "29"),)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"29 3:1 2:1 3:4\n", {}, "line 1, column 12: the index 3 is in the row twice"),
        (b"29 1:1\n33 13:1 3:1 03:4\n", {}, "line 2, column 13: the index 3 is in the row twice"),
        (b"29 0:1 3:1\n33 3:1\n", {}, "line 2, column 4: wanted the document's number as 0:number, .* got '3:1'"),
        (b"29 0:1 3:1\n33\n", {}, "line 2, column 3: wanted the document's number"),
        (b"29 3:1\n", {"document_id": True}, "line 1, column 4: wanted the document's number"),
        (b"29 0:x 3:1\n", {}, "line 1, column 6: wanted a finite number, got 'x'"),
        (b"29 0:1 0:1 0:1\n", {}, "line 1, column 8: the index 0 is in the row twice"),
        (b"29, 3:1\n", {}, "line 1, column 5: a label is empty"),
        (b"29,\n", {}, "line 1, column 4: a label is empty"),
        (b"29 , 31 3:1\n", {}, "line 1, column 4: wanted index:value, got ','"),
        (b"29 31 3:1\n", {}, "line 1, column 4: wanted index:value, got '31'"),
        (b"Data\n29 x:1\n", {}, "line 2, column 4: wanted index:value, got 'x:1'"),
        (b"29\nData\n", {}, "line 2, column 1: 'Data' is not in the taxonomy"),
        (b"29 3:1\n99 3:1\n", {}, "line 2, column 1: '99' is not in the taxonomy"),
        (b"29 3:1\n29, 99 3:1\n9 3:1\n", {}, "line 2, column 5: '99' is not in the taxonomy"),
        (b"29 1:nan\n", {}, "wanted a finite number, got 'nan'"),
        (b"29 5:1\n", {"n_features": 5}, "line 1, column 4: the index of '5:1' is not in 0 … 4"),
        (b"29 2147483647:1\n", {}, "the index of '2147483647:1' is not in 0 … 2147483646"),
        (b"", {}, "the file has no rows"),
        (b"Data\n", {}, "the file has no rows"),
        (b"29, " * 100_000 + b"29 3:1\n", {}, "line 1, column 399999: the row has more than 100,000 labels"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1 << 23, 9])
def test_what_is_wrong_is_refused(
    content: bytes, options: dict[str, object], message: str, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if chunk_bytes * 1000 < len(content):
        chunk_bytes = 1 << 12
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk_bytes)
    with pytest.raises(DatasetError, match=message):
        read(content, **options)


def test_a_part_without_rows() -> None:
    with pytest.raises(DatasetError, match="the file has no rows"):
        read(DRY_RUN, test=io.BytesIO(b"\n"))


@pytest.mark.parametrize(
    "options",
    [
        {"multilabel": 1},
        {"document_id": "no"},
        {"on_cycle": "ignore"},
        {"n_features": 0},
        {"n_features": 3, "compact": True},
        {"validation": io.BytesIO(DRY_RUN)},
        {"dtype": "int8"},
    ],
)
def test_wrong_parameters(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"read_lshtc: .*{next(iter(options))}"):
        read(DRY_RUN, **options)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        (b"1 \xff\n", "the stream, line 1, column 3: byte 0xff is not UTF-8"),
        (b"\n# nothing\n", "the stream: A taxonomy needs at least one node"),
        (b"1 2\n" + b"3 " * 1001, "the stream: line 2: a path has at most 1,000 nodes"),
        (b"1 1\n", "the stream: .*line 1"),
    ],
)
def test_a_wrong_hierarchy(hierarchy: bytes, message: str) -> None:
    with pytest.raises(TaxonomyError, match=message):
        read(DRY_RUN, hierarchy)


def test_there_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(TaxonomyError, match=r"none\.txt: there is no such file"):
        read_lshtc(io.BytesIO(DRY_RUN), tmp_path / "none.txt")
    with pytest.raises(DatasetError, match=r"none\.txt: there is no such file"):
        read_lshtc(tmp_path / "none.txt", TREE)


@given(damaged(KAGGLE, b":", b",", b", ", b"#", b"Data", b"0:"), st.booleans())
def test_damaged_rows_are_read_or_refused(content: bytes, compact: bool) -> None:
    try:
        data = read(content, compact=compact)
    except DatasetError:
        return
    data.X.check_format()
    assert data.X.has_canonical_format
    assert len(data.y) == data.X.shape[0] > 0


@given(damaged(PATHS, b"1 2", b"#"), st.sampled_from(["error", "drop"]))
def test_damaged_hierarchies_are_read_or_refused(content: bytes, on_cycle: str) -> None:
    try:
        taxonomy = read_hierarchy(io.BytesIO(content), on_cycle)
    except TaxonomyError:
        return
    assert taxonomy.n_nodes > 0


@pytest.mark.parametrize("piece", [b"1:1 ", b"29, ", b"x"])
def test_a_line_of_a_gigabyte(piece: bytes) -> None:
    for read_it in (lambda s: read_lshtc(s, TREE), lambda s: read_lshtc(io.BytesIO(DRY_RUN), s)):
        stream = Repeated(b"29 1:1\n", piece, 2**30)

        def refused(read_it=read_it, stream=stream) -> None:  # type: ignore[no-untyped-def]
            with pytest.raises(CladistError, match=r"hostile\.txt, line 2: the line is longer than 67,108,864 bytes"):
                read_it(stream)

        _, _, peak = peak_memory(refused)
        assert stream.n_read < 100 * 2**20
        assert peak < 220 * 2**20


def test_memory_stays_below_three_times_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 1 << 16)
    X = sparse.random(3000, 2000, density=0.02, format="csr", random_state=0, dtype=np.float32)
    taxonomy = Taxonomy.from_edges([("1", str(k)) for k in range(2, 50)])
    y = [[str(k % 48 + 2), str(k % 47 + 2)] for k in range(3000)]
    write_lshtc(Dataset(X, y, taxonomy), tmp_path / "rows.txt", tmp_path / "tree.txt")
    for compact in (False, True):
        read_lshtc(tmp_path / "rows.txt", taxonomy, compact=compact)
        data, held, peak = peak_memory(lambda c=compact: read_lshtc(tmp_path / "rows.txt", taxonomy, compact=c))
        assert data.X.nnz == X.nnz
        assert peak < 3 * held + 0.5e6


words = st.text("0123456789ab.é日", min_size=1, max_size=4)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    taxonomy = draw(forests(names=words) | dags(names=words))
    rows = draw(st.lists(st.dictionaries(st.integers(1, 9), st.floats(-9, 9, width=32)), min_size=2, max_size=6))
    X = np.array([[row.get(j, 0) for j in range(10)] for row in rows], np.float32)
    label = st.sampled_from(taxonomy.names)
    labels = st.lists(label, unique=True, max_size=3, min_size=int("0" in taxonomy))
    y = draw(st.lists(labels, min_size=len(rows), max_size=len(rows)))
    cut = draw(st.integers(0, len(rows) - 1))
    if not cut:
        return Dataset(X, y, taxonomy)
    return Dataset(X, y, taxonomy, train_rows=slice(0, cut), test_rows=slice(cut, len(rows)))


@given(datasets())
def test_what_is_written_is_read(data: Dataset) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("train.txt", "hierarchy.txt", "test.txt")]
        test = paths[2] if data.is_split else None
        write_lshtc(data, *paths[:2], test=test)
        again = read_lshtc(*paths[:2], test=test, n_features=10, multilabel=True)
        assert same_dataset(again, data)


def test_compact_data_keep_their_numbers(tmp_path: Path) -> None:
    data = read(KAGGLE, compact=True)
    write_lshtc(data, tmp_path / "a.txt.xz", tmp_path / "tree.txt")
    assert same_dataset(read_lshtc(tmp_path / "a.txt.xz", tmp_path / "tree.txt", compact=True), data)
    assert read_lshtc(tmp_path / "a.txt.xz", TREE).X.shape == (2, 1251)


def test_feature_zero_is_never_taken_for_a_document(tmp_path: Path) -> None:
    data = Dataset(np.array([[1.0, 2, 0], [3, 0, 0]]), [["2"], ["3"]], TREE)
    write_lshtc(data, tmp_path / "rows.txt", tmp_path / "tree.txt")
    assert (tmp_path / "rows.txt").read_text() == "2 1:2 0:1\n3 0:3\n"
    again = read_lshtc(tmp_path / "rows.txt", tmp_path / "tree.txt", n_features=3, multilabel=True)
    assert same_dataset(again, data)


@pytest.mark.parametrize(
    ("X", "y", "taxonomy", "message"),
    [
        (np.eye(1), ["2"], None, "the Dataset has no taxonomy to write"),
        (np.eye(1), ["2"], TREE, "the first row has feature 0 alone"),
        (np.eye(2), [["2"], []], Taxonomy.from_edges([("0", "2")]), "a row without labels is written as 0, which is a"),
        (np.eye(2), [["2"], ["a b"]], Taxonomy.from_edges([("2", "a b")]), "the label 'a b' cannot be written"),
        (np.eye(2), [["2"], ["2"]], Taxonomy.from_edges([("2", "a:b")]), "the label 'a:b' cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, X: object, y: object, taxonomy: Taxonomy | None, message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        write_lshtc(Dataset(X, y, taxonomy), tmp_path / "rows.txt", tmp_path / "tree.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.data
def test_the_dry_run(data_folder: Path) -> None:
    folder = data_folder / "lshtc_dryrun"
    train, test, validation = (folder / "Task2" / f"{part}.txt" for part in ("train", "test", "validation"))
    data = read_lshtc(train, folder / "cat_hier.txt", test=test, validation=validation)
    assert (data.X_train.shape[0], data.X_test.shape[0], data.X_validation.shape[0]) == (4463, 1858, 1860)
    taxonomy = data.taxonomy
    assert taxonomy is not None
    assert (taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.roots), int(taxonomy.depth.max())) == (
        2387,
        1139,
        10,
        4,
    )
    assert taxonomy.contracted().n_nodes == 1563
    assert set(data.y_train) == {taxonomy.names[leaf] for leaf in taxonomy.leaves}
    assert data.X.data.min() >= 1
    compact = read_lshtc(train, folder / "cat_hier.txt", compact=True)
    assert compact.X.shape == (4463, 10_794)
    assert (data.X_train[:, compact.feature_names.astype(int)] != compact.X).nnz == 0  # type: ignore[union-attr]
