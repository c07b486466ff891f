"""`Explanation`: the contributions of features to a score, node by node along the path.

Learners of one vector per node or class use `explain_rows` and `explain_by_vectors`; those that consist of choices
among siblings use `cladist.learners.local.choice_explanation`.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.errors import LabelError, ParameterError
from cladist.labels import encode
from cladist.taxonomy import Taxonomy

INTERCEPT = "(intercept)"
Ids = npt.NDArray[np.int64]
Part = dict[str, float]
Factors = dict[int, float]  # by node: what its score is multiplied by


@dataclass(frozen=True)
class Explanation:
    """The score of one row as a sum of contributions.

    Attributes
    ----------
    label : str
        The node explained.
    score : float
        Its path score, as in `decision_function`: the nodes' parts combined by `rule`.
    contributions : dict of str to dict of str to float
        For every node on the path, root first, the contribution of each feature of the row, largest first. Their sum
        is the node's part. Methods that score whole sets have the nodes by which the best set with the label differs
        from the best without it.
    rule : {"sum", "lowest", "negative"}
        How the nodes' parts are combined: their sum, the lowest of them, or the sum of those that are negative.

    Examples
    --------
    >>> why = Explanation("tennis", -0.5, {"sport": {"ball": 2.0}, "tennis": {"ball": 0.25, "net": -0.75}}, "lowest")
    >>> why.parts
    {'sport': 2.0, 'tennis': -0.5}
    >>> print(why)
    tennis: -0.5, the lowest of
      sport: +2  (ball +2)
      tennis: -0.5  (ball +0.25, net -0.75)
    """

    label: str
    score: float
    contributions: dict[str, Part]
    rule: str = "sum"

    @classmethod
    def of(cls, label: str, contributions: dict[str, Part], rule: str = "sum") -> Explanation:
        """Return an explanation whose score follows from the contributions."""
        why = cls(label, 0.0, contributions, rule)
        return cls(label, _RULES[rule](list(why.parts.values())), contributions, rule)

    @property
    def parts(self) -> dict[str, float]:
        """The sum of contributions at each node."""
        return {node: float(sum(features.values())) for node, features in self.contributions.items()}

    @property
    def rule_text(self) -> str:
        """How the parts are combined, in words; "" for their sum."""
        return _RULE_TEXT[self.rule]

    def terms(self) -> dict[str, Part]:
        """Return the nodes whose contributions sum to the score: all, the lowest, or those with a negative part."""
        parts = self.parts
        lowest = min(parts, key=lambda node: parts[node]) if self.rule == "lowest" else None
        return {
            node: features
            for node, features in self.contributions.items()
            if self.rule == "sum" or (node == lowest if self.rule == "lowest" else parts[node] < 0)
        }

    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Yield node, feature and contribution."""
        for node, part in self.contributions.items():
            yield from ((node, name, value) for name, value in part.items())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of node, feature and contribution."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()), columns=["node", "feature", "contribution"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        nodes = [
            {"node": node, "part": value, "features": self.contributions[node]} for node, value in self.parts.items()
        ]
        return {"label": self.label, "score": self.score, "rule": self.rule, "nodes": nodes}

    def to_html(self) -> str:
        """Return an HTML fragment: the nodes with their parts and largest contributions."""
        head, *lines = (html.escape(line.strip()) for line in str(self).splitlines())
        return f"<div class='cladist-explanation'><p><strong>{head}</strong></p><p>{'<br>'.join(lines)}</p></div>"

    _repr_html_ = to_html

    def renamed(self, names: dict[str, str]) -> Explanation:
        """Return the same with other names for some features; those of features with one name are summed."""
        contributions: dict[str, dict[str, float]] = {}
        for node, part in self.contributions.items():
            total = contributions.setdefault(node, {})
            for name, value in part.items():
                total[names.get(name, name)] = total.get(names.get(name, name), 0.0) + value
        return Explanation(self.label, self.score, contributions, self.rule)

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.score:.4g}{self.rule_text}"]
        for node, part in self.parts.items():
            largest = list(self.contributions[node].items())[:5]
            shown = ", ".join(f"{name} {value:+.3g}" for name, value in largest)
            lines.append(f"  {node}: {part:+.4g}" + (f"  ({shown})" if shown else ""))
        return "\n".join(lines)


_RULES: dict[str, Any] = {
    "sum": lambda parts: float(sum(parts)),
    "lowest": min,
    "negative": lambda parts: float(sum(part for part in parts if part < 0)),
}
_RULE_TEXT = {"sum": "", "lowest": ", the lowest of", "negative": ", the sum of the negative parts of"}


def nodes_to_explain(nodes: Any, n_rows: int, taxonomy: Taxonomy) -> Ids:
    """Return the node id to explain for each row; refuse labels that are not one per row."""
    ids = encode(nodes, taxonomy).labels.nodes("explain")
    if len(ids) != n_rows:
        raise LabelError(f"explain: {n_rows} rows need as many labels in `nodes`; got {len(ids)}.")
    return ids


def rows_of_numbers(X: Any) -> sparse.csr_array:
    """Return rows as CSR; refuse texts and categories."""
    if not sparse.issparse(X) and getattr(X, "dtype", np.dtype(object)).kind == "O":
        raise ParameterError(
            "explain: rows must be numbers, and these have texts or categories; make features of them in a Pipeline."
        )
    return sparse.csr_array(X)


