"""The structural SVM on a tree of labels (LM-2, HSVM), for single labels and for sets.

Tsochantaridis, Joachims, Hofmann & Altun, JMLR 6, 2005; Cai & Hofmann, CIKM 2004.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cladist.checkpoints import resumable
from cladist.decoders import path_scores
from cladist.errors import ParameterError, TooLargeError, one_of
from cladist.execution import executor_for
from cladist.execution.executors import local_executor
from cladist.labels import LabelMatrix
from cladist.learners.base import random_generator
from cladist.learners.explanation import Factors
from cladist.learners.select_c import choose
from cladist.learners.structured import parameters
from cladist.learners.structured.labelling_classifier import LabellingClassifier, WeightModel
from cladist.losses import HLoss, SymmetricDifference, node_costs
from cladist.solvers.structured.ascent import LabellingLoss, LinearLabellings, PathDual, PathLoss, ascend
from cladist.solvers.structured.cutting_plane import LabellingOracle, PathOracle, cutting_plane

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
SOLVERS, RESCALINGS, ATTRIBUTES = ("bcfw", "cutting_plane"), ("margin", "slack"), ("path", "unit")
SINGLE_LOSSES = ("tree", "zero_one")
FORMS = ("single labels", "sets of labels")
MOST_LOSS_BYTES = 2**30  # the matrix of losses between labels


@dataclass(eq=False, repr=False)
class StructuralSVM(LabellingClassifier):
    """Weights of nodes, with a margin over all other outputs that grows with their loss (LM-2, HSVM).

    For single labels, S_r = Σ_{u ∈ path(r)} λ_ru w_u·x and::

        min_W ½‖W‖² + C Σ_i max_r [D(y_i, r) − κ (S_{y_i} − S_r)]

    with κ = 1 (margin rescaling) or κ = D(y_i, r) (slack rescaling). For sets, all consistent labellings compete,
    scored Σ_v ±λ_v w_v·x. On a star with `loss="zero_one"` it is the SVM of Crammer & Singer.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The tree or forest of the labels; a DAG is refused. None: a star of the labels in y.
    C : float or "cv"
        The weight of the slacks, which are summed over rows. "cv": the best power of ten by cross-validation on the
        training rows.
    loss : {"auto", "tree", "zero_one", "hamming", "hierarchical"} or array (nodes × nodes)
        D. For single labels the tree distance, zero-one, or any matrix in the taxonomy's order with entries from 0 up
        and 0 on its diagonal. For sets ℓ_Δ ("hamming") or ℓ_H ("hierarchical"). "auto": "tree" or "hamming".
    node_weights : {"uniform", "sibling", "subtree"} or array of one cost per node
        The cost of a wrong node, for sets; see `cladist.losses.node_costs`.
    rescaling : {"margin", "slack"}
        Whether the loss multiplies the margin or the slack; "slack" is for single labels only, since no algorithm finds
        the most violated set.
    attributes : {"path", "unit"} or array of one weight per node
        λ_ru, for u on the path of r: 1; 1/√(length of the path), so that all features have length 1 (single labels); or
        the weight of u.
    solver : {"bcfw", "cutting_plane"}
        Block-coordinate Frank–Wolfe with away steps, row by row over all outputs; or lists of violated outputs and
        exact solutions over them, as published. Both solve the same problem.
    tol, max_iter : float, int
        The relative duality gap to stop at, and the largest number of passes over the rows, or of rounds of the cutting
        plane; a ConvergenceWarning tells if they do not suffice.
    inner_iter : int
        The largest number of steps per row and visit.
    sampling : {"permutation", "working_set", "gap"}
        Whether a pass visits all rows in random order, those whose gap is not closed, or rows drawn by their gaps.
    random_state, n_jobs, executor : int, RandomState or None; int or None; Executor or None
        The seed of the order of rows; the threads that measure gaps, or what runs instead of them (see
        `cladist.execution`), on which the model does not depend.
    decode, verbose : {"auto", "single", "multi"}, bool or int
        Whether to predict one label per row or a set, "auto" following the form of y; whether to print the progress.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_, taxonomy_ : array, Taxonomy
        The labels seen, in taxonomy order (for sets, all nodes), and the taxonomy in use.
    C_, cv_results_ : float, list of dict
        With `C="cv"`, the C chosen and the score of each value.
    node_coef_ : array (nodes × features)
        Weights, times those of `attributes` if given.
    coef_ : array (classes × features)
        For single labels, the weights that a class is scored by; for sets, the node's own weights.
    objective_, dual_objective_, gap_ : float
        Both objectives of the problem above, and their difference relative to the dual.
    n_iter_, converged_, history_ : int, bool, list of dict
        As in `MaxMarginMarkov`; the cutting plane has one entry per round.
    n_constraints_ : int
        The number of outputs that the cutting plane listed.
    model_size_ : int
        The size of the model in bytes.

    Notes
    -----
    There is no bias: append a constant feature if one is needed. A pass costs O(rows · nodes · nonzeros per row);
    memory is O(nodes · features), and for single labels 8 bytes · rows · classes, for sets 33 bytes · rows · nodes.

    Examples
    --------
    >>> from cladist import StructuralSVM
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=400, n_features=300, branching=(3, 2), n_test=100, random_state=0)
    >>> model = StructuralSVM(data.taxonomy).fit(data.X_train, data.y_train)
    >>> model.score(data.X_test, data.y_test) > 0.8, model.gap_ <= 1e-3
    (True, True)
    """

    _saved: ClassVar[tuple[str, ...]] = ("n_constraints_", "C_", "cv_results_")

    taxonomy: Any = None
    _: KW_ONLY
    C: Any = 1.0
    loss: Any = "auto"
    node_weights: Any = "uniform"
    rescaling: str = "margin"
    attributes: Any = "path"
    solver: str = "bcfw"
    tol: float = 1e-3
    max_iter: int = 1000
    inner_iter: int = 5
    sampling: str = "permutation"
    random_state: Any = 0
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    def check_parameters(self) -> None:
        """Refuse parameters that make no sense."""
        parameters.check_margin(self)
        if isinstance(self.loss, str):
            one_of("StructuralSVM", "loss", self.loss, ("auto", *SINGLE_LOSSES, *parameters.SET_LOSSES))
        if isinstance(self.attributes, str):
            one_of("StructuralSVM", "attributes", self.attributes, ATTRIBUTES)
        one_of("StructuralSVM", "rescaling", self.rescaling, RESCALINGS)
        one_of("StructuralSVM", "solver", self.solver, SOLVERS)

    @resumable
    def fit(self, X: Any, y: Any) -> Self:
        """Train on all rows, an array, CSR or data frame, starting anew; y has one label per row, or sets."""
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self.set_label_classes(labels)
        self.__dict__.pop("n_constraints_", None)
        self._check_form()
        parameters.refuse_large_weights("StructuralSVM", X.shape[1], self.taxonomy_.n_nodes, "take fewer features")
        C = choose(self, "C", X, labels)
        dual, oracle = self._set_problem(X, labels, C) if self.decodes_sets else self._path_problem(X, labels, C)
        random, sweeps = random_generator("StructuralSVM", self.random_state), parameters.sweeps_of(self)
        executor = local_executor(executor_for(self.n_jobs, self.executor))
        with self.training():
            if oracle is not None:
                W, ascent, self.n_constraints_ = cutting_plane(X, oracle, C, sweeps, random, executor)
            else:
                ascent = ascend(dual, sweeps, random, executor)
                W = dual.W
        self.model_ = WeightModel(W * self._node_factors())
        parameters.set_certificate(self, ascent)
        return self

    def _set_problem(self, X: Any, labels: LabelMatrix, C: float) -> tuple[Any, Any]:
        """Return the dual over consistent labellings, or the oracle of the cutting plane; the other is None."""
        name, factor = "hamming" if self.loss == "auto" else self.loss, self._node_factors()
        cost = node_costs(self.node_weights, self.taxonomy_)
        if self.solver == "bcfw":
            loss = LabellingLoss(cost, name == "hierarchical", consistent=True, edges=False, factor=factor)
            return LinearLabellings(X, labels, loss, C), None
        if name == "hamming" and not np.all(cost == 1.0):
            raise ParameterError(
                "StructuralSVM: solver='cutting_plane' has loss='hamming' with uniform node_weights; use 'bcfw'."
            )
        return None, LabellingOracle(labels, HLoss(cost) if name == "hierarchical" else SymmetricDifference(), factor)

    def _path_problem(self, X: Any, labels: LabelMatrix, C: float) -> tuple[Any, Any]:
        """Return the dual over single labels, or the oracle of the cutting plane; the other is None."""
        nodes, tree = self.class_nodes_, self.taxonomy_.parent
        true = np.searchsorted(nodes, labels.nodes("StructuralSVM"))
        slack = self.rescaling == "slack"
        loss = PathLoss(self._loss_matrix(), tree, nodes, self._class_factors(), self._node_factors(), slack)
        if self.solver == "cutting_plane":
            return None, PathOracle(true, loss)
        needed = 8 * len(true) * len(nodes)
        if needed > 8 * MOST_LOSS_BYTES:
            raise TooLargeError(
                f"StructuralSVM: masses of {len(true)} rows × {len(nodes)} labels need {needed / 2**30:.1f} GiB, over "
                "the limit of 8 GiB; use solver='cutting_plane', RecursiveSVM or TopDown."
            )
        return PathDual(X, true, loss, C), None

    # ---------------------------------------------------------------- D and λ

    def _check_form(self) -> None:
        """Refuse parameters that are for single labels where y has sets, and the reverse."""
        sets, named = self.decodes_sets, isinstance(self.loss, str)
        of_single, of_sets = not named or self.loss in SINGLE_LOSSES, named and self.loss in parameters.SET_LOSSES
        is_uniform = isinstance(self.node_weights, str) and self.node_weights == "uniform"
        refused = {  # by parameter: whether its value is for the other form, and what to give instead
            "loss": (of_single if sets else of_sets, "'hamming' or 'hierarchical'" if sets else "'tree' or 'zero_one'"),
            "rescaling": (sets and self.rescaling == "slack", "'margin'"),  # the most violated set cannot be found
            "attributes": (sets and self._is_unit, "'path' or one weight per node"),
            "node_weights": (not sets and not is_uniform, "a matrix of costs as loss"),
        }
        for name, (is_refused, instead) in refused.items():
            if is_refused:
                value, (other, form) = _describe(getattr(self, name)), FORMS if sets else FORMS[::-1]
                raise ParameterError(f"StructuralSVM: {name}={value} is for {other}, and y has {form}; use {instead}.")

    def _loss_matrix(self) -> Floats:
        """Return D between all classes."""
        nodes, n, n_nodes = self.class_nodes_, len(self.class_nodes_), self.taxonomy_.n_nodes
        if 8 * n * n > MOST_LOSS_BYTES:
            raise TooLargeError(
                f"StructuralSVM: losses between {n} labels need {8 * n * n / 2**30:.1f} GiB, over the limit of "
                f"{MOST_LOSS_BYTES / 2**30:.0f} GiB; RecursiveSVM and TopDown take that many labels."
            )
        if isinstance(self.loss, str):
            if self.loss == "zero_one":
                return 1.0 - np.eye(n)
            return self.taxonomy_.distances(np.repeat(nodes, n), np.tile(nodes, n)).reshape(n, n).astype(np.float64)
        D = np.asarray(self.loss, dtype=np.float64)
        fits = D.shape == (n_nodes, n_nodes) and bool(np.all(np.isfinite(D) & (D >= 0)))
        if not fits or np.any(np.diag(D) != 0):
            raise ParameterError(
                f"StructuralSVM: loss must be a name or a matrix of {n_nodes} × {n_nodes} nodes with numbers from 0 up "
                f"and 0 on its diagonal; got {_describe(self.loss)}."
            )
        return np.ascontiguousarray(D[np.ix_(nodes, nodes)])

    def _node_factors(self) -> Floats:
        """Return the factor of every node in λ_ru."""
        n_nodes = self.taxonomy_.n_nodes
        if isinstance(self.attributes, str):
            return np.ones(n_nodes)
        factors = np.asarray(self.attributes, dtype=np.float64)
        if factors.shape != (n_nodes,) or not np.all(np.isfinite(factors) & (factors > 0)):
            raise ParameterError(
                f"StructuralSVM: attributes must be 'path', 'unit' or one positive weight per node, here {n_nodes}; "
                f"got {_describe(self.attributes)}."
            )
        return factors

    @property
    def _is_unit(self) -> bool:
        """Whether a path counts 1/√(its length)."""
        return isinstance(self.attributes, str) and self.attributes == "unit"

    def _class_factors(self) -> Floats:
        """Return the factor of every class in λ_ru: 1, or 1/√(length of its path)."""
        if not self._is_unit:
            return np.ones(len(self.class_nodes_))
        return 1.0 / np.sqrt(self.taxonomy_.depth[self.class_nodes_] + 1.0)

    # ---------------------------------------------------------------- prediction

    def class_scores(self, X: Any) -> npt.NDArray[Any]:
        """Return S_r of every class; for sets, D_v of each node, see `cladist.decoders.node_margins`."""
        scores = super().class_scores(X)
        return scores if self.decodes_sets else scores * self._class_factors()

    def score_factors(self, X: Any, nodes: Ids) -> list[Factors]:
        factors = super().score_factors(X, nodes)
        if self.decodes_sets or not self._is_unit:
            return factors
        return [dict.fromkeys(path, 1.0 / np.sqrt(len(path))) for path in factors]

    @property
    def coef_(self) -> Floats:
        """One row per class: for single labels the weights that it is scored by, for sets the node's own weights."""
        if self.decodes_sets:
            return self.node_coef_
        sums = path_scores(self.node_coef_.T, self.taxonomy_)[:, self.class_nodes_]
        return np.asarray((sums * self._class_factors()).T)


def _describe(value: Any) -> str:
    """Return a parameter for a message: the text itself, or the shape of an array."""
    return repr(value) if isinstance(value, str) else f"an array of shape {np.shape(value)}"
