"""Datasets written as ARFF-HMC and read again are equal; what the format cannot hold is refused."""

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from cladist.datasets import Dataset, read_arff_hmc, write_arff_hmc
from cladist.errors import DatasetError, ParameterError
from cladist.taxonomy import Taxonomy
from tests.datasets.same import same_dataset
from tests.strategies import AWKWARD, awkward_names, dags, forests, path_lists, plain_names

TREE = Taxonomy.from_parents({"1": None, "2": None, "1/1": "1", "1/2": "1"})


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arff") / "data.arff"


def path_named(paths: Sequence[tuple[str, ...]]) -> Taxonomy:
    """A forest whose names are the nodes' paths."""
    joined = {path[:k]: "/".join(path[:k]) for path in paths for k in range(1, len(path) + 1)}
    return Taxonomy.from_parents({name: joined.get(parts[:-1]) for parts, name in joined.items()})


taxonomies = st.one_of(forests(), dags(), path_lists().map(path_named))
column_names = st.lists(
    st.one_of(plain_names, st.text(AWKWARD.replace("\n", "").replace("\r", ""), min_size=1)), unique=True
)
numbers = {
    np.float32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    np.float64: st.floats(allow_nan=False, allow_infinity=False),
}


@st.composite
def datasets(draw, *, taxonomies=taxonomies):
    """Rows of numbers, dense or sparse, with one label or several over a random taxonomy."""
    taxonomy, names = draw(taxonomies), draw(column_names)
    label = st.sampled_from(taxonomy.names)
    if draw(st.booleans()):
        y = np.array(draw(st.lists(label, min_size=1, max_size=6)), dtype=object)
    else:
        y = draw(st.lists(st.lists(label, max_size=3, unique=True), min_size=1, max_size=6))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    X = draw(hnp.arrays(dtype, (len(y), len(names)), elements=numbers[dtype], fill=st.just(0)))
    if draw(st.booleans()):
        X = sparse.csr_matrix(X)
    return Dataset(X, y, taxonomy, feature_names=names)


def read_again(data: Dataset, path: Path) -> Dataset:
    return read_arff_hmc(path, dtype=data.X.dtype, multilabel=isinstance(data.y, list))


@given(datasets())
def test_what_is_written_is_read_again(path: Path, data: Dataset) -> None:
    write_arff_hmc(data, path)
    again = read_again(data, path)
    assert same_dataset(again, data)
    assert sparse.issparse(again.X) == sparse.issparse(data.X)
    assert again.X.dtype == data.X.dtype
    content = path.read_bytes()
    write_arff_hmc(again, path)
    assert path.read_bytes() == content


@given(st.lists(st.floats(width=32), min_size=1, max_size=9), st.booleans())
@example([3.4028234663852886e38, -3.4028234663852886e38, 2.0**-149], False)  # the first is written 3.4028235e+38
def test_every_bit_and_missing_values(path: Path, values: list[float], is_sparse: bool) -> None:
    row = np.array([values], np.float32)
    row[np.isinf(row)] = -0.0
    X = sparse.csr_matrix((row[0], np.arange(len(values)), [0, len(values)])) if is_sparse else row
    write_arff_hmc(Dataset(X, ["1/1"], TREE), path)
    again = read_arff_hmc(path)
    got = again.X.data if is_sparse else again.X[0]
    np.testing.assert_array_equal(np.isnan(got), np.isnan(row[0]))
    assert got[~np.isnan(got)].tobytes() == row[~np.isnan(row)].tobytes()
    assert again.feature_names == [f"x{k}" for k in range(1, len(values) + 1)]


@given(dags(names=st.one_of(plain_names, awkward_names)), st.sampled_from(["auto", "tree", "dag"]))
def test_awkward_names_are_kept_or_refused(path: Path, taxonomy: Taxonomy, hierarchy: str) -> None:
    data = Dataset(np.zeros((taxonomy.n_nodes, 0)), np.array(taxonomy.names, dtype=object), taxonomy, feature_names=[])
    try:
        write_arff_hmc(data, path, hierarchy=hierarchy)  # type: ignore[arg-type]
    except DatasetError:
        return
    again = read_arff_hmc(path)
    if again.taxonomy != taxonomy:  # nodes are named by their paths, and can still be asked for by these
        assert hierarchy == "tree" or any("/" in name for name in taxonomy.names)
        assert again.taxonomy is not None
        assert again.y.tolist() == ["/".join(taxonomy.path(name)) for name in taxonomy.names]
    else:
        assert again.y.tolist() == list(taxonomy.names)


def test_what_a_file_looks_like(path: Path) -> None:
    data = Dataset(np.array([[0.5, np.nan], [1e-7, 3]]), [["1/1", "2"], []], TREE, feature_names=["alpha 0", "class"])
    write_arff_hmc(data, path)
    assert path.read_text(encoding="utf-8") == (
        "@relation cladist\n\n"
        '@attribute "alpha 0" numeric\n'
        "@attribute class numeric\n"
        "@attribute class_ hierarchical 1,2,1/1,1/2\n\n"
        "@data\n"
        "0.5,?,1/1@2\n"
        "1e-07,3,?\n"
    )
    write_arff_hmc(Dataset(sparse.csr_matrix([[0, 2], [0, 0]]), np.array(["2", "1"], dtype=object), TREE), path)
    assert path.read_text(encoding="utf-8").endswith("@data\n{2 2, 3 2}\n{3 1}\n")


