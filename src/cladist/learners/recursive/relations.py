"""`Relations`: the edges along which recursive learners pull weights together, and the options of these edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import wraps
from numbers import Real
from os import PathLike
from typing import Any, ParamSpec

from sklearn.base import BaseEstimator

from cladist.errors import ParameterError, TaxonomyError, is_count, is_positive, one_of
from cladist.linear_model.problem_tree import ROOTS
from cladist.solvers.graph.solver import SCHEDULES
from cladist.taxonomy import RelationGraph, Taxonomy

SOLVERS, TARGETS, REPAIRS = ("joint", "alternating"), ("leaves", "nodes"), ("top_down", "bottom_up", "best")
SMALLEST_SHARING, LARGEST_SHARING = 1e-9, 1e9  # except 0; beyond, sums in float32 lose one side
Given = ParamSpec("Given")


@dataclass(repr=False)
class Relations(BaseEstimator):
    """How the weights of nodes are related in `RecursiveSVM` and `RecursiveLogistic`.

    Without a graph, each node is related to its parent in the taxonomy; a DAG is read as the undirected graph of its
    edges. `root`, `solver` and `blocks_per_round` are for trees; `targets`, `repair`, `schedule` and `ridge` are for
    graphs. In scikit-learn's notation ``relations__ridge`` is a parameter of the learner, for `set_params` and grids.

    Parameters
    ----------
    graph : RelationGraph, edges, path of a file, or None
        Labels that are related without one being above the other, instead of the taxonomy's own edges.
    root : {"zero", "free", "fixed"}
        Whether inner roots are pulled to 0 as nodes are to their parents, not pulled, or held at 0.
    solver : {"joint", "alternating"}
        Block Gauss–Seidel on the joint dual, or Newton steps for all nodes on low-dimensional dense data; or the
        paper's alternation between levels (with all inner nodes solved at once), which takes longer.
    blocks_per_round : int
        How many blocks of sixteen labels the joint solver solves from one snapshot of the weights they share; threads
        divide these among them. More blocks need more sweeps. The model depends on it, not on the number of threads.
    targets : {"leaves", "nodes"}
        Which nodes of a graph are trained on a row: its labels, or its labels and all nodes above them.
    repair : {"top_down", "bottom_up", "best"}
        With ``targets="nodes"`` and sets of labels, how those of positive score are made consistent; see `FlatSVM`.
    schedule : {"coloured", "jacobi", "joint"}
        The order in which nodes of a graph are solved: one colour at a time; all at once, with shorter steps where
        the objective would rise; or joint sweeps over the dual in turn with coloured ones, for relations that pull
        more than rows do, with up to 8,000 nodes.
    ridge : float
        Pull of every node of a graph to 0: ½ ridge ‖w_n‖²; 0 in the paper.

    Examples
    --------
    >>> from cladist import RecursiveSVM, RelationGraph, Relations
    >>> related = RelationGraph.from_edges([("nurse", "midwife")])
    >>> model = RecursiveSVM(relations=Relations(related, ridge=0.1))
    >>> model.fit([[0, 1], [1, 0], [1, 1]], ["nurse", "baker", "midwife"]).predict([[0, 2]]).tolist()
    ['nurse']
    """

    graph: Any = None
    _: KW_ONLY
    root: str = "zero"
    solver: str = "joint"
    blocks_per_round: int = 1
    targets: str = "leaves"
    repair: str = "top_down"
    schedule: str = "coloured"
    ridge: Any = 0.0

    def options(self) -> dict[str, Any]:
        """Return all but the graph, by name."""
        return {name: getattr(self, name) for name in DEFAULTS}

    def check(self, who: str, *, sharing: Any, empty_leaf: str, warm_start: bool, weights: str) -> None:
        """Raise a `ParameterError` if an option, or a parameter of the learner that depends on it, has no meaning."""
        one_of(who, "empty_leaf", empty_leaf, ("skip", "negative"))
        searched = isinstance(sharing, str) and sharing == "cv"
        in_range = is_positive(sharing) and SMALLEST_SHARING <= sharing <= LARGEST_SHARING
        if not (searched or in_range or (isinstance(sharing, Real) and sharing == 0)):
            raise ParameterError(
                f"{who}: sharing must be 0 or between {SMALLEST_SHARING:g} and {LARGEST_SHARING:g}, or 'cv' to choose "
                f"it; got {sharing!r}."
            )
        one_of(who, "root", self.root, ROOTS)
        one_of(who, "solver", self.solver, SOLVERS)
        one_of(who, "targets", self.targets, TARGETS)
        one_of(who, "repair", self.repair, REPAIRS)
        one_of(who, "schedule", self.schedule, SCHEDULES)
        if not is_count(self.blocks_per_round):
            raise ParameterError(
                f"{who}: blocks_per_round must be a whole number from 1 up; got {self.blocks_per_round!r}."
            )
        if not (is_positive(self.ridge) or (isinstance(self.ridge, Real) and self.ridge == 0)):
            raise ParameterError(f"{who}: ridge must be 0 or positive; got {self.ridge!r}.")
        if self.solver == "alternating" and (weights not in ("auto", "dense") or warm_start):
            raise ParameterError(
                f"{who}: solver='alternating' has dense weights and starts anew; use solver='joint' for "
                "weights='sparse', 'dual' or 'differences' and for warm_start."
            )

    def graph_for(
        self, who: str, taxonomy: Taxonomy, *, has_all_labels: bool, sharing: Any, warm_start: bool, weights: str
    ) -> RelationGraph | None:
        """Return the graph that relates labels, the given one or a DAG's edges; None for a tree.

        Options and parameters of the learner that have no meaning there are refused. A taxonomy that was read from y
        may lack labels without rows; one that was given has all labels.
        """
        graph = self.graph
        if graph is None and taxonomy.kind != "dag":
            self._check_for_tree(who)
            return None
        if graph is None:
            graph = RelationGraph.from_taxonomy(taxonomy)
        elif isinstance(graph, (str, PathLike)):
            graph = RelationGraph.read(graph)
        elif not isinstance(graph, RelationGraph):
            graph = RelationGraph.from_edges(graph)
        unknown = [name for name in graph.names if name not in taxonomy]
        if unknown and has_all_labels:
            raise TaxonomyError(
                f"{who}: relations join labels of the taxonomy, and {unknown[0]!r} is not one; leave it out, or add "
                "it to the taxonomy."
            )
        if len(unknown) == graph.n_nodes:
            raise TaxonomyError(f"{who}: relations join labels, and none of y's is among them; {unknown[0]!r} is one.")
        self._check_for_graph(who, sharing, warm_start=warm_start, weights=weights)
        return graph

    def _check_for_tree(self, who: str) -> None:
        for name in ("schedule", "ridge", "targets"):
            if getattr(self, name) != DEFAULTS[name]:
                raise ParameterError(
                    f"{who}: {name}={getattr(self, name)!r} is for labels related by a graph; give "
                    "Relations(RelationGraph.from_taxonomy(taxonomy), …) to read the tree as one."
                )

    def _check_for_graph(self, who: str, sharing: Any, *, warm_start: bool, weights: str) -> None:
        of_trees = {name: getattr(self, name) for name in ("root", "solver", "blocks_per_round")} | {"sharing": sharing}
        for name, value in of_trees.items():
            usual = DEFAULTS.get(name, 1.0)
            if value != usual:
                raise ParameterError(
                    f"{who}: {name}={value!r} is for trees, and labels are related by a graph here; leave it at "
                    f"{usual!r}."
                )
        if warm_start or weights in ("dual", "differences"):
            raise ParameterError(
                f"{who}: on a graph every fit starts anew and weights are dense or sparse; leave warm_start and "
                f"weights={weights!r} out."
            )


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Relations) if field.name != "graph"}


def as_relations(relations: Any) -> Relations:
    """Return the parameter `relations` of a learner as `Relations`; a plain graph has the default options."""
    return relations if isinstance(relations, Relations) else Relations(relations)


def gather_options(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of an earlier version, in which options of `Relations` stood among them, as they are now.

    Examples
    --------
    >>> gather_options({"C": 1.0, "root": "zero", "ridge": 0.5})
    {'C': 1.0, 'relations': Relations(ridge=0.5)}
    """
    others = {name: value for name, value in parameters.items() if name not in DEFAULTS}
    options = {name: parameters[name] for name in DEFAULTS if name in parameters}
    if any(value != DEFAULTS[name] for name, value in options.items()):
        others["relations"] = Relations(**options)
    return others


def refuse_options(init: Callable[Given, None]) -> Callable[Given, None]:
    """Let an `__init__` say where options of `Relations` belong if it is given one."""

    @wraps(init)
    def checked_init(*args: Given.args, **parameters: Given.kwargs) -> None:
        for name in DEFAULTS.keys() & parameters.keys():
            raise TypeError(
                f"{type(args[0]).__name__} has no parameter {name!r}: it is an option of relations; write "
                f"relations=Relations({name}={parameters[name]!r}), with the graph first if there is one."
            )
        init(*args, **parameters)

    return checked_init