def explain_rows(
    X: Any,
    nodes: Ids,
    W: npt.NDArray[Any],
    taxonomy: Taxonomy,
    feature_names: Any,
    intercepts: npt.NDArray[Any] | None = None,
    factors: list[Factors] | None = None,
) -> list[Explanation]:
    """Explain node ``nodes[i]`` for every row i, given weights W (features × nodes) and intercepts.

    `factors[i]` are the nodes whose scores are added, each times a factor; by default those of the path, once.
    """
    rows = sparse.csr_array(X)
    constants = np.zeros(W.shape[1]) if intercepts is None else intercepts
    explanations = []
    for i, v in enumerate(nodes.tolist()):
        features, values = row_of(rows, i)
        contributions = {
            taxonomy.names[u]: by_feature(features, c * values * W[features, u], feature_names, c * constants[u])
            for u, c in _factors_of(i, v, factors, taxonomy).items()
        }
        explanations.append(Explanation.of(taxonomy.names[v], contributions))
    return explanations


def _factors_of(i: int, v: int, factors: list[Factors] | None, taxonomy: Taxonomy) -> Factors:
    return dict.fromkeys(taxonomy.path_ids(v), 1.0) if factors is None else factors[i]


def explain_by_vectors(
    X: Any, labels: list[str], places: Ids, coef: Any, intercepts: npt.NDArray[Any], feature_names: Any
) -> list[Explanation]:
    """Explain ``labels[i]`` for every row i by row ``places[i]`` of `coef`, dense or CSR, and its intercept."""
    rows = sparse.csr_array(X)
    explanations = []
    for i, (label, k) in enumerate(zip(labels, places.tolist(), strict=True)):
        features, values = row_of(rows, i)
        part = by_feature(features, values * entries(coef, k, features), feature_names, intercepts[k])
        explanations.append(Explanation.of(label, {label: part}))
    return explanations


def split_by_node(
    whys: list[Explanation], X: Any, nodes: Ids, vectors: Any, taxonomy: Taxonomy, feature_names: Any
) -> list[Explanation]:
    """Return explanations by one vector split by node: Σ_j x_j (w_v,j − w_parent(v),j) at each node v of the path."""
    rows, split = sparse.csr_array(X), []
    for i, (why, v) in enumerate(zip(whys, nodes.tolist(), strict=True)):
        features, values = row_of(rows, i)
        above, parts = np.zeros(len(features)), {}
        for u in taxonomy.path_ids(v):
            own = np.asarray(entries(vectors, u, features), np.float64)
            constant = why.contributions[why.label].get(INTERCEPT, 0.0) if u == v else 0.0
            parts[taxonomy.names[u]] = by_feature(features, values * (own - above), feature_names, constant)
            above = own
        split.append(Explanation.of(why.label, parts))
    return split


def row_of(rows: Any, i: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the features and values of a row of a CSR matrix."""
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[part], rows.data[part].astype(np.float64)


def entries(matrix: Any, k: int, features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return some entries of row k of a matrix, dense or CSR with sorted indices."""
    if not sparse.issparse(matrix):
        return matrix[k, features]
    known, values = row_of(matrix, k)
    if not len(known):
        return np.zeros(len(features))
    at = np.minimum(np.searchsorted(known, features), len(known) - 1)
    return np.where(known[at] == features, values[at], 0.0)


def by_feature(features: Any, contributions: Any, feature_names: Any, constant: float = 0.0) -> Part:
    """Return contributions by feature name, largest first and the constant last, without zeros."""
    order = np.argsort(-np.abs(contributions), kind="stable")
    names = {int(j): f"x{j}" if feature_names is None else str(feature_names[j]) for j in features}
    part = {names[int(features[k])]: float(contributions[k]) for k in order if contributions[k] != 0}
    if constant:
        part[INTERCEPT] = part.get(INTERCEPT, 0.0) + float(constant)
    return part


def explain_by_support(
    X: Any, nodes: Ids, model: Any, coef: Any, taxonomy: Taxonomy, factors: list[Factors] | None = None
) -> list[Explanation]:
    """Explain node ``nodes[i]`` for every row i by training rows: a node's score is Σ_k coef[v, k] K(x_k, x).

    Contributions are called "row k", by the number of the training row, from 0; `factors` as in `explain_rows`.
    """
    if not len(model.support):
        return [Explanation.of(taxonomy.names[v], {taxonomy.names[u]: {} for u in taxonomy.path_ids(v)}) for v in nodes]
    coef, values = sparse.csr_array(coef), np.asarray(model.kernel.between(model.vectors, X), np.float64)
    names, explanations = {k: f"row {row}" for k, row in enumerate(model.support.tolist())}, []
    for i, v in enumerate(nodes.tolist()):
        parts = {}
        for u, factor in _factors_of(i, int(v), factors, taxonomy).items():
            support, alpha = row_of(coef, u)
            parts[taxonomy.names[u]] = by_feature(support, factor * alpha * values[support, i], names)
        explanations.append(Explanation.of(taxonomy.names[v], parts))
    return explanations
