"""ARFF-HMC files: every spelling of header and rows, numbers exact to the last bit, real files."""

import bz2
import gzip
import io
import lzma
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from cladist.datasets import Dataset
from cladist.datasets.formats import arff, arff_header
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.taxonomy import Taxonomy
from tests.datasets.arff_text import HEADER
from tests.steps import steps

TREE = ("1", "2", "1/1", "1/2", "1/2/3")


def read(content: str | bytes, **options: object) -> Dataset:
    raw = content.encode() if isinstance(content, str) else content
    return read_arff_hmc(io.BytesIO(raw), **options)  # type: ignore[arg-type]


def test_dense_rows_of_every_type() -> None:
    data = read(HEADER + "a,0.5,w,1/1@2,3\n% a comment\n\n'x, y' , ? ,'c c', 1/2/3 , -4e2 % more\n?,1,\"it's\",?,?\n")
    assert data.feature_names == ['alpha "0"', "strand=w", "strand=c c", "strand=it's", "length"]
    nan = np.nan
    expected = [[0.5, 1, 0, 0, 3], [nan, 0, 1, 0, -400], [1, 0, 0, 1, nan]]
    np.testing.assert_array_equal(data.X, np.array(expected, np.float32))
    assert data.X.dtype == np.float32
    assert data.y == [["1/1", "2"], ["1/2/3"], []]
    assert data.taxonomy is not None
    assert data.taxonomy.names == TREE
    assert data.taxonomy.path("1/2/3") == ["1", "1/2", "1/2/3"]


def test_a_missing_nominal_value_is_missing_in_all_its_columns() -> None:
    X = read(HEADER + "a,1,?,1,1\n").X
    np.testing.assert_array_equal(X, [[1, np.nan, np.nan, np.nan, 1]])
    X = read(HEADER + "{0 a, 2 ?, 3 1}\n").X
    np.testing.assert_array_equal(X.toarray(), [[0, np.nan, np.nan, np.nan, 0]])


def test_sparse_rows() -> None:
    data = read(HEADER + "{0 a, 1 0.5, 3 1/1@2}\n{ 4 7 , 2 'c c',3 2,1 0}\n{3 ?}\n")
    assert sparse.isspmatrix_csr(data.X)
    assert data.X.has_canonical_format
    # What a row does not name is 0; a nominal attribute has its first value.
    assert data.X.toarray().tolist() == [[0.5, 1, 0, 0, 0], [0, 0, 1, 0, 7], [0, 1, 0, 0, 0]]
    assert data.X.nnz == 2 + 3 + 1
    assert data.y == [["1/1", "2"], ["2"], []]


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        ("{0 1, 2 a}\n", {}, [[1, 0]]),
        ("{1 1, 2 a}\n", {}, [[0, 1]]),
        ("{2 1, 3 a}\n", {}, [[0, 1]]),
        ("{1 1, 3 a}\n", {}, [[1, 0]]),
        ("{1 1}\n{1 1, 3 a}\n", {"multilabel": True}, [[1, 0], [1, 0]]),
        ("{1 1}\n", {"zero_based": True, "multilabel": True}, [[0, 1]]),
        ("{1 1}\n", {"zero_based": False, "multilabel": True}, [[1, 0]]),
    ],
)
def test_indices_from_0_and_from_1(rows: str, options: dict[str, object], expected: list[list[float]]) -> None:
    header = "@attribute p real\n@attribute q real\n@attribute class hierarchical a,b\n@data\n"
    assert read(header + rows, **options).X.toarray().tolist() == expected


def test_indices_where_labels_come_first() -> None:
    header = "@attribute class hierarchical a,b\n@attribute p real\n@attribute q real\n@data\n"
    assert read(header + "{0 a, 1 5}\n").X.toarray().tolist() == [[5, 0]]
    assert read(header + "{1 a, 2 5}\n").X.toarray().tolist() == [[5, 0]]
    assert read(header + "{3 5, 1 a, 2 4}\n").X.toarray().tolist() == [[4, 5]]


