"""The generator of documents over a tree."""

import numpy as np
import pytest

from cladist.datasets import Dataset, generators, make_topics
from cladist.errors import ParameterError
from cladist.taxonomy import Taxonomy


def shape_of_words(data: Dataset) -> tuple[float, float]:
    """Return the mean cosine of class centroids for sibling leaves, and for all other pairs."""
    leaves = data.taxonomy.leaves
    names = [data.taxonomy.names[v] for v in leaves]
    centroids = np.array([np.asarray(data.X_train[data.y_train == name].mean(axis=0)).ravel() for name in names])
    centroids -= centroids.mean(axis=0)
    centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
    cosine = centroids @ centroids.T
    parent = data.taxonomy.parent[leaves]
    siblings = parent[:, None] == parent
    others = ~siblings
    np.fill_diagonal(siblings, False)
    return float(cosine[siblings].mean()), float(cosine[others].mean())


def accuracy(data: Dataset) -> float:
    """Return the accuracy of the nearest centroid."""
    names = sorted(set(data.y_train))
    centroids = np.vstack([data.X_train[data.y_train == name].mean(axis=0) for name in names])
    centroids = np.asarray(centroids) / np.linalg.norm(centroids, axis=1, keepdims=True)
    best = np.argmax(data.X_test @ centroids.T, axis=1)
    return float(np.mean(np.array(names)[best] == data.y_test))


def made(informative: float) -> Dataset:
    return make_topics(
        n_samples=3000,
        n_test=500,
        n_features=3000,
        branching=(3, 3, 4),
        informative=informative,
        random_state=0,
    )


def test_an_informative_tree_and_one_that_says_nothing() -> None:
    true, half, shuffled = (made(informative) for informative in (1, 0.5, 0))
    near, far = shape_of_words(true)
    assert near > far + 0.3
    near_half, far_half = shape_of_words(half)
    assert far_half + 0.05 < near_half < near - 0.1
    near_not, far_not = shape_of_words(shuffled)
    assert abs(near_not - far_not) < 0.1
    assert accuracy(true) > 0.5
    assert accuracy(shuffled) == pytest.approx(accuracy(true), abs=0.08)


def test_rows_are_canonical_unit_vectors() -> None:
    data = make_topics(n_samples=300, n_features=200, branching=(4, 5), random_state=1)
    X = data.X
    assert X.dtype == np.float32
    assert X.shape == (300, 200)
    X.has_sorted_indices = X.has_canonical_format = None  # scipy looks for itself when asked again
    X.check_format()
    assert all((np.diff(X.indices[a:b]) > 0).all() for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True))
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    assert (np.diff(X.indptr) > 0).all()
    assert not data.is_split


def test_counts_are_damped_by_a_logarithm() -> None:
    row, word = np.array([0, 0, 1, 0, 0]), np.array([2, 1, 0, 2, 2])
    found = generators._weigh_words(row, word, 2, 3).toarray()
    length = np.hypot(1, 1 + np.log(3))
    np.testing.assert_allclose(found, [[0, 1 / length, (1 + np.log(3)) / length], [1, 0, 0]], rtol=1e-6)


def test_classes_follow_a_power_law_and_none_is_empty() -> None:
    data = make_topics(n_samples=5000, n_features=50, branching=(10, 20), doc_length=2, n_test=10, random_state=0)
    sizes = np.sort(np.unique(data.y_train, return_counts=True)[1])[::-1]
    assert len(sizes) == 200
    assert sizes[0] > 5 * sizes[100]
    few = make_topics(n_samples=20, n_features=50, branching=(10, 20), random_state=0)
    assert len(few.y) == 20


def test_words_follow_zipf() -> None:
    flat, steep = (
        make_topics(n_samples=500, n_features=1000, branching=(2,), noise=1, zipf=zipf, random_state=0)
        for zipf in (0, 1.5)
    )
    frequent = [np.diff(data.X.tocsc().indptr)[:10].sum() / data.X.nnz for data in (flat, steep)]
    assert frequent[0] == pytest.approx(0.01, abs=0.003)
    assert frequent[1] > 0.1


def test_a_taxonomy_of_any_shape() -> None:
    taxonomy = Taxonomy.from_paths(["a", "b/c/d/e", "b/c/f", "b/g"])
    data = make_topics(n_samples=100, n_features=100, taxonomy=taxonomy, n_test=3, random_state=0)
    assert data.taxonomy is taxonomy
    assert set(data.y_train) == {"a", "e", "f", "g"}
    assert data.X_test.shape == (3, 100)


def test_the_regular_tree() -> None:
    taxonomy = make_topics(n_samples=1, n_features=5, branching=(2, 1, 3)).taxonomy
    assert np.bincount(taxonomy.depth).tolist() == [2, 2, 6]
    assert taxonomy.path("1.0.2") == ["1", "1.0", "1.0.2"]


def test_a_seed_decides_everything() -> None:
    first, again, other = (
        make_topics(n_samples=30, n_features=60, branching=(2, 2), random_state=seed) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(first.X.toarray(), again.X.toarray())
    assert first.y.tolist() == again.y.tolist()
    assert not np.array_equal(first.X.toarray(), other.X.toarray())


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_samples": 0},
        {"n_test": -1},
        {"n_features": 0},
        {"n_features": 2**31},
        {"doc_length": 0.5},
        {"informative": 1.5},
        {"zipf": -1},
        {"noise": float("nan")},
        {"branching": ()},
        {"branching": (2, 0)},
    ],
)
def test_wrong_parameters(wrong: dict) -> None:
    with pytest.raises(ParameterError, match=f"make_topics: {next(iter(wrong))}"):
        make_topics(**wrong)
