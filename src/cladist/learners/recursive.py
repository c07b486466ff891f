"""Recursive regularisation: HR-SVM and HR-LR of Gopal & Yang 2013."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone

from cladist import progress
from cladist.checkpoints import resumable
from cladist.errors import ModelFormatError, ParameterError, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.candidate_sets import fit_candidates
from cladist.learners.label_text import (
    add_label_text,
    check_label_text,
    lower_costs,
    pack_label_text,
    prior_of,
    unpack_label_text,
    with_features_of,
)
from cladist.learners.linear_classifier import FORMS, SOLVERS, LinearClassifier
from cladist.learners.select_c import choose_C_and_sharing
from cladist.solvers import OneVsRest, Solution
from cladist.solvers.problem import Targets
from cladist.solvers.relations import DEFAULTS, LARGEST_SHARING, Relations, TreeCoupling, as_relations
from cladist.storage.array_groups import Arrays, group, pack_matrix, prefixed, unpack_matrix
from cladist.taxonomy import RelationGraph

Learner = TypeVar("Learner")


def gather_options(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of an earlier version, in which options of `Relations` stood among them, as they are now."""
    others = {name: value for name, value in parameters.items() if name not in DEFAULTS}
    options = {name: parameters[name] for name in DEFAULTS if name in parameters}
    if any(value != DEFAULTS[name] for name, value in options.items()):
        others["relations"] = Relations(**options)
    if others.get("solver") == "joint":
        others["solver"] = "auto"
    return others


def refuse_options(learner: type[Learner]) -> type[Learner]:
    """Let the `__init__` of a learner say where options of `Relations` belong if it is given one."""
    init = learner.__init__

    @wraps(init)
    def checked_init(self: Any, *args: Any, **parameters: Any) -> None:
        for name in DEFAULTS.keys() & parameters.keys():
            raise TypeError(
                f"{type(self).__name__} has no parameter {name!r}: it is an option of relations; write "
                f"relations=Relations({name}={parameters[name]!r}), with the graph first if there is one."
            )
        init(self, *args, **parameters)

    learner.__init__ = checked_init  # type: ignore[method-assign]
    learner.moved_parameters = tuple(DEFAULTS)  # type: ignore[attr-defined]
    return learner


if TYPE_CHECKING:
    _Learner = LinearClassifier
else:
    _Learner = object


