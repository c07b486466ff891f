"""svmlight files: equal to scikit-learn's reader, exact to the last bit, and refused where they are wrong."""

import gzip
import io
import lzma
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from cladist import files
from cladist.datasets import Dataset, read_svmlight
from cladist.datasets.formats.svmlight import number_texts, write_svmlight
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy
from tests.datasets.hostile import Repeated, damaged, peak_memory
from tests.datasets.same import same_dataset


def read(content: bytes, **options: object) -> Dataset:
    return read_svmlight(io.BytesIO(content), **options)  # type: ignore[arg-type]


def test_one_label_a_row() -> None:
    data = read(b"# a comment\n12 1:0.5 3:-2e0#x\n\r\n 007\t2:1 # qid:1 4:4\r\nA-1\n")
    assert data.y.tolist() == ["12", "007", "A-1"]
    assert data.X.dtype == np.float32
    assert data.X.toarray().tolist() == [[0.5, 0, -2], [0, 1, 0], [0, 0, 0]]
    assert data.taxonomy is None


def test_several_labels_a_row() -> None:
    content = b"12,40 1:1\n 2:1\n7\n3:1\nlonger-than-8,longer-than-9,7 1:1\n"
    labels = [["12", "40"], [], ["7"], [], ["longer-than-8", "longer-than-9", "7"]]
    assert read(content).y == labels
    assert read(content, multilabel=True).y == labels
    assert read(b"12 1:1\n", multilabel=True).y == [["12"]]
    assert read(b"12 1:1\n", multilabel=False).y.tolist() == ["12"]


def test_the_first_index() -> None:
    assert read(b"a 1:1 2:1\n").X.shape == (1, 2)
    assert read(b"a 1:1 2:1\n", zero_based=True).X.shape == (1, 3)
    assert read(b"a 1:1\nb 0:1 2:1\n").X.shape == (2, 3)
    assert read(b"a 1:1 2:1\n", n_features=7).X.shape == (1, 7)
    assert read(b"a\nb\n").X.shape == (2, 0)
    assert read(b"a 2147483647:1\n").X.shape == (1, 2**31 - 1)


def test_compressed_files_and_the_taxonomy(tmp_path: Path) -> None:
    path = tmp_path / "train.svm.gz"
    path.write_bytes(gzip.compress(b"11 1:1\n12 2:1"))
    taxonomy = Taxonomy.from_edges([("1", "11"), ("1", "12")])
    data = read_svmlight(path, taxonomy=taxonomy)
    assert data.taxonomy is taxonomy
    assert data.source == str(path)
    assert data.y.tolist() == ["11", "12"]
    taxonomy.write(tmp_path / "tree.txt")
    assert read_svmlight(path, taxonomy=tmp_path / "tree.txt").taxonomy == taxonomy


