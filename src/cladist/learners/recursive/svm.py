"""HR-SVM of Gopal & Yang 2013."""

from __future__ import annotations

from typing import Any

from cladist.errors import one_of
from cladist.learners.recursive.base import RecursiveLinear


class RecursiveSVM(RecursiveLinear):
    """Linear SVMs of all labels, learnt together: every node's weights are pulled towards its parent's.

    min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + C Σ_labels n Σ_i ℓ(y_in w_n·x_i), with κ = 1 for labels and κ = `sharing` for
    nodes above them; all 1, eq. (2) of Gopal & Yang 2013: labels with few rows borrow from their siblings. Solved to a
    certified duality gap.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: a star of the classes seen, where labels share nothing: `FlatSVM`, if that has
        the same loss.
    C : float or "cv"
        Weight of the losses. "cv": the best of 10⁻³ … 10³ by cross-validation on the rows given to `fit`.
    loss : {"hinge", "squared_hinge"}
        What is minimised; the paper's is the hinge.
    relations : RelationGraph, edges, path of a file, or None
        Labels that are related without one being above the other: weights are pulled towards those of related labels
        instead of a parent's, see Notes. With None, a DAG is read as the undirected graph of its edges.
    targets : {"leaves", "nodes"}
        Which nodes of a graph learn from a row: its labels, or these and all nodes above them.
    repair : {"top_down", "bottom_up", "best"}
        With targets="nodes" and sets of labels, how those of positive score are made consistent, as in `FlatSVM`.
    schedule : {"coloured", "jacobi", "joint"}
        On a graph: nodes of one colour at a time; all at once, less far where the objective would rise; or by turns
        joint sweeps over the dual and a coloured one, for relations that pull more than rows do, of up to 8,000 nodes.
    ridge : float
        On a graph, what pulls every node to 0: ½ ridge ‖w_n‖²; 0 in the paper.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0 like any node to its parent, pulled nowhere, or held at 0.
    sharing : float or "cv"
        How freely nodes above labels move: 1 as in the paper, less where the tree says little about the features, 0 if
        labels are to share nothing. "cv": the best of 1, 0.1 and 0, together with C if that is "cv", too.
    empty_leaf : {"skip", "negative"}
        What becomes of leaves without rows: they play no part and are not predicted, or all rows are negative for them,
        as the paper's formula has it, and they are labels like others.
    solver : {"joint", "alternating"}
        Block Gauss–Seidel on the joint dual, or Newton steps for all nodes where rows are dense in few features; or the
        paper's alternation between levels (with all inner nodes solved at once), which takes longer.
    blocks_per_round : int
        How many blocks of sixteen labels the joint solver solves from one snapshot of what they share. Threads and
        other workers divide these among them. More needs more sweeps; the model depends on it, and not on the number of
        workers.
    fit_intercept : bool
        Whether classifiers have an intercept, the weight of a constant feature of 1, pulled like the others.
    class_weight : None, "balanced" or mapping of label to number
        Factors of C for the rows of a label in its own problem.
    weights : {"auto", "dense", "sparse", "dual", "differences"}
        The form in which weights are kept. "dual": vectors of nodes with more than sixteen labels, and the rows' shares
        in the others, from which weights are made again when they are wanted. "differences": those of every node from
        its parent, sparse, for very many labels; `predict_top_k` can then walk down the tree with a `beam`, and
        `cladist.load` map the model. "auto": dense up to 2 GiB, then dual.
    prune : float
        With "sparse" weights, with "differences" those, up to this size are dropped after learning.
    tol : float
        Relative duality gap.
    max_iter : int
        Sweeps over all labels at most; if they do not suffice, a ConvergenceWarning says so.
    warm_start : bool
        Whether `fit` begins where the last one ended, if rows, features in use and tree are as many as then.
    random_state : int, RandomState or None
        For the order in which rows are visited.
    n_jobs : int or None
        Threads that solve the blocks of a round side by side; the model does not depend on it.
    executor : Executor, optional
        Runs the blocks instead, see `cladist.execution`.
    decode : {"auto", "single", "multi"}
        Whether to predict one label a row or the set of labels with positive scores; "auto" goes by the form of y.
    verbose : bool or int
        Whether to print how far a long run is.

    Attributes
    ----------
    classes_ : array
        The labels that can be predicted, in taxonomy order. A label with others below it has a leaf of its own there.
    coef_, intercept_ : arrays
        One row a class.
    node_coef_ : CSR (nodes × features)
    sharing_ : float
    relations_ : RelationGraph or None
        The graph that labels are related by; None on a tree.
    C_, cv_results_
        With `C="cv"` or `sharing="cv"`, the C chosen and what each gave.
    n_iter_, converged_ : int, bool
        Sweeps made, and whether the gap is within `tol`.
    history_ : list of dict
        One entry a check: `objective`, `dual`, `gap` (relative), `seconds`; the last is of the weights returned.
        With ``root="free"`` also `reach`: the dual is a bound as long as no root is further than that from where it is.

    Notes
    -----
    On a graph: min ½ Σ_edges a_uv ‖w_u − w_v‖² + ½ ridge Σ_n ‖w_n‖² + C Σ_n Σ_i ℓ(y_in w_n·x_i), each edge once, the
    last sum over nodes with rows: eq. (10) of the paper. Nodes without rows are between their neighbours; labels
    without relations are learnt by themselves, `FlatSVM` at the same C. `root`, `sharing`, `solver` and
    `blocks_per_round` are for trees. Memory: 12 bytes a node and feature, 4 a label and row.

    A sweep costs O(labels / 16 · nonzeros) when it looks at all rows, every fourth time, and less otherwise. Memory:
    4 bytes a feature for each inner node whose labels fill more than one block of sixteen, 128 bytes a feature and 64 a
    row for each worker, 68 bytes for each row and block in which an α is not 0, up to five times; and 4 bytes a label
    and feature for dense weights.

    Examples
    --------
    >>> from cladist import RecursiveSVM, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = RecursiveSVM(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict_paths([[0, 3]])
    [['art']]
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
        loss: str = "hinge",
        relations: Any = None,
        targets: str = "leaves",
        repair: str = "top_down",
        schedule: str = "coloured",
        ridge: float = 0.0,
        root: str = "zero",
        sharing: Any = 1.0,
        empty_leaf: str = "skip",
        solver: str = "joint",
        blocks_per_round: int = 1,
        fit_intercept: bool = True,
        class_weight: Any = None,
        weights: str = "auto",
        prune: float = 0.0,
        tol: float = 1e-2,
        max_iter: int = 200,
        warm_start: bool = False,
        random_state: Any = 0,
        n_jobs: int | None = None,
        executor: Any = None,
        decode: str = "auto",
        verbose: bool | int = 0,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.relations = relations
        self.targets = targets
        self.repair = repair
        self.schedule = schedule
        self.ridge = ridge
        self.root = root
        self.sharing = sharing
        self.empty_leaf = empty_leaf
        self.solver = solver
        self.blocks_per_round = blocks_per_round
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.weights = weights
        self.prune = prune
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.executor = executor
        self.decode = decode
        self.verbose = verbose

    @property
    def _loss(self) -> str:
        return self.loss

    def check_parameters(self) -> None:
        one_of("RecursiveSVM", "loss", self.loss, ("hinge", "squared_hinge"))
        super().check_parameters()
