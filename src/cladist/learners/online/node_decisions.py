"""`NodeDecisions`: online learners with a classifier of their own at every node, read from the roots down."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.decoders import best_labelling, path_margins, top_down
from cladist.errors import ParameterError, one_of
from cladist.labels import LabelMatrix
from cladist.learners import kernel_functions as kernels
from cladist.learners.base import random_generator
from cladist.learners.explanation import Explanation, by_feature, nodes_to_explain, row_of
from cladist.learners.online.base import Ids, OnlineClassifier
from cladist.learners.online.rows import unit_rows
from cladist.learners.row_lengths import check_lengths
from cladist.losses import HLoss

Margins = npt.NDArray[np.float64]
REPAIRS = ("top_down", "bottom_up", "best")
NEGLIGIBLE = 1e-6  # what rounding, or float32 weights, may leave of a sum
UNSEEN = {"positive": 0.0, "negative": -1.0}  # the margin of a node that has seen nothing


class NodeDecisions(OnlineClassifier):
    """The half of `HierarchicalRLS` and `HierarchicalPerceptron` that answers, and the door in.

    A learner provides `_make_state(X)`; `_margins(X, signs_only)`, the margin of every node for every row; and
    `_round_margins(X, labels, first_round, everywhere)`, which makes one round a row and returns the margins before
    each, of all nodes if they are wanted `everywhere`, and the uniform H-loss of each.
    """

    answers_sets: ClassVar[bool] = True
    _row_type: ClassVar[Any] = np.float64  # None: as rows come

    gated: bool
    unseen: str
    repair: str
    normalize: bool
    threshold: float
    degree: int
    coef0: float
    gamma: Any
    decode: str

    def _margins(self, X: Any, *, signs_only: bool) -> Margins:
        raise TypeError(f"{type(self).__name__} does not say how it scores.")

    def _make_state(self, X: Any) -> None:
        raise TypeError(f"{type(self).__name__} does not say how it begins.")

    def _round_margins(
        self, X: Any, labels: LabelMatrix, first_round: int, *, everywhere: bool
    ) -> tuple[Margins | None, Ids]:
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def _more_history(self) -> dict[str, Any]:
        """Return what else `history_` says after some rounds."""
        return {}

    def _check_common(self) -> None:
        """Check the parameters that both learners have."""
        who = type(self).__name__
        for name in ("gated", "normalize", "shuffle"):
            one_of(who, name, getattr(self, name), (False, True))
        one_of(who, "unseen", self.unseen, tuple(UNSEEN))
        one_of(who, "repair", self.repair, REPAIRS)
        if type(self.threshold) is bool or not isinstance(self.threshold, (int, float, np.integer, np.floating)):
            raise ParameterError(f"{who}: threshold must be a number; got {self.threshold!r}.")
        kernels.check_kernel(who, self.kernel, self.gamma, self.degree, self.coef0)
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ParameterError(f"{who} needs K(x, x) of rows to come, which a precomputed kernel lacks; name one.")
        self._check_decode(self.decode)

    # ---------------------------------------------------------------- the door in

    def _checked_rows(self, X: Any, *, reset: bool) -> Any:
        """Return rows of unit length if that is asked for and the kernel is linear."""
        rows = super()._checked_rows(X, reset=reset)
        if self.normalize and self._is_linear:
            return unit_rows(rows, self._row_type or rows.dtype)
        return rows if self._row_type is None else rows.astype(self._row_type, copy=False)

    def _check_lengths(self, X: Any) -> None:
        """Refuse rows that are too long, unless they were scaled to unit length."""
        if not (self.normalize and self._is_linear):
            check_lengths(type(self).__name__, X)

    @property
    def _is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _kernel_function(self) -> kernels.KernelFunction:
        """Return the kernel; where rows are to have unit length, they have it in the kernel's space."""
        if callable(self.kernel):
            function: kernels.KernelFunction = kernels.CallableKernel(self.kernel)
        else:
            function = kernels.NamedKernel(self.kernel, self.gamma_, self.degree, self.coef0)
        return kernels.UnitKernel(function) if self.normalize and not self._is_linear else function

    def _check_labels(self, labels: LabelMatrix) -> None:
        self.check_label_form(self.decode)
        if not self.decodes_sets:
            labels.nodes(type(self).__name__)

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from all rows, starting anew.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        y : labels in any form, one or a set a row

        Returns
        -------
        model
            The model itself.
        """
        self.check_parameters()
        X, labels = self.validate_fit(X, y)
        self._check_labels(labels)
        self._allow(np.zeros(0, np.int64))
        self._begin(X)
        self.rows_seen_, self.n_iter_, self.history_ = 0, 0, []
        random = random_generator(type(self).__name__, self.random_state)
        for _ in range(getattr(self, "max_iter", 1)):
            order = random.permutation(X.shape[0]) if self.shuffle else np.arange(X.shape[0])
            self._learn(X[order], labels[order], answers=False)
        return self

    def _begin(self, X: Any) -> None:
        self.gamma_ = kernels.gamma_for(self.gamma, X)
        self._make_state(X)

    def _allow(self, nodes: Ids, *, grow: bool = False) -> Ids:
        """Let labels be predicted; where sets are, every node is a class."""
        if self.decodes_sets:
            if not grow:
                self.set_classes(np.arange(self.taxonomy_.n_nodes))
            return np.full(self.taxonomy_.n_nodes, -1)
        return super()._allow(nodes, grow=grow)

    def _rounds(self, X: Any, labels: LabelMatrix, *, answers: bool) -> tuple[dict[str, Any], Any]:
        sets = self.decodes_sets
        since = self._allow(np.zeros(0, np.int64) if sets else labels.nodes(type(self).__name__), grow=True)
        repaired = sets and not self.gated and self.repair != "top_down"  # predictions are not read top-down
        found: list[Any] = []
        h_loss = mistaken = done = 0
        settled = True
        for rows in self._chunks(X):
            at = slice(done, done + rows.shape[0])
            part = labels if rows is X else labels[at]
            everywhere = answers or repaired
            margins, charged = self._round_margins(rows, part, self.rows_seen_ + done + 1, everywhere=everywhere)
            if margins is not None:
                found.append(self._decided(margins) if sets else self._single(margins, since, done))
            if repaired:
                charged = HLoss().per_example(part, found[-1], self.taxonomy_).astype(np.int64)
            h_loss, mistaken = h_loss + int(charged.sum()), mistaken + int(np.count_nonzero(charged))
            settled = settled and self._is_settled(int(np.count_nonzero(charged)))
            done = at.stop
        n = max(1, done)
        self.converged_ = settled
        entry = {"objective": h_loss / n, "rounds": done, **self._more_history()}
        if sets:
            predicted = LabelMatrix.from_parts(found, self.taxonomy_) if answers else None
            return {**entry, "zero_one_loss": mistaken / n}, predicted
        if not answers:
            return entry, None
        nodes = np.concatenate(found)
        return {**entry, **self._errors_of(labels.nodes(type(self).__name__), nodes)}, nodes

    def _is_settled(self, n_mistaken: int) -> bool:
        """Tell whether some rounds, with so many wrong predictions among them, changed nothing that matters."""
        return n_mistaken == 0

    def _errors_of(self, true: Ids, predicted: Ids) -> dict[str, float]:
        """Return the errors of single labels, as `history_` calls them."""
        distances = self.taxonomy_.distances(true, predicted)
        return {"multiclass_error": float(np.mean(true != predicted)), "tree_induced_error": float(np.mean(distances))}

    def _first_mistakes(self, margins: Margins, labels: LabelMatrix) -> Ids:
        """Return the uniform H-loss of every row, had it been labelled from the roots down by these margins.

        Only a node whose true parent is on can be charged, and of those the margins are known.
        """
        taxonomy = self.taxonomy_
        on = labels.to_indicator().toarray().astype(bool)
        wrong = (margins >= self.threshold) != on
        right_above = np.ones_like(on)
        for level in taxonomy.levels[1:]:
            above = taxonomy.parent[level]
            wrong[:, level] &= on[:, above]
            right_above[:, level] = right_above[:, above] & ~wrong[:, above]
        return np.count_nonzero(wrong & right_above, axis=1)

    # ---------------------------------------------------------------- answering

    def _decided(self, margins: Margins) -> LabelMatrix:
        """Return the nodes whose margin reaches the threshold, made consistent."""
        on = margins >= self.threshold  # a margin of 0 is positive, as in the paper
        if self.gated or self.repair == "top_down":
            return top_down(np.where(on, 1.0, -1.0), self.taxonomy_)
        if self.repair == "best":
            return best_labelling(margins - self.threshold, self.taxonomy_)
        indptr = np.concatenate([[0], np.cumsum(on.sum(axis=1))])
        return LabelMatrix.from_ids(indptr, np.nonzero(on)[1], self.taxonomy_)

    def _single(self, margins: Margins, since: Ids, first: int) -> Ids:
        """Return the label of largest margin of every row among those that could be predicted before it."""
        scores = path_margins(margins - self.threshold, self.taxonomy_)
        late = since[None, :] >= first + np.arange(len(scores))[:, None]
        late[late.all(axis=1)] = False  # before the first label any will do
        return np.where(late, -np.inf, scores).argmax(axis=1)

    def predict_sets(self, X: Any) -> LabelMatrix:
        signs_only = self.threshold == 0 and (self.gated or self.repair != "best")
        parts = [self._decided(self._margins(chunk, signs_only=signs_only)) for chunk in self._chunks(X)]
        return LabelMatrix.from_parts(parts, self.taxonomy_)

    def predict_nodes(self, X: Any) -> Ids:
        if not len(self.class_nodes_):
            return np.zeros(X.shape[0], np.int64)
        parts = [self.class_scores(chunk).argmax(axis=1) for chunk in self._chunks(X)]
        return self.class_nodes_[np.concatenate([np.zeros(0, np.int64), *parts])]

    def class_scores(self, X: Any) -> Margins:
        margins = self._margins(X, signs_only=False) - self.threshold
        if self.decodes_sets and not self.gated:
            return margins
        return path_margins(margins, self.taxonomy_, ends=not self.decodes_sets)[:, self.class_nodes_]

    def explain(self, X: Any, nodes: Any = None) -> list[Explanation]:
        """Return what every feature adds to the margins on the path of a label; the lowest of them is its score.

        With one label a row, a label with nodes below it has one more part: of the child of highest margin, with the
        signs reversed, since what speaks for going on speaks against ending here. Linear kernels only.

        Parameters
        ----------
        X : array-like, CSR or data frame (rows × features)
        nodes : sequence of labels, optional
            The label to explain of every row; by default the one of highest score.
        """
        rows = self._fitted_rows(X)
        W, plain = self.node_coef_, self._margins(rows, signs_only=True)
        margins = self._margins(rows, signs_only=False)
        factors = np.divide(margins, plain, out=np.ones_like(plain), where=plain != 0)
        ids = self.predict_nodes(rows) if nodes is None else nodes_to_explain(nodes, rows.shape[0], self.taxonomy_)
        self._columns_of([self.taxonomy_.names[v] for v in ids])
        names, taxonomy = getattr(self, "feature_names_in_", None), self.taxonomy_
        found, rows = [], sparse.csr_array(rows)
        for i, v in enumerate(ids.tolist()):
            features, values = row_of(rows, i)
            signs = dict.fromkeys(taxonomy.path_ids(v), 1.0)
            if not self.decodes_sets and not taxonomy.is_leaf[v]:
                children = taxonomy.child_ids(v)
                signs[int(children[margins[i, children].argmax()])] = -1.0
            parts = {
                taxonomy.names[u]: self._part(
                    features, sign * values * W[u, features] * factors[i, u], names, sign, margins[i, u]
                )
                for u, sign in signs.items()
            }
            found.append(Explanation.of(taxonomy.names[v], parts, "lowest"))
        return found

    def _part(self, features: Any, contributions: Any, names: Any, sign: float, margin: float) -> dict[str, float]:
        """Return what features add to a node's margin over the threshold; one that has seen nothing has a constant."""
        rest = sign * margin - float(contributions.sum())
        constant = rest if abs(rest) > NEGLIGIBLE else 0.0
        return by_feature(features, contributions, names, constant - sign * self.threshold)
