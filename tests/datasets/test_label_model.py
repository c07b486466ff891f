"""The label model of H-RLS's analysis: probabilities, consistency, margins."""

from __future__ import annotations

import numpy as np
import pytest

from cladist import Taxonomy
from cladist.datasets import LabelModel, make_label_model
from cladist.errors import ParameterError

TREE = Taxonomy.from_paths(["a/b", "a/c", "d"])


def test_labels_have_the_probabilities_of_the_model():
    model = LabelModel.random(TREE, n_features=3, random_state=0)
    np.testing.assert_allclose(np.linalg.norm(model.u, axis=1), 1)
    x = np.array([[0.6, 0.8, 0.0]])
    on = model.draw(np.repeat(x, 40_000, axis=0), random_state=1).to_indicator().toarray()
    chance = (1 + x[0] @ model.u.T) / 2
    np.testing.assert_allclose(on[:, [0, 1]].mean(axis=0), chance[[0, 1]], atol=0.01)
    np.testing.assert_allclose(on[on[:, 0] == 1][:, [2, 3]].mean(axis=0), chance[[2, 3]], atol=0.02)
    assert not on[on[:, 0] == 0][:, [2, 3]].any()


def test_the_reference_classifier_goes_by_signs_from_the_roots_down():
    model = LabelModel.random(TREE, n_features=5, random_state=0)
    data = model.sample(200, random_state=1)
    found = model.predict(data.X).to_indicator().toarray()
    signs = data.X @ model.u.T >= 0
    np.testing.assert_array_equal(found[:, :2], signs[:, :2])
    np.testing.assert_array_equal(found[:, 2:], signs[:, 2:] & signs[:, :1])


def test_rows_have_unit_length_and_the_margins_asked_for():
    model = LabelModel.random(TREE, n_features=5, random_state=0)
    data = model.sample(100, least_margin=0.1, random_state=1)
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=1), 1)
    assert np.abs(data.X @ model.u.T).min() >= 0.1
    np.testing.assert_array_equal(model.sample(100, least_margin=0.1, random_state=1).X, data.X)


def test_what_is_refused():
    model = LabelModel.random(TREE, n_features=2, random_state=0)
    for options in ({"n_samples": 0}, {"n_samples": 5, "least_margin": 1.0}, {"n_samples": 50, "least_margin": 0.95}):
        with pytest.raises(ParameterError):
            model.sample(**options, random_state=0)
    with pytest.raises(ParameterError, match="n_features"):
        LabelModel.random(TREE, n_features=0)


def test_made_by_a_seed():
    data = make_label_model(n_samples=30, taxonomy=TREE, random_state=4)
    assert data.taxonomy is TREE
    assert data.y == make_label_model(n_samples=30, taxonomy=TREE, random_state=4).y
