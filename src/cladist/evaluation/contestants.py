"""The methods of a comparison: cladist's, those of other packages, scikit-learn's classifiers, and their flat twins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from cladist import registry
from cladist.errors import ParameterError
from cladist.labels import LabelForm, LabelMatrix, encode
from cladist.learners.candidates import candidates_for
from cladist.learners.flat import FlatLogistic, FlatSVM
from cladist.learners.local.nodewise import NodewiseSVM
from cladist.learners.local.top_down import TopDown
from cladist.learners.online.hieron import Hieron
from cladist.learners.out_of_fold import is_ours, last_step
from cladist.learners.recursive import RecursiveLogistic, RecursiveSVM
from cladist.learners.thresholded import Thresholded
from cladist.taxonomy import Taxonomy

# The flat method with the same loss; other methods that use the taxonomy have themselves on a star as their twin.
TWINS = {"hr-svm": "svm", "h-svm": "svm", "top-down": "svm", "hr-lr": "lr", "hblr": "lr"}
NEED_THRESHOLDS = (FlatSVM, FlatLogistic, NodewiseSVM, RecursiveSVM, RecursiveLogistic)  # for sets of labels


@dataclass(frozen=True)
class Contestant:
    """A method of a comparison.

    Attributes
    ----------
    name : str
    learner : estimator
        Unfitted: a learner of cladist, a classifier over labels as scikit-learn's, or a Pipeline that ends in one.
    uses_tree : bool
        Whether it is trained with the taxonomy.
    twin : str
        The name of the same method without the taxonomy; "": there is none.
    taxonomy : Taxonomy or None
        What it is trained with; None: that of the data.
    """

    name: str
    learner: Any
    uses_tree: bool = False
    twin: str = ""
    taxonomy: Taxonomy | None = None

    @property
    def searches(self) -> bool:
        """Whether the learner can choose its C by cross-validation on its training rows."""
        return {"C", "scoring", "budget"} <= last_step(self.learner).get_params(deep=False).keys()

    def fit(self, X: Any, labels: LabelMatrix, *, is_multi: bool, C: Any = None, seconds: float | None = None) -> Any:
        """Return a fitted clone; C replaces the learner's own, and a search for it ends after so many seconds."""
        model, taxonomy = clone(self.learner), self.taxonomy or labels.taxonomy
        learner = last_step(model)
        if C is not None:
            learner.set_params(C=C)
            if C == "cv":
                learner.set_params(budget=seconds)
        ours = is_ours(model)
        if ours:
            learner.set_params(taxonomy=taxonomy)
        names = labels.taxonomy.names
        if not is_multi:
            y: Any = np.array(names, dtype=object)[labels.nodes(self.name)]
        elif ours:
            y = [set(row) for row in labels.frontier_names()]
            if "decode" in learner.get_params(deep=False):
                learner.set_params(decode="multi")
        else:
            raise ParameterError(f"{self.name} is no learner of cladist, and rows have sets of labels.")
        if is_multi and isinstance(learner, NEED_THRESHOLDS) and C != "cv":
            model = Thresholded(model, cv=3, random_state=0)
        return model.fit(X, y)

    def predict(self, model: Any, X: Any, taxonomy: Taxonomy) -> LabelMatrix:
        """Return the labels that a fitted model predicts, as nodes of a taxonomy."""
        found = model.predict(X)
        if isinstance(found, LabelMatrix) and found.taxonomy != taxonomy:
            found = [set(row) for row in found.frontier_names()]
        return encode(found, taxonomy, lists="sets").labels


