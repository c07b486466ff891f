"""The synthetic set of the Hieron paper."""

import numpy as np
import pytest

from cladist.datasets import make_hieron_synthetic
from cladist.errors import ParameterError


def test_its_shape() -> None:
    data = make_hieron_synthetic(n_train=3, n_test=2, random_state=0)
    taxonomy = data.taxonomy
    assert taxonomy.names == tuple(map(str, range(121)))
    assert np.bincount(taxonomy.depth).tolist() == [1, 3, 9, 27, 81]
    assert data.X.dtype == np.float64
    assert data.X_train.shape == (363, 121)
    assert all(np.count_nonzero(data.y_train == name) == 3 for name in taxonomy.names)
    assert all(np.count_nonzero(data.y_test == name) == 2 for name in taxonomy.names)
    assert data.y_train.tolist() != sorted(data.y_train, key=int)


def test_differences_to_the_parent_are_orthonormal_and_the_root_is_one_of_them() -> None:
    data = make_hieron_synthetic(noise_variance=0, n_train=1, n_test=1, random_state=1)
    prototypes = np.empty((121, 121))
    prototypes[data.y_train.astype(int)] = data.X_train
    parent = data.taxonomy.parent
    w = prototypes - np.where(parent[:, None] >= 0, prototypes[parent], 0)
    np.testing.assert_allclose(w @ w.T, np.eye(121), atol=1e-12)
    np.testing.assert_array_equal(data.X_test, prototypes[data.y_test.astype(int)])


def test_the_noise_has_the_variance_asked_for() -> None:
    noisy, clean = (
        make_hieron_synthetic(noise_variance=variance, n_train=20, random_state=2) for variance in (0.16, 0)
    )
    noise = noisy.X - clean.X
    assert noisy.y.tolist() == clean.y.tolist()
    assert noise.var() == pytest.approx(0.16, rel=0.02)
    assert noise.mean() == pytest.approx(0, abs=0.01)


def test_a_seed_decides_everything() -> None:
    first, again, other = (make_hieron_synthetic(n_train=1, n_test=0, random_state=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.X, again.X)
    assert first.y.tolist() == again.y.tolist()
    assert not np.array_equal(first.X, other.X)
    assert len(first.y_test) == 0


@pytest.mark.parametrize("wrong", [{"noise_variance": -0.1}, {"n_train": 0}, {"n_test": -1}])
def test_wrong_parameters(wrong: dict) -> None:
    with pytest.raises(ParameterError, match="make_hieron_synthetic"):
        make_hieron_synthetic(**wrong)
