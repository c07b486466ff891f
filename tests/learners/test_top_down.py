"""TopDown: the walk, its edges, and any classifier at the nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC

from cladist import Hieron, Taxonomy, TopDown
from cladist.datasets import make_hieron_synthetic, make_topics
from cladist.errors import LabelError, LabelWarning, ParameterError
from cladist.execution import Threads
from cladist.metrics import multiclass_error


@pytest.fixture(scope="module")
def topics():
    return make_topics(n_samples=600, n_test=200, n_features=400, branching=(3, 3, 2), random_state=0)


def walk_by_hand(taxonomy, X, y, rows, make):
    """The definition, one classifier per node on rows below it, followed for each row of `rows`."""
    nodes = np.array([taxonomy.index(label) for label in y])
    paths = [taxonomy.path_ids(v) for v in nodes]
    answers = []
    for row in rows:
        here, level = -1, 0
        while True:
            below = [i for i, path in enumerate(paths) if len(path) > level and (level == 0 or path[level - 1] == here)]
            choices = np.array([paths[i][level] for i in below])
            if len(choices) == 0:
                break
            if len(set(choices)) == 1:
                here = int(choices[0])
            else:
                here = int(make().fit(X[below], choices).predict(row[None])[0])
            level += 1
        answers.append(taxonomy.names[here])
    return answers


def test_follows_the_definition():
    data = make_topics(n_samples=150, n_test=20, n_features=60, branching=(2, 2, 2), random_state=1)
    X, rows = data.X_train.toarray(), data.X_test.toarray()
    expected = walk_by_hand(data.taxonomy, X, data.y_train, rows, LogisticRegression)
    model = TopDown(data.taxonomy, estimator=LogisticRegression()).fit(X, data.y_train)
    assert model.predict(rows).tolist() == expected


@pytest.mark.parametrize(
    "estimator",
    [
        None,
        LinearSVC(),
        LogisticRegression(),
        RidgeClassifier(),
        MultinomialNB(),
        KNeighborsClassifier(),
        RandomForestClassifier(5, random_state=0),
        SVC(decision_function_shape="ovo"),
        Hieron(random_state=0),
    ],
)
def test_any_classifier_may_stand_at_the_nodes(topics, estimator):
    X, rows = abs(topics.X_train), abs(topics.X_test)
    model = TopDown(topics.taxonomy, estimator=estimator).fit(X, topics.y_train)
    predicted = model.predict(rows)
    assert model.score(rows, topics.y_test) > 0.3
    best = model.decision_function(rows).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], predicted)
    names, scores = model.predict_top_k(rows, 3)
    np.testing.assert_array_equal(names[:, 0], predicted)
    assert np.all(scores[:, 0] == 0)
    assert np.all(np.diff(scores, axis=1) <= 0)


def test_default_is_the_svm_of_linear_svc(topics):
    own = TopDown(topics.taxonomy).fit(topics.X_train, topics.y_train)
    svm = LinearSVC(random_state=0, tol=1e-6, max_iter=10_000)
    theirs = TopDown(topics.taxonomy, estimator=svm).fit(topics.X_train, topics.y_train)
    assert np.mean(own.predict(topics.X_test) == theirs.predict(topics.X_test)) > 0.98
    np.testing.assert_allclose(own.decision_function(topics.X_test), theirs.decision_function(topics.X_test), atol=0.05)


def test_greedy_hieron_never_beats_its_floor():
    data = make_hieron_synthetic(noise_variance=0.04, random_state=0)
    model = TopDown(data.taxonomy, estimator=Hieron(random_state=0))
    with pytest.warns(LabelWarning, match="can never predict 40 of the 121 labels"):
        model.fit(data.X_train, data.y_train)
    predicted = model.predict(data.X_test)
    assert set(predicted) <= {data.taxonomy.names[v] for v in data.taxonomy.leaves}
    error = 100 * multiclass_error(data.y_test, predicted, data.taxonomy)
    assert 33.05 < error < 36, "40 of 121 labels are inner nodes, which greedy cannot output"


def test_stop_class_lets_inner_nodes_be_predicted():
    data = make_hieron_synthetic(noise_variance=0.04, random_state=0)
    model = TopDown(data.taxonomy, stop=True).fit(data.X_train, data.y_train)
    assert model.classes_.tolist() == list(data.taxonomy.names)
    assert model.score(data.X_test, data.y_test) > 0.85
    best = model.decision_function(data.X_test).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[best], model.predict(data.X_test))


def test_single_children_pass_through_and_empty_nodes_are_never_chosen():
    taxonomy = Taxonomy.from_paths(["a/only/x", "a/only/y", "a/empty/z", "b", "c/d/e/f"])
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    model = TopDown(taxonomy).fit(X, ["x", "y", "b", "f"])
    assert model.classes_.tolist() == ["b", "x", "y", "f"]
    assert not model.decisions_[taxonomy.index("c")].has_choice
    assert taxonomy.index("empty") not in model.decisions_
    assert set(model.predict(X)) <= {"x", "y", "b", "f"}


def test_a_label_with_nothing_below_it_ends_the_walk_there():
    taxonomy = Taxonomy.from_paths(["a/x", "b/y", "b/z"])
    model = TopDown(taxonomy).fit([[0.0], [1.0], [2.0]], ["a", "y", "z"])
    assert model.classes_.tolist() == ["a", "y", "z"]
    assert model.predict_paths([[-5.0]]) == [["a"]]


def test_what_the_classifiers_tell_is_remembered(topics):
    model = TopDown(topics.taxonomy).fit(topics.X_train, topics.y_train)
    assert model.converged_
    assert model.n_iter_ > 1
    assert model.history_[-1]["objective"] > 0
    assert model.history_[-1]["nodes"] == 13
    rough = TopDown(estimator=LogisticRegression()).fit([[0.0], [1.0]], ["a", "b"])
    assert "objective" not in rough.history_[-1]
    assert rough.n_iter_ >= 1


def test_a_regressor_is_refused():
    with pytest.raises(ParameterError, match="estimator must be a classifier"):
        TopDown(estimator=LinearRegression()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ParameterError, match="no decode='multi'"):
        TopDown(decode="multi").fit([[0.0], [1.0]], ["a", "b"])


def test_one_class_only():
    model = TopDown(Taxonomy.from_paths(["a/x", "a/y"])).fit([[0.0], [1.0]], ["x", "x"])
    assert model.predict([[3.0]]).tolist() == ["x"]
    assert model.decision_function([[3.0]]).tolist() == [[0.0]]


@pytest.mark.parametrize("options", [{"n_jobs": 2}, {"n_jobs": -1}, {"executor": Threads(3)}])
def test_the_model_does_not_depend_on_where_it_is_fitted(topics, options):
    serial = TopDown(topics.taxonomy).fit(topics.X_train, topics.y_train)
    other = TopDown(topics.taxonomy, **options).fit(topics.X_train, topics.y_train)
    np.testing.assert_array_equal(serial.decision_function(topics.X_test), other.decision_function(topics.X_test))


def test_rows_of_weight_zero_do_not_make_classes():
    model = TopDown().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"], sample_weight=[1, 1, 0])
    assert model.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"[Ss]ample weights"):
        TopDown().fit([[0.0], [1.0]], ["a", "b"], sample_weight=[0, 0])


def test_sparse_and_dense_agree(topics):
    dense = TopDown(topics.taxonomy).fit(topics.X_train.toarray(), topics.y_train)
    rows = TopDown(topics.taxonomy).fit(sparse.csr_matrix(topics.X_train), topics.y_train)
    np.testing.assert_array_equal(dense.predict(topics.X_test.toarray()), rows.predict(topics.X_test))


def test_several_labels_a_row_are_refused_by_row(topics):
    with pytest.raises(LabelError, match="TopDown needs exactly one label per row; row 0 has 2 labels"):
        TopDown(Taxonomy.from_paths(["a", "b"])).fit([[1.0]], [["a", "b"]])


def test_a_node_refuses_a_weight_of_losses_that_is_not_positive():
    with pytest.raises(ParameterError, match=r"C must be positive, or .cv. to choose it; got -1"):
        TopDown(C=-1).fit([[0.0], [1.0]], ["a", "b"])