class _Training(_Learner):
    """The steps of `fit`, the same for both losses."""

    forms: ClassVar[tuple[str, ...]] = (*FORMS, "differences")
    solvers: ClassVar[tuple[str, ...]] = (*SOLVERS, "alternating")
    from_old_parameters = staticmethod(gather_options)  # of model files from before `Relations`

    relations: Any
    sharing: Any
    empty_leaf: str
    label_text: str | None
    label_weight: Any
    empty_cost: Any
    label_features: Any
    relations_: RelationGraph | None
    sharing_: float

    @property
    def label_options(self) -> Relations:
        """The object with the options `targets` and `repair`."""
        return as_relations(self.relations)

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        super().check_parameters()
        as_relations(self.relations).check(type(self).__name__, empty_leaf=self.empty_leaf, **self._beside_relations())
        if self.label_text is not None or self.empty_leaf == "text":
            check_label_text(self)
        if self.label_text == "prior":
            self._check_prior()

    def _check_prior(self) -> None:
        """Refuse what a prior cannot be combined with."""
        who, relations = type(self).__name__, as_relations(self.relations)
        if relations.root == "free" or relations.graph is not None or relations.targets != "leaves":
            raise ParameterError(
                f"{who}: label_text='prior' is for a tree with its usual root; take label_text='rows'."
            )
        if self.weights in ("dual", "differences") or self.solver not in ("auto", "coordinate"):
            raise ParameterError(
                f"{who}: label_text='prior' has weights='auto', 'dense' or 'sparse' and solver='auto' or 'coordinate'; "
                f"got {self.weights!r} and {self.solver!r}. label_text='rows' has no such limits."
            )

    def _beside_relations(self) -> dict[str, Any]:
        """Return the parameters that depend on options of relations."""
        sharing = 1.0 if isinstance(self.sharing, str) and self.sharing == "auto" else self.sharing
        others = {name: getattr(self, name) for name in ("solver", "warm_start", "weights")}
        return {"sharing": sharing, **others}

    @resumable
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Train the classifiers of all labels together.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form
        sample_weight : array (rows,), optional
            Factors of C; a row of weight 0 counts as absent.
        """
        self.check_parameters()
        if self.partial_labels:
            return fit_candidates(self, X, y, sample_weight)
        X, labels, weights = self.validate_weighted(X, y, sample_weight)
        with progress.show_lines(self.verbose):
            if self.label_text is not None:
                X, labels, weights = add_label_text(self, X, labels, weights)
            goes_on = self.warm_start and "_last_fit" in vars(self) and self.sharing == "auto"  # with what was chosen
            searches = isinstance(self.C, str) or (isinstance(self.sharing, str) and not goes_on)
            C = choose_C_and_sharing(self, X, labels, weights) if searches else float(self.C)
            problem = self.prepare(X, labels, weights)
            started = time.perf_counter()
            state = self.last_state(problem, C) if self.warm_start else None
            solution = self.solve(problem, C, state, keep_state=self.warm_start)
            return self.keep(solution, problem, C, started)

    def with_sharing(self, X: Any, y: Any, sample_weight: Any, Cs: list[float]) -> Self:
        """Return a clone in which `sharing` is a number, chosen for the value in the middle of several C."""
        if not isinstance(self.sharing, str) or not Cs:
            return self
        model = clone(self).set_params(C=Cs[len(Cs) // 2])
        choose_C_and_sharing(model, *model.validate_weighted(X, y, sample_weight))
        return clone(self).set_params(sharing=model.sharing_)

    def validate_weighted(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, LabelMatrix, Any]:
        """Return rows, labels and weights, checked, and set `relations_`: the graph, or None for a tree."""
        data = super().validate_weighted(X, y, sample_weight)
        has_all_labels = self.taxonomy is not None
        self.relations_ = as_relations(self.relations).graph_for(
            type(self).__name__, self.taxonomy_, has_all_labels=has_all_labels, **self._beside_relations()
        )
        return data

    def prepare(self, X: Any, labels: LabelMatrix, sample_weight: Any) -> OneVsRest:
        """Return one binary problem per label, even with two labels, with C = 1; set the classes and the coupling."""
        relations = as_relations(self.relations)
        if not isinstance(self.sharing, str):
            self.sharing_ = float(self.sharing)
        all_nodes = relations.targets == "nodes"
        targets = Targets.of(labels, all_nodes=all_nodes, sets=not all_nodes or self.decodes_sets)
        if self.empty_leaf == "negative" or (self.empty_leaf == "text" and self.label_text == "prior"):
            targets = targets.with_nodes(self.taxonomy_.leaves)
        self._coupling = relations.couple(self.taxonomy_, targets.nodes, self.sharing_, self.relations_)
        self.target_nodes_ = targets.nodes
        self.set_classes(targets.labels)
        shared = {"loss": self.loss, "fit_intercept": self.fit_intercept, "class_weight": self.class_weight}
        problem = targets.problem(type(self).__name__, X, labels, sample_weight, **shared)
        if self.label_text is None:
            return problem
        lower_costs(self, problem, targets.nodes)
        prior = prior_of(self, targets.nodes, X.shape[1])
        if prior is None:
            return problem
        if not isinstance(self._coupling, TreeCoupling):
            raise ParameterError(f"{type(self).__name__}: label_text='prior' is for trees; take label_text='rows'.")
        self._coupling = replace(self._coupling, prior=prior)
        return with_features_of(problem, X, prior, constant=bool(self.fit_intercept))

    def solve(self, problem: OneVsRest, C: float, state: Any = None, *, keep_state: bool = False) -> Solution:
        """Minimise the objective over the weights of all nodes, to a certified duality gap."""
        coupling, form = self._coupling, self.weights
        assert coupling is not None
        if form == "auto":
            is_dense = problem.fits_dense(or_dual=self.relations_ is None)
            form = "dense" if is_dense else coupling.compact_form(type(self).__name__, problem)
            form = "sparse" if form == "dual" and self.label_text == "prior" else form
        return coupling.solve(
            problem.at_C(C),
            self.settings(),
            executor_for(self.n_jobs, self.executor),
            form=form,
            prune=self.prune,
            state=state,
            keep_state=keep_state,
        )

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return plain values and arrays that `unpack_state` reads."""
        from cladist.persistence.models import pack_relations

        state, arrays = super().pack_state()
        state |= pack_label_text(self)
        prior = getattr(self._coupling, "prior", None)
        if prior is not None:
            arrays |= prefixed("prior", pack_matrix(prior))
        state |= {"sharing": self.sharing_, "has_relations": as_relations(self.relations).graph is not None}
        if isinstance(self.relations, Relations):
            state["relations"] = self.relations.options()
        return state, arrays | prefixed("relations", pack_relations(self.relations_))

    def unpack_coupling(self, state: dict[str, Any], arrays: Arrays) -> None:
        """Restore the relations and the coupling."""
        from cladist.persistence.models import unpack_relations

        self.sharing_ = float(state.get("sharing", 1.0))
        if not 0 <= self.sharing_ <= LARGEST_SHARING:
            raise ModelFormatError(f"Its sharing is {self.sharing_!r}.")
        self.relations_ = unpack_relations(group("relations", arrays))
        graph = self.relations_ if state.get("has_relations") else None
        # Files without this option are from before it.
        earlier: dict[str, Any] = {"intercept": "pulled"} if self.relations_ is not None else {}
        if isinstance(self.relations, Relations):  # from the parameters of a file of an earlier version
            self.relations = replace(self.relations, graph=graph, **earlier)
        else:
            options = {**earlier, **state.get("relations", {})}
            if options.pop("solver", None) == "alternating":  # an option of relations in an earlier version
                self.solver = "alternating"
            self.relations = Relations(graph, **options) if "relations" in state else graph
        self.check_parameters()
        relations = as_relations(self.relations)
        self._coupling = relations.couple(self.taxonomy_, self.target_nodes_, self.sharing_, self.relations_)
        unpack_label_text(self, state)
        if self.label_text == "prior" and "prior/indptr" in arrays and isinstance(self._coupling, TreeCoupling):
            prior = unpack_matrix(group("prior", arrays), self.n_features_in_)
            if prior.shape[0] != len(self.target_nodes_):
                raise ModelFormatError("Its texts are not those of its labels.")
            self._coupling = replace(self._coupling, prior=sparse.csr_array(prior))


