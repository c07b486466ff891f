"""Training on candidate sets: the label of a row is one of several leaves, and it is not known which.

Problem   min_W R(W) − C T Σ_i s_i log (Σ_k∈S_i e^(−L_ik(W) / T) / |S_i|), L_ik the losses of row i if its label is leaf
          k, T the temperature. Where S_i has one leaf, the term is its loss: the problem of rows with labels
Moves     the bound R(W) + C Σ_i s_i Σ_k q_ik (L_ik + T log(q_ik |S_i|)), which equals it for q_ik ∝ e^(−L_ik / T): in W
          with q fixed, by the learner's own solver on a copy of the row for each candidate, of weight s_i q_ik; in q
          by this formula. The bound never rises
Begins    at equal shares, where a row's own copies pull its scores to no candidate more than to another. A row that is
          known up to siblings is an exact one above them from the start: what is learnt there tells candidates apart
Stops     when it falls by less than `LEAST_FALL`, or after `MOST_ROUNDS`
Found by  Jin & Ghahramani 2002; Dempster, Laird & Rubin 1977
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, check_consistent_length

from cladist import progress
from cladist.errors import LabelError, ParameterError, one_of
from cladist.labels import LabelForm, encode
from cladist.learners.base import take_rows
from cladist.learners.label_text import features_of_nodes, stack_text
from cladist.mixed_rows import csr_if_mixed
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Learner = TypeVar("Learner", bound=Any)
# T by loss. For the squared hinge, of 1, 1.5, 2, 2.5, 3 and 4 the lowest log loss of hidden labels of training rows on
# naics2017. For the logistic loss, e^−L is the likelihood of a label; with few rows of one candidate, a higher T leaves
# shares equal. Shares near 0 and 1 suit the hinge, whose sum over equal shares is flat: 0.5 was best of 0.5, 1 and 2 on
# generated topics.
TEMPERATURES = {"squared_hinge": 2.0, "hinge": 0.5, "logistic": 1.0}
MOST_ROUNDS = 10
LEAST_FALL = 5e-3  # of the objective; the first rounds gain nearly all
CHOSEN = ("C_", "cv_results_", "label_weight_", "empty_cost_", "text_leaves_")
SMALLEST_SHARE = 1e-9  # of a candidate; rows of weight 0 would be left out, and a fit could not start from the last


@dataclass(frozen=True)
class CandidateSets:
    """The candidates of every row, as node ids in CSR."""

    indptr: Ids
    nodes: Ids
    taxonomy: Taxonomy
    form: LabelForm

    @property
    def sizes(self) -> Ids:
        """The number of candidates of every row."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> Ids:
        """The row of each candidate."""
        return np.repeat(np.arange(len(self.indptr) - 1), self.sizes)

    def labels(self, places: Any = slice(None)) -> npt.NDArray[Any]:
        """Return some candidates as the caller writes labels."""
        values = self.form.values(self.taxonomy, self.nodes[places])
        same_type = len({type(value) for value in values.tolist()}) == 1
        return np.array(values.tolist()) if same_type else values


def read_candidates(who: str, y: Any, taxonomy: Taxonomy | None) -> CandidateSets:
    """Return the candidates of every row; an inner node stands for all leaves below it.

    Parameters
    ----------
    who : str
        The learner, for messages.
    y : sequence of sets, or labels in any other form
        A label that is no set is a set of one.
    taxonomy : Taxonomy or None
        None: the star of all candidates.
    """
    encoded = encode(y, taxonomy, lists="sets")
    tree, (starts, nodes) = encoded.taxonomy, encoded.labels.frontier
    sizes = np.diff(starts)
    if not np.all(sizes):
        k = int(np.argmin(sizes))
        raise LabelError(
            f"{who}: row {k} has no candidates; give its possible leaves, a node above all of them, or leave it out."
        )
    below = {v: leaves_below(tree, v) for v in np.unique(nodes).tolist()}
    parts = [below[v] for v in nodes.tolist()]
    rows = np.repeat(np.repeat(np.arange(len(sizes)), sizes), [len(part) for part in parts])
    pairs = np.unique(np.column_stack([rows, np.concatenate(parts)]), axis=0)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=len(sizes)))])
    return CandidateSets(indptr, pairs[:, 1], tree, encoded.form)


def leaves_below(taxonomy: Taxonomy, node: int) -> Ids:
    """Return the leaves below a node, or the node itself if it is one."""
    if not taxonomy.n_children[node]:
        return np.array([node], np.int64)
    found: list[int] = []
    seen, to_visit = {node}, [node]
    while to_visit:
        for child in taxonomy.child_ids(to_visit.pop()).tolist():
            if child in seen:  # a DAG leads there twice
                continue
            seen.add(child)
            (to_visit if taxonomy.n_children[child] else found).append(child)
    return np.array(sorted(found), np.int64)


# ---------------------------------------------------------------- training