TREE = Taxonomy.from_paths(["r/1", "r/2", "r/longer-than-8"])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"1 1:1\n2 3:x\n", {}, "line 2, column 5: wanted a finite number, got 'x'"),
        (b"1 1:1\n2 3:\n", {}, "line 2, column 5: wanted a finite number, got ''"),
        (b"1 1: 1\n", {}, "line 1, column 5: wanted a finite number"),
        (b"1 1:nan\n", {}, "line 1, column 5: wanted a finite number, got 'nan'"),
        (b"1 1:-inf\n", {}, "line 1, column 5: wanted a finite number, got '-inf'"),
        (b"1 1:1e999\n", {}, "line 1, column 5: wanted a finite number, got '1e999'"),
        (b"1 1:1e39\n", {}, "line 1, column 5: '1e39' does not fit into this dtype"),
        (b"1 1:1" + b"0" * 60 + b"\n", {}, "line 1, column 5: '10+…' does not fit into this dtype"),
        (b"1 1:1_0\n", {}, "line 1, column 5: wanted a finite number, got '1_0'"),
        (b"1 1:1e\n", {}, "line 1, column 5: wanted a finite number"),
        (b"1 1:.\n", {}, "line 1, column 5: wanted a finite number"),
        (b"1 1:1:1\n", {}, "line 1, column 5: wanted a finite number, got '1:1'"),
        (b"\n1  2:1 1:1\n", {}, "line 2, column 8: the index of '1:1' does not rise"),
        (b"1 2:1 2:1\n", {}, "line 1, column 7: the index of '2:1' does not rise"),
        (b"1 -3:1\n", {}, "line 1, column 3: '-3:1' has a negative index"),
        (b"1 0:1\n", {"zero_based": False}, "line 1, column 3: the index of '0:1' is not in 1 … 2147483647"),
        (b"1 5:1\n", {"n_features": 4}, "line 1, column 3: the index of '5:1' is not in 0 … 4"),
        (b"1 4:1\n", {"n_features": 4, "zero_based": True}, "the index of '4:1' is not in 0 … 3"),
        (
            b"1 0:1 4:1\n",
            {"n_features": 4},
            "indices run from 0 to 4, which makes 5 columns; n_features is 4",
        ),
        (b"1 2147483648:1\n", {}, "line 1, column 3: the index of '2147483648:1' is not in"),
        (b"1 99999999999999999999999:1\n", {}, "line 1, column 3: the index of '9+:1' is not in"),
        (b"1 x\n", {}, "line 1, column 3: wanted index:value, got 'x'"),
        (b"1 x:1\n", {}, "line 1, column 3: wanted index:value, got 'x:1'"),
        (b"1 1\n", {}, "line 1, column 3: wanted index:value, got '1'"),
        (b"1 \xff\n", {}, r"line 1, column 3: wanted index:value, got '\\\\xff'"),
        (b"1 qid:4 1:1\n", {}, "line 1, column 3: 'qid:4' is a query id"),
        (b"1 1:1\n#\n1:1\n2 1:1\n", {}, "line 3, column 1: the row has no label"),
        (b"1 1:1\n 1:1\n", {"multilabel": False}, "line 2, column 2: the row has no label"),
        (b"1 1:1\n1,2 1:1\n", {"multilabel": False}, "line 2, column 2: the row has several labels"),
        (b"1,,2 1:1\n", {}, "line 1, column 3: a label is empty"),
        (b"1, 1:1\n", {}, "line 1, column 3: a label is empty"),
        (b"1, 2 1:1\n", {}, "line 1, column 3: a label is empty"),
        (b"2 1:1\n" + b"x" * 1001 + b" 1:1\n", {}, "line 2, column 1: a label has more than 1,000 bytes: 'x{40}…'"),
        (b"1\x002 1:1\n", {}, "line 1, column 2: a label is empty or has a control character"),
        (b"1 1:1\n\xff 1:1\n", {}, r"line 2, column 1: the label b'\\xff' is not UTF-8"),
        (b"1 1:1\n2,4 1:1\n", {"taxonomy": TREE}, "line 2, column 3: '4' is not in the taxonomy"),
        (b"1 1:1\nz 1:1\na 1:1\n", {"taxonomy": TREE}, "line 2, column 1: 'z' is not in the taxonomy"),
        (b"long-label 1:1\na 1:1\n", {"taxonomy": TREE}, "line 1, column 1: 'long-label' is not in the taxonomy"),
        (b"1 1:1\na,long-label 1:1\n", {"taxonomy": TREE}, "line 2, column 1: 'a' is not in the taxonomy"),
        (b"1\n2\n\xff\nz\na\n", {"taxonomy": TREE}, r"line 3, column 1: the label b'\\xff' is not UTF-8"),
        (b"longer-than-9\n", {"taxonomy": TREE}, "line 1, column 1: 'longer-than-9' .* mean 'longer-than-8'"),
        (b"", {}, "the file has no rows"),
        (b"# nothing\n\n", {}, "the file has no rows"),
    ],
)
@pytest.mark.parametrize("chunk_bytes", [1 << 23, 7])
def test_a_malformed_row_is_refused_where_it_is_wrong(
    content: bytes,
    options: dict[str, object],
    message: str,
    chunk_bytes: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", chunk_bytes)
    with pytest.raises(DatasetError, match=message):
        read(content, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"n_features": 0},
        {"n_features": 2**31},
        {"n_features": "3"},
        {"dtype": np.int32},
        {"dtype": "numbers"},
        {"multilabel": "yes"},
        {"zero_based": 2},
    ],
)
def test_wrong_parameters(options: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        read(b"1 1:1\n", **options)


rows = st.lists(
    st.dictionaries(st.integers(0, 30), st.floats(-1e300, 1e300), max_size=6),
    min_size=1,
    max_size=8,
)


def matrix(rows: list[dict[int, float]]) -> sparse.csr_matrix:
    """Build a CSR matrix that keeps stored zeros, as the file does."""
    indices = [i for row in rows for i in sorted(row)]
    values = [row[i] for row in rows for i in sorted(row)]
    return sparse.csr_matrix((values, indices, np.cumsum([0, *map(len, rows)])), shape=(len(rows), 31))


def same(ours: sparse.csr_matrix, theirs: sparse.csr_matrix) -> bool:
    return all(
        getattr(ours, part).tobytes() == getattr(theirs, part).astype(getattr(ours, part).dtype).tobytes()
        for part in ("indptr", "indices", "data")
    )


@given(rows, st.booleans(), st.integers(0, 10**12), st.integers(5, 200))
def test_scikit_learns_files_with_one_label(
    rows: list[dict[int, float]], zero_based: bool, label: int, chunk_bytes: int
) -> None:
    file = io.BytesIO()
    labels = label + np.arange(len(rows)) % 3
    dump_svmlight_file(matrix(rows), labels, file, zero_based=zero_based, comment="from scikit-learn")
    file.seek(0)
    theirs, their_y = load_svmlight_file(file, n_features=31, zero_based=zero_based)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK_BYTES", chunk_bytes)
        ours = read(file.getvalue(), n_features=31, zero_based=zero_based, dtype=np.float64)
    assert same(ours.X, theirs)
    assert ours.X.has_canonical_format
    assert [float(name) for name in ours.y] == their_y.tolist()


@given(rows, st.data())
def test_scikit_learns_files_with_several_labels(rows: list[dict[int, float]], data: st.DataObject) -> None:
    sets = [sorted(data.draw(st.sets(st.integers(0, 9), max_size=3))) for _ in rows]
    file = io.BytesIO()
    Y = sparse.csr_matrix(np.array([[int(k in s) for k in range(10)] for s in sets]))
    dump_svmlight_file(matrix(rows), Y, file, multilabel=True, zero_based=True)
    content = b"".join(line for line in file.getvalue().splitlines(True) if line.strip())
    if not content:
        return
    theirs, their_y = load_svmlight_file(io.BytesIO(content), n_features=31, zero_based=True, multilabel=True)
    ours = read(content, n_features=31, zero_based=True, multilabel=True, dtype=np.float64)
    assert same(ours.X, theirs)
    assert [tuple(map(float, names)) for names in ours.y] == their_y


digits = st.text("0123456789", max_size=25)
decimals = st.tuples(
    st.sampled_from(["", "+", "-"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    st.one_of(st.just(""), st.integers(-420, 290).map(lambda e: f"e{e}"), st.integers(0, 30).map(lambda e: f"E+{e}")),
).map("".join)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@given(st.lists(st.one_of(decimals, st.floats(-1e300, 1e300).map(repr)), min_size=1, max_size=30))
def test_numbers_are_pythons_floats_bit_for_bit(numbers: list[str]) -> None:
    def finite(text: str) -> bool:
        try:
            return math.isfinite(float(text))
        except ValueError:
            return False

    kept = [text for text in numbers if finite(text)]
    content = "1 " + " ".join(f"{i}:{text}" for i, text in enumerate(kept)) + "\n"
    data = read(content.encode(), dtype=np.float64, zero_based=True)
    assert [bits(v) for v in data.X.data] == [bits(float(text)) for text in kept]
    for text in set(numbers) - set(kept):
        with pytest.raises(DatasetError, match="line 1, column 5: wanted a finite number"):
            read(f"1 1:{text}\n".encode(), dtype=np.float64)


# Halfway between two doubles, or a hair's breadth off; subnormal; the largest double.
@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        "9007199254740993.0000000000000000000000001",
        "9007199254740992.9999999999999999999999999",
        "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124",
        "8.5e22",
        "9e-265",
        "123456789012345678e100",
        "2.2250738585072011e-308",
        "4.9e-324",
        "1e-400",
        "1.7976931348623157e308",
        "0e99999999999999999999",
        "-0.0",
        "000000000000000000000000000000001.5",
    ],
)
def test_hard_numbers(text: str) -> None:
    data = read(f"1 1:{text}\n".encode(), dtype=np.float64)
    assert bits(data.X.data[0]) == bits(float(text))


def test_the_largest_numbers_of_float32() -> None:
    largest = np.finfo(np.float32).max
    for text in ("3.4028235e+38", "3.40282346638528859811704183484516925e38", "3.4028235677973362e38"):
        assert read(f"1 1:{text}\n2 1:-{text}\n".encode()).X.data.tolist() == [largest, -largest]
    for text in ("3.4028235677973366e38", "3.402823567797336616375e38"):
        with pytest.raises(DatasetError, match="does not fit into this dtype"):
            read(f"1 1:{text}\n".encode())


@given(st.lists(st.sampled_from([b"1", b",", b":", b" ", b"\n", b"#", b".", b"e", b"-", b"\0", b"\xff", b"23"])))
def test_any_bytes_are_read_or_refused(pieces: list[bytes]) -> None:
    try:
        data = read(b"".join(pieces))
    except DatasetError:
        return
    data.X.check_format()
    assert len(data.y) == data.X.shape[0] > 0


VALID = b"12,7 1:0.5 3:-2.25e1 #x\r\n40 2:1 2147483647:12345678901234567890.5\n 9:1e-7\n"


@given(damaged(VALID, b"#", b":", b",", b"1:", b"e", b"."), st.booleans(), st.integers(3, 40))
def test_a_damaged_file_is_read_or_refused(content: bytes, with_taxonomy: bool, chunk_bytes: int) -> None:
    taxonomy = Taxonomy.from_edges([("12", "7"), ("12", "40")]) if with_taxonomy else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK_BYTES", chunk_bytes)
        try:
            data = read(content, taxonomy=taxonomy)
        except DatasetError:
            return
    data.X.check_format()
    assert data.X.has_canonical_format
    assert len(data.y) == data.X.shape[0] > 0


def test_windows_line_ends_byte_order_marks_and_xz() -> None:
    plain = read(b"a 1:1\nb 2:2\n")
    for content in (b"\xef\xbb\xbfa 1:1\r\nb 2:2\r\n", lzma.compress(b"a 1:1\nb 2:2"), b"a 1:1 \r\n\r\nb\t2:2\r"):
        assert same_dataset(read(content), plain)


@pytest.mark.parametrize("multilabel", [True, False, "auto"])
def test_ten_million_labels_on_a_row(multilabel: object) -> None:
    content = b"1 1:1\n" + b"12," * 10**7 + b"12 1:1\n"
    options = {"multilabel": multilabel}

    def refused() -> None:
        with pytest.raises(DatasetError, match="line 2, column 300000: the row has more than 100,000 labels; check"):
            read(content, **options)

    _, _, peak = peak_memory(refused)
    assert peak < 4 * len(content)  # the line itself, in a few copies, and nothing a label


def test_a_hundred_thousand_labels_are_still_read() -> None:
    labels = [str(k) for k in range(100_000)]
    assert read(",".join(labels).encode() + b" 1:1\n").y == [labels]


@pytest.mark.parametrize("piece", [b"x", b"1:1 ", b",", b" ", b"#", b"1"])
def test_a_line_of_a_gigabyte(piece: bytes) -> None:
    stream = Repeated(b"1 1:1\n2 ", piece, 2**30)

    def refused() -> None:
        with pytest.raises(DatasetError, match=r"hostile\.txt, line 2: the line is longer than 67,108,864 bytes"):
            read_svmlight(stream)  # type: ignore[arg-type]

    _, _, peak = peak_memory(refused)
    assert stream.n_read < 100 * 2**20
    assert peak < 200 * 2**20


@pytest.mark.parametrize("labels", [1, 3])
def test_memory_stays_below_three_times_the_result(
    labels: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "CHUNK_BYTES", 1 << 16)
    random = np.random.default_rng(0)
    X = sparse.random(3000, 2000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    y = [[f"label-{k}" for k in random.choice(500, labels, replace=False)] for _ in range(3000)]
    path = tmp_path / "rows.svm"
    write_svmlight((X, y), path)
    read_svmlight(path)  # what is compiled, imported or remembered once is not counted
    data, held, peak = peak_memory(lambda: read_svmlight(path))
    assert data.X.nnz == X.nnz
    assert held > 0.5e6
    assert peak < 3 * held + 0.5e6


names = st.text(st.characters(min_codepoint=33, exclude_characters=",:#", exclude_categories=("Cs",)), min_size=1)


@given(rows, st.data(), st.sampled_from([np.float32, np.float64]), st.booleans(), st.booleans())
def test_what_is_written_is_read(
    rows: list[dict[int, float]], data: st.DataObject, dtype: type, zero_based: bool, several: bool
) -> None:
    X = matrix(rows)
    with np.errstate(over="ignore"):
        X.data = np.nan_to_num(X.data.astype(dtype), posinf=3e38, neginf=-3e38).astype(dtype)
    label = names.filter(lambda name: not name.startswith("\ufeff"))
    y = data.draw(st.lists(st.lists(label, max_size=3) if several else label, min_size=len(rows), max_size=len(rows)))
    options = {"zero_based": zero_based, "n_features": 31, "multilabel": several, "dtype": dtype}
    written = written_bytes((X, y), zero_based=zero_based)
    again = read(written, **options)
    assert same_dataset(again, Dataset(X, y if several else np.array(y, dtype=object)))
    assert again.X.data.dtype == dtype
    if several and all(y):
        assert same(again.X, X)  # stored zeros too


def written_bytes(data: object, **options: object) -> bytes:
    kept = io.BytesIO()
    kept.close = lambda: None  # type: ignore[method-assign]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cladist.datasets.formats.svmlight.open_for_writing", lambda path: kept)
        write_svmlight(data, "rows.svm", **options)  # type: ignore[arg-type]
    return kept.getvalue()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50))
