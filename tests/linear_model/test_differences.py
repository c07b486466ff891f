"""Very many labels: weights as differences, kept, saved, mapped and walked."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import cladist
from cladist import FlatSVM, Hieron, RecursiveLogistic, RecursiveSVM, Relations, Taxonomy, TopDown
from cladist.datasets import make_topics
from cladist.errors import ModelFormatError, ParameterError, TooLargeError
from cladist.learners import base
from cladist.storage import is_mapped
from cladist.storage.folder import write_folder
from tests.learners.recursive_models import every_learner

DATA = make_topics(n_samples=400, n_features=600, branching=(3, 4, 4), n_test=60, doc_length=20, random_state=0)
CLOSE = {"tol": 2e-3, "max_iter": 500}


@pytest.fixture(scope="module")
def model():
    return RecursiveSVM(DATA.taxonomy, sharing=1, weights="differences", prune=0.01).fit(DATA.X_train, DATA.y_train)


def rows_of(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@every_learner
@pytest.mark.parametrize("root", ["zero", "free", "fixed"])
def test_differences_are_those_of_dense_weights(learner, loss, root):
    options = {**loss, "tol": 1e-2}  # the same sweeps, however near they come
    dense = learner(DATA.taxonomy, sharing=1, relations=Relations(root=root), weights="dense", **options).fit(
        DATA.X_train, DATA.y_train
    )
    apart = clone(dense).set_params(weights="differences").fit(DATA.X_train, DATA.y_train)
    np.testing.assert_allclose(rows_of(apart.coef_), dense.coef_, atol=2e-4)
    np.testing.assert_allclose(apart.intercept_, dense.intercept_, atol=2e-4)
    scores = dense.decision_function(DATA.X_test)
    np.testing.assert_allclose(apart.decision_function(DATA.X_test), scores, atol=5e-4)
    assert np.mean(apart.predict(DATA.X_test) == dense.predict(DATA.X_test)) > 0.95


@pytest.mark.parametrize(("sharing", "y"), [(0.0, DATA.y_train), (1.0, None)])
def test_leaves_that_share_nothing_and_labels_at_inner_nodes(sharing, y):
    if y is None:  # every fifth label is the node above the leaf
        y = np.array([name.rpartition(".")[0] if i % 5 == 0 else name for i, name in enumerate(DATA.y_train)])
    dense = RecursiveSVM(DATA.taxonomy, sharing=sharing, weights="dense", **CLOSE).fit(DATA.X_train, y)
    apart = clone(dense).set_params(weights="differences").fit(DATA.X_train, y)
    np.testing.assert_allclose(apart.decision_function(DATA.X_test), dense.decision_function(DATA.X_test), atol=1e-3)
    everywhere = apart.predict_top_k(DATA.X_test, 4, beam=1000)
    for ours, exact in zip(everywhere, apart.predict_top_k(DATA.X_test, 4), strict=True):
        np.testing.assert_array_equal(ours, exact)
    nodes = apart.node_coef_
    np.testing.assert_allclose(nodes[apart.class_nodes_].toarray(), rows_of(apart.coef_), atol=1e-6)
    if sharing:
        np.testing.assert_allclose(nodes.toarray(), dense.node_coef_.toarray(), atol=0.02)


def test_dense_rows_of_few_features():
    random = np.random.default_rng(0)
    X, taxonomy = random.normal(size=(120, 4)), Taxonomy.from_paths(["a/b", "a/c", "d/e", "d/f"])
    y = np.array(["b", "c", "e", "f"])[(X[:, 0] > 0) * 2 + (X[:, 1] > 0)]
    dense = RecursiveSVM(taxonomy, weights="dense", **CLOSE).fit(X, y)
    apart = clone(dense).set_params(weights="differences").fit(X, y)
    np.testing.assert_allclose(rows_of(apart.coef_), dense.coef_, atol=0.02)
    np.testing.assert_allclose(apart.node_coef_.toarray(), dense.node_coef_.toarray(), atol=0.02)
    with pytest.raises(ParameterError, match="solver='newton' finds weights that are dense or sparse"):
        apart.set_params(solver="newton").fit(X, y)


def test_labels_without_rows_have_what_lies_above_them():
    seen = np.isin(DATA.y_train, DATA.y_train[:40])
    apart = RecursiveSVM(DATA.taxonomy, sharing=1, weights="differences").fit(DATA.X_train[seen], DATA.y_train[seen])
    nodes, parent = apart.node_coef_.toarray(), DATA.taxonomy.parent
    unseen = [v for v in DATA.taxonomy.leaves if v not in apart.class_nodes_ and parent[v] >= 0]
    assert unseen
    for v in unseen:
        np.testing.assert_array_equal(nodes[v], nodes[parent[v]])


def test_pruning_drops_differences_and_nothing_else():
    whole = RecursiveSVM(DATA.taxonomy, sharing=1, weights="differences").fit(DATA.X_train, DATA.y_train)
    pruned = clone(whole).set_params(prune=0.05).fit(DATA.X_train, DATA.y_train)
    kept = whole.weights_.vectors().toarray()
    np.testing.assert_array_equal(pruned.weights_.vectors().toarray(), np.where(np.abs(kept) > 0.05, kept, 0))
    np.testing.assert_array_equal(pruned.weights_.bias, whole.weights_.bias)
    assert pruned.history_[-1]["objective"] == whole.history_[-1]["objective"]


def test_explanations_sum_to_scores(model):
    found = model.explain(DATA.X_test[:5])
    scores = model.predict_top_k(DATA.X_test[:5], 1)[1][:, 0]
    np.testing.assert_allclose([each.score for each in found], scores, rtol=1e-5)


# ---------------------------------------------------------------- beams


def test_a_beam_that_covers_every_level_is_exact_and_agreement_says_so(model):
    assert model.beam_agreement(DATA.X_test, 3, beam=12) == (1.0, 1.0, 1.0)
    some = model.beam_agreement(DATA.X_test, 3, beam=1)
    assert 0 < some.all <= some.first < 1
    assert some.first > 0.5
    by_hand = model.predict_top_k(DATA.X_test, 3)[0] == model.predict_top_k(DATA.X_test, 3, beam=1)[0]
    assert some.first == pytest.approx(by_hand[:, 0].mean())
    wider = [model.beam_agreement(DATA.X_test, 1, beam=beam).first for beam in (1, 2, 4, 12)]
    assert wider == sorted(wider)


@pytest.mark.parametrize("beam", [0, -1, 1.5, "all", True])
def test_a_beam_is_a_number(model, beam):
    with pytest.raises(ParameterError, match="beam must be a whole number"):
        model.predict_top_k(DATA.X_test, 1, beam=beam)


@pytest.mark.parametrize("learner", [FlatSVM, TopDown, Hieron, RecursiveLogistic])
def test_without_vectors_above_labels_a_beam_is_refused(learner):
    fitted = learner(DATA.taxonomy).fit(DATA.X_train, DATA.y_train)
    with pytest.raises(ParameterError, match="weights='differences'"):
        fitted.predict_top_k(DATA.X_test, 1, beam=3)


def test_what_differences_are_not_for():
    with pytest.raises(ParameterError, match="weights"):
        FlatSVM(DATA.taxonomy, weights="differences").fit(DATA.X_train, DATA.y_train)
    with pytest.raises(ParameterError, match="alternating"):
        RecursiveSVM(DATA.taxonomy, weights="differences", solver="alternating").fit(DATA.X_train, DATA.y_train)
    with pytest.raises(ParameterError, match="'sparse' or 'differences'"):
        RecursiveSVM(DATA.taxonomy, sharing=1, weights="dual", prune=0.1).fit(DATA.X_train, DATA.y_train)


# ---------------------------------------------------------------- files


def answers(fitted):
    return (
        fitted.predict(DATA.X_test),
        *fitted.predict_top_k(DATA.X_test, 3),
        fitted.decision_function(DATA.X_test[:7]),
        rows_of(fitted.coef_),
    )


@pytest.mark.parametrize("fresh", [RecursiveSVM(weights="differences"), FlatSVM(weights="sparse", prune=0.01)])
def test_a_mapped_model_answers_the_same(fresh, tmp_path):
    fitted = clone(fresh).set_params(taxonomy=DATA.taxonomy).fit(DATA.X_train, DATA.y_train)
    fitted.save(tmp_path / "model")
    mapped = cladist.load(tmp_path / "model", mmap=True)
    chunks = mapped.weights_.chunks if fresh.weights == "differences" else mapped.weights_.index
    assert is_mapped(chunks[-1])
    for again in (cladist.load(tmp_path / "model"), mapped, pickle.loads(pickle.dumps(mapped)), clone(mapped)):
        if hasattr(again, "weights_"):
            for ours, before in zip(answers(again), answers(fitted), strict=True):
                np.testing.assert_array_equal(ours, before)
    mapped.save(tmp_path / "again")
    for ours, before in zip(answers(cladist.load(tmp_path / "again")), answers(fitted), strict=True):
        np.testing.assert_array_equal(ours, before)


def test_all_other_models_load_mapped_too(tmp_path):
    for fresh in (Hieron(), FlatSVM(weights="dual"), FlatSVM(weights="dense"), TopDown(), RecursiveSVM(weights="dual")):
        fitted = fresh.set_params(taxonomy=DATA.taxonomy).fit(DATA.X_train, DATA.y_train)
        fitted.save(tmp_path / "model")
        mapped = cladist.load(tmp_path / "model", mmap=True)
        np.testing.assert_array_equal(mapped.predict(DATA.X_test), fitted.predict(DATA.X_test))
    Hieron(DATA.taxonomy).fit(DATA.X_train, DATA.y_train).save(tmp_path / "online")
    online = cladist.load(tmp_path / "online", mmap=True)
    online.partial_fit(DATA.X_train[:5], DATA.y_train[:5])


def altered(folder, change):
    """Change the arrays of a saved model, and write it again with fresh checksums."""
    from cladist.storage import read_folder

    content, arrays = read_folder(folder)
    prefix = "model/state/weights/differences/"
    part = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    change(part)
    write_folder(folder, content, {**arrays, **{prefix + name: array for name, array in part.items()}})


CHANGES = {
    "a feature beyond the last": lambda part: part["features"].__setitem__(-1, 10**6),
    "a negative feature": lambda part: part["features"].__setitem__(0, -5),
    "lists that run backwards": lambda part: part["ends"].__setitem__(0, 2**31),
    "a child too many": lambda part: part["lanes"].__setitem__(0, 127),
    "no number": lambda part: part["values"].__setitem__(0, np.nan),
}
SEEN_AT_ONCE = {
    "chunks that run backwards": lambda part: part["features_at"].__setitem__(2, 0),
    "chunks beyond the end": lambda part: part["weights_at"].__setitem__(-1, 10**9),
    "fewer chunks": lambda part: part.update(features_at=part["features_at"][1:]),
    "another type": lambda part: part.update(lanes=part["lanes"].astype(np.int64)),
    "bias of other nodes": lambda part: part.update(bias=part["bias"][1:]),
    "bias that is no number": lambda part: part["bias"].__setitem__(0, np.inf),
}


@pytest.mark.parametrize("change", {**CHANGES, **SEEN_AT_ONCE}.values(), ids={**CHANGES, **SEEN_AT_ONCE})
def test_a_model_whose_arrays_do_not_fit_is_refused(model, tmp_path, change):
    model.save(tmp_path / "model")
    altered(tmp_path / "model", change)
    with pytest.raises(ModelFormatError, match=r"weights do not fit|Its array .state.weights"):
        cladist.load(tmp_path / "model")


@pytest.mark.parametrize("change", SEEN_AT_ONCE.values(), ids=SEEN_AT_ONCE)
def test_a_mapped_model_is_looked_at_where_that_is_cheap(model, tmp_path, change):
    model.save(tmp_path / "model")
    altered(tmp_path / "model", change)
    with pytest.raises(ModelFormatError, match=r"weights do not fit|Its array .state.weights"):
        cladist.load(tmp_path / "model", mmap=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_mapped_model_that_lies_gives_answers_or_an_error(model, tmp_path, change):
    model.save(tmp_path / "model")
    altered(tmp_path / "model", change)
    mapped = cladist.load(tmp_path / "model", mmap=True)
    for beam in (None, 2):
        try:
            labels, _ = mapped.predict_top_k(DATA.X_test, 2, beam=beam)
        except ModelFormatError:
            continue
        assert set(labels.ravel()) <= set(model.classes_)


def test_differences_in_a_model_without_a_tree_are_refused(model, tmp_path):
    model.save(tmp_path / "model")
    from cladist.storage import read_folder

    content, arrays = read_folder(tmp_path / "model")
    content["model"]["class"] = "FlatSVM"
    for name in ("sharing", "empty_leaf", "empty_cost", "label_text", "label_weight", "label_features"):
        content["model"]["parameters"].pop(name, None)
    write_folder(tmp_path / "model", content, arrays)
    with pytest.raises(ModelFormatError, match="no weights of such a learner"):
        cladist.load(tmp_path / "model")


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("beam", [None, 3])
def test_the_best_of_many_rows_take_no_array_of_all_scores(model, beam, monkeypatch):
    from cladist.linear_model import node_differences
    from cladist.linear_model import sparse as sparse_form

    monkeypatch.setattr(sparse_form, "SCORES_AT_ONCE", 2**12)
    monkeypatch.setattr(node_differences, "PAIRS_AT_ONCE", 2**12)
    X = sparse.vstack([DATA.X_test] * 100, format="csr")
    model.predict_top_k(X[:10], 2, beam=beam)
    tracemalloc.start()
    model.predict_top_k(X, 2, beam=beam)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    inputs = X.nnz * 20  # checks of what came in, which are freed before the work begins
    assert peak < inputs + X.shape[0] * 200 + 2**20 < X.shape[0] * len(model.classes_) * 8 + inputs


def test_scores_that_do_not_fit_are_refused_and_the_way_out_is_named(model, monkeypatch):
    monkeypatch.setattr(base, "MOST_SCORE_BYTES", 1000)
    with pytest.raises(TooLargeError, match="predict_top_k"):
        model.decision_function(DATA.X_test)
    assert model.predict_top_k(DATA.X_test, 1)[0].shape == (60, 1)
