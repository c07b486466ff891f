"""Every form of y goes in and comes out of a learner; what learners answer beside labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cladist import Hieron, LabelMatrix, Taxonomy, TopDown
from cladist.errors import LabelError, ParameterError, TooLargeError
from cladist.labels import encode, to_indicator
from cladist.learners import base
from cladist.metrics import scorers

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film"])
NAMES = np.array(["tennis", "chess", "music", "film"] * 15)
X = np.random.default_rng(0).normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 4]
PATHS = np.array([TAXONOMY.path(name) for name in NAMES])
PADDED = np.hstack([PATHS, np.full((60, 1), "")])

FORMS = {
    "array": NAMES,
    "list": NAMES.tolist(),
    "object array": NAMES.astype(object),
    "series": pd.Series(NAMES, name="topic"),
    "categorical": pd.Series(NAMES, dtype="category"),
    "sets": [{name} for name in NAMES],
    "lists": [[name] for name in NAMES],
    "paths": PATHS,
    "padded paths": PADDED,
    "object paths": PATHS.astype(object),
    "frame": pd.DataFrame(PATHS, columns=["area", "topic"]),
    "dense indicator": to_indicator(NAMES, TAXONOMY).toarray(),
    "sparse indicator": sparse.csr_matrix(to_indicator(NAMES, TAXONOMY)),
    "indicator frame": pd.DataFrame(to_indicator(NAMES, TAXONOMY).toarray(), columns=TAXONOMY.names),
    "label matrix": encode(NAMES, TAXONOMY).labels,
}


@pytest.fixture(params=[Hieron(TAXONOMY, random_state=0), TopDown(TAXONOMY)], ids=["Hieron", "TopDown"])
def model(request):
    return request.param


@pytest.mark.parametrize("form", FORMS)
def test_predictions_come_back_in_the_form_of_y(model, form):
    y = FORMS[form]
    predicted = model.fit(X, y).predict(X)
    expected = model.fit(X, NAMES).predict(X)
    if form == "label matrix":
        assert isinstance(predicted, LabelMatrix)
    elif form != "list":  # a list of names comes back as scikit-learn's array
        assert type(predicted) is type(y)
    if hasattr(y, "dtype") and form != "categorical" and not isinstance(predicted, LabelMatrix):
        assert predicted.dtype.kind == y.dtype.kind
    np.testing.assert_array_equal(
        encode(predicted, TAXONOMY).labels.nodes("test"), encode(expected, TAXONOMY).labels.nodes("test")
    )
    assert model.fit(X, y).score(X, y) == pytest.approx(np.mean(expected == NAMES))


def test_frames_keep_their_index_columns_and_width():
    frame = pd.DataFrame(X, index=[f"row {k}" for k in range(60)], columns=list("abcd"))
    y = pd.Series(NAMES, index=frame.index, name="topic")
    model = Hieron(TAXONOMY, random_state=0).fit(frame, y)
    predicted = model.predict(frame)
    assert predicted.name == "topic"
    assert predicted.index.equals(frame.index)
    assert model.feature_names_in_.tolist() == list("abcd")
    paths = Hieron(TAXONOMY).fit(X, PADDED).predict(X)
    assert paths.shape == (60, 3)
    assert (paths[:, 2] == "").all()


def test_hiclass_labels_work_without_a_taxonomy():
    ragged = np.array([["a", "b", "c"], ["a", "d", ""], ["e", "", ""]] * 10, dtype=object)
    rows = np.tile(np.eye(3), (10, 1))
    for learner in (Hieron(random_state=0), TopDown()):
        model = learner.fit(rows, ragged)
        np.testing.assert_array_equal(model.predict(rows), ragged)
        assert model.taxonomy_.names == ("a", "e", "b", "d", "c")


def test_integer_codes_come_back_as_integers():
    taxonomy = Taxonomy.from_parents({"31-33": None, 311: "31-33", 312: "31-33", 11: None})
    y = np.array([311, 312, 11] * 10)
    model = TopDown(taxonomy).fit(np.tile(np.eye(3), (10, 1)), y)
    predicted = model.predict(np.eye(3))
    assert predicted.dtype == y.dtype
    assert predicted.tolist() == [311, 312, 11]
    assert model.predict_paths(np.eye(3))[0] == ["31-33", "311"]


@pytest.mark.parametrize("form", ["array", "series", "paths", "dense indicator", "sparse indicator", "frame"])
def test_grid_search_splits_these_forms(form):
    search = GridSearchCV(Hieron(TAXONOMY, random_state=0), {"C": [0.01, None]}, cv=3)
    search.fit(X, FORMS[form])
    assert search.best_score_ > 0.5
    assert search.predict(X[:2]) is not None


@pytest.mark.parametrize("form", ["sets", "label matrix"])
def test_grid_search_splits_these_with_a_splitter_of_their_own(form):
    search = GridSearchCV(
        Hieron(TAXONOMY, random_state=0), {"C": [0.01, None]}, cv=KFold(3), scoring=scorers.tree_induced_error
    )
    search.fit(X, FORMS[form])
    assert -2 < search.best_score_ <= 0


def test_scorers_read_the_taxonomy_through_a_pipeline():
    scores = cross_val_score(
        make_pipeline(StandardScaler(), TopDown(TAXONOMY)), X, NAMES, cv=3, scoring=scorers.hierarchical_f1
    )
    assert scores.mean() > 0.7


# ------------------------------------------------------------------ scores


def test_argmax_of_the_scores_is_the_prediction(model):
    model.fit(X, NAMES)
    scores = model.decision_function(X)
    assert scores.shape == (60, len(model.classes_))
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))
    some = model.decision_function(X, nodes=["film", "chess"])
    columns = [model.classes_.tolist().index(name) for name in ("film", "chess")]
    np.testing.assert_array_equal(some, scores[:, columns])


def test_two_classes_give_one_column():
    binary = Hieron(shuffle=False).fit([[1.0], [-1.0]], ["no", "yes"])
    assert binary.decision_function([[1.0], [-1.0]]).shape == (2,)
    assert (binary.decision_function([[1.0], [-1.0]]) > 0).tolist() == [False, True]
    assert binary.decision_function([[1.0]], nodes=["no", "yes"]).shape == (1, 2)


def test_top_k_is_the_sorted_scores(model):
    model.fit(X, NAMES)
    names, scores = model.predict_top_k(X, 2)
    everything = model.decision_function(X)
    order = np.argsort(-everything, axis=1, kind="stable")[:, :2]
    np.testing.assert_array_equal(names, model.classes_[order])
    np.testing.assert_array_equal(scores, np.take_along_axis(everything, order, axis=1))
    everything_named, _ = model.predict_top_k(X, 100)  # there are fewer classes
    assert everything_named.shape == (len(X), len(model.classes_))
    with pytest.raises(ParameterError, match="k must be a whole number from 1 up; got 0"):
        model.predict_top_k(X, 0)


def test_scores_past_the_memory_limit_are_refused(model, monkeypatch):
    model.fit(X, NAMES)
    monkeypatch.setattr(base, "MOST_SCORE_BYTES", 100)
    with pytest.raises(TooLargeError, match="predict_top_k"):
        model.decision_function(X)


def test_chunks_change_nothing(model, monkeypatch):
    model.fit(X, NAMES)
    whole = model.decision_function(X), model.predict_top_k(X, 2)[1]
    monkeypatch.setattr(base, "CHUNK_BYTES", 8 * TAXONOMY.n_nodes * 7)
    np.testing.assert_allclose(model.decision_function(X), whole[0], rtol=1e-12)
    np.testing.assert_allclose(model.predict_top_k(X, 2)[1], whole[1], rtol=1e-12)


def test_paths_lead_to_the_prediction(model):
    model.fit(X, NAMES)
    for path, label in zip(model.predict_paths(X), model.predict(X), strict=True):
        assert path == TAXONOMY.path(label)
    several = model.fit(X, [{name} for name in NAMES]).predict_paths(X[:1])
    assert len(several[0]) == 1
    assert several[0][0][0] in ("sport", "art")


def test_a_node_without_a_score_says_so():
    model = TopDown(TAXONOMY).fit(X, NAMES)
    with pytest.raises(LabelError, match="'sport' is not among classes_"):
        model.decision_function(X, nodes=["sport"])


@pytest.mark.parametrize("form", ["array", "sets", "paths"])
def test_without_a_taxonomy_an_unseen_label_is_only_wrong(form):
    y = FORMS[form]
    model = TopDown().fit(X, y)
    before = model.score(X, y)
    odd = {"array": "golf", "sets": {"golf"}, "paths": np.array(["sport", "go"])}[form]
    other = np.array(y) if form != "sets" else list(y)
    right = int(np.flatnonzero(model.fit(X, NAMES).predict(X) == NAMES)[0])
    other[right] = odd
    assert model.fit(X, y).score(X, other) == pytest.approx(before - 1 / 60)


def test_labels_and_rows_must_be_as_many(model):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, NAMES[:-1])


@pytest.mark.parametrize("given", [dict.fromkeys(["a", "b"]), [("r", "a"), ("r", "b")]])
def test_taxonomy_may_be_whatever_one_can_be_built_from(given, tmp_path):
    rows, y = np.eye(2), ["a", "b"]
    assert TopDown(given).fit(rows, y).predict(rows).tolist() == y
    path = tmp_path / "tree.txt"
    Taxonomy.from_paths(["r/a", "r/b"]).write(path)
    assert TopDown(str(path)).fit(rows, y).taxonomy_.names == ("r", "a", "b")
