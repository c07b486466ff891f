"""ARFF-HMC files of hostile sizes and random content: little memory, and only our own errors."""

import io
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from cladist.datasets import Dataset
from cladist.datasets.dataset import MOST_LABELS
from cladist.datasets.formats import arff, arff_header
from cladist.datasets.formats.arff import read_arff_hmc, read_arff_rows
from cladist.errors import CladistError, DatasetError
from cladist.taxonomy import Taxonomy
from tests.datasets.arff_text import HEADER

ROW = "a,0.5,w,1/1,3\n"


def read(content: str | bytes, **options: object) -> Dataset:
    raw = content.encode() if isinstance(content, str) else content
    return read_arff_hmc(io.BytesIO(raw), **options)  # type: ignore[arg-type]


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3, width=32), st.sampled_from("w'c c'")), min_size=1, max_size=60),
    st.integers(20, 200),
    st.booleans(),
)
def test_rows_in_pieces_are_those_of_the_whole(rows: list[tuple[float, str]], size: int, is_sparse: bool) -> None:
    strands = ["w" if strand == "w" else "'c c'" for _, strand in rows]
    lines = [f"a,{x},{strand},1/1@2,{k}\n" for k, ((x, _), strand) in enumerate(zip(rows, strands, strict=True))]
    if is_sparse:
        pairs = zip(rows, strands, strict=True)
        lines = [f"{{1 {x},2 {strand},3 1/2/3,4 {k}}}\n" for k, ((x, _), strand) in enumerate(pairs)]
    content = (HEADER + "% none yet\n" * 30 + "".join(lines)).encode()
    whole = read_arff_hmc(io.BytesIO(content), zero_based=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arff, "PIECE", size)
        pieces = list(read_arff_rows(io.BytesIO(content), zero_based=True))
    assert all(names == whole.feature_names for _, names in pieces)
    assert all(sparse.issparse(X) == is_sparse for X, _ in pieces)
    assert len(pieces) > 1 or len(lines) * (3 if is_sparse else 5) <= size + 5
    dense = [X.toarray() if is_sparse else X for X, _ in pieces]
    np.testing.assert_array_equal(np.concatenate(dense), whole.X.toarray() if is_sparse else whole.X)


def test_a_file_without_rows_has_no_pieces() -> None:
    with pytest.raises(DatasetError, match="there are no rows below @data"):
        list(read_arff_rows(io.BytesIO((HEADER + "% none\n").encode())))


def test_too_many_labels_on_a_row() -> None:
    header = "@attribute class hierarchical a,b\n@data\n"
    most = "@".join(["a"] * MOST_LABELS)
    assert len(read(header + most + "\nb@a\n" + most + "\n", multilabel=True).y[0]) == 100_000
    with pytest.raises(DatasetError, match=r"line 3, column 1: the row has more than 100,000 labels"):
        read(header + most + "@b" * 10_000 + "\n")


