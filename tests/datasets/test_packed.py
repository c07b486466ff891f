"""Packed data sets: what comes in comes out, learners train on it as on the same rows in memory, faults are named."""

import json

import numpy as np
import pytest

import cladist
from cladist.datasets import Dataset, PackedWriter, make_topics
from cladist.errors import DatasetError, ModelFormatError
from cladist.features import rows_on_disk
from cladist.storage import is_mapped, tensor_file


@pytest.fixture(scope="module")
def topics():
    return make_topics(n_samples=240, n_features=120, branching=(3, 4, 2), random_state=3)


def pack(data, folder, **options):
    names, ids = np.unique(data.y, return_inverse=True)
    with PackedWriter(folder) as writer:
        for start in range(0, data.X.shape[0], 37):
            writer.add(data.X[start : start + 37])
        writer.finish(names.tolist(), ids, taxonomy=data.taxonomy, **options)
    return Dataset.open(folder)


@pytest.fixture
def on_disk(monkeypatch):
    """Let everything that is mapped stay on disk, in small pieces."""
    monkeypatch.setattr(rows_on_disk, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(rows_on_disk, "PIECE_BYTES", 2**12)


def test_what_is_packed_comes_out(topics, tmp_path):
    data = pack(topics, tmp_path / "packed", source="topics")
    assert repr(data) == f"Dataset(240 rows, 120 features, {topics.taxonomy.n_nodes} nodes, topics)"
    assert is_mapped(data.X.data)
    assert is_mapped(data.X.indices)
    assert not data.X.data.flags.writeable
    np.testing.assert_array_equal(data.X.toarray(), topics.X.toarray())
    assert data.y.tolist() == list(topics.y)
    assert data.taxonomy == topics.taxonomy
    assert len(list(tmp_path.iterdir())) == 1  # no temporary file is left


def test_rows_with_several_labels(tmp_path):
    with PackedWriter(tmp_path) as writer:
        writer.add(np.eye(3))
        writer.finish(["a", "b"], [0, 1, 1], [2, 0, 1], feature_names=["x", "y", "z"])
    data = Dataset.open(tmp_path)
    assert data.y == [["a", "b"], [], ["b"]]
    assert data.feature_names == ["x", "y", "z"]


LEARNERS = {
    "FlatSVM": {},
    "FlatLogistic": {"weights": "dense"},
    "TopDown": {},
    "NodewiseSVM": {},
    "RecursiveSVM": {"loss": "squared_hinge", "sharing": 1.0},
    "RecursiveLogistic": {"sharing": 1.0, "solver": "coordinate"},
}
FORMS = [("FlatSVM", {"weights": "dual"}), ("RecursiveSVM", {"sharing": 1.0, "weights": "differences"})]


@pytest.mark.parametrize(("name", "options"), [*LEARNERS.items(), *FORMS])
def test_the_model_is_that_of_rows_in_memory_bit_for_bit(name, options, topics, tmp_path, on_disk):
    data = pack(topics, tmp_path)
    there, here = (getattr(cladist, name)(topics.taxonomy, **options) for _ in range(2))
    there.fit(data.X, data.y)
    here.fit(topics.X, topics.y)
    assert (there.node_coef_ != here.node_coef_).nnz == 0
    np.testing.assert_array_equal(there.predict(data.X), here.predict(topics.X))


def test_weights_of_rows_on_disk_are_saved_from_there(topics, tmp_path, on_disk):
    data = pack(topics, tmp_path / "data")
    model = cladist.FlatSVM(topics.taxonomy, weights="dense").fit(data.X, data.y)
    blocks = model.weights_.to_arrays()["blocks"]
    assert is_mapped(blocks)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(cladist.load(tmp_path / "model").coef_, model.coef_)


def test_parts_and_weights_of_rows_stay_on_disk(topics, tmp_path, on_disk):
    data = pack(topics, tmp_path).split(0.3, random_state=0)
    assert is_mapped(data.X_train.data)
    np.testing.assert_array_equal(data.X_test.toarray(), topics.X[data.test_rows].toarray())
    weights = np.arange(240) % 3.0
    models = [cladist.FlatSVM(topics.taxonomy).fit(X, topics.y, weights) for X in (data.X, topics.X)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_search_for_C_on_packed_rows(topics, tmp_path, on_disk):
    data = pack(topics, tmp_path)
    models = [cladist.FlatSVM(topics.taxonomy, C="cv").fit(X, topics.y) for X in (data.X, topics.X)]
    assert models[0].C_ == models[1].C_
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e39])
def test_numbers_that_are_not_finite_are_refused_with_their_row(value, tmp_path):
    X = np.ones((4, 2))
    X[2, 1] = value
    with PackedWriter(tmp_path / "packed") as writer:
        writer.add(np.ones((5, 2)))
        with np.errstate(over="ignore"), pytest.raises(DatasetError, match=r"^Row 8 has the value"):
            writer.add(X)
    assert list(tmp_path.iterdir()) == []


def test_labels_must_be_as_many_as_rows(tmp_path):
    with PackedWriter(tmp_path / "packed") as writer:
        writer.add(np.eye(2))
        with pytest.raises(DatasetError, match="labels for 1"):
            writer.finish(["a"], [0])
    with PackedWriter(tmp_path / "packed") as writer, pytest.raises(DatasetError, match="no rows"):
        writer.finish([], [])
    assert list(tmp_path.iterdir()) == []


def test_models_and_data_sets_are_told_apart(topics, tmp_path):
    pack(topics, tmp_path / "data")
    cladist.FlatSVM(topics.taxonomy).fit(topics.X, topics.y).save(tmp_path / "model")
    with pytest.raises(DatasetError, match="no packed data set"):
        Dataset.open(tmp_path / "model")
    with pytest.raises(ModelFormatError, match="packed data set, not a model"):
        cladist.load(tmp_path / "data")


@pytest.mark.parametrize("name", ["values", "labels/ids", "taxonomy"])
def test_damage_is_noticed(name, topics, tmp_path, monkeypatch):
    monkeypatch.setattr(tensor_file, "LARGE_BYTES", 2**12)
    pack(topics, tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    raw = bytearray(path.read_bytes())
    n_bytes = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + n_bytes])
    begin, _ = next(entry["data_offsets"] for key, entry in header.items() if key.startswith(name))
    raw[8 + n_bytes + begin] ^= 1
    path.write_bytes(raw)
    if name == "values":
        Dataset.open(tmp_path)  # a mapped array is not read here
    with pytest.raises(ModelFormatError, match="checksum"):
        Dataset.open(tmp_path, verify=True)
