"""Saving and loading: every learner, pipelines, refusals, damage, and files of earlier versions."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

import cladist
from cladist import FlatSVM, Hieron, Taxonomy, TopDown
from cladist.errors import ModelFormatError
from cladist.persistence.models import LONG_LIST, load_noted, load_notes
from cladist.storage import read_folder, write_folder

TAXONOMY = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/music", "art/film"])
NAMES = np.array(["tennis", "chess", "music", "film"] * 5)
X = np.random.default_rng(0).normal(size=(20, 4)) + 3 * np.eye(4)[np.arange(20) % 4]
TEXTS = [f"{name} {word}" for name in NAMES[:4] for word in ("now", "then", "often", "never", "today")]
GOLDEN = Path(__file__).parent / "golden"

MODELS = {
    "hieron": Hieron(TAXONOMY, random_state=0),
    "hieron-float32": Hieron(TAXONOMY, random_state=0),
    "hieron-star": Hieron(random_state=0, C=0.5),
    "hieron-rbf": Hieron(TAXONOMY, kernel="rbf", random_state=0),
    "hieron-precomputed": Hieron(TAXONOMY, kernel="precomputed", random_state=0),
    "top-down": TopDown(TAXONOMY),
    "top-down-stop": TopDown(TAXONOMY, stop=True),
    "top-down-hieron": TopDown(TAXONOMY, estimator=Hieron(random_state=0)),
}


def rows_for(key):
    if key == "hieron-precomputed":
        return X @ X.T
    return X.astype(np.float32) if key == "hieron-float32" else X


@pytest.mark.parametrize("key", MODELS)
def test_a_loaded_model_answers_the_same(key, tmp_path):
    rows = rows_for(key)
    model = MODELS[key].fit(rows, NAMES)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    assert type(again) is type(model)
    assert {k: str(v) for k, v in again.get_params().items()} == {k: str(v) for k, v in model.get_params().items()}
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.classes_, model.classes_)
    assert again.taxonomy_ == model.taxonomy_
    assert again.n_features_in_ == model.n_features_in_
    assert getattr(again, "history_", None) == getattr(model, "history_", None)
    assert sorted(f.suffix for f in (tmp_path / "model").iterdir()) == [".json", ".md", ".safetensors"]


@pytest.mark.parametrize("key", ["hieron", "hieron-rbf", "hieron-star"])
def test_a_loaded_model_goes_on_learning(key, tmp_path):
    model = MODELS[key].fit(X, NAMES)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    model.partial_fit(X[::-1], NAMES[::-1])
    again.partial_fit(X[::-1], NAMES[::-1])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.rows_seen_ == 40


@pytest.mark.parametrize("y", [NAMES, [[n] for n in NAMES], np.array([TAXONOMY.path(n) for n in NAMES])])
def test_the_form_of_y_is_remembered(y, tmp_path):
    model = TopDown(TAXONOMY).fit(X, y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(cladist.load(tmp_path / "model").predict(X), model.predict(X))


def test_feature_names_and_titles_are_remembered(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = Hieron(TAXONOMY.with_titles({"sport": "all sports"})).fit(frame, NAMES)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    assert again.taxonomy_.titles == {"sport": "all sports"}


@pytest.mark.parametrize(
    "features",
    [
        TfidfVectorizer(ngram_range=(1, 2)),
        HashingVectorizer(n_features=64),
        FeatureUnion([("words", TfidfVectorizer()), ("letters", TfidfVectorizer(analyzer="char"))]),
    ],
)
def test_text_pipelines(features, tmp_path):
    model = make_pipeline(features, TopDown(TAXONOMY)).fit(TEXTS, np.repeat(NAMES[:4], 5))
    cladist.save(model, tmp_path / "model")
    again = cladist.load(tmp_path / "model")
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), SimpleImputer()])
def test_a_feature_that_was_missing_in_all_rows_is_no_damage(scaler, tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 4))
    rows[:, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the feature that is missing
        model = make_pipeline(scaler, SimpleImputer(), TopDown()).fit(rows, np.arange(20) % 3)
        cladist.save(model, tmp_path / "model")
        again = cladist.load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


def test_labels_of_a_small_type_below_nodes_of_a_larger_one(tmp_path):
    rows, y = np.eye(3)[[0, 1, 2] * 5], np.array([1, 2, 3] * 5, np.uint8)
    model = FlatSVM({1: 1000, 2: 1000, 3: 2000}).fit(rows, y)
    model.save(tmp_path / "model")
    again = cladist.load(tmp_path / "model").predict(rows)
    np.testing.assert_array_equal(again, y)
    assert again.dtype == np.uint8


def test_steps_that_a_model_does_not_hold_are_refused(tmp_path):
    cladist.save(
        make_pipeline(TfidfVectorizer(), TopDown(TAXONOMY)).fit(TEXTS, np.repeat(NAMES[:4], 5)), tmp_path / "m"
    )
    content, arrays = read_folder(tmp_path / "m")
    for steps in (None, [], ["topdown"], ["other", "topdown"], ["tfidfvectorizer", 3], "topdown", 5):
        write_folder(tmp_path / "m", {**content, "steps": steps}, arrays)
        with pytest.raises(ModelFormatError):
            cladist.load(tmp_path / "m")
    write_folder(tmp_path / "m", {**content, "features": None}, arrays)
    with pytest.raises(ModelFormatError):
        cladist.load(tmp_path / "m")


def test_a_pipeline_of_the_learner_alone(tmp_path):
    model = make_pipeline(Hieron(TAXONOMY)).fit(X, NAMES)
    cladist.save(model, tmp_path / "model")
    np.testing.assert_array_equal(cladist.load(tmp_path / "model").predict(X), model.predict(X))


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TopDown(TAXONOMY, estimator=LinearSVC()), "LinearSVC cannot be saved in cladist's own format.* needs skops"),
        (LogisticRegression(), "sklearn's LogisticRegression cannot be saved as a cladist model"),
        (make_pipeline(TruncatedSVD(2), TopDown(TAXONOMY)), "TruncatedSVD"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "LogisticRegression"),
        (Hieron(TAXONOMY, kernel=lambda A, B: A @ B.T), "parameter kernel"),
        (Hieron(TAXONOMY, random_state=np.random.RandomState(0)), "parameter random_state"),
    ],
)
def test_what_cannot_be_saved_is_refused_by_name(model, message, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)  # as if it were not installed
    model.fit(X, NAMES)
    with pytest.raises(ModelFormatError, match=message):
        cladist.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        Hieron().save(tmp_path / "model")


def test_a_cut_or_changed_file_is_refused(tmp_path):
    folder = tmp_path / "model"
    Hieron(TAXONOMY).fit(X, NAMES).save(folder)
    arrays = next(folder.glob("*.safetensors"))
    whole = arrays.read_bytes()
    arrays.write_bytes(whole[:-1])
    with pytest.raises(ModelFormatError):
        cladist.load(folder)
    arrays.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelFormatError):
        cladist.load(folder)
    arrays.write_bytes(whole)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"Hieron"', '"TopDown"'))
    with pytest.raises(ModelFormatError):
        cladist.load(folder)


def forged(tmp_path, change_content=None, change_arrays=None):
    """A folder with right checksums and wrong content, as somebody hostile might write."""
    folder = tmp_path / "model"
    Hieron(TAXONOMY).fit(X, NAMES).save(folder)
    content, arrays = read_folder(folder)
    if change_content:
        change_content(content)
    if change_arrays:
        change_arrays(arrays)
    write_folder(folder, content, arrays)
    return folder


def set_in(*path):
    *keys, last, value = path

    def change(content):
        for key in keys:
            content = content[key]
        content[last] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_in("model", "class", "os.system"),
        set_in("model", "class", "LogisticRegression"),
        set_in("model", "parameters", "executor", "x"),
        set_in("model", "parameters", "no_such", 1),
        set_in("model", "n_features", 7),
        set_in("model", "state", {}),
        set_in("model", None),
        set_in("steps", 3),
        set_in("model", "label_form", {"kind": "single", "unknown": 1}),
    ],
)
def test_forged_content_is_refused(change, tmp_path):
    folder = forged(tmp_path, change_content=change)
    with pytest.raises(ModelFormatError):
        cladist.load(folder)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("model/class_nodes", np.array([99])),
        ("model/taxonomy/parent", np.array([-1, 5, 0, 0, 1, 1])),
        ("model/taxonomy/parent", np.array([-1])),
        ("model/state/weights/dense", np.zeros((4, 99))),
        ("model/state/weights/dense", np.zeros(4)),
    ],
)
def test_forged_arrays_are_refused(name, value, tmp_path):
    folder = forged(tmp_path, change_arrays=lambda arrays: arrays.update({name: value}))
    with pytest.raises(ModelFormatError):
        cladist.load(folder)


# ------------------------------------------------------------------ the format stays readable


@pytest.mark.parametrize("key", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_models_of_earlier_versions_still_load(key):
    """Written once by the version they name; if this fails, the format changed and needs a new version number."""
    expected = json.loads((GOLDEN / f"{key}.json").read_text())
    model = cladist.load(GOLDEN / key)
    rows = expected["rows"]
    assert model.predict(rows).tolist() == expected["labels"]
    np.testing.assert_allclose(model.decision_function(rows), expected["scores"], rtol=1e-6)


def test_weights_that_are_mostly_zero_take_little_room(tmp_path):
    rows = sparse.random(30, 2000, density=0.002, random_state=0, format="csr")
    model = Hieron(TAXONOMY).fit(rows, NAMES[np.arange(30) % 20])
    model.save(tmp_path / "model")
    size = next((tmp_path / "model").glob("*.safetensors")).stat().st_size
    assert size < model.node_coef_.nbytes / 3
    np.testing.assert_array_equal(cladist.load(tmp_path / "model").node_coef_, model.node_coef_)


def test_notes_are_kept_beside_the_model(tmp_path):
    model = Hieron(TAXONOMY).fit(X, NAMES)
    cladist.save(model, tmp_path / "noted", notes={"text": ["title", "body"], "label": "class"})
    assert load_notes(tmp_path / "noted") == {"text": ["title", "body"], "label": "class"}
    model.save(tmp_path / "plain")
    assert load_notes(tmp_path / "plain") == {}
    with pytest.raises(ModelFormatError, match="notes/odd"):
        cladist.save(model, tmp_path / "odd", notes={"odd": object()})


def test_long_notes_are_no_part_of_the_manifest(tmp_path):
    """A model of millions of features notes all their names."""
    names = [f"feature {k}, é" for k in range(LONG_LIST)]
    notes = {"features": names, "deep": [{"er": names[::-1]}], "few": ["a"], "numbers": list(range(LONG_LIST))}
    cladist.save(Hieron(TAXONOMY).fit(X, NAMES), tmp_path / "model", notes=notes, note_arrays={"seen": np.arange(3)})
    assert "feature 7" not in (tmp_path / "model" / "manifest.json").read_text()
    assert load_notes(tmp_path / "model") == notes
    _, noted, arrays = load_noted(tmp_path / "model")
    assert noted == notes
    assert arrays.keys() == {"seen"}
    content, arrays = read_folder(tmp_path / "model")
    del arrays["note_texts/features/utf8"]
    write_folder(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFormatError, match="texts of this model's notes/features are missing"):
        load_notes(tmp_path / "model")