def test_one_label_a_row_where_it_implies_the_others() -> None:
    header = "@attribute x numeric\n@attribute class hierarchical 2,2/1,2/1/3,4\n@data\n"
    rows = "1,2@2/1@2/1/3\n2,2/1/3@2@2\n3,4\n4,2\n"
    assert read(header + rows).y.tolist() == ["2/1/3", "2/1/3", "4", "2"]
    assert read(header + rows, multilabel=False).y.tolist() == ["2/1/3", "2/1/3", "4", "2"]
    assert read(header + rows, multilabel=True).y == [["2", "2/1", "2/1/3"], ["2/1/3", "2", "2"], ["4"], ["2"]]
    assert read(header + rows + "5,2@4\n").y[-2:] == [["2"], ["2", "4"]]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_marks_and_compression(line_end: str, pack, mark: bytes) -> None:
    plain = HEADER + "a,0.5,w,1/1,3\nb,1,w,2,4"
    data = read(pack(mark + plain.replace("\n", line_end).encode()))
    assert data.y.tolist() == ["1/1", "2"]
    assert data.X[:, -1].tolist() == [3, 4]


def test_spellings_of_a_hierarchy() -> None:
    def taxonomy(listed: str, **options: object) -> Taxonomy:
        label = listed.split(",")[0].split("/")[-1] if "root/" in listed else listed.split(",")[0]
        found = read(f"@attribute class hierarchical {listed}\n@data\n{label}\n", **options).taxonomy
        assert found is not None
        return found

    assert taxonomy("3/4,1/2,1").names == ("3", "1", "3/4", "1/2")
    assert taxonomy("1/2,1/2,1,?").names == ("1", "1/2")
    assert taxonomy("Top/Arts and Music,Top/Sport").names == ("Top", "Top/Arts and Music", "Top/Sport")
    assert taxonomy("a/b,a/c").names == ("a", "a/b", "a/c")  # single edges, but no root
    assert taxonomy("root,root/b").names == ("root", "root/b")
    assert taxonomy("root/b,root/c,b/d").names == ("b", "c", "d")
    assert taxonomy("root/b,root/c").names == ("b", "c")


def test_a_hierarchy_of_one_kind_may_be_forced() -> None:
    header = "@attribute class hierarchical root/b,b/c\n@data\n"
    assert read(header + "c\n").taxonomy == Taxonomy.from_edges([("b", "c")])
    tree = read(header + "b/c\n", hierarchy="tree").taxonomy
    assert tree is not None
    assert tree.names == ("root", "b", "root/b", "b/c")
    header = "@attribute class hierarchical a/b,a/c\n@data\n"
    assert read(header + "c\n", hierarchy="dag").taxonomy == Taxonomy.from_edges([("a", "b"), ("a", "c")])


def test_a_dag_of_edges() -> None:
    header = "@attribute class hierarchical root/a,root/b,a/c,b/c,c/d,root/d\n@data\n"
    data = read(header + "d@b\nd@a@c\n")
    assert data.taxonomy is not None
    assert data.taxonomy.kind == "dag"
    assert set(data.taxonomy.names) == {"a", "b", "c", "d"}
    assert data.y.tolist() == ["d", "d"]  # a, b and c are all above d
    assert read(header + "a@b\n").y == [["a", "b"]]


def test_edges_that_close_cycles_may_be_dropped() -> None:
    content = "@attribute class hierarchical root/a,a/b,b/a\n@data\nb\n"
    taxonomy = read(content, on_cycle="drop").taxonomy
    assert taxonomy is not None
    assert taxonomy.names == ("a", "b")
    assert taxonomy.dropped_edges == (("b", "a"),)


def test_a_taxonomy_of_ones_own() -> None:
    content = "@attribute x numeric\n@attribute class hierarchical 1,1/2\n@data\n1,a/b\n2,b\n"
    mine = Taxonomy.from_paths(["a/b", "a/c"])
    data = read(content, taxonomy=mine)
    assert data.taxonomy is mine
    assert data.y.tolist() == ["b", "b"]
    assert read(
        content.replace("hierarchical 1,1/2", "hierarchical"), taxonomy=[("a", "b"), ("a", "a/b")]
    ).y.tolist() == [
        "a/b",
        "b",
    ]


def test_id_columns_are_left_out() -> None:
    rows = "a,0.5,w,1/1,3\n"
    assert read(HEADER + rows, id_columns="length").feature_names == [
        'alpha "0"',
        "strand=w",
        "strand=c c",
        "strand=it's",
    ]
    data = read(HEADER + rows, id_columns=["strand", "length"])
    assert data.X.tolist() == [[0.5]]
    assert read(HEADER + "{0 a, 2 anything, 3 2, 4 1}\n", id_columns=["strand", "length"]).X.toarray().tolist() == [[0]]


