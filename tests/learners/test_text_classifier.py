"""`TextClassifier` and `cladist.explain`: texts in, labels, paths, words and files out."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

import cladist
from cladist import CalibratedClassifier, FlatLogistic, Hieron, RecursiveSVM, Taxonomy, TextClassifier
from cladist.errors import ParameterError
from cladist.features import TextFeatures, text_features
from cladist.learners.text import as_texts

TREE = Taxonomy.from_paths(["out/camp/tents", "out/camp/bags", "home/cups", "home/pans"])
TEXTS = ["dome tent", "tent with pegs", "sleeping bag", "down bag", "tea cup", "a cup", "iron pan", "frying pans"] * 3
LABELS = np.array(["tents", "tents", "bags", "bags", "cups", "cups", "pans", "pans"] * 3)
NEW = ["a tent of iron with a cup", "warm down bags", "zzz", "", "Tea, tea & <tea>"]


def fitted(method="top-down", **options):
    return TextClassifier(method, TREE, **options).fit(TEXTS, LABELS)


@pytest.mark.parametrize("method", ["hr-svm", "top-down", "h-svm", "svm", "lr", "hieron"])
def test_it_answers_like_features_and_learner_apart(method):
    model = fitted(method, params={"random_state": 0} if method == "hieron" else None)
    features = text_features().fit(TEXTS)
    learner = clone(model[-1]).fit(features.transform(TEXTS), LABELS)
    X = features.transform(NEW)
    np.testing.assert_array_equal(model.predict(NEW), learner.predict(X))
    assert model.predict_paths(NEW) == learner.predict_paths(X)
    for ours, theirs in zip(model.predict_top_k(NEW, 2), learner.predict_top_k(X, 2), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert model.score(TEXTS, LABELS) == learner.score(features.transform(TEXTS), LABELS)
    assert model.taxonomy_ == TREE
    assert model.classes_.tolist() == learner.classes_.tolist()


@pytest.mark.parametrize("calibrate", [False, True])
def test_it_is_saved_and_loaded_as_itself(tmp_path, calibrate):
    model = fitted("lr", calibrate=calibrate)
    model.save(tmp_path / "m")
    loaded = cladist.load(tmp_path / "m")
    assert type(loaded) is TextClassifier
    assert (loaded.method, loaded.calibrate) == ("lr", calibrate)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))
    assert [why.to_dict() for why in loaded.explain(NEW)] == [why.to_dict() for why in model.explain(NEW)]


def test_clones_learn_their_own_features():
    """The calibration is that of a Pipeline whose folds do not know the words of the rows they score."""
    model = fitted("lr", calibrate=True)
    whole = CalibratedClassifier(make_pipeline(text_features(), FlatLogistic(TREE)), random_state=0).fit(TEXTS, LABELS)
    np.testing.assert_allclose(model.predict_proba(NEW), whole.predict_proba(NEW))
    outside = CalibratedClassifier(FlatLogistic(TREE), random_state=0).fit(model[:-1].transform(TEXTS), LABELS)
    assert not np.allclose(outside.calibrator_.model.scales, whole.calibrator_.model.scales)


def test_probabilities():
    P = fitted("hr-svm", calibrate=True).predict_proba(NEW)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    model = fitted("hr-svm")
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="calibrate=True fits them, and hr-lr, lr and hblr have their own"):
        model.predict_proba(NEW)


@pytest.mark.parametrize("method", ["hieron", "h-perc", "h-rls"])
def test_online_methods_train_on_more_texts(method, tmp_path):
    y = LABELS if method == "hieron" else [[label] for label in LABELS]
    model = TextClassifier(method, TREE, params={"random_state": 0} if method == "hieron" else None)
    for start in range(0, len(TEXTS), 8):
        model.partial_fit(TEXTS[start : start + 8], y[start : start + 8])
    assert model[0].hashing
    assert model.score(TEXTS, y) > 0.7
    model.save(tmp_path / "m")
    again = cladist.load(tmp_path / "m").partial_fit(["a yurt"], y[:1])
    assert again.predict(["a yurt"]) is not None
    batch = fitted("hieron")
    assert not batch.partial_fit(["a yurt"], ["tents"])[0].hashing


def test_scikit_learn_takes_it():
    search = GridSearchCV(TextClassifier("svm", TREE), {"params": [{"C": 0.1}, {"C": 1.0}]}, cv=2)
    assert search.fit(TEXTS, LABELS).best_params_["params"]["C"] in (0.1, 1.0)
    assert (cross_val_predict(TextClassifier("svm", TREE), np.array(TEXTS), LABELS, cv=2) == LABELS).mean() > 0.7
    copy = clone(fitted("svm", features=TextFeatures(characters=False)))
    assert copy.get_params()["features__characters"] is False
    assert not hasattr(copy, "taxonomy_")


def test_a_learner_can_be_the_method():
    model = TextClassifier(RecursiveSVM(TREE, C=0.5), features=TfidfVectorizer()).fit(TEXTS, LABELS)
    assert model[-1].C == 0.5
    assert model.predict(["tea cup"]).tolist() == ["cups"]


def test_the_best_method_can_be_chosen():
    model = TextClassifier("auto", TREE, params={"random_state": 0}).fit(TEXTS * 3, list(LABELS) * 3)
    assert model.selection_.method
    assert model.predict(["tea cup"]).tolist() == ["cups"]


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: fitted("best"), "There is no method 'best'"),
        (lambda: fitted(params={"D": 1}), "top-down has no parameter 'D'; it has C,"),
        (lambda: fitted(7), "method must be a name of a method, or a learner; got 7"),
        (lambda: fitted().predict_paths("a text"), r"wanted a list of texts, got one text; write \[text\]"),
        (lambda: TextClassifier("svm").fit([1.0, 2.0], ["a", "b"]), "wanted one text per row, got 1.0"),
        (lambda: TextClassifier("svm").fit([["a", "b"]], ["a"]), r"got an array of shape \(1, 2\); join columns"),
        (lambda: fitted().partial_fit(TEXTS, LABELS), "top-down cannot be trained on more texts; hieron"),
    ],
)
def test_mistakes(work, said):
    with pytest.raises(ParameterError, match=said):
        work()


# ------------------------------------------------------------------ explanations


def hashed():
    features = TextFeatures(hashing=True, n_features=256)
    return fitted("hieron", features=features, params={"random_state": 0})


def piped(features, learner):
    return make_pipeline(features, learner).fit(TEXTS, LABELS)


MODELS = {
    **{method: lambda method=method: fitted(method) for method in ("hr-svm", "top-down", "h-svm", "svm", "lr", "sp")},
    "hashed": hashed,
    "lengths": lambda: fitted("svm", features=TextFeatures(words=(1, 3), characters=(2, 3))),
    "pairs": lambda: piped(TfidfVectorizer(ngram_range=(1, 2)), RecursiveSVM(TREE)),
    "letters": lambda: piped(CountVectorizer(analyzer="char"), RecursiveSVM(TREE)),
    "calibrated": lambda: piped(text_features(), CalibratedClassifier(RecursiveSVM(TREE), random_state=0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_contributions_of_words_sum_to_the_scores(name):
    model = MODELS[name]()
    learner = getattr(model[-1], "estimator_", model[-1])
    X = model[:-1].transform(NEW)
    classes = learner.classes_.tolist()
    scores = learner.decision_function(X, nodes=classes)
    whys, best = cladist.explain(model, NEW), iter(model[-1].predict_top_k(X, 2)[0].tolist())
    assert [why.label for why in whys] == model.predict(NEW).tolist()
    for why, row, text in zip(whys, scores, NEW, strict=True):
        assert why.text == text
        assert why.path == TREE.path(why.label)
        assert why.score == pytest.approx(row[classes.index(why.label)], rel=1e-4, abs=1e-5)
        for node, words in why.words.items():
            assert sum(words.values()) == pytest.approx(why.explanation.parts[node], rel=1e-9, abs=1e-9)
        assert why.runner_up.label == next(label for label in next(best) if label != why.label)
        assert why.runner_up.score == pytest.approx(row[classes.index(why.runner_up.label)], rel=1e-4, abs=1e-5)
        difference = why.score - why.runner_up.score
        assert sum(why.lead.values()) == pytest.approx(difference, rel=1e-9, abs=1e-9)


def test_words_not_columns():
    why = fitted("hr-svm").explain(["a dome tent"])[0]
    assert set(why.words["tents"]) <= {"a", "dome", "tent", "(intercept)"}
    assert max(why.words["tents"], key=why.words["tents"].get) == "tent"
    assert max(why.lead, key=why.lead.get) == "tent"
    assert list(why.words) == ["out", "camp", "tents"]
    assert why.marks()[2] == pytest.approx(sum(words.get("tent", 0.0) for words in why.words.values()))
    (other,) = fitted("hr-svm").explain(["a dome tent"], nodes=["cups"])
    assert (other.label, other.runner_up.label) == ("cups", "tents")
    assert sum(other.lead.values()) < 0


def test_repeated_words_share_their_features():
    why = fitted("svm").explain(["tent, tent, a tent"])[0]
    assert why.spans == [(0, 4), (6, 10), (12, 13), (14, 18)]
    marks = why.marks()
    assert marks[0] > 0
    assert sum(marks[k] for k in (0, 1, 3)) == pytest.approx(why.words["tents"]["tent"])


def test_letters_that_grow_in_lower_case():
    why = fitted("svm").explain(["İstanbul tent"])[0]
    assert why.text == "i̇stanbul tent"
    assert [why.word(k) for k in range(len(why.spans))][-1] == "tent"


def test_forms_of_an_explanation():
    pandas = pytest.importorskip("pandas")
    why = fitted("top-down").explain(["a tent & <b>dome</b>"])[0]
    content = json.loads(why.to_json())
    assert [node["node"] for node in content["nodes"]] == ["out", "camp", "tents"]
    assert content["runner_up"]["label"] == why.runner_up.label
    page = why._repr_html_()
    assert page.count("<mark") == len(why.spans)
    assert "&lt;<mark" in page
    assert "&amp;" in page
    assert "<b>" not in page
    frame = why.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == ["node", "word", "contribution"]
    sums = frame.groupby("node")["contribution"].sum()
    for node, part in why.explanation.parts.items():
        assert sums.get(node, 0.0) == pytest.approx(part)
    assert "out > camp > tents: 0, the sum of the negative parts of" in str(why)


def test_sets_explain_the_label_of_the_highest_score():
    sets = [[label] for label in LABELS]
    model = TextClassifier("svm", TREE).fit(TEXTS, sets)
    why = model.explain(["dome tent"])[0]
    assert why.label == model.predict_top_k(["dome tent"], 1)[0][0, 0]
    assert sum(why.words["tents"].values()) == pytest.approx(why.score)


def test_one_class_has_no_runner_up():
    model = TextClassifier("hieron").fit(["a", "b"], ["x", "x"])
    why = model.explain(["a"])[0]
    assert (why.label, why.runner_up, why.lead) == ("x", None, {})


def test_what_cannot_be_explained():
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(5, random_state=0)
    model = make_pipeline(CountVectorizer(), cladist.TopDown(TREE, estimator=forest)).fit(TEXTS, LABELS)
    with pytest.raises(ParameterError, match="explain: RandomForestClassifier has no weights of features"):
        cladist.explain(model, NEW)
    with pytest.raises(ParameterError, match=r"got one text; write \[text\]"):
        cladist.explain(make_pipeline(CountVectorizer(), Hieron()).fit(["tea", "cup"], ["x", "y"]), "a")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_of_texts_are_joined(library):
    frames = pytest.importorskip(library)
    new = frames.table if library == "pyarrow" else frames.DataFrame
    columns = {"title": ["dome tent", "steel pan", "warm tent"], "brand": ["Acme", None, "Bolt"]}
    assert as_texts("fit", new(columns)).tolist() == ["dome tent Acme", "steel pan", "warm tent Bolt"]
    with pytest.raises(ParameterError, match=r"wanted columns of texts, and 'price' has 1\.5; leave it out"):
        as_texts("fit", new({"title": ["tent"], "price": [1.5]}))
