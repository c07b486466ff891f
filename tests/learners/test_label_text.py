"""Learning from the words of the taxonomy's own nodes."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from cladist import RecursiveLogistic, RecursiveSVM, Relations, Taxonomy, TextClassifier, TopDown, load, save
from cladist.errors import ModelFormatError, ParameterError
from cladist.features import Embedding, TextFeatures
from cladist.learners import label_text
from cladist.persistence.transformers import decode_transformer, encode_transformer
from cladist.surrogates import SURROGATES

TREE = Taxonomy.from_parents(
    {"bird": None, "fish": None, "owl": "bird", "duck": "bird", "eagle": "bird", "trout": "fish", "shark": "fish"},
    titles={"eagle": "eagle, a large bird of prey with talons"},
    synonyms={"duck": ["mallard"]},
)
TEXTS = ["an owl hoots at night", "owls see in the dark", "a duck quacks", "ducks on a pond", "trout in a stream",
         "river trout", "a shark bites", "sharks in the sea"] * 4  # fmt: skip
LABELS = ["owl", "owl", "duck", "duck", "trout", "trout", "shark", "shark"] * 4
NODES = list(TREE.names)
N_FEATURES = 6


def rows(seed=0, n_rows=60):
    """Rows of all leaves but the eagle, each near the text of its leaf."""
    random = np.random.default_rng(seed)
    texts = np.abs(random.normal(size=(len(NODES), N_FEATURES))) * (random.random((len(NODES), N_FEATURES)) < 0.5)
    texts[NODES.index("eagle")] = np.eye(N_FEATURES)[-1]
    y = np.array(["owl", "duck", "trout", "shark"])[np.arange(n_rows) % 4]
    X = texts[[NODES.index(label) for label in y]] + random.normal(scale=0.3, size=(n_rows, N_FEATURES))
    X[:, -1] = 0  # what only the eagle's text has
    return X, y, texts


# ---------------------------------------------------------------- text as rows


@pytest.mark.parametrize("make", [RecursiveSVM, RecursiveLogistic, TopDown])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("empty", ["skip", "text"])
def test_text_as_rows_is_training_on_more_rows(make, as_rows, empty):
    X, y, texts = rows()
    options = {"label_text": "rows", "label_weight": 3.0, "empty_leaf": empty, "label_features": texts}
    options |= {"empty_cost": 1.0} if make is not TopDown else {}
    model = make(TREE, tol=1e-5, **options).fit(as_rows(X), y)
    wanted = [name for name in NODES if name in y or (name == "eagle" and empty == "text")]
    more = [NODES.index(name) for name in wanted]
    weights = np.append(np.ones(len(X)), np.full(len(more), 3.0))
    plain = make(TREE, tol=1e-5).fit(as_rows(np.vstack([X, texts[more]])), [*y, *wanted], sample_weight=weights)
    assert model.classes_.tolist() == plain.classes_.tolist()
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-2)
    assert model.label_weight_ == 3.0
    assert model.text_leaves_.tolist() == (["eagle"] if empty == "text" else [])


def test_weights_of_rows_are_kept_beside_those_of_text():
    X, y, texts = rows()
    sample_weight = np.linspace(0, 2, len(X))
    options = {"label_text": "rows", "label_weight": 2.0, "label_features": texts}
    model = RecursiveSVM(TREE, tol=1e-5, **options).fit(X, y, sample_weight=sample_weight)
    wanted = [name for name in NODES if name in y]
    mean = sample_weight[sample_weight > 0].mean()  # a row of weight 0 counts as absent
    weights = np.append(sample_weight, np.full(len(wanted), 2.0 * mean))
    more = texts[[NODES.index(name) for name in wanted]]
    plain = RecursiveSVM(TREE, tol=1e-5).fit(np.vstack([X, more]), [*y, *wanted], sample_weight=weights)
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X), atol=2e-2)


# ---------------------------------------------------------------- text as a prior


@pytest.mark.parametrize("make", [RecursiveSVM, RecursiveLogistic])
def test_a_prior_is_the_optimum_of_its_objective(make):
    """Against a general convex solver over the weights of all nodes; the eagle has no rows and a lower cost."""
    X, y, texts = rows()
    loss = "squared_hinge" if make is RecursiveSVM else "logistic"
    loss_options = {"loss": loss} if make is RecursiveSVM else {}
    options = {"label_text": "prior", "label_weight": 0.7, "empty_leaf": "text", "empty_cost": 0.2}
    model = make(TREE, tol=1e-6, max_iter=3000, sharing=1.0, label_features=texts, **options, **loss_options).fit(X, y)
    assert model.classes_.tolist() == [name for name in NODES if name not in ("bird", "fish")]
    surrogate, padded = SURROGATES[loss], np.hstack([X, np.ones((len(X), 1))])
    prior = np.hstack([0.7 * texts, np.zeros((len(NODES), 1))])
    parent = TREE.parent

    def objective(values):
        W = values.reshape(len(NODES), -1)
        gradient, total = np.zeros_like(W), 0.0
        for n, name in enumerate(NODES):
            apart = W[n] - (W[parent[n]] if parent[n] >= 0 else 0)
            if parent[n] >= 0:  # a leaf, in this tree
                apart = apart - prior[n]
                gradient[parent[n]] -= apart
                sign = np.where(y == name, 1.0, -1.0)
                costs = np.where(y == name, 1.0, 0.2 if name == "eagle" else 1.0)
                margins = sign * (padded @ W[n])
                total += np.sum(costs * surrogate.value(margins))
                gradient[n] += padded.T @ (costs * sign * surrogate.slope(margins))
            total += apart @ apart / 2
            gradient[n] += apart
        return total, gradient.ravel()

    start = np.zeros(len(NODES) * (N_FEATURES + 1))
    best = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-10})
    assert model.history_[-1]["objective"] == pytest.approx(best.fun, rel=2e-6)
    assert model.history_[-1]["dual"] <= best.fun * (1 + 1e-6)
    W = best.x.reshape(len(NODES), -1)
    of_classes = [NODES.index(name) for name in model.classes_]
    np.testing.assert_allclose(model.coef_, W[of_classes, :-1], atol=5e-3)
    np.testing.assert_allclose(model.node_coef_.toarray(), W[:, :-1], atol=5e-3)


def test_a_word_that_only_a_text_has_counts():
    X, y, texts = rows()
    unseen = np.eye(N_FEATURES)[-1:]
    for use in ("prior", "rows"):
        model = RecursiveSVM(TREE, label_text=use, empty_leaf="text", label_weight=2.0, label_features=texts).fit(X, y)
        assert model.predict(unseen).tolist() == ["eagle"]
        assert model.text_leaves_.tolist() == ["eagle"]
    assert RecursiveSVM(TREE).fit(X, y).predict(unseen).tolist() != ["eagle"]


# ---------------------------------------------------------------- the choice of the weight


def test_the_weight_is_chosen_on_rows_held_out(monkeypatch):
    """Leaves are hidden only if there are leaves without rows, and then as large a part of them."""
    X, y, texts = rows(n_rows=200)
    asked = []
    monkeypatch.setattr(label_text, "_hold_out", lambda *given: asked.append(given[1]) or original(*given))
    chosen = {}
    for empty in ("skip", "text"):
        options = {"label_text": "prior", "empty_leaf": empty, "label_features": texts}
        chosen[empty] = RecursiveSVM(TREE, **options).fit(X, y)
    assert asked == [0.0, pytest.approx(1 / 5)]
    for model in chosen.values():
        assert (model.label_weight_, model.empty_cost_) in label_text.CHOICES["prior"] or model.empty_cost_ == 1.0


original = label_text._hold_out


def test_rows_of_hidden_leaves_are_all_held_out_and_count_less():
    nodes = np.repeat(np.arange(10), 20)
    train, test, counts = label_text._hold_out(nodes, 0.2, np.random.default_rng(0))
    hidden = np.setdiff1d(nodes, nodes[train])
    assert len(hidden) == 2
    is_hidden = np.isin(nodes[test], hidden)
    assert is_hidden.sum() == 40
    np.testing.assert_array_equal(counts, np.where(is_hidden, 0.2, 1.0))
    assert sorted([*train, *test]) == list(range(200))


def test_with_few_rows_the_weight_is_a_default():
    X, y, texts = rows(n_rows=20)
    model = RecursiveSVM(TREE, label_text="prior", label_features=texts).fit(X, y)
    assert (model.label_weight_, model.empty_cost_) == label_text.DEFAULT_CHOICE


@pytest.mark.parametrize("make", [RecursiveSVM, TopDown])
def test_c_by_cross_validation_goes_with_label_text(make):
    X, y, texts = rows(n_rows=120)
    model = make(TREE, C="cv", label_text="rows", label_weight=1.0, empty_leaf="text", label_features=texts).fit(X, y)
    assert model.C_ > 0
    assert "eagle" in model.classes_


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("make", "options", "problem"),
    [
        (RecursiveSVM, {"label_text": "words"}, "label_text must be"),
        (TopDown, {"label_text": "prior"}, "label_text must be"),
        (RecursiveSVM, {"empty_leaf": "text"}, "empty_leaf='text' needs label_text='prior' or 'rows'"),
        (TopDown, {"empty_leaf": "text"}, "empty_leaf='text' needs label_text='rows'"),
        (RecursiveSVM, {"label_text": "rows", "label_weight": 0}, "label_weight must be positive"),
        (RecursiveSVM, {"label_text": "rows", "empty_cost": 2.0}, "empty_cost must be in"),
        (RecursiveSVM, {"label_text": "rows"}, "needs label_features, one row of features per node"),
        (RecursiveSVM, {"label_text": "rows", "label_features": np.eye(3)}, r"7 nodes.*by 6 features; got the shape"),
        (RecursiveSVM, {"label_text": "prior", "weights": "dual"}, "label_text='prior' has weights="),
        (RecursiveSVM, {"label_text": "prior", "solver": "newton"}, "label_text='prior' has weights="),
        (
            RecursiveSVM,
            {"label_text": "prior", "relations": Relations(root="free")},
            "is for a tree with its usual root",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(make, options, problem):
    X, y, _ = rows()
    with pytest.raises(ParameterError, match=problem):
        make(TREE, **options).fit(X, y)


def test_a_taxonomy_is_needed():
    X, y, texts = rows()
    with pytest.raises(ParameterError, match="needs a taxonomy"):
        RecursiveSVM(label_text="rows", label_features=texts).fit(X, y)
    with pytest.raises(ParameterError, match="needs a taxonomy"):
        TextClassifier("hr-svm", label_text="rows").fit(TEXTS, LABELS)


def test_a_dag_has_rows_and_no_prior():
    X, y, texts = rows()
    dag = Taxonomy.from_parents(
        {**{name: (TREE.parents_of(name) or [None])[0] for name in NODES}, "owl": ["bird", "fish"]}
    )
    texts = texts[[NODES.index(name) for name in dag.names]]
    with pytest.raises(ParameterError, match="label_text='prior' is for trees"):
        RecursiveSVM(dag, label_text="prior", label_features=texts).fit(X, y)
    model = RecursiveSVM(dag, label_text="rows", empty_leaf="text", label_features=texts).fit(X, y)
    assert "eagle" in model.classes_


# ---------------------------------------------------------------- texts in, models out


@pytest.mark.parametrize(
    ("method", "use"), [("hr-svm", "prior"), ("hr-svm", "rows"), ("hr-lr", "prior"), ("top-down", "rows")]
)
@pytest.mark.parametrize("calibrate", [False, True])
def test_text_classifiers_know_leaves_without_rows(tmp_path, method, use, calibrate):
    model = TextClassifier(method, TREE, label_text=use, params={"empty_leaf": "text"}, calibrate=calibrate)
    model.fit(TEXTS, LABELS)
    asked = ["a large eagle, bird of prey", "the mallard", "a shark"]
    inner = model[-1].estimator_ if calibrate else model[-1]
    assert inner.text_leaves_.tolist() == ["eagle"]
    assert inner.label_features is None
    assert model.predict(asked).tolist() == ["eagle", "duck", "shark"]
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(asked).tolist() == ["eagle", "duck", "shark"]
    known = again[-1].estimator_ if calibrate else again[-1]
    assert known.text_leaves_.tolist() == ["eagle"]
    assert known.label_weight_ == inner.label_weight_
    if use == "prior" and not calibrate:
        np.testing.assert_allclose(known.node_coef_.toarray(), inner.node_coef_.toarray(), atol=1e-6)
    assert again.explain(asked[:1])[0].label == "eagle"


def test_methods_without_a_use_for_label_text_say_so():
    with pytest.raises(ParameterError, match="label_text is for hr-svm, hr-lr and top-down, not for hieron"):
        TextClassifier("hieron", TREE, label_text="rows").fit(TEXTS, LABELS)
    with pytest.raises(ParameterError, match="label_text needs a method with a name"):
        TextClassifier("auto", TREE, label_text="rows").fit(TEXTS, LABELS)


def lengths(texts):
    return [[float(len(text)), 1.0] for text in texts]


def test_embeddings_stand_beside_words(tmp_path):
    model = TextClassifier("top-down", TREE, embedding=lengths).fit(TEXTS, LABELS)
    assert model[0].embedding_.n_columns_ == 2
    why = model.explain(["an owl"])[0]
    words = why.words[why.label]
    assert "(embedding)" in words
    assert sum(words.values()) == pytest.approx(why.explanation.parts[why.label], abs=1e-5)
    with pytest.raises(ValueError, match="an embedding that is a function cannot be saved"):
        model.save(tmp_path / "model")
    both = TextClassifier("top-down", TREE, features=TfidfVectorizer(), embedding=lengths)
    with pytest.raises(ParameterError, match="embedding is for TextFeatures, not"):
        both.fit(TEXTS, LABELS)


def test_an_embedding_is_saved_by_its_name(tmp_path):
    pytest.importorskip("wordllama")
    pytest.importorskip("tokenizers")
    model = TextClassifier("top-down", TREE, embedding="wordllama", label_text="rows").fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again[0].embedding_.model == "wordllama"
    assert again[0].embedding_.allow_download is False
    assert again[0].embedding_.cache is None
    np.testing.assert_allclose(again.decision_function(TEXTS), model.decision_function(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    "change", [{"allow_download": True}, {"cache": "here"}, {"model": None}, {"model": ["a", "b"]}, {"batch_size": 0}]
)
def test_an_embedding_of_a_stranger_fetches_and_writes_nothing(change):
    features = TextFeatures(embedding=Embedding("wordllama"), embedding_share=0.1)
    encoded, arrays = encode_transformer(features)
    encoded["params"]["embedding"]["$transformer"]["params"] |= change
    with pytest.raises(ModelFormatError):
        decode_transformer(encoded, arrays)


def test_vectors_computed_before_are_saved_by_the_path_of_their_file(tmp_path):
    ids = [str(k) for k in range(len(TEXTS))]
    vectors = np.random.default_rng(0).normal(size=(len(ids), 4)) + 3 * np.eye(4)[[k % 8 // 2 for k in range(len(ids))]]
    np.savez(tmp_path / "vectors.npz", ids=np.array(ids), vectors=vectors)
    model = make_pipeline(Embedding(str(tmp_path / "vectors.npz")), TopDown(TREE)).fit(ids, LABELS)
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").predict(ids[:4]).tolist() == model.predict(ids[:4]).tolist()