def test_no_features_at_all() -> None:
    data = read("@attribute class hierarchical a,b\n@data\na\nb\n")
    assert data.X.shape == (2, 0)
    assert data.y.tolist() == ["a", "b"]
    assert read("@attribute class hierarchical a,b\n@data\n{0 a}\n{0 b}\n").X.shape == (2, 0)


LABELS = "@attribute class hierarchical c,d\n@data\n"


def test_attributes_of_the_same_name() -> None:
    header = (
        "@attribute a real\n@attribute a_2 real\n@attribute a real\n@attribute a {v,w}\n@attribute b real\n" + LABELS
    )
    data = read(header + "1,2,3,w,4,c\n5,6,7,v,8,d\n")
    assert data.feature_names == ["a", "a_2", "a_3", "a_4=v", "a_4=w", "b"]
    assert data.X.tolist() == [[1, 2, 3, 0, 1, 4], [5, 6, 7, 1, 0, 8]]
    assert read(header + "{0 1, 2 3, 5 c}\n").X.toarray().tolist() == [[1, 0, 3, 1, 0, 0]]
    without = read(header + "1,2,3,w,4,c\n", id_columns="a")
    assert without.feature_names == ["a_2", "b"]
    assert without.X.tolist() == [[2, 4]]
    assert read(header + "1,2,3,w,4,c\n", id_columns=["a_3", "a_4"]).feature_names == ["a", "a_2", "b"]


def test_names_that_are_repeated_very_often_take_linear_time() -> None:
    def work(n: int) -> int:
        header = "".join(f"@attribute a_{k} real\n" for k in range(2, n)) + "@attribute a real\n" * n
        return steps(lambda: arff_header.read_header("-", enumerate((header + LABELS).encode().splitlines())))

    assert work(400) < 3 * work(200)


# -------------------------------------------------------------------- several files

FEW = "@attribute x real\n@attribute class hierarchical 1,1/2,3\n@data\n"


def read_files(*rows: str, **options: object) -> Dataset:
    return read_arff_hmc(*[io.BytesIO((FEW + part).encode()) for part in rows], **options)  # type: ignore[arg-type]


def test_the_files_of_one_set() -> None:
    data = read_files("1,3\n2,1\n", "3,1/2\n", "4,3\n5,3\n")
    assert data.X_train.tolist() == [[1], [2]]
    assert (data.y_train.tolist(), data.y_validation.tolist(), data.y_test.tolist()) == (
        ["3", "1"],
        ["1/2"],
        ["3", "3"],
    )
    assert data.X_test.tolist() == [[4], [5]]
    assert data.feature_names == ["x"]
    assert data.taxonomy is not None
    assert data.taxonomy.names == ("1", "3", "1/2")
    two = read_files("1,3\n", "2,1\n")
    assert (two.y_train.tolist(), two.y_test.tolist()) == (["3"], ["1"])
    assert two.validation_rows is None


@pytest.mark.parametrize("several", range(3))
def test_one_row_with_several_labels_makes_sets_in_all_files(several: int) -> None:
    rows = ["1,3@1\n" if k == several else f"1,{'?' if k == (several + 1) % 3 else 3}\n" for k in range(3)]
    data = read_files(*rows)
    expected = [["3", "1"] if k == several else [] if k == (several + 1) % 3 else ["3"] for k in range(3)]
    assert [data.y_train[0], data.y_validation[0], data.y_test[0]] == expected


def test_sparse_rows_of_several_files_count_from_the_same_index() -> None:
    two = FEW.replace("@attribute class", "@attribute y real\n@attribute class")
    first, second = two + "{1 5, 3 3}\n", two + "{1 7}\n"
    files = [io.BytesIO(content.encode()) for content in (first, second)]
    data = read_arff_hmc(*files, multilabel=True)
    assert data.X_train.toarray().tolist() == [[5, 0]]
    assert data.X_test.toarray().tolist() == [[7, 0]]  # alone, this row would not tell
    mixed = [io.BytesIO(content.encode()) for content in (two + "4,5,3\n", first)]
    assert read_arff_hmc(*mixed).X.toarray().tolist() == [[4, 5], [5, 0]]


def test_a_taxonomy_of_ones_own_replaces_those_of_all_files() -> None:
    other = FEW.replace("1,1/2,3", "3,4") + "1,4\n"
    files = [io.BytesIO(content.encode()) for content in (FEW + "1,1\n", other)]
    assert read_arff_hmc(*files, taxonomy=[("1", "4")]).y.tolist() == ["1", "4"]