def contestants(
    methods: Any, labels: LabelMatrix, form: LabelForm, *, random_state: Any = 0, n_jobs: int | None = None
) -> list[Contestant]:
    """Return the methods to compare with their flat twins, those that are cheap first.

    Parameters
    ----------
    methods : None, sequence of str, estimators and (name, estimator), or mapping of names to estimators
        Names are those of ``cladist methods``. None: the linear methods that fit the labels.
    labels, form
        The labels of the data, and whether rows have several.
    """
    shared = {"C": "cv", "random_state": random_state, "n_jobs": n_jobs, "decode": "auto"}
    if methods is None:
        usual = [(c.method, _with(c.learner, c.sharing)) for c in candidates_for_data(labels, form, shared)]
        given = [*usual, *([] if form.is_multi or labels.taxonomy.kind == "dag" else [("hieron", Hieron())])]
    else:
        given = [_read(entry, labels, form) for entry in _entries(methods)]
    has_tree = labels.taxonomy.n_nodes > len(labels.taxonomy.leaves)
    found: dict[str, Contestant] = {}
    names = [name for name, _ in given]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ParameterError(f"compare: two methods are called {repeated!r}; give (name, estimator) pairs.")
    for name, learner in given:
        is_flat = not has_tree or not is_ours(learner) or isinstance(last_step(learner), FlatSVM | FlatLogistic)
        one = Contestant(name, _prepared(learner, random_state, n_jobs), not is_flat)
        if one.uses_tree:
            twin = _twin(one, labels, form, random_state, n_jobs)
            one = replace(one, twin=twin.name)
            if twin.name not in names:
                found.setdefault(twin.name, twin)
        found[name] = one
    return list(found.values())


def candidates_for_data(labels: LabelMatrix, form: LabelForm, shared: dict[str, Any]) -> Iterable[Any]:
    """Return the candidates of `auto` for these labels."""
    from cladist.labels.matrix import Encoded

    return candidates_for(Encoded(labels.taxonomy, labels, form), shared)


def shuffled(taxonomy: Taxonomy, random: np.random.Generator) -> Taxonomy:
    """Return a taxonomy of the same shape whose leaves are dealt at random to the places of leaves."""
    draft, names = taxonomy.draft(), np.array(taxonomy.names, dtype=object)
    names[taxonomy.leaves] = names[random.permutation(taxonomy.leaves)]
    nothing: dict[str, Any] = {"titles": {}, "descriptions": {}, "synonyms": {}, "dropped_edges": []}
    return Taxonomy(replace(draft, names=names.tolist(), parts=None, sep=None, **nothing))


def _entries(methods: Any) -> Iterator[Any]:
    if isinstance(methods, str):
        raise ParameterError(f"compare: methods must be a list or a mapping; got the text {methods!r}.")
    if isinstance(methods, Mapping):
        yield from methods.items()
    else:
        yield from methods


def _read(entry: Any, labels: LabelMatrix, form: LabelForm) -> tuple[str, Any]:
    """Return the name and the estimator of an entry of `methods`."""
    if isinstance(entry, str):
        return entry, _of_name(entry, labels, form)
    name, estimator = entry if isinstance(entry, tuple) else (type(last_step(entry)).__name__, entry)
    if not (isinstance(name, str) and hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise ParameterError(f"compare: a method must be a name, an estimator or a (name, estimator); got {entry!r}.")
    return name, estimator


def _of_name(name: str, labels: LabelMatrix, form: LabelForm) -> Any:
    """Return the learner of a name with the settings that suit the labels."""
    learner = registry.find(name).load()()
    parameters = learner.get_params(deep=False)
    if form.is_multi and "targets" in parameters:
        learner.set_params(targets="nodes")
    if isinstance(learner, RecursiveSVM | RecursiveLogistic):
        learner.set_params(sharing=1.0)
    if isinstance(learner, TopDown) and not form.is_multi:
        learner.set_params(stop=bool(np.any(~labels.taxonomy.is_leaf[labels.frontier[1]])))
    return learner


def _with(learner: Any, sharing: float | None) -> Any:
    return learner if sharing is None else clone(learner).set_params(sharing=sharing)


def _prepared(learner: Any, random_state: Any, n_jobs: int | None) -> Any:
    """Return a clone with the seed and the threads, where it has such parameters that are not set."""
    model = clone(learner)
    inner = last_step(model)
    for name, value in (("random_state", random_state), ("n_jobs", n_jobs)):
        if value is not None and name in (given := inner.get_params(deep=False)) and given[name] is None:
            inner.set_params(**{name: value})
    return model


def _twin(one: Contestant, labels: LabelMatrix, form: LabelForm, random_state: Any, n_jobs: int | None) -> Contestant:
    if one.name in TWINS:
        return Contestant(TWINS[one.name], _prepared(_of_name(TWINS[one.name], labels, form), random_state, n_jobs))
    at_leaves = not form.is_multi and bool(np.all(labels.taxonomy.is_leaf[labels.frontier[1]]))
    star = labels.taxonomy.flattened(keep="leaves" if at_leaves else "nodes")
    return Contestant(f"{one.name}, flat", one.learner, taxonomy=star)
