"""Classifiers and transformers of other libraries in a model, through skops: restored, listed, refused."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import cladist
from cladist import CalibratedClassifier, Hieron, Taxonomy, TextClassifier, TopDown
from cladist.errors import ModelFormatError
from cladist.features import text_features
from cladist.storage import read_folder, write_folder

pytest.importorskip("skops.io")
TREE = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art/film", "art/music"])
TEXTS = ["racket and ball", "king and queen", "actor on screen", "song and band", "a net", "a rook", "a plot", "a drum"]
LABELS = np.array(["tennis", "chess", "film", "music"] * 2)
X = np.random.default_rng(0).normal(size=(80, 5))
Y = np.array(["tennis", "chess", "film", "music"])[(X[:, :4]).argmax(axis=1)]
FOREST = RandomForestClassifier(5, random_state=0)


class Halved(TransformerMixin, BaseEstimator):
    """A step that no library knows."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X / 2


@pytest.mark.parametrize(
    "model",
    [
        TopDown(TREE, estimator=FOREST),
        TopDown(TREE, estimator=LinearSVC()),
        CalibratedClassifier(LogisticRegression(), taxonomy=TREE, random_state=0),
        CalibratedClassifier(TopDown(TREE, estimator=FOREST), random_state=0),
        make_pipeline(TruncatedSVD(3, random_state=0), TopDown(TREE)),
        make_pipeline(TruncatedSVD(3, random_state=0), Hieron(TREE, random_state=0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_they_are_restored(model, tmp_path):
    model.fit(X, Y)
    cladist.save(model, tmp_path / "m")
    loaded = cladist.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    cladist.save(loaded, tmp_path / "again")
    np.testing.assert_array_equal(cladist.load(tmp_path / "again").predict(X), model.predict(X))
    assert not [path for path in (tmp_path / "m").rglob("*") if b"pickle" in path.read_bytes()]


def test_dense_embeddings_of_texts(tmp_path):
    model = make_pipeline(text_features(), TruncatedSVD(4, random_state=0), TopDown(TREE)).fit(TEXTS, LABELS)
    cladist.save(model, tmp_path / "m")
    np.testing.assert_array_equal(cladist.load(tmp_path / "m").predict(TEXTS), model.predict(TEXTS))
    features = make_pipeline(text_features(), TruncatedSVD(4, random_state=0))
    whole = TextClassifier("top-down", TREE, features=features).fit(TEXTS, LABELS)
    whole.save(tmp_path / "t")
    np.testing.assert_array_equal(cladist.load(tmp_path / "t").predict(TEXTS), whole.predict(TEXTS))


def test_unknown_types_are_listed_and_have_to_be_trusted_by_name(tmp_path):
    model = make_pipeline(Halved(), TopDown(TREE)).fit(X, Y)
    cladist.save(model, tmp_path / "m")
    name = f"{Halved.__module__}.Halved"
    manifest = json.loads((tmp_path / "m" / "manifest.json").read_text())
    assert name in json.dumps(manifest)
    with pytest.raises(
        ModelFormatError, match=r"types that are not known to be safe: .*Halved.* load it with trusted="
    ):
        cladist.load(tmp_path / "m")
    with pytest.raises(ModelFormatError, match="not known to be safe"):
        cladist.load(tmp_path / "m", trusted=True)
    with pytest.raises(ModelFormatError, match="not known to be safe"):
        cladist.load(tmp_path / "m", trusted=["another.Type"])
    np.testing.assert_array_equal(cladist.load(tmp_path / "m", trusted=[name]).predict(X), model.predict(X))


def change(folder, change_bytes):
    """Save a TopDown over forests with other bytes of one forest."""
    content, arrays = read_folder(folder)
    name = next(name for name in arrays if name.endswith("skops"))
    changed = {**arrays, name: np.frombuffer(change_bytes(arrays[name].tobytes()), np.uint8)}
    write_folder(folder, content, changed)


def packed_smaller(data):
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    return out.getvalue()


def of_another_kind(data):
    import skops.io

    return skops.io.dumps([1, 2])


@pytest.mark.parametrize(
    ("change_bytes", "said"),
    [
        (lambda data: data[:-20], "cannot be read"),
        (lambda data: b"nothing", "cannot be read"),
        (packed_smaller, "is packed in another way"),
        (of_another_kind, "is no estimator, but a list"),
    ],
)
def test_altered_bytes_are_refused(change_bytes, said, tmp_path):
    TopDown(TREE, estimator=FOREST).fit(X, Y).save(tmp_path / "m")
    change(tmp_path / "m", change_bytes)
    with pytest.raises(ModelFormatError, match=said):
        cladist.load(tmp_path / "m")


def test_a_function_in_a_file_is_not_called(tmp_path):
    """The type of a file is what the file says it is; one that would run a command is refused by name."""
    TopDown(TREE, estimator=FOREST).fit(X, Y).save(tmp_path / "m")

    def evil(data):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            for info in old.infolist():
                text = old.read(info)
                if info.filename == "schema.json":
                    schema = json.loads(text)
                    schema["__module__"], schema["__class__"] = "os", "system"
                    text = json.dumps(schema).encode()
                new.writestr(info.filename, text)
        return out.getvalue()

    change(tmp_path / "m", evil)
    with pytest.raises(ModelFormatError, match=r"os\.system|cannot be read"):
        cladist.load(tmp_path / "m")
    assert Path(tmp_path / "m").is_dir()


@pytest.mark.parametrize("value", [10**6, -7, 0])
def test_trees_that_lead_nowhere_are_refused(value):
    from cladist.persistence.foreign import _check_trees

    forest = RandomForestClassifier(3, random_state=0).fit(X, Y)
    _check_trees(forest, "forest")
    tree = forest.estimators_[1].tree_
    state = tree.__getstate__()
    state["nodes"]["left_child"][0] = value  # -1 is a leaf; 0 never ends
    tree.__setstate__(state)
    with pytest.raises(ModelFormatError, match="A decision tree in its forest is damaged"):
        _check_trees(forest, "forest")


def test_only_what_is_inside_a_learner(tmp_path):
    with pytest.raises(ModelFormatError, match="LogisticRegression cannot be saved as a cladist model"):
        cladist.save(LogisticRegression().fit(X, Y), tmp_path / "m")
