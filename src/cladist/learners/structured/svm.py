"""The structural SVM on a tree of labels (LM-2, HSVM), for single labels and for sets.

Tsochantaridis, Joachims, Hofmann & Altun, JMLR 6, 2005; Cai & Hofmann, CIKM 2004.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from cladist.decoders import path_scores
from cladist.errors import ParameterError, TooLargeError, one_of
from cladist.execution import executor_for
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.structured.margin import SET_LOSSES, MarginClassifier
from cladist.learners.structured.models import WeightModel
from cladist.losses import HLoss, SymmetricDifference
from cladist.solvers.structured import (
    LabellingOracle,
    LinearLabellings,
    PathDual,
    PathLoss,
    PathOracle,
    Sweeps,
    cutting_plane,
)
from cladist.storage.array_groups import Arrays

Floats = npt.NDArray[np.float64]
SOLVERS, RESCALINGS, ATTRIBUTES = ("bcfw", "cutting_plane"), ("margin", "slack"), ("path", "unit")
SINGLE_LOSSES = ("tree", "zero_one")
MOST_LOSS_BYTES = 2**30  # of the matrix of losses between labels


class StructuralSVM(MarginClassifier):
    """Weights of nodes, with a margin over all other outputs that grows with their loss (LM-2, HSVM).

    For single labels, S_r = Σ_{u ∈ path(r)} λ_ru w_u·x and::

        min_W ½‖W‖² + C Σ_i max_r [D(y_i, r) − κ (S_{y_i} − S_r)]

    with κ = 1 (margin rescaling) or κ = D(y_i, r) (slack rescaling). For sets, all labellings that respect the tree
    compete, scored Σ_v ±λ_v w_v·x. On a star with `loss="zero_one"` it is the SVM of Crammer & Singer.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest; a DAG is refused. None: a star of the classes seen.
    C : float
        What slack counts, summed over rows.
    loss : {"auto", "tree", "zero_one", "hamming", "hierarchical"} or array (nodes × nodes)
        D. For single labels the tree distance, zero-one, or any matrix in the taxonomy's order with entries from 0 up
        and 0 on its diagonal. For sets ℓ_Δ ("hamming") or ℓ_H ("hierarchical"). "auto": "tree" or "hamming".
    node_weights : {"uniform", "sibling", "subtree"} or array of one cost a node
        What a wrong node costs, for sets.
    rescaling : {"margin", "slack"}
        What the loss multiplies; "slack" for single labels only, since over sets of labels there is no way to find the
        most violated one.
    attributes : {"path", "unit"} or array of one weight a node
        λ_ru, for u on the path of r: 1; 1/√(length of the path), so that all features have length 1 (single labels);
        the weight of u.
    solver : {"bcfw", "cutting_plane"}
        Steps a row at a time over all outputs (block-coordinate Frank–Wolfe, with steps away from the worst output in
        use); or lists of violated outputs and exact solutions over them, as published. Both solve the same problem.
    tol : float
        Relative duality gap to stop at.
    max_iter : int
        Passes over the rows at most, or rounds of the cutting plane; if they do not suffice, a ConvergenceWarning
        says so.
    inner_iter : int
        Steps a row and visit, at most.
    sampling : {"permutation", "working_set", "gap"}
        Whether a pass visits all rows in random order, those whose gap is not closed, or rows drawn by their gaps.
    random_state : int, RandomState or None
        For the order of rows.
    n_jobs : int or None
        Threads that measure gaps; the model does not depend on it.
    executor : Executor, optional
        Runs them instead, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or a set; "auto" goes by the form of y.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order: for sets all nodes, otherwise the labels seen.
    taxonomy_ : Taxonomy
    node_coef_ : array (nodes × features)
        Weights, times those of `attributes` where they are given.
    coef_ : array (classes × features)
        Of single labels, what a class is scored by; of sets, the node's own weights.
    objective_, dual_objective_, gap_ : float
        Of the problem above, and their distance relative to the dual.
    n_iter_, converged_, history_
        As of `MaxMarginMarkov`; of the cutting plane one entry a round.
    n_constraints_ : int
        Outputs that the cutting plane listed.
    model_size_ : int
        How many bytes the model takes.

    Notes
    -----
    There is no bias: append a constant feature if one is wanted. A pass costs O(rows · nodes · nonzeros a row); memory
    is O(nodes · features), and for single labels 8 bytes · rows · classes, for sets 33 bytes · rows · nodes.

    Examples
    --------
    >>> from cladist import StructuralSVM
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = StructuralSVM(data.taxonomy).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8, model.gap_ <= 1e-3
    (True, True)
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: float = 1.0,
        loss: Any = "auto",
        node_weights: Any = "uniform",
        rescaling: str = "margin",
        attributes: Any = "path",
        solver: str = "bcfw",
        tol: float = 1e-3,
        max_iter: int = 1000,
        inner_iter: int = 5,
        sampling: str = "permutation",
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.node_weights = node_weights
        self.rescaling = rescaling
        self.attributes = attributes
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.sampling = sampling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    # ---------------------------------------------------------------- parameters

    def check_parameters(self) -> None:
        who = type(self).__name__
        self._check_margin()
        if isinstance(self.loss, str):
            one_of(who, "loss", self.loss, ("auto", *SINGLE_LOSSES, *SET_LOSSES))
        if isinstance(self.attributes, str):
            one_of(who, "attributes", self.attributes, ATTRIBUTES)
        one_of(who, "rescaling", self.rescaling, RESCALINGS)
        one_of(who, "solver", self.solver, SOLVERS)

    def _check_for_sets(self) -> None:
        """Refuse what is meant for single labels."""
        who = type(self).__name__
        if not isinstance(self.loss, str) or self.loss in SINGLE_LOSSES:
            raise ParameterError(
                f"{who}: for sets of labels loss must be one of 'auto', 'hamming', 'hierarchical', over which the most "
                f"violated set can be found; got {_named(self.loss)}."
            )
        if self.rescaling == "slack":
            raise ParameterError(
                f"{who}: rescaling='slack' is for single labels, since the most violated set cannot be found; use "
                "'margin'."
            )
        if isinstance(self.attributes, str) and self.attributes == "unit":
            raise ParameterError(f"{who}: attributes='unit' is for single labels; use 'path' or one weight a node.")

    def _check_for_single(self) -> None:
        """Refuse what is meant for sets."""
        who = type(self).__name__
        if isinstance(self.loss, str) and self.loss in SET_LOSSES:
            raise ParameterError(
                f"{who}: loss={self.loss!r} is for sets of labels; use 'tree', 'zero_one' or a matrix, or write each "
                "row of y as a set, {'label'}."
            )
        if not isinstance(self.node_weights, str) or self.node_weights != "uniform":
            raise ParameterError(
                f"{who}: node_weights are for sets of labels; give what labels cost as a matrix, loss=..., instead."
            )

    def _factor(self) -> Floats:
        """Return the weight λ_u of every node."""
        n_nodes = self.taxonomy_.n_nodes
        if isinstance(self.attributes, str):
            return np.ones(n_nodes)
        factor = np.asarray(self.attributes, dtype=np.float64)
        if factor.shape != (n_nodes,) or not np.all(np.isfinite(factor) & (factor > 0)):
            raise ParameterError(
                f"{type(self).__name__}: attributes must be 'path', 'unit' or one positive weight a node, here "
                f"{n_nodes}; got {_named(self.attributes)}."
            )
        return factor

    def _losses(self) -> Floats:
        """Return D between all classes."""
        who, nodes, n = type(self).__name__, self.class_nodes_, len(self.class_nodes_)
        if 8 * n * n > MOST_LOSS_BYTES:
            raise TooLargeError(
                f"{who}: losses between {n} labels need {8 * n * n / 2**30:.1f} GiB, over the limit of "
                f"{MOST_LOSS_BYTES / 2**30:.0f} GiB; RecursiveSVM and TopDown take as many."
            )
        if isinstance(self.loss, str):
            if self.loss == "zero_one":
                return 1.0 - np.eye(n)
            return self.taxonomy_.distances(np.repeat(nodes, n), np.tile(nodes, n)).reshape(n, n).astype(np.float64)
        given, n_nodes = np.asarray(self.loss, dtype=np.float64), self.taxonomy_.n_nodes
        fits = given.shape == (n_nodes, n_nodes) and bool(np.all(np.isfinite(given) & (given >= 0)))
        if not fits or np.any(np.diag(given) != 0):
            raise ParameterError(
                f"{who}: loss must be a name or a matrix of {n_nodes} × {n_nodes} nodes with numbers from 0 up and 0 "
                f"on its diagonal; got {_named(self.loss)}."
            )
        return np.ascontiguousarray(given[np.ix_(nodes, nodes)])

    # ---------------------------------------------------------------- learning

    def _learn(self, X: Any, labels: LabelMatrix) -> None:
        self.__dict__.pop("n_constraints_", None)
        self._refuse_weights_beyond(X.shape[1], self.taxonomy_.n_nodes, "take fewer features")
        if self.decodes_sets:
            self._check_for_sets()
            W = self._learn_sets(X, labels)
        else:
            self._check_for_single()
            W = self._learn_single(X, labels)
        self.model_ = WeightModel(W * self._factor())

    def _learn_sets(self, X: Any, labels: LabelMatrix) -> Floats:
        name, factor = "hamming" if self.loss == "auto" else self.loss, self._factor()
        if self.solver == "cutting_plane":
            loss = self._labelling_loss(name, consistent=True, edges=False, factor=factor)
            uniform = bool(np.all(loss.cost == 1.0))
            if name == "hamming" and not uniform:
                raise ParameterError(
                    "StructuralSVM: solver='cutting_plane' has loss='hamming' with uniform node_weights; use 'bcfw'."
                )
            named = HLoss(loss.cost) if name == "hierarchical" else SymmetricDifference()
            return self._cut(X, LabellingOracle(labels, named, factor))
        dual = LinearLabellings(
            X, labels, self._labelling_loss(name, consistent=True, edges=False, factor=factor), self.C
        )
        self._ascend(dual)
        return dual.W

    def _learn_single(self, X: Any, labels: LabelMatrix) -> Floats:
        nodes = self.class_nodes_
        true = np.searchsorted(nodes, labels.nodes(type(self).__name__))
        loss = PathLoss(
            self._losses(), self.taxonomy_.parent, nodes, self._sizes(), self._factor(), self.rescaling == "slack"
        )
        if self.solver == "cutting_plane":
            return self._cut(X, PathOracle(true, loss))
        needed = 8 * len(true) * len(nodes)
        if needed > 8 * MOST_LOSS_BYTES:
            raise TooLargeError(
                f"StructuralSVM: masses of {len(true)} rows × {len(nodes)} labels need {needed / 2**30:.1f} GiB, over "
                "the limit of 8 GiB; use solver='cutting_plane', RecursiveSVM or TopDown."
            )
        dual = PathDual(X, true, loss, float(self.C))
        self._ascend(dual)
        return dual.W

    def _cut(self, X: Any, oracle: Any) -> Floats:
        random = random_generator(type(self).__name__, self.random_state)
        sweeps = Sweeps(float(self.tol), int(self.max_iter), int(self.inner_iter), self.sampling)
        executor = executor_for(self.n_jobs, self.executor)
        W, found, self.n_constraints_ = cutting_plane(X, oracle, float(self.C), sweeps, random, executor)
        self._note(found)
        return W

    def _sizes(self) -> Floats:
        """Return the factor of each class: 1, or what makes its feature one of length 1."""
        if not isinstance(self.attributes, str) or self.attributes != "unit":
            return np.ones(len(self.class_nodes_))
        return 1.0 / np.sqrt(self.taxonomy_.depth[self.class_nodes_] + 1.0)

    # ---------------------------------------------------------------- answering

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        scores = super().class_scores(X)
        return scores if self.decodes_sets else scores * self._sizes()

    @property
    def node_coef_(self) -> Floats:
        """The weights, one row a node in `taxonomy_.names` order; a view, not a copy."""
        check_is_fitted(self)
        weights: Floats = self.model_.W
        return weights.T

    @property
    def coef_(self) -> Floats:
        """One row a class: of single labels what it is scored by, of sets the node's own weights."""
        check_is_fitted(self)
        if self.decodes_sets:
            return self.node_coef_
        summed = path_scores(self.model_.W, self.taxonomy_)[:, self.class_nodes_]
        return np.asarray((summed * self._sizes()).T)

    # ---------------------------------------------------------------- being saved

    def pack_state(self) -> tuple[dict[str, Any], Arrays]:
        state, arrays = super().pack_state()
        return {**state, "n_constraints": getattr(self, "n_constraints_", None)}, arrays

    def unpack_state(self, state: dict[str, Any], arrays: Arrays) -> None:
        super().unpack_state(state, arrays)
        if state["n_constraints"] is not None:
            self.n_constraints_ = state["n_constraints"]
        self.model_ = WeightModel.unpack(self.taxonomy_.n_nodes, self.n_features_in_, arrays)


def _named(value: Any) -> str:
    """Return a parameter as a message shows it: text as it is, an array by its shape."""
    return repr(value) if isinstance(value, str) else f"an array of shape {np.shape(value)}"
