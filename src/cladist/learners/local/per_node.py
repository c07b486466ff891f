"""A binary classifier per node: LCN of Silla & Freitas 2011, with the policies that choose its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from cladist.decoders import top_down
from cladist.errors import one_of
from cladist.labels import LabelMatrix
from cladist.learners.local.linear_choice import LinearChoice
from cladist.learners.local.node_estimators import estimator_at
from cladist.learners.local.walk import Floats, Ids, LocalClassifiers

POLICIES = ("siblings", "exclusive_siblings", "inclusive", "less_inclusive", "exclusive", "less_exclusive")


@dataclass(eq=False, repr=False)
class LocalPerNode(LocalClassifiers):
    """A binary classifier at every node, of any kind; prediction goes to the child of highest probability.

    The classifier of node v separates positive rows from negative ones, which `policy` chooses. Prediction starts at
    the roots and follows the child whose classifier gives the highest probability to a leaf; for sets of labels, all
    nodes with a probability of at least one half whose parents are on. A node without positive rows is never chosen; a
    node without negative rows is always on.

    Parameters
    ----------
    taxonomy : Taxonomy, mapping, edges, path of a file, or None
        The labels' tree or forest. None: built from the paths in y, or a star of the classes seen.
    estimator : scikit-learn classifier, mapping or None
        Cloned for every node. A mapping has different ones by the name of a node, by level (0 for the roots), and under
        None for all others. None: `FlatLogistic`.
    C, tol : float
        Of `FlatLogistic`, where it is the classifier: the weight of the losses, and the relative duality gap.
    policy : {"siblings", "exclusive_siblings", "inclusive", "less_inclusive", "exclusive", "less_exclusive"}
        Which rows are positive and negative, see Notes.
    whole_path : bool
        Whether a row counts as being at all nodes of its path, as in HiClass, and not only at its label.
    combine : {"multiply", "geometric", "arithmetic", None}
        How `predict_proba` combines the probabilities of the nodes on a path: their product, geometric or arithmetic
        mean, or the last one alone.
    stop : bool
        Whether inner nodes that are labels of rows get a class "stop here". Without it, prediction always goes on to a
        node below which no label was seen. Not for sets of labels.
    n_jobs, executor : int or None, Executor or None
        Threads, or an executor of `cladist.execution`, that fit nodes in parallel.
    decode : {"auto", "single", "multi"}
        Whether to predict one label per row or a set; "auto": as y has them. Without a taxonomy,
        lists are read as paths, unless "multi".
    verbose : bool or int
        Whether to print the progress of a long run.
    checkpoint : path or None
        A folder in which the fit keeps what it has finished; after it was killed, the same fit goes on from there.

    Attributes
    ----------
    classes_ : array
        The labels at which prediction can end, in taxonomy order; for sets all nodes that rows belong to.
    estimators_ : dict of int to classifier
        The classifier of each node id of `walked_` that has positive and negative rows; its classes are 0 and 1.
    children_ : dict of int to array
        The children with rows of each node id; −1 has the roots.
    walked_ : Taxonomy
        `taxonomy_`, with stop leaves if `stop`.
    n_iter_, converged_ : int, bool
        The most iterations of any classifier that reports them; False if one reports that it did not converge.
    history_ : list of one dict
        `seconds`, and the number of `classifiers`.

    Notes
    -----
    The policies of Silla & Freitas 2011, after Eisner et al. 2005, positive rows first. Rows *at* v have the label v;
    rows *in* v have v or a node below it.

    - exclusive: those at v against all others
    - less_exclusive: those at v against those not in v
    - less_inclusive: those in v against those not in v
    - inclusive: those in v against those not in v and not at a node above v
    - siblings: those in v against those in a sibling of v
    - exclusive_siblings: those at v against those at a sibling of v

    Where no row is at a node, as at inner nodes if all labels are leaves, rows in it count as rows at it.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from cladist import LocalPerNode
    >>> X = [[1], [2], [3], [4]]
    >>> y = [["Mammal", "Sheep"], ["Mammal", "Cow"], ["Reptile", "Snake"], ["Reptile", "Lizard"]]
    >>> LocalPerNode(estimator=RandomForestClassifier(random_state=0)).fit(X, y).predict([[1], [4]])
    [['Mammal', 'Sheep'], ['Reptile', 'Lizard']]
    """

    answers_sets: ClassVar[bool] = True

    taxonomy: Any = None
    _: KW_ONLY
    estimator: Any = None
    C: float = 1.0
    tol: float = 1e-3
    policy: str = "siblings"
    whole_path: bool = False
    combine: str | None = "multiply"
    stop: bool = False
    n_jobs: int | None = None
    executor: Any = None
    decode: str = "auto"
    checkpoint: Any = None
    verbose: bool | int = 0

    @property
    def reading_of_lists(self) -> str:
        """Without a taxonomy, lists are paths, as in HiClass, unless ``decode="multi"``."""
        return super().reading_of_lists if self.taxonomy is not None or self.decode == "multi" else "paths"

    def check_parameters(self) -> None:
        super().check_parameters()
        one_of("LocalPerNode", "policy", self.policy, POLICIES)
        one_of("LocalPerNode", "whole_path", self.whole_path, (False, True))

    def problems(self, labels: LabelMatrix) -> dict[int, tuple[Any, Ids, npt.NDArray[Any]]]:
        taxonomy, rows_of = labels.taxonomy, _Policy(self.policy, labels, whole_path=self.whole_path)
        find = estimator_at("LocalPerNode", self.estimator, taxonomy, taxonomy.names)
        self.always_, problems = [], {}
        for v in np.concatenate(list(self.children_.values())).tolist():
            positive, negative = rows_of(v)
            if not len(negative):
                self.always_.append(v)
            elif len(positive):
                # Positive rows first, as in HiClass: results of a random forest depend on the order.
                classes = np.repeat([1, 0], [len(positive), len(negative)])
                at_node = find(taxonomy.names[v], int(taxonomy.depth[v]))
                problems[v] = (self.default if at_node is None else at_node, np.append(positive, negative), classes)
        return problems

    def local_scores(self, parent: int, children: Ids, X: Any) -> Floats:
        scores = np.zeros((X.shape[0], len(children)))
        for k, v in enumerate(children.tolist()):
            model = self.estimators_.get(v)
            if model is None:
                scores[:, k] = 1.0
            elif hasattr(model, "predict_proba"):
                scores[:, k] = model.predict_proba(X)[:, 1]
            else:
                scores[:, k] = expit(model.decision_function(X))
        return scores

    def linear_choice(self, children: Ids) -> LinearChoice:
        if self.decodes_sets:  # a node without a classifier is always on
            children = np.array([v for v in children if v in self.estimators_], np.int64)
        elif len(children) == 1:
            return LinearChoice.alone(children, self.n_features_in_)
        return LinearChoice.of_children(children, self.estimators_, self.n_features_in_)

    def predict_sets(self, X: Any) -> LabelMatrix:
        """Return the nodes with a score of at least one half whose parents are on."""
        just_below = np.nextafter(0.5, 0)
        parts = [top_down(self._node_scores(part), self.walked_, threshold=just_below) for part in self._chunks(X)]
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    def _estimators_by_key(self) -> Mapping[Any, Any]:
        from sklearn.base import clone

        return {self.walked_.names[v]: clone(model) for v, model in self.estimators_.items()}


class _Policy:
    """The positive and negative rows of a node."""

    def __init__(self, name: str, labels: LabelMatrix, *, whole_path: bool) -> None:
        self.name, self.taxonomy, self.n_rows = name, labels.taxonomy, len(labels)
        self.inside = labels.to_indicator().tocsc()
        indptr, indices = labels.frontier
        at = sparse.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=labels.shape)
        self.at = self.inside if whole_path else at.tocsc()
        self.family: dict[int, npt.NDArray[np.bool_]] = {}  # by parent: rows of any of its children

    def __call__(self, v: int) -> tuple[Ids, Ids]:
        positive, inside = self._rows(v), _column(self.inside, v)
        if self.name.endswith("siblings"):
            negative = self._family(int(self.taxonomy.parent[v])).copy()
        else:
            negative = np.ones(self.n_rows, bool)
            if self.name != "exclusive":
                negative[inside] = False
            if self.name == "inclusive":
                for above in self.taxonomy.path_ids(v)[:-1]:
                    negative[_column(self.at, above)] = False
        negative[positive] = False
        return positive, np.flatnonzero(negative)

    def _rows(self, v: int) -> Ids:
        """Return the rows at v for exclusive policies, if there are any, otherwise those in v."""
        at = _column(self.at, v)
        return at if len(at) and "exclusive" in self.name else _column(self.inside, v)

    def _family(self, parent: int) -> npt.NDArray[np.bool_]:
        if parent not in self.family:
            mask = np.zeros(self.n_rows, bool)
            for v in np.flatnonzero(self.taxonomy.parent == parent).tolist():
                mask[self._rows(v)] = True
            self.family[parent] = mask
        return self.family[parent]


def _column(matrix: Any, v: int) -> Ids:
    """Return the rows of a column, ascending."""
    return np.sort(matrix.indices[matrix.indptr[v] : matrix.indptr[v + 1]]).astype(np.int64)