def fit_candidates(model: Learner, X: Any, y: Any, sample_weight: Any) -> Learner:
    """Train a learner on rows with candidate sets; where all sets have one leaf, exactly as on labels."""
    who = type(model).__name__
    check_partial(model)
    sets = read_candidates(who, y, model._given_taxonomy())
    if np.all(sets.sizes == 1):
        adopt(model, plain_clone(model).fit(X, sets.labels(), sample_weight))
        model.candidate_probabilities_ = _by_class(
            model, sets.taxonomy, np.ones(len(sets.nodes)), sets.rows, sets.nodes
        )
        return model
    X = model._checked_rows(X, reset=True)
    check_consistent_length(X, sets.indptr[1:])
    weights = np.ones(X.shape[0]) if sample_weight is None else _checked_weights(model, X, sample_weight)
    plain, n_rows = _with_choices(plain_clone(model), X, sets, weights), X.shape[0]
    choice = {name: vars(plain).pop(name) for name in CHOSEN if name in vars(plain)}
    X, sets, weights = _with_label_text(plain, X, sets, weights, choice.get("label_weight_"))
    if "label_weight_" in choice:  # the texts are rows from here on
        plain.set_params(label_text=None, label_features=None)
    search = _Search(plain, X, sets, weights)
    with progress.task(f"{who}: candidate sets", MOST_ROUNDS, unit="rounds") as running:
        search.start()
        running.advance()
        while search.round < MOST_ROUNDS and search.improve():
            running.advance()
    adopt(model, search.best)
    vars(model).update(choice)
    model.history_ = search.history
    model.candidate_probabilities_ = search.probabilities()[:n_rows]
    return model


def check_partial(model: Any) -> None:
    """Refuse parameters that have no meaning with candidate sets."""
    who, given = type(model).__name__, model.get_params(deep=False)
    one_of(who, "partial_labels", model.partial_labels, (False, True))
    for name, wanted, why in (
        ("estimator", None, "TopDown learns from candidate sets with its own classifiers alone"),
        ("class_weight", None, "the classes of rows with several candidates are not known"),
        ("warm_start", False, "every fit begins with equal shares of all candidates"),
    ):
        if given.get(name, wanted) is not wanted and given[name] != wanted:
            raise ParameterError(f"{who}: with partial_labels=True, {why}; leave {name} at {wanted!r}.")
    if model.decode == "multi":
        raise ParameterError(f"{who}: with partial_labels=True there is one label per row; use decode='auto'.")


def plain_clone(model: Learner) -> Learner:
    """Return an unfitted copy of a learner that is trained on labels."""
    plain = clone(model).set_params(partial_labels=False)
    return plain.set_params(checkpoint=None) if plain.checkpoint is not None else plain


def adopt(model: Learner, fitted: Any) -> Learner:
    """Give a learner all that another one has learnt."""
    parameters = model.get_params(deep=False)
    for name in ("C_", "cv_results_"):  # of an earlier fit
        vars(model).pop(name, None)
    vars(model).update({name: value for name, value in vars(fitted).items() if name not in parameters})
    return model


def _checked_weights(model: Any, X: Any, sample_weight: Any) -> Floats:
    weights = np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():
        raise ParameterError(f"{type(model).__name__}: all sample weights are 0, so there is nothing to learn from.")
    return weights


def _with_choices(model: Any, X: Any, sets: CandidateSets, weights: Floats) -> Any:
    """Return the learner with all that is chosen on rows, chosen on those with one candidate, in its attributes too."""
    given = {name: vars(model).get(name) for name in ("C", "sharing", "label_weight")}
    searched = isinstance(given["C"], str) or isinstance(given["sharing"], str)
    has_text = vars(model).get("label_text") is not None
    if not searched and not (has_text and isinstance(given["label_weight"], str)):
        if has_text:
            model.label_weight_, model.text_leaves_ = float(model.label_weight), np.zeros(0, object)
        return model
    sure = np.flatnonzero((sets.sizes == 1) & (weights > 0))
    places = sets.indptr[sure]
    if not len(np.unique(sets.nodes[places])) > 1:
        raise ParameterError(
            f"{type(model).__name__}: C, sharing and label_weight are chosen on rows with one candidate, and there are "
            "too few; give C as a number, and the others too."
        )
    chosen = clone(model).fit(take_rows(X, sure), sets.labels(places), weights[sure])
    values = {"C": float(getattr(chosen, "C_", chosen.C))}
    if given["sharing"] is not None:
        values["sharing"] = chosen.sharing_
    result = clone(model).set_params(**values)
    vars(result).update({name: vars(chosen)[name] for name in CHOSEN if name in vars(chosen)})
    return result


