"""HR-LR of Gopal & Yang 2013."""

from __future__ import annotations

from typing import Any

from cladist.learners.flat.logistic import Probabilities
from cladist.learners.recursive.base import RecursiveLinear


class RecursiveLogistic(Probabilities, RecursiveLinear):
    """Logistic regressions of all labels, learnt together: every node's weights are pulled towards its parent's.

    min ½ Σ_n ‖w_n − w_parent(n)‖² / κ_n + C Σ_labels n Σ_i log(1 + e^(−y_in w_n·x_i)), with all κ = 1 eq. (3) of Gopal
    & Yang 2013. Parameters and attributes are those of `RecursiveSVM`, without `loss`. All rows support all labels:
    memory is 4 bytes a row and label, beside 4 a feature for each inner node with more than sixteen labels.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
    C : float or "cv"
    relations : RelationGraph, edges, path of a file, or None
    targets : {"leaves", "nodes"}
    repair : {"top_down", "bottom_up", "best"}
    schedule : {"coloured", "jacobi", "joint"}
    ridge : float
    root : {"zero", "free", "fixed"}
    sharing : float or "cv"
    empty_leaf : {"skip", "negative"}
    solver : {"joint", "alternating"}
    blocks_per_round : int
    fit_intercept : bool
    class_weight : None, "balanced" or mapping of label to number
    weights : {"auto", "dense", "sparse", "dual", "differences"}
    prune : float
    tol : float
    max_iter : int
    warm_start : bool
    random_state : int, RandomState or None
    n_jobs : int or None
    executor : Executor, optional
    decode : {"auto", "single", "multi"}
    verbose : bool or int

    Examples
    --------
    >>> from cladist import RecursiveLogistic, Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> X = [[2, 0], [2, 1], [0, 2]]
    >>> model = RecursiveLogistic(taxonomy, C=10).fit(X, ["tennis", "chess", "art"])
    >>> model.predict([[0, 3]]).tolist()
    ['art']
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        C: Any = 1.0,
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
        return "logistic"