NUMBERS = "@attribute x real\n@attribute class hierarchical a\n@data\n"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30), st.integers(0, 20))
@example([9007199254740993.0, 5e-324, 1.7976931348623157e308, -0.0, 0.1], 17)
def test_numbers_are_pythons(values: list[float], places: int) -> None:
    texts = [repr(x) if k % 2 else f"{x:+.{places}E}" for k, x in enumerate(values)]
    if not all(np.isfinite([float(text) for text in texts])):
        return
    X = read(NUMBERS + "".join(f"{text},a\n" for text in texts), dtype=np.float64).X
    assert X[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()


@given(st.lists(st.text("0123456789.", min_size=1, max_size=45), min_size=1, max_size=9), st.booleans())
def test_long_numbers_are_pythons(texts: list[str], is_sparse: bool) -> None:
    texts = [text for text in texts if text.count(".") <= 1 and text != "."] or ["0"]
    rows = "".join(f"{{0 {text}, 1 a}}\n" if is_sparse else f"{text},a\n" for text in texts)
    X = read(NUMBERS + rows, dtype=np.float64).X
    dense = X.toarray() if is_sparse else X
    assert dense[:, 0].tobytes() == np.array([float(text) for text in texts]).tobytes()


def test_many_doubtful_numbers_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arff, "PIECE", 5)
    doubtful = [f"9007199254740993.{'0' * 20}{k}" for k in range(1, 30)]
    expected = [float(text) for text in doubtful]
    for form in ("{},{}\n", "{{0 {}, 1 {}}}\n"):
        data = read(NUMBERS + "".join(form.format(text, "a") for text in doubtful), dtype=np.float64)
        X = data.X.toarray() if sparse.issparse(data.X) else data.X
        assert X[:, 0].tolist() == expected
        assert data.y.tolist() == ["a"] * 29


# -------------------------------------------------------------------- real files


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns", "shape", "single"),
    [
        ("imclef07a/ImCLEF07A_Train.arff", 10_000, 80, (96, 63, 3), True),
        ("imclef07a/ImCLEF07A_Test.arff", 1_006, 80, (96, 63, 3), True),
        ("enron/Enron_corr_trainvalid.arff", 988, 1_001, (56, 52, 3), False),
        ("enron/Enron_corr_test.arff", 660, 1_001, (56, 52, 3), False),
        ("genes_fun/cellcycle/cellcycle_FUN.train.arff", 1_628, 77, (499, 324, 6), False),
        ("genes_fun/cellcycle/cellcycle_FUN.valid.arff", 848, 77, (499, 324, 6), False),
        ("genes_fun/cellcycle/cellcycle_FUN.test.arff", 1_281, 77, (499, 324, 6), False),
        ("genes_fun/derisi/derisi_FUN.train.arff", 1_608, 63, (499, 324, 6), False),
        ("genes_go/cellcycle/cellcycle_GO.train.arff", 1_625, 77, (4_125, 2_041, 14), False),
        ("genes_go/cellcycle/cellcycle_GO.valid.arff", 848, 77, (4_125, 2_041, 14), False),
        ("genes_go/cellcycle/cellcycle_GO.test.arff", 1_278, 77, (4_125, 2_041, 14), False),
    ],
)
def test_real_files(
    data_folder: Path, name: str, n_rows: int, n_columns: int, shape: tuple[int, int, int], single: bool
) -> None:
    data = read_arff_hmc(data_folder / name)
    taxonomy = data.taxonomy
    assert taxonomy is not None
    assert data.X.shape == (n_rows, n_columns)
    assert (taxonomy.n_nodes, len(taxonomy.leaves), len(taxonomy.levels)) == shape
    assert isinstance(data.y, list) is not single
    if single:
        assert {taxonomy.index(label) for label in data.y} <= set(taxonomy.leaves.tolist())


@pytest.mark.data
def test_a_real_dag(data_folder: Path) -> None:
    data = read_arff_hmc(data_folder / "genes_go" / "cellcycle" / "cellcycle_GO.train.arff")
    taxonomy = data.taxonomy
    assert taxonomy is not None
    assert taxonomy.kind == "dag"
    assert [taxonomy.names[v] for v in taxonomy.roots] == ["GO0003674", "GO0005575", "GO0008150"]
    assert int((np.diff(taxonomy.parents.indptr) > 1).sum()) == 1_477
    assert np.isnan(data.X).any()
    assert data.y[0] == ["GO0003709", "GO0000127", "GO0005739", "GO0006384"]
