"""Small models of all methods and forms, and every prediction and attribute of a fitted one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

TEXTS = [
    f"{thing} {when} {where}"
    for thing in ("racket ball", "king queen", "song band", "actor screen", "soup bread")
    for when in ("now", "then", "often")
    for where in ("here", "there, or so")
]
PATHS = ["sport/tennis", "sport/chess", "art/music", "art/film", "food"]
LEAVES = ["tennis", "chess", "music", "film", "food"]
NAMES = np.repeat(LEAVES, 6)


class Specimen(NamedTuple):
    """A model, the rows to train it on and to predict, and their labels."""

    model: Any
    rows: Any
    labels: Any


def numbers() -> Any:
    """Return rows of 12 numbers, half of them 0, that depend on their labels."""
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 12)) * (random.random((30, 12)) < 0.5)
    return sparse.csr_array(X + np.repeat(np.eye(5, 12), 6, axis=0))


def models() -> dict[str, Specimen]:
    """Return all models by name, not fitted."""
    from cladist import Taxonomy

    taxonomy, X = Taxonomy.from_paths(PATHS), numbers()
    sets = [{name} | ({"chess"} if k % 7 == 0 else set()) for k, name in enumerate(NAMES)]
    specimens: dict[str, Specimen] = {}
    for name, fresh, y in [*_numeric(taxonomy, sets), *_other_forms(taxonomy, sets)]:
        rows = X.toarray() @ X.toarray().T if getattr(fresh, "kernel", "") == "precomputed" else X
        specimens[name] = Specimen(fresh, rows, y)
    for name, pipeline, rows in _pipelines(taxonomy):
        specimens[name] = Specimen(pipeline, rows, NAMES)
    return specimens


def _numeric(taxonomy: Any, sets: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield every method with its own parameters, for single labels and, if it takes them, for sets."""
    from cladist import registry

    for method in registry.METHODS:
        cls = method.load()
        yield method.name, cls(taxonomy), NAMES
        if cls.answers_sets:
            yield f"{method.name} sets", cls(taxonomy), sets
        if "kernel" in cls(taxonomy).get_params():
            for kernel in ("rbf", "poly") if method.name in ("h-rls", "h-perc") else ("rbf", "poly", "precomputed"):
                yield f"{method.name} {kernel}", cls(taxonomy, kernel=kernel), NAMES


def _other_forms(taxonomy: Any, sets: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield methods with other forms of weights, of y, and with inner estimators."""
    import cladist as c

    for form in ("sparse", "dual"):
        yield f"svm {form}", c.FlatSVM(taxonomy, weights=form), NAMES
    yield "svm nodes", c.FlatSVM(taxonomy, targets="nodes"), NAMES
    yield "svm two", c.FlatSVM(taxonomy), np.where(NAMES == "tennis", "tennis", "chess")
    for form in ("dense", "sparse", "dual", "differences"):
        yield f"hr-svm {form}", c.RecursiveSVM(taxonomy, weights=form), NAMES
    yield "hr-lr differences", c.RecursiveLogistic(taxonomy, weights="differences"), NAMES
    yield (
        "hr-svm free",
        c.RecursiveSVM(taxonomy, relations=c.Relations(root="free"), weights="dual", sharing=0.5),
        NAMES,
    )
    yield "top-down stop", c.TopDown(taxonomy, stop=True), NAMES
    yield "top-down over hieron", c.TopDown(taxonomy, estimator=c.Hieron(random_state=0)), NAMES
    yield "top-down over svm", c.TopDown(taxonomy, estimator=c.FlatSVM(weights="sparse")), NAMES
    yield "h-rls dual", c.HierarchicalRLS(taxonomy, solver="dual"), sets
    yield "h-rls budget", c.HierarchicalRLS(taxonomy, budget=6), sets
    yield "h-perc average", c.HierarchicalPerceptron(taxonomy, average=True), sets
    yield "hieron star", c.Hieron(allowed_labels="seen"), NAMES
    yield "numbers as labels", c.Hieron(), np.repeat(np.arange(5), 6)
    yield "paths", c.Hieron(taxonomy), np.array([path.split("/") if "/" in path else [path, ""] for path in PATHS] * 6)
    for strategy in ("auto", "global", "fixed-pcut", "scut", "rcut", "pcut", "instance"):
        yield f"{strategy} over svm", c.Thresholded(c.FlatSVM(taxonomy, weights="sparse"), strategy=strategy), sets


def _pipelines(taxonomy: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield learners behind features of texts, of numbers and of tables."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

    from cladist import FlatSVM, Hieron
    from cladist.features import TextFeatures

    svm, dense = FlatSVM(taxonomy, weights="sparse"), numbers().toarray()
    letters = TfidfVectorizer(analyzer="char", ngram_range=(1, 2))
    yield "texts", make_pipeline(TfidfVectorizer(), svm), TEXTS
    yield "words and characters", make_pipeline(TextFeatures(), svm), TEXTS
    yield "hashed texts", make_pipeline(HashingVectorizer(n_features=32), svm), TEXTS
    yield "counted texts", make_pipeline(CountVectorizer(), TfidfTransformer(), MaxAbsScaler(), svm), TEXTS
    yield "two of texts", make_pipeline(FeatureUnion([("words", TfidfVectorizer()), ("letters", letters)]), svm), TEXTS
    yield "scaled", make_pipeline(StandardScaler(), Normalizer(), Hieron(taxonomy)), dense
    yield "filled", make_pipeline(SimpleImputer(), MinMaxScaler(), svm), dense
    columns = ColumnTransformer([("some", StandardScaler(), [0, 1, 2])], remainder="passthrough")
    yield "columns", make_pipeline(columns, svm), dense
    table = np.array([[text, *row] for text, row in zip(TEXTS, dense[:, :3].tolist(), strict=True)], dtype=object)
    columns = ColumnTransformer([("text", TfidfVectorizer(), 0), ("numbers", StandardScaler(), [1, 2, 3])])
    yield "columns of texts", make_pipeline(columns, svm), table


def answers(specimen: Specimen) -> dict[str, Any]:
    """Return all predictions and weights of a model; an error of cladist is an answer, too.

    So is an AttributeError of an attribute that a model does not have, such as weights with a kernel.
    """
    from cladist.errors import CladistError

    model, rows, y = specimen
    learner = model[-1] if hasattr(model, "steps") else model
    ways: dict[str, Callable[[], Any]] = {
        name: lambda name=name: getattr(model, name)(rows)
        for name in ("predict", "decision_function", "predict_proba")
        if hasattr(model, name)
    }
    if learner is model:
        ways |= {name: lambda name=name: getattr(model, name) for name in ("coef_", "node_coef_", "dual_coef_")}
        ways["predict_top_k"] = lambda: model.predict_top_k(rows, 2)
        ways["predict_paths"] = lambda: model.predict_paths(rows)
        ways["explain"] = lambda: [explained.score for explained in model.explain(rows[:3])]
    if hasattr(model, "partial_fit"):  # last: it changes the model
        ways["partial_fit"] = lambda: model.partial_fit(rows[:4], y[:4]).decision_function(rows)
    results: dict[str, Any] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, ask in ways.items():
            try:
                results[name] = _plain(ask())
            except CladistError as refusal:
                results[name] = f"{type(refusal).__name__}"
            except AttributeError:
                results[name] = "AttributeError"
    return results


def _plain(value: Any) -> Any:
    """Return an answer in a form that can be compared."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if sparse.issparse(value):
        return value.toarray().tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value