@refuse_options
@dataclass(eq=False, repr=False)
class RecursiveSVM(_Training, LinearClassifier):
    """Linear SVMs of all labels, trained together: every node's weights are pulled towards its parent's.

    ::

        min_W ½ Σ_n ‖w_n − w_π(n)‖² / κ_n + C Σ_labels n Σ_i ℓ(y_in w_n·x_i)

    π(n) is the parent of n, w_π(root) = 0; κ = 1 for labels and κ = `sharing` for nodes above them. With all κ = 1 it
    is eq. (2) of Gopal & Yang 2013. Labels with few rows borrow from their siblings. With `relations`, weights are
    pulled towards those of related nodes, eq. (10) if all a are 1::

        min_W ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + C Σ_n Σ_i ℓ(y_in w_n·x_i)

    with each edge once and the last sum over nodes with rows. Both are solved to a certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen, where labels share nothing: `FlatSVM`,
        if that has the same loss.
    C : float or "cv"
        Weight of the losses. "cv": the best power of ten by cross-validation on the training rows.
    scoring : None, str, callable or Loss
        What "cv" maximises: a name ("accuracy", "micro_f1", "average_precision", …), a scorer of (model, X, y), or a
        loss, which is minimised. None: accuracy, for sets average precision.
    budget : float or None
        Seconds after which the search ends with the best value so far, when the fit under way is done.
    loss : {"hinge", "squared_hinge"}
        The loss ℓ; the paper's is the hinge.
    relations : Relations, RelationGraph, edges, path of a file, or None
        Other relations than those of the taxonomy, or other options of them, see `Relations`: for instance
        ``Relations(root="free")`` on a tree, or ``Relations(graph, ridge=0.1)``.
    sharing : float, "auto" or "cv"
        κ, how freely nodes above labels move: 1 as in the paper, less where the tree says little about the features, 0
        if labels are to share nothing. "auto": 0, unless 1 or 0.1 is better by more than 1.5 standard errors on rows
        held out; 1 with fewer than 200 rows, with more than 2 · 10⁹ nonzeros × labels, and on graphs. "cv": the best of
        1, 0.1 and 0. Both together with C if that is "cv".
    empty_leaf : {"skip", "negative", "text"}
        Leaves without rows take no part and are not predicted, or all rows are negative for them, as in the paper's
        formula, and they are labels like others. "text": they are labels like others, known through their text.
    label_text : None, "prior" or "rows"
        What the texts of the taxonomy's nodes are used for: "rows", the text of each leaf is one more training row of
        it; "prior", the penalty of a leaf is ‖w_n − w_π(n) − u_n‖², u_n being `label_weight` times its text, and the
        leaf is pulled to its parent and to its own words. On trees.
    label_weight : float or "auto"
        The weight of that row, other rows having 1, or the factor of u. "auto": chosen on rows held out.
    empty_cost : float or "auto"
        The factor of C for all other rows in the problem of a leaf that is known through its text alone: nobody has
        looked there for its rows, so they say less. "auto": chosen together with `label_weight`.
    label_features : matrix (nodes × features) or None
        The features of the nodes' texts, in the order of ``taxonomy.names``, made by the transformer that made X; see
        `TextClassifier`, which makes them. Not saved with models.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1, pulled like the others.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem.
    weights : {"auto", "dense", "sparse", "dual", "differences"}
        How weights are stored. "dual": vectors of nodes with more than sixteen labels, and the rows' shares in the
        others, from which weights are made on demand. "differences": of every node from its parent, sparse, for very
        many labels; `predict_top_k` can then use beam search, and `cladist.load` map the model. "auto": dense up to
        1 GiB, then dual; on a graph dense.
    prune : float
        With "sparse" or "differences", weights or differences up to this size are dropped after training.
    tol : float
        Relative duality gap.
    max_iter : int
        Most sweeps over all labels; if they do not suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton", "alternating"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. "alternating": the
        paper's alternation between levels, which takes longer. All reach the same optimum.
    warm_start : bool
        Whether `fit` starts from the last solution, if rows, features in use and tree are as they were.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads that solve the blocks of a round in parallel; the model does not depend on it.
    executor : Executor, "ray" or None
        Runs the blocks instead of threads, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or the set of labels with positive scores; "auto": as y has them.
    partial_labels : bool
        Whether y has a set of candidates per row, of which one is the label; see `candidate_probabilities_`.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order. A label with others below it has a leaf of its own there.
    coef_, intercept_ : arrays
        One row per class.
    node_coef_ : CSR (nodes × features)
    sharing_ : float
        The κ used.
    label_weight_, empty_cost_, text_leaves_ : float, float, array
        With `label_text`, the weight and factor used, and the names of the leaves known through their text alone.
    relations_ : RelationGraph or None
        The graph that relates labels; None on a tree.
    C_, cv_results_
        With `C="cv"`, the C chosen; if C or `sharing` was searched, the score of each value.
    candidate_probabilities_ : CSR (rows × classes)
        With `partial_labels`, the probability of each candidate of the training rows.
    n_iter_, converged_ : int, bool
        Sweeps made, and whether the gap is within `tol`.
    history_ : list of dict
        One entry per check: `objective`, `dual`, `gap` (relative), `seconds`; the last is of the weights returned.
        With ``root="free"`` also `reach`: the dual is a lower bound if no root is further than that from its optimum.

    Notes
    -----
    On a graph, nodes without rows are between their neighbours; labels without relations are trained by themselves, as
    `FlatSVM` with the same C. Memory: 12 bytes per node and feature, 4 per label and row.

    On a tree, a sweep costs O(labels / 16 · nonzeros) when it visits all rows, every fourth time, and less otherwise.
    Memory: 4 bytes per feature for each inner node whose labels fill more than one block of sixteen, 128 bytes per
    feature and 64 per row for each worker, 68 bytes for each row and block in which an α is not 0, up to five times;
    and 4 bytes per label and feature for dense weights.

    Examples
    --------
    >>> from cladist import RecursiveSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = RecursiveSVM(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[0, 3]])
    [['art']]
    """

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    scoring: Any = None
    budget: float | None = None
    loss: str = "hinge"
    relations: Any = None
    sharing: Any = "auto"
    empty_leaf: str = "skip"
    label_text: str | None = None
    label_weight: Any = "auto"
    empty_cost: Any = "auto"
    label_features: Any = None
    fit_intercept: bool = True
    class_weight: Any = None
    weights: str = "auto"
    prune: float = 0.0
    tol: float = 1e-2
    max_iter: int = 200
    solver: str = "auto"
    warm_start: bool = False
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    partial_labels: bool = False
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Raise a `ParameterError` if a parameter has no meaning."""
        one_of("RecursiveSVM", "loss", self.loss, ("hinge", "squared_hinge"))
        super().check_parameters()


@refuse_options
@dataclass(eq=False, repr=False)
class RecursiveLogistic(_Training, LinearClassifier):
    """Logistic regressions of all labels, trained together: every node's weights are pulled towards its parent's.

    ::

        min_W ½ Σ_n ‖w_n − w_π(n)‖² / κ_n + C Σ_labels n Σ_i log(1 + e^(−y_in w_n·x_i))

    π(n) is the parent of n, w_π(root) = 0; κ = 1 for labels and κ = `sharing` for nodes above them. With all κ = 1 it
    is eq. (3) of Gopal & Yang 2013. With `relations`, the first sum is that of eq. (10), see `RecursiveSVM`.
    Solved to a certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree, forest or DAG. None: a star of the classes seen, where labels share nothing: `FlatLogistic`.
    C : float or "cv"
        Weight of the losses. "cv": the best power of ten by cross-validation on the training rows.
    scoring : None, str, callable or Loss
        What "cv" maximises: a name ("accuracy", "micro_f1", "average_precision", …), a scorer of (model, X, y), or a
        loss, which is minimised. None: accuracy, for sets average precision.
    budget : float or None
        Seconds after which the search ends with the best value so far, when the fit under way is done.
    relations : Relations, RelationGraph, edges, path of a file, or None
        Other relations than those of the taxonomy, or other options of them, see `Relations`: for instance
        ``Relations(root="free")`` on a tree, or ``Relations(graph, ridge=0.1)``.
    sharing : float, "auto" or "cv"
        κ, how freely nodes above labels move: 1 as in the paper, less where the tree says little about the features, 0
        if labels are to share nothing. "auto": 0, unless 1 or 0.1 is better by more than 1.5 standard errors on rows
        held out; 1 with fewer than 200 rows, with more than 2 · 10⁹ nonzeros × labels, and on graphs. "cv": the best of
        1, 0.1 and 0. Both together with C if that is "cv".
    empty_leaf : {"skip", "negative", "text"}
        Leaves without rows take no part and are not predicted, or all rows are negative for them, as in the paper's
        formula, and they are labels like others. "text": they are labels like others, known through their text.
    label_text : None, "prior" or "rows"
        What the texts of the taxonomy's nodes are used for: "rows", the text of each leaf is one more training row of
        it; "prior", the penalty of a leaf is ‖w_n − w_π(n) − u_n‖², u_n being `label_weight` times its text, and the
        leaf is pulled to its parent and to its own words. On trees.
    label_weight : float or "auto"
        The weight of that row, other rows having 1, or the factor of u. "auto": chosen on rows held out.
    empty_cost : float or "auto"
        The factor of C for all other rows in the problem of a leaf that is known through its text alone: nobody has
        looked there for its rows, so they say less. "auto": chosen together with `label_weight`.
    label_features : matrix (nodes × features) or None
        The features of the nodes' texts, in the order of ``taxonomy.names``, made by the transformer that made X; see
        `TextClassifier`, which makes them. Not saved with models.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1, pulled like the others.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem.
    weights : {"auto", "dense", "sparse", "dual", "differences"}
        How weights are stored. "dual": vectors of nodes with more than sixteen labels, and the rows' shares in the
        others, from which weights are made on demand. "differences": of every node from its parent, sparse, for very
        many labels; `predict_top_k` can then use beam search, and `cladist.load` map the model. "auto": dense up to
        2 GiB, then dual.
    prune : float
        With "sparse" or "differences", weights or differences up to this size are dropped after training.
    tol : float
        Relative duality gap.
    max_iter : int
        Most sweeps over all labels; if they do not suffice, a ConvergenceWarning says so.
    solver : {"auto", "coordinate", "newton", "alternating"}
        Dual coordinate descent; or Newton's method for smooth losses and an interior point method for the hinge, for
        dense rows of up to some hundred features. "auto": coordinate descent, and Newton steps as soon as it proves to
        cost more than they would, for instance where features have very different scales. "alternating": the
        paper's alternation between levels, which takes longer. All reach the same optimum.
    warm_start : bool
        Whether `fit` starts from the last solution, if rows, features in use and tree are as they were.
    random_state : int, RandomState or None
        Seed of the order in which rows are visited.
    n_jobs : int or None
        Threads that solve the blocks of a round in parallel; the model does not depend on it.
    executor : Executor, "ray" or None
        Runs the blocks instead of threads, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or the set of labels with positive scores; "auto": as y has them.
    partial_labels : bool
        Whether y has a set of candidates per row, of which one is the label; see `candidate_probabilities_`.
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order. A label with others below it has a leaf of its own there.
    coef_, intercept_ : arrays
        One row per class.
    node_coef_ : CSR (nodes × features)
    sharing_ : float
        The κ used.
    label_weight_, empty_cost_, text_leaves_ : float, float, array
        With `label_text`, the weight and factor used, and the names of the leaves known through their text alone.
    relations_ : RelationGraph or None
        The graph that relates labels; None on a tree.
    C_, cv_results_
        With `C="cv"`, the C chosen; if C or `sharing` was searched, the score of each value.
    candidate_probabilities_ : CSR (rows × classes)
        With `partial_labels`, the probability of each candidate of the training rows.
    n_iter_, converged_ : int, bool
        Sweeps made, and whether the gap is within `tol`.
    history_ : list of dict
        One entry per check: `objective`, `dual`, `gap` (relative), `seconds`; the last is of the weights returned.
        With ``root="free"`` also `reach`: the dual is a lower bound if no root is further than that from its optimum.

    Notes
    -----
    As for `RecursiveSVM`, except that all rows support all labels: memory is 4 bytes per row and label, besides 4 per
    feature for each inner node with more than sixteen labels.

    Examples
    --------
    >>> from cladist import RecursiveLogistic, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = RecursiveLogistic(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict([[0, 3]]).tolist()
    ['art']
    """

    loss = "logistic"
    has_probabilities: ClassVar[bool] = True

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    scoring: Any = None
    budget: float | None = None
    relations: Any = None
    sharing: Any = "auto"
    empty_leaf: str = "skip"
    label_text: str | None = None
    label_weight: Any = "auto"
    empty_cost: Any = "auto"
    label_features: Any = None
    fit_intercept: bool = True
    class_weight: Any = None
    weights: str = "auto"
    prune: float = 0.0
    tol: float = 1e-2
    max_iter: int = 200
    solver: str = "auto"
    warm_start: bool = False
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    partial_labels: bool = False
    checkpoint: Any = None
    verbose: bool | int = 0
