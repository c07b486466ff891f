"""Embeddings of texts: models of every kind, the cache, and nothing that is fetched unasked."""

import pickle
import sys
import types

import numpy as np
import pytest
from sklearn.base import clone

from cladist.errors import DatasetError, ParameterError
from cladist.features import Embedding, TextFeatures
from cladist.features.embedding_cache import EmbeddingCache
from cladist.features.embedding_models import StaticVectors

TEXTS = ["heart attack", "myocardial infarction", "", "broken wrist"]


def lengths(texts):
    return [[float(len(text)), 1.0] for text in texts]


class Counting:
    """A model that remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return lengths(texts)


# ---------------------------------------------------------------- models


def test_a_function_gives_unit_rows():
    embedding = Embedding(lengths).fit(TEXTS)
    vectors = embedding.transform(TEXTS)
    assert vectors.dtype == np.float32
    assert embedding.n_columns_ == 2
    expected = np.array(lengths(TEXTS))
    np.testing.assert_allclose(vectors, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert embedding.transform([]).shape == (0, 2)
    assert embedding.get_feature_names_out().tolist() == ["(embedding 0)", "(embedding 1)"]


def test_rows_of_zero_stay_zero():
    assert Embedding(lambda texts: np.zeros((len(texts), 3))).fit_transform(["a"]).tolist() == [[0, 0, 0]]


def test_batches_change_nothing():
    model = Counting()
    vectors = Embedding(model, batch_size=2).fit_transform(TEXTS)
    assert [len(batch) for batch in model.asked] == [2, 2]
    np.testing.assert_array_equal(vectors, Embedding(lengths).fit_transform(TEXTS))


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (lambda texts: np.zeros(len(texts)), "one row of finite numbers"),
        (lambda texts: np.zeros((1, 2)), "one row of finite numbers"),
        (lambda texts: np.full((len(texts), 2), np.nan), "one row of finite numbers"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(returned, problem):
    with pytest.raises(DatasetError, match=problem):
        Embedding(returned).fit_transform(["a", "b"])


def test_a_model_that_changes_its_length_is_refused():
    embedding = Embedding(lengths).fit(TEXTS)
    embedding.set_params(model=lambda texts: np.ones((len(texts), 5)))
    with pytest.raises(DatasetError, match="vectors of 5 numbers, and returned 2"):
        embedding.transform(TEXTS)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"model": 3}, "model must be a name"),
        ({"model": ""}, "model must be a name"),
        ({"model": lengths, "batch_size": 0}, "batch_size must be a whole number"),
        ({"model": lengths, "cache": 3}, "cache must be None, True or a folder"),
        ({"model": lengths, "cache": True}, "cache needs a model with a name"),
    ],
)
def test_parameters_without_a_meaning_are_refused(options, problem):
    with pytest.raises(ParameterError, match=problem):
        Embedding(**options).fit(TEXTS)


def test_one_text_is_refused():
    with pytest.raises(ParameterError, match="got one text; write"):
        Embedding(lengths).fit(TEXTS).transform("a")


def test_vectors_computed_before(tmp_path):
    ids, vectors = ["a", "b", "7"], np.eye(3)
    np.savez(tmp_path / "vectors.npz", ids=np.array(ids), vectors=vectors)
    for model in ((ids, vectors), str(tmp_path / "vectors.npz"), tmp_path / "vectors.npz"):
        embedding = Embedding(model).fit(["a"])
        np.testing.assert_array_equal(embedding.transform(["b", 7, "b"]), np.eye(3)[[1, 2, 1]])
        with pytest.raises(DatasetError, match="no vector with the id 'c'"):
            embedding.transform(["c"])


@pytest.mark.parametrize(("ids", "vectors"), [(["a", "a"], np.eye(2)), (["a"], np.eye(2)), (["a"], np.ones(1))])
def test_vectors_that_do_not_fit_their_ids_are_refused(ids, vectors):
    with pytest.raises(DatasetError, match="one row for each"):
        Embedding((ids, vectors)).fit(["a"])


def test_a_file_that_holds_no_vectors_is_refused(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"nothing")
    with pytest.raises(DatasetError, match="'ids' and 'vectors'"):
        Embedding(str(tmp_path / "a.npz")).fit(["a"])
    np.savez(tmp_path / "b.npz", ids=np.array(["a"], dtype=object), vectors=np.eye(1))  # would have to be unpickled
    with pytest.raises(DatasetError, match="'ids' and 'vectors'"):
        Embedding(str(tmp_path / "b.npz")).fit(["a"])


# ---------------------------------------------------------------- static vectors


class Token:
    def __init__(self, ids):
        self.ids = ids


class Tokenizer:
    def no_padding(self):
        pass

    def no_truncation(self):
        pass

    def encode_batch(self, texts, add_special_tokens):
        assert not add_special_tokens
        return [Token([int(word) for word in text.split()]) for text in texts]


def test_static_vectors_are_means_of_tokens():
    vectors = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = StaticVectors(vectors, Tokenizer())(["0 1", "", "3 3 2", "99"])
    np.testing.assert_allclose(
        found, [vectors[:2].mean(axis=0), np.zeros(3), vectors[[3, 3, 2]].mean(axis=0), vectors[3]]
    )


@pytest.fixture
def bundled():
    pytest.importorskip("wordllama")
    pytest.importorskip("tokenizers")
    pytest.importorskip("safetensors")


@pytest.mark.usefixtures("bundled")
def test_the_vectors_inside_a_package_know_what_words_mean(monkeypatch):
    import socket

    def refuse(*_):
        raise AssertionError("no network is needed")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    vectors = Embedding("wordllama").fit_transform(["heart attack", "cardiac arrest", "broken wrist", "garden hose"])
    assert vectors.shape == (4, 256)
    near = vectors @ vectors.T
    assert near[0, 1] > near[0, 2] > near[0, 3] - 0.2
    assert near[0, 1] > near[0, 3]


@pytest.mark.usefixtures("bundled")
def test_a_folder_of_static_vectors(tmp_path):
    import shutil
    from pathlib import Path

    import safetensors.numpy
    import wordllama

    package = Path(wordllama.__file__).parent
    shutil.copy(package / "tokenizers/l2_supercat_tokenizer_config.json", tmp_path / "tokenizer.json")
    with pytest.raises(DatasetError, match=r"one file .safetensors, with vectors of tokens, is wanted; got 0"):
        Embedding(str(tmp_path)).fit([""])
    weights = safetensors.numpy.load_file(package / "weights/l2_supercat_256.safetensors")["embedding.weight"]
    safetensors.numpy.save_file({"embeddings": weights[:, :16].copy()}, tmp_path / "model.safetensors")
    assert Embedding(str(tmp_path)).fit_transform(TEXTS).shape == (4, 16)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(DatasetError, match="cannot be read as a tokenizer"):
        Embedding(str(tmp_path)).fit([""])


# ---------------------------------------------------------------- packages


@pytest.fixture
def packages(monkeypatch):
    """Packages of models that would fetch them, without the packages."""
    fetched = []

    class Model:
        def __init__(self, name, local_files_only=True, trust_remote_code=None, **_):
            if name != "here" and local_files_only:
                raise OSError("not in the cache")
            if name != "here":
                fetched.append(name)

        def encode(self, texts, **_):
            return np.array(lengths(texts))

        def embed(self, texts):
            yield from np.array(lengths(texts))

        @classmethod
        def from_pretrained(cls, path):
            return cls("here")

    def snapshot_download(name, local_files_only):
        return Model(name, local_files_only=local_files_only) and name

    hub = types.SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", hub)
    monkeypatch.setitem(sys.modules, "sentence_transformers", types.SimpleNamespace(SentenceTransformer=Model))
    monkeypatch.setitem(sys.modules, "model2vec", types.SimpleNamespace(StaticModel=Model))
    fastembed = types.SimpleNamespace(TextEmbedding=lambda model_name, **options: Model(model_name, **options))
    monkeypatch.setitem(sys.modules, "fastembed", fastembed)
    return fetched


@pytest.mark.parametrize("package", ["sentence-transformers", "model2vec", "fastembed"])
def test_models_of_packages_are_fetched_only_if_that_is_allowed(packages, package):
    expected = Embedding(lengths).fit_transform(TEXTS)
    np.testing.assert_allclose(Embedding(f"{package}:here").fit_transform(TEXTS), expected, rtol=1e-6)
    with pytest.raises(ParameterError, match=f"'away' of {package} is not on this machine.*allow_download=True"):
        Embedding(f"{package}:away").fit(TEXTS)
    assert packages == []
    Embedding(f"{package}:away", allow_download=True).fit(TEXTS)
    assert packages == ["away"]


@pytest.mark.parametrize("package", ["sentence-transformers", "model2vec", "fastembed"])
def test_a_package_that_is_missing_is_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    with pytest.raises(ParameterError, match=rf"pip install 'cladist\[{package}\]'"):
        Embedding(f"{package}:x").fit(TEXTS)


def test_a_name_that_is_nothing_is_refused():
    with pytest.raises(ParameterError, match="'nonsense' is neither 'wordllama', nor a file or folder"):
        Embedding("nonsense").fit(TEXTS)


# ---------------------------------------------------------------- the cache


def test_no_text_is_embedded_twice(packages, tmp_path, monkeypatch):
    model = Counting()
    monkeypatch.setattr("cladist.features.embedding.load_encoder", lambda name, allow_download: model)
    first = Embedding("fastembed:here", cache=tmp_path).fit_transform([*TEXTS, TEXTS[0]])
    again = Embedding("fastembed:here", cache=tmp_path).fit_transform(["new", *TEXTS, TEXTS[0]])
    assert model.asked == [TEXTS, ["new"]]
    np.testing.assert_array_equal(again[1:], first)
    Embedding("fastembed:other", cache=tmp_path).fit_transform(TEXTS[:1])
    assert model.asked[2:] == [TEXTS[:1]]  # another model has vectors of its own


def test_the_cache_drops_the_oldest_half(tmp_path):
    cache = EmbeddingCache(tmp_path, "m", most_bytes=40)
    for k in range(6):
        cache.add([str(k)], np.full((1, 2), k, np.float32))
    found = cache.find([str(k) for k in range(6)])
    assert "5" in found
    assert "0" not in found
    assert sum(vector.nbytes for vector in found.values()) <= 40
    np.testing.assert_array_equal(found["5"], [5, 5])


def test_a_damaged_cache_is_told(tmp_path):
    (tmp_path / "embeddings.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(DatasetError, match="delete it, or name another folder"):
        EmbeddingCache(tmp_path, "m").find(["a"])


# ---------------------------------------------------------------- beside words


def test_both_blocks_have_their_share():
    features = TextFeatures(embedding=lengths, embedding_share=0.25)
    X = features.fit_transform(["one two", "three four"])
    words = TextFeatures().fit_transform(["one two", "three four"])
    vectors = Embedding(lengths).fit_transform(["one two", "three four"])
    np.testing.assert_allclose(X[:, :-2].toarray(), np.sqrt(0.75) * words.toarray(), rtol=1e-5)
    np.testing.assert_allclose(X[:, -2:].toarray(), np.sqrt(0.25) * vectors, rtol=1e-5)
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, rtol=1e-5)
    unknown = features.transform(["zzz"])
    np.testing.assert_allclose(unknown[:, -2:].toarray(), Embedding(lengths).fit_transform(["zzz"]), rtol=1e-5)
    assert features.get_feature_names_out()[-2:].tolist() == ["(embedding 0)", "(embedding 1)"]
    assert X.shape[1] == len(features.get_feature_names_out())


def test_the_share_follows_what_tells_labels_apart():
    """Where only the embedding tells labels apart it gets the largest share, and where it is noise the smallest."""
    random = np.random.default_rng(0)
    words = ["red", "blue", "green", "black"]
    texts = [f"{words[random.integers(4)]} {words[random.integers(4)]} {k}" for k in range(120)]
    y = [str(k % 3) for k in range(120)]
    telling = texts, np.eye(3)[[k % 3 for k in range(120)]] + random.normal(scale=0.5, size=(120, 3))

    def noise(some):
        return np.random.default_rng(1).normal(size=(len(some), 30))

    by_words = [text.split()[0] for text in texts]
    assert TextFeatures(embedding=telling).fit(texts, y).embedding_share_ >= 0.2
    assert TextFeatures(embedding=noise).fit(texts, by_words).embedding_share_ == 0.05
    assert TextFeatures(embedding=telling).fit(texts).embedding_share_ == 0.2


@pytest.mark.parametrize(
    "form",
    [
        lambda y: y,
        lambda y: [{label} for label in y],
        lambda y: [["top", label] for label in y],
        lambda y: np.array([["top", label] for label in y], dtype=object),
    ],
)
def test_labels_of_any_form_choose_the_same_share(form):
    texts = [f"{'abcde'[k % 5]} text {k}" for k in range(60)]
    y = ["xyz"[k % 3] for k in range(60)]
    random = np.random.default_rng(2).normal(size=(60, 3))
    model = (texts, random + 2 * np.eye(3)[[k % 3 for k in range(60)]])
    shares = {TextFeatures(embedding=model).fit(texts, labels).embedding_share_ for labels in (y, form(y))}
    assert len(shares) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"embedding_share": 0.0}, "embedding_share must be in"),
        ({"embedding_share": "some"}, "embedding_share must be in"),
        ({"hashing": True}, "embedding must be None with hashing=True"),
    ],
)
def test_options_of_text_features_that_make_no_sense(options, problem):
    with pytest.raises(ParameterError, match=problem):
        TextFeatures(embedding=lengths, **options).fit(["a"])


def test_clones_and_copies_work():
    features = TextFeatures(embedding=lengths, embedding_share=0.3).fit(TEXTS)
    again = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(again.transform(TEXTS).toarray(), features.transform(TEXTS).toarray())
    assert not hasattr(clone(features), "embedding_")