def _with_label_text(
    model: Any, X: Any, sets: CandidateSets, weights: Floats, label_weight: float | None
) -> tuple[Any, CandidateSets, Floats]:
    """Return rows, candidates and weights with the texts of all candidates behind them, each a row of its leaf."""
    if label_weight is None:
        return X, sets, weights
    X = csr_if_mixed(X)
    features = features_of_nodes(model, X.shape[1], sets.taxonomy)
    leaves = np.unique(sets.nodes[np.repeat(weights, sets.sizes) > 0])
    leaves = leaves[np.diff(features.indptr)[leaves] > 0]
    ends = np.concatenate([sets.indptr, sets.indptr[-1] + np.arange(1, len(leaves) + 1)])
    more = replace(sets, indptr=ends, nodes=np.concatenate([sets.nodes, leaves]))
    of_text = np.full(len(leaves), label_weight * weights.mean())
    return stack_text(X, features, leaves), more, np.append(weights, of_text)


class _Search:
    """The alternation between the shares of candidates and the weights of the learner."""

    def __init__(self, model: Any, X: Any, sets: CandidateSets, weights: Floats) -> None:
        self.n_rows, self.taxonomy = len(weights), sets.taxonomy
        kept = np.flatnonzero(weights[sets.rows])
        rows = sets.rows[kept]
        self.rows, self.nodes, self.weights = rows, sets.nodes[kept], weights[rows]
        self.sizes = sets.sizes[rows]
        self.open = np.flatnonzero(self.sizes > 1)  # candidates that compete with others
        open_rows, starts = np.unique(rows[self.open], return_index=True)
        self.starts = np.append(starts, len(self.open))
        self.X, self.labels, self.X_open = take_rows(X, rows), sets.labels(kept), take_rows(X, open_rows)
        self.model, self.temperature = model, TEMPERATURES[model.loss]
        self.shares = 1.0 / self.sizes
        self.best: Any = None
        self.objective, self.round = np.inf, 0
        self.history: list[dict[str, float]] = []
        self.started = time.perf_counter()

    def start(self) -> None:
        """Train with equal shares of all candidates."""
        self._keep(*self._fit())

    def improve(self) -> bool:
        """Compute shares and train with them; return whether the objective has fallen enough to go on."""
        before, shares = self.objective, self.shares
        self.shares = self._expectation()
        fitted, objective = self._fit()
        if not objective < before:  # within the tolerance of a fit
            self.shares = shares
            return False
        self._keep(fitted, objective)
        return before - objective > LEAST_FALL * before

    def _fit(self) -> tuple[Any, float]:
        """Train on a copy of every row for each candidate; return the learner and the bound of the problem."""
        fitted = clone(self.model).fit(self.X, self.labels, self.weights * self.shares)
        terms = self.weights * self.shares * np.log(self.shares * self.sizes)
        return fitted, float(fitted.history_[-1]["objective"] + self.model.C * self.temperature * np.sum(terms))

    def _keep(self, fitted: Any, objective: float) -> None:
        self.best, self.objective, self.round = fitted, objective, self.round + 1
        entry = {"objective": objective, "gap": fitted.history_[-1]["gap"], "round": self.round}
        self.history.append({**entry, "seconds": time.perf_counter() - self.started})

    def _expectation(self) -> Floats:
        """Return the shares of candidates given the weights: q_ik ∝ e^(−L_ik / T)."""
        losses = self.best.label_losses(self.X_open, self.starts, self._ids()[self.open])
        sizes = np.diff(self.starts)
        losses -= np.repeat(np.minimum.reduceat(losses, self.starts[:-1]), sizes)
        odds = np.maximum(np.exp(-losses / self.temperature), SMALLEST_SHARE)
        shares = self.shares.copy()
        shares[self.open] = odds / np.repeat(np.add.reduceat(odds, self.starts[:-1]), sizes)
        return shares

    def _ids(self) -> Ids:
        """Return the candidates as nodes of the learner's taxonomy."""
        return _translate(self.nodes, self.taxonomy, self.best.taxonomy_)

    def probabilities(self) -> sparse.csr_array:
        """Return the shares (rows × classes)."""
        return _by_class(self.best, self.taxonomy, self.shares, self.rows, self.nodes, self.n_rows)


def _translate(nodes: Ids, taxonomy: Taxonomy, known: Taxonomy) -> Ids:
    """Return nodes as ids of another taxonomy: without one, a star of the labels of rows whose weight is not 0."""
    if known is taxonomy or known == taxonomy:
        return nodes
    id_of = {v: known.index(taxonomy.names[v]) for v in np.unique(nodes).tolist()}
    return np.array([id_of[v] for v in nodes.tolist()], np.int64)


def _by_class(
    model: Any, taxonomy: Taxonomy, shares: Floats, rows: Ids, nodes: Ids, n_rows: int | None = None
) -> sparse.csr_array:
    """Return the shares of candidates (rows × classes of the learner); a node that is no class has none."""
    translated = _translate(nodes, taxonomy, model.taxonomy_)
    columns = np.minimum(np.searchsorted(model.class_nodes_, translated), len(model.class_nodes_) - 1)
    there = model.class_nodes_[columns] == translated
    shape = (len(np.unique(rows)) if n_rows is None else n_rows), len(model.class_nodes_)
    return sparse.csr_array((shares[there], (rows[there], columns[there])), shape=shape)