def test_numbers_are_written_as_short_as_their_dtype_allows(patterns: list[int]) -> None:
    values = np.array(patterns, np.uint32).view(np.float32)
    values = values[np.isfinite(values)]
    texts = number_texts(values)
    assert np.array([float(text) for text in texts]).astype(np.float32).tobytes() == values.tobytes()
    assert all(
        float(text) == 0 or len(text.lstrip("-").split("e")[0].replace(".", "").strip("0")) <= 9 for text in texts
    )


def test_other_kinds_of_x(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm.gz"
    unsorted = sparse.csr_matrix(([1.0, 2.0, 3.0], [2, 0, 0], [0, 3]), shape=(1, 3))
    for X, text in (
        (np.array([[1, 0, 1]]) > 0, b"a 1:1 3:1\n"),
        (sparse.coo_matrix(np.array([[-7, 0, 2**40]])), b"a 1:-7 3:1099511627776\n"),
        ([[0.5, 0, 0.1]], b"a 1:0.5 3:0.1\n"),
        (np.array([[0.1, 0, 3]], np.float16), b"a 1:0.099975586 3:3\n"),
        (unsorted, b"a 1:5 3:1\n"),
    ):
        write_svmlight((X, ["a"]), path)
        assert gzip.decompress(path.read_bytes()) == text
    assert unsorted.indices.tolist() == [2, 0, 0]
    write_svmlight(Dataset(np.eye(2), np.array([10, 2.0])), path)
    assert read_svmlight(path).y.tolist() == ["10", "2"]


def test_a_row_with_nothing_in_it_is_not_lost() -> None:
    assert written_bytes((np.zeros((2, 2)), [[], ["a"]])) == b"1:0\na\n"
    assert written_bytes((np.zeros((2, 2)), [[], []]), zero_based=True) == b"0:0\n0:0\n"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(1), ["a b"], "the label 'a b' cannot be written: a label in an svmlight file is not empty and has no"),
        (np.eye(1), [["a", "b,c"]], "the label 'b,c' cannot be written"),
        (np.eye(1), ["a:b"], "the label 'a:b' cannot be written"),
        (np.eye(1), ["#"], "the label '#' cannot be written"),
        (np.eye(1), [""], "the label '' cannot be written"),
        (np.eye(1), [None], "the label '' cannot be written"),
        (np.eye(1), [[float("nan")]], "the label '' cannot be written"),
        (np.eye(1), ["\ufeffa"], "cannot be written"),
        (np.eye(1), ["\ud800"], "cannot be written as UTF-8"),
        (np.eye(1), ["x" * 1001], "a label has 1,001 bytes, more than 1,000: 'x{40}'"),
        (np.eye(1), [["x"] * 100_001], "row 0 has 100,001 labels; at most 100,000 are read again"),
        (np.eye(2), ["a"], "X has 2 rows and y 1; both need the same number, at least 1"),
        (np.zeros((0, 2)), [], "X has 0 rows and y 0"),
        (np.zeros((1, 0)), [[]], "a row without labels and without columns"),
        (np.array([[1, np.nan]]), ["a"], "row 0 of X holds nan; only finite numbers can be written"),
        (sparse.csr_matrix([[0, 0], [0, np.inf]]), ["a", "b"], "row 1 of X holds inf"),
        (np.array([["x"]]), ["a"], "X must"),
        (np.array([1j]), ["a"], "X must hold numbers to be written; it holds complex128"),
        (np.eye(2), [["a"], 3], "y must have a label, or a list or set of labels, for every row"),
        (np.eye(2), 3, "y must have a label"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, X: object, y: object, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        write_svmlight((X, y), tmp_path / "rows.svm")
    assert not list(tmp_path.iterdir())
