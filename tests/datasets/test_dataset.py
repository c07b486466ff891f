"""`Dataset`: parts, splitting, and what it refuses."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from cladist.datasets import Dataset
from cladist.errors import DatasetError
from cladist.taxonomy import RelationGraph, Taxonomy


def numbered(n: int = 20) -> Dataset:
    """Rows that say their own number, in X, y and texts."""
    X = sparse.csr_matrix(np.arange(n, dtype=np.float32)[:, None] + 1)
    return Dataset(X, np.arange(n).astype(str), texts=np.array([f"row {i}" for i in range(n)], dtype=object))


def numbers(X: sparse.csr_matrix) -> list[int]:
    return [int(v) - 1 for v in X.toarray().ravel()]


def test_split_keeps_rows_together_and_in_order() -> None:
    data = numbered().split(0.3, random_state=1)
    train, test = numbers(data.X_train), numbers(data.X_test)
    assert sorted(train + test) == list(range(20))
    assert len(test) == 6
    assert train == sorted(train)
    assert data.y_train.tolist() == [str(i) for i in train]
    assert data.texts_test.tolist() == [f"row {i}" for i in test]
    assert data.X.shape == (20, 1)


def test_split_is_repeatable_and_a_number_is_a_count() -> None:
    first, again, other = (numbered().split(5, random_state=seed) for seed in (3, 3, 4))
    assert len(first.y_test) == 5
    assert first.y_test.tolist() == again.y_test.tolist()
    assert first.y_test.tolist() != other.y_test.tolist()


def test_split_never_cuts_a_group() -> None:
    groups = np.arange(20) // 4
    data = numbered().split(0.4, random_state=0, groups=groups)
    in_train, in_test = ({int(i) // 4 for i in y} for y in (data.y_train, data.y_test))
    assert not in_train & in_test
    assert len(in_test) == 2


def test_split_of_lists_and_texts() -> None:
    data = Dataset(["a", "b", "c", "d"], [["x"], [], ["y", "z"], ["x"]]).split(1, random_state=0)
    assert isinstance(data.y_test, list)
    assert sorted(data.X_train + data.X_test) == ["a", "b", "c", "d"]
    assert dict(zip(data.X_train + data.X_test, data.y_train + data.y_test, strict=True))["c"] == ["y", "z"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test_size": 0.0}, "split: "),
        ({"test_size": 20}, "split: "),
        ({"test_size": 0.5, "groups": [1, 2]}, "groups has 2 entries for 20 rows"),
    ],
)
def test_a_split_that_cannot_be_made(arguments: dict, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        numbered().split(**arguments)


def test_an_unsplit_one_says_so() -> None:
    data = numbered()
    assert not data.is_split
    assert not hasattr(data, "X_test")
    with pytest.raises(DatasetError, match=r"no train and test part.*split"):
        _ = data.y_train


def test_from_parts_stacks_and_shares_memory() -> None:
    X = sparse.random(6, 4, density=0.5, format="csr", random_state=0)
    data = Dataset.from_parts(X[:4], np.array(list("abca")), X[4:], np.array(list("bc")), source="two files")
    assert (data.X != X).nnz == 0
    assert (data.X_train != X[:4]).nnz == 0
    assert (data.X_test != X[4:]).nnz == 0
    assert np.shares_memory(data.X_train.data, data.X.data)
    assert np.shares_memory(data.X_test.indices, data.X.indices)
    assert data.y.tolist() == list("abcabc")
    assert data.y_test.tolist() == list("bc")


def in_three_parts() -> Dataset:
    parts = sparse.csr_matrix(np.arange(6, dtype=np.float32)[:, None] + 1)
    return Dataset.from_parts(
        parts[:3],
        ["a", "b", "c"],
        parts[3:5],
        ["d", "e"],
        X_validation=parts[5:],
        y_validation=["f"],
        texts=np.array(list("tuvwxy"), dtype=object),
        source="three files",
    )


def test_a_validation_part_is_stacked_last() -> None:
    data = in_three_parts()
    assert numbers(data.X) == [0, 1, 2, 3, 4, 5]
    assert (numbers(data.X_train), numbers(data.X_test), numbers(data.X_validation)) == ([0, 1, 2], [3, 4], [5])
    assert (data.y_test, data.y_validation) == (["d", "e"], ["f"])
    assert (data.texts_test.tolist(), data.texts_validation.tolist()) == (["w", "x"], ["y"])
    assert repr(data) == "Dataset(3 + 2 rows, 1 to validate, 1 features, three files)"


def test_splitting_anew_forgets_the_validation_part() -> None:
    data = in_three_parts().split(2, random_state=0)
    assert sorted(numbers(data.X_train) + numbers(data.X_test)) == [0, 1, 2, 3, 4, 5]
    assert not hasattr(data, "y_validation")


def test_without_a_validation_part_it_says_so() -> None:
    with pytest.raises(DatasetError, match=r"without a validation part; hold out"):
        _ = numbered().split(0.5, random_state=0).X_validation
    with pytest.raises(DatasetError, match=r"no train and test part"):
        _ = numbered().X_validation


def test_half_a_validation_part_is_refused() -> None:
    with pytest.raises(DatasetError, match="X_validation and y_validation belong together"):
        Dataset.from_parts(np.eye(2), ["a", "b"], np.eye(2), ["a", "b"], X_validation=np.eye(2))


def test_relations_come_along() -> None:
    graph = RelationGraph.from_edges([("b", "c")])
    data = Dataset(np.eye(2), ["b", "c"], Taxonomy.from_paths(["a/b", "a/c"]), relations=graph)
    assert data.relations is graph
    assert data.split(1, random_state=0).relations is graph
    assert numbered().relations is None


def test_an_earlier_split_is_forgotten() -> None:
    data = Dataset.from_parts(np.zeros((3, 1)), ["a"] * 3, np.ones((1, 1)), ["b"])
    assert len(data.y_test) == 1
    assert len(data.split(0.5, random_state=0).y_test) == 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"y": ["a"]}, "X has 2 rows but y has 1"),
        ({"y": ["a", "b"], "texts": np.array(["t"])}, "X has 2 rows but texts has 1"),
        ({"y": ["a", "b"], "train_rows": slice(0, 1)}, "belong together"),
        ({"y": ["a", "b"], "validation_rows": slice(0, 1)}, "validation_rows are a third part"),
    ],
)
def test_parts_that_do_not_fit(fields: dict, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        Dataset(np.zeros((2, 3)), **fields)


def test_it_is_frozen_and_can_be_copied() -> None:
    data = numbered().split(0.5, random_state=0)
    with pytest.raises(AttributeError):
        data.y = []  # type: ignore[misc]
    for twin in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert twin.y_test.tolist() == data.y_test.tolist()


def test_repr_is_one_line() -> None:
    taxonomy = Taxonomy.from_paths(["a/b", "a/c"])
    assert repr(Dataset(np.zeros((2, 5)), ["b", "c"], taxonomy, source="x.csv")) == (
        "Dataset(2 rows, 5 features, 3 nodes, x.csv)"
    )
    texts = np.array(["t", "u"], dtype=object)
    assert repr(Dataset(texts, ["b", "c"]).split(0.5, random_state=0)) == "Dataset(1 + 1 rows, texts)"


def test_parts_of_different_forms_are_joined() -> None:
    sets, single = [["a", "b"], []], np.array(["c"], dtype=object)
    assert Dataset.from_parts(np.eye(2), sets, np.ones((1, 2)), single).y == [["a", "b"], [], ["c"]]
    data = Dataset.from_parts(np.ones((1, 2)), single, sparse.csr_matrix(np.eye(2)), sets)
    assert data.y == [["c"], ["a", "b"], []]
    assert data.X_train.toarray().tolist() == [[1, 1]]
    assert data.X_test.toarray().tolist() == [[1, 0], [0, 1]]


def test_parts_with_different_numbers_of_columns_are_refused() -> None:
    with pytest.raises(DatasetError, match=r"the parts must have the same features; they have \[2, 3\] columns"):
        Dataset.from_parts(np.eye(2), ["a", "b"], np.eye(3), ["a", "b", "c"])