def test_a_taxonomy_built_from_paths_keeps_its_names_or_their_paths(path: Path) -> None:
    def written(taxonomy: Taxonomy, **options: object) -> Dataset:
        y = np.array(taxonomy.names, dtype=object)
        write_arff_hmc(Dataset(np.zeros((len(y), 1)), y, taxonomy), path, **options)  # type: ignore[arg-type]
        return read_arff_hmc(path)

    plain = Taxonomy.from_paths(["sport/tennis", "art"])
    assert written(plain).taxonomy == plain
    assert written(plain, hierarchy="tree").y.tolist() == ["sport", "art", "sport/tennis"]
    doubled = Taxonomy.from_paths(["phones/cases", "laptops/cases", "laptops/bags"])
    assert doubled.names[-1] == "bags"
    assert written(doubled).y.tolist()[-1] == "laptops/bags"
    assert read_arff_hmc(path, taxonomy=doubled).y.tolist() == list(doubled.names)


def test_other_forms_of_rows(path: Path) -> None:
    repeated = sparse.csr_matrix((np.ones(3, np.float32), [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for X in (repeated, repeated.tocoo(), repeated.toarray().astype(int), repeated.toarray().astype(np.float16)):
        write_arff_hmc(Dataset(X, [{"2", "1/1"}, ("1",)], TREE), path)
        again = read_arff_hmc(path)
        assert np.asarray(again.X.toarray() if sparse.issparse(again.X) else again.X).tolist() == [[0, 2], [1, 0]]
        assert again.y == [["2", "1/1"], ["1"]]
    write_arff_hmc(Dataset(np.array([[True], [False]]), [1, 2.0], TREE), path)
    assert read_arff_hmc(path).y.tolist() == ["1", "2"]


def test_a_packed_file(tmp_path: Path) -> None:
    data = Dataset(np.ones((2, 1), np.float32), np.array(["1", "2"], dtype=object), TREE, feature_names=["a"])
    write_arff_hmc(data, tmp_path / "data.arff.gz")
    assert (tmp_path / "data.arff.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert same_dataset(read_arff_hmc(tmp_path / "data.arff.gz"), data)


ONE = np.ones((1, 1))


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (Dataset(ONE, ["1"]), {}, "the Dataset must have a taxonomy"),
        (
            Dataset(np.array(["a text"], dtype=object), ["1"], TREE),
            {},
            "X must be a table of numbers with rows; got shape",
        ),
        (Dataset(np.array([["a"]], dtype=object), ["1"], TREE), {}, "X must be a table of numbers"),
        (Dataset(ONE * np.inf, ["1"], TREE), {}, "X has an infinite value"),
        (Dataset(np.ones((0, 1)), [], TREE), {}, "X must be a table of numbers with rows"),
        (Dataset(ONE, ["1"], TREE, feature_names=["a", "b"]), {}, "feature_names must be 1 different names"),
        (
            Dataset(np.ones((1, 2)), ["1"], TREE, feature_names=["a", "a"]),
            {},
            "feature_names must be 2 different names",
        ),
        (
            Dataset(ONE, ["1"], TREE, feature_names=["a\n"]),
            {},
            "feature_names must be .* none empty or with a line break",
        ),
        (Dataset(ONE, ["1"], TREE, feature_names=[""]), {}, "feature_names must be .* none empty or with a line break"),
        (Dataset(ONE, ["1/3"], TREE), {}, "row 0: the label '1/3' is not in the taxonomy; did you mean"),
        (Dataset(ONE, [["1", ["2"]]], TREE), {}, r"row 0: the label \['2'\] is not in the taxonomy"),
        (Dataset(ONE, np.eye(1, 4), TREE), {}, "and in y its nodes' names or lists of them"),
        (Dataset(ONE, ["1"], TREE), {"hierarchy": "dag"}, "cannot hold the name '1/1'"),
        (Dataset(ONE, ["a"], Taxonomy.from_parents({"a": "b,c"})), {}, "cannot hold the name 'b,c'"),
        (Dataset(ONE, ["a"], Taxonomy.from_parents({"a": "?"})), {}, r"cannot hold the name '\?'"),
        (Dataset(ONE, ["a"], Taxonomy.from_parents({"a": "root"})), {}, "the node 'root' would be lost among edges"),
        (
            Dataset(ONE, ["a"], Taxonomy.from_parents({"a": ["b", "c"]})),
            {"hierarchy": "tree"},
            "a DAG has no paths to name its nodes by",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(data: Dataset, options: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=message):
        write_arff_hmc(data, tmp_path / "data.arff", **options)
    assert list(tmp_path.iterdir()) == []


def test_wrong_parameters(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="hierarchy must be one of"):
        write_arff_hmc(Dataset(ONE, ["1"], TREE), tmp_path / "a.arff", hierarchy="paths")  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match="cannot be written"):
        write_arff_hmc(Dataset(ONE, ["1"], TREE), tmp_path / "nowhere" / "a.arff")


def test_a_node_called_root_is_kept_in_a_tree(path: Path) -> None:
    taxonomy = path_named([("root", "a"), ("root", "b")])
    data = Dataset(ONE, np.array(["root/a"], dtype=object), taxonomy, feature_names=["x"])
    write_arff_hmc(data, path)
    assert same_dataset(read_arff_hmc(io.BytesIO(path.read_bytes())), data)