def test_ten_million_labels_take_no_memory() -> None:
    content = b"@attribute class hierarchical a,b\n@data\n" + b"a@" * 10_000_000 + b"a\n"
    read("@attribute class hierarchical a,b\n@data\na@b\n")  # compiles
    tracemalloc.start()
    with pytest.raises(DatasetError, match="more than 100,000 labels"):
        read(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * len(content)  # the chunk itself, a few times


@pytest.mark.parametrize("row", [b"1," * 5_000_000, b"{0 1" + b",0 1" * 2_500_000 + b"}"])
def test_millions_of_values_on_a_row_take_no_memory(row: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(DatasetError, match=r"more values than the 2 attributes|the row is malformed"):
        read(b"@attribute a real\n@attribute class hierarchical a,b\n@data\n" + row, zero_based=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 7 * len(row)  # the chunk itself, a few times


def test_a_million_nominal_values_of_which_one_is_twice() -> None:
    values = ",".join(map(str, range(500_000)))
    with pytest.raises(DatasetError, match="different values as in"):
        read("@attribute a {" + values + ",7}\n@attribute class hierarchical a\n@data\n7,a\n")


def test_too_many_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arff_header, "MOST_VALUES", 50)
    plain = "".join(f"@attribute a{k} real\n" for k in range(50))
    with pytest.raises(DatasetError, match="line 50: the header lists more than 50 values"):
        read(plain)
    values = "@attribute a {" + ",".join(map(str, range(60)))  # no end: it is not even looked for
    with pytest.raises(DatasetError, match="line 1: the header lists more than 50 values"):
        read(values)
    rest = "}\n@attribute class hierarchical c\n@data\n5,c\n"
    assert read(values + rest, id_columns=["a"]).X.shape == (1, 0)


def test_names_of_quadratic_length(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "@attribute " + "a" * 1_000_000 + " {" + ",".join(map(str, range(1000))) + "}\n"
    with pytest.raises(DatasetError, match="names are too long"):
        read(long)
    deep = "@attribute class hierarchical " + "a/" * 100_000 + "a\n@data\na\n"
    with pytest.raises(DatasetError, match="line 1: the paths are too deep"):
        read(deep)


def test_the_paths_of_a_deep_taxonomy_are_not_all_spelt() -> None:
    chain = Taxonomy.from_paths([[f"n{k:05d}" for k in range(3_000)]])
    header = "@attribute class hierarchical\n@data\n"
    data = read(header + "n02999\nn00000/n00001\nn00001/n00002\n", taxonomy=chain)
    assert data.y.tolist() == ["n02999", "n00001", "n00002"]
    whole = chain.joined_path(142)  # of 1,000 characters
    assert read(header + whole, taxonomy=chain).y.tolist() == ["n00142"]
    longer = chain.joined_path(144, below_root=True) + "/n00145"
    with pytest.raises(DatasetError, match=r"line 4.* the label 'n00001/.*…' is not in the hier"):
        read(f"{header}n00000\n{longer}\n", taxonomy=chain)


def test_too_long_a_hierarchy() -> None:
    with pytest.raises(DatasetError, match="line 1: the header lists more than 1,048,576 values"):
        read("@attribute class hierarchical " + "a," * 1_050_000 + "a\n@data\na\n")


@pytest.mark.parametrize("row", ["{},c\n", "{{0 {}, 1 c}}\n", "{{1 c}}\n", "{{0 ?, 1 c}}\n"])
def test_nominal_attributes_with_very_many_values(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = ",".join(map(str, range(20_000)))
    header = "@attribute gene {" + values + "}\n@attribute class hierarchical c\n@data\n"
    monkeypatch.setattr(arff, "LARGEST_X", 400_000)
    monkeypatch.setattr(arff, "X_PER_BYTE", 0)
    content = header + "".join(row.format(k) for k in range(500))
    if "?" in row or not row.startswith("{{"):
        message = r"more than 400,000 bytes; .* Leave out the largest with id_columns=\['gene'\]"
        with pytest.raises(DatasetError, match=message):
            read(content)
    else:
        assert read(content).X.nnz == 500
    assert read(content, id_columns="gene").X.shape == (500, 0)


def test_a_quote_that_never_ends_is_searched_once() -> None:
    with pytest.raises(DatasetError, match="different values as in"):
        read("@attribute a {'" + "\\a " * 300_000)
    with pytest.raises(DatasetError, match="different values as in"):
        read("@attribute a {b" + " " * 1_000_000)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_reading_takes_little_more_memory_than_it_returns(form: str) -> None:
    random = np.random.default_rng(0)
    block = []
    for k, row in enumerate(random.normal(size=(500, 70)).round(3).tolist()):
        label = f"{k % 7}@{k % 7}/1@{k % 3}"
        if form == "dense":
            block.append(",".join(map(str, row)) + f",{label}\n")
        else:
            block.append("{" + "".join(f"{3 * j} {x}," for j, x in enumerate(row)) + f"210 {label}}}\n")
    listed = ",".join(f"{k},{k}/1" for k in range(7))
    n_columns = 70 if form == "dense" else 210
    head = "".join(f"@attribute a{j} real\n" for j in range(n_columns)) + f"@attribute class hierarchical {listed}\n"
    body = "".join(block)
    content = io.BytesIO((head + "@data\n" + body * (16_000_000 // len(body) + 1)).encode())
    read(head + "@data\n" + block[0])  # compiles
    del block, body
    tracemalloc.start()
    data = read_arff_hmc(content)
    returned, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(content.getvalue()) > 15_000_000
    assert returned > 6_000_000
    assert data.X.shape[0] == len(data.y) > 15_000
    assert peak < 3 * returned


# -------------------------------------------------------------------- whatever comes


pieces = st.sampled_from(
    [b"1", b"0", b",", b"@", b"/", b" ", b"\n", b"%", b".", b"e", b"-", b"?", b"{", b"}", b"'", b'"', b"\\", b"\0",
     b"\xff", b"\t", b"w", b"2", b"a,0.5,w,1/1,3\n", b"{0 a, 3 1/1}\n", b"'c c'", b"@data\n", b"@attribute ",
     b"hierarchical ", b"numeric\n", b"1/2/3", b"root/", b"9007199254740993.1", b'"it\\\'s"']
)  # fmt: skip


def read_or_refused(content: bytes, **options: object) -> None:
    try:
        data = read(content, **options)
    except CladistError:
        return
    assert data.taxonomy is not None
    assert data.X.shape == (len(data.y), len(data.feature_names or ()))
    assert data.X.shape[0] > 0
    if sparse.issparse(data.X):
        data.X.check_format()
        assert data.X.has_canonical_format
    labels = data.y if isinstance(data.y, list) else [[label] for label in data.y]
    assert all(label in data.taxonomy for row in labels for label in row)


@given(st.lists(pieces, max_size=25).map(b"".join), st.integers(1, 60), st.sampled_from(["auto", True, False]))
def test_any_rows_are_read_or_refused(rows: bytes, piece: int, multilabel: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arff, "PIECE", piece)
        read_or_refused(HEADER.encode() + rows, multilabel=multilabel)


@given(st.one_of(st.binary(max_size=80), st.lists(pieces, max_size=25).map(b"".join)))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    read_or_refused(content)


VALID = (HEADER + ROW + "b,?,'c c',1@2,4\n").encode()


@given(st.lists(st.tuples(st.integers(0, len(VALID)), st.integers(0, 3), pieces), min_size=1, max_size=4))
def test_a_mutated_file_is_read_or_refused(changes: list[tuple[int, int, bytes]]) -> None:
    content = VALID
    for position, n_lost, piece in changes:
        content = content[:position] + piece + content[position + n_lost :]
    read_or_refused(content)


@given(st.text(st.sampled_from("ab/,root? é"), max_size=30), st.sampled_from(["auto", "tree", "dag"]))
def test_any_hierarchy_is_read_or_refused(listed: str, hierarchy: str) -> None:
    read_or_refused(f"@attribute class hierarchical {listed}\n@data\na\n".encode(), hierarchy=hierarchy)
