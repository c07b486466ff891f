"""Why a linear model says what it says: what every feature adds, node by node along the path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cladist.taxonomy import Taxonomy

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Explanation:
    """One row's score, taken apart.

    Attributes
    ----------
    label : str
        The node explained.
    score : float
        Its path score: the sum of all contributions.
    contributions : dict of str to dict of str to float
        For every node on the path, root first, what each feature of the row adds there, largest first.
    """

    label: str
    score: float
    contributions: dict[str, dict[str, float]]

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.score:.4g}"]
        for node, features in self.contributions.items():
            shown = ", ".join(f"{name} {value:+.3g}" for name, value in list(features.items())[:5])
            lines.append(f"  {node}: {sum(features.values()):+.4g}" + (f"  ({shown})" if shown else ""))
        return "\n".join(lines)


def explain_rows(
    X: Any, nodes: npt.NDArray[np.int64], W: npt.NDArray[Any], taxonomy: Taxonomy, feature_names: Any
) -> list[Explanation]:
    """Explain node ``nodes[i]`` for every row i, given weights W (features × nodes)."""
    rows = sparse.csr_array(X)
    explanations = []
    for i, v in enumerate(nodes.tolist()):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        features, values = rows.indices[part], rows.data[part]
        contributions = {
            taxonomy.names[u]: _by_feature(features, values * W[features, u], feature_names)
            for u in taxonomy.path_ids(v)
        }
        score = sum(sum(by_feature.values()) for by_feature in contributions.values())
        explanations.append(Explanation(taxonomy.names[v], float(score), contributions))
    return explanations


def explain_by_vectors(
    X: Any,
    nodes: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    coef: Any,
    intercepts: npt.NDArray[Any],
    taxonomy: Taxonomy,
    feature_names: Any,
) -> list[Explanation]:
    """Explain node ``nodes[i]`` for every row i by row ``columns[i]`` of `coef` and its intercept."""
    rows = sparse.csr_array(X)
    explanations = []
    for i, (v, k) in enumerate(zip(nodes.tolist(), columns.tolist(), strict=True)):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        features, values = rows.indices[part], rows.data[part]
        vector = coef[[k]].toarray()[0] if sparse.issparse(coef) else coef[k]
        found = _by_feature(features, values * vector[features], feature_names)
        if intercepts[k]:
            found[INTERCEPT] = float(intercepts[k])
        name = taxonomy.names[v]
        explanations.append(Explanation(name, float(sum(found.values())), {name: found}))
    return explanations


def _by_feature(features: Any, contributions: Any, feature_names: Any) -> dict[str, float]:
    order = np.argsort(-np.abs(contributions), kind="stable")
    names = {int(j): f"x{j}" if feature_names is None else str(feature_names[j]) for j in features}
    return {names[int(features[k])]: float(contributions[k]) for k in order if contributions[k] != 0}
