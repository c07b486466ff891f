"""The regret of H-RLS on the paper's label model, with its bound beside it.

Labels are drawn from P(v | parent, x) = (1 + u_v·x) / 2, the model behind the analysis of Cesa-Bianchi et al.
(2006). The regret is the H-loss of H-RLS less that of the reference classifier, which knows u, added up over the rows.
The paper bounds its expectation by

    16 (1 + 1/e) Σ_v (|sub(v)| / Δ_v²) E[Σ_j log(1 + λ_{v,j})],    Δ_v = min_t |u_v·x_t|,

λ being the eigenvalues of the correlation matrix of the rows that node v was shown: it grows like log t, and so does
the regret, far below it. SH-RLS, which stores only rows of small margin, is drawn beside it.

Run as ``python examples/plot_regret.py [picture.png]``; about ten seconds. Needs matplotlib.
"""

from __future__ import annotations

import sys

import numpy as np

from cladist import HierarchicalRLS, Taxonomy
from cladist.datasets import LabelModel
from cladist.evaluation import progressive
from cladist.losses import HLoss

ROWS, DRAWS, FEATURES, LEAST_MARGIN = 3000, 8, 6, 0.05
TREE = Taxonomy.from_parents({v: (v - 1) // 2 if v else None for v in range(7)})


def regret(model: LabelModel, seed: int, **options: object) -> np.ndarray:
    """Return the summed H-loss over that of the reference classifier, after every row."""
    data = model.sample(ROWS, least_margin=LEAST_MARGIN, random_state=seed)
    ours = progressive(HierarchicalRLS(TREE, alpha=1.0, fit_intercept=False, **options), data.X, data.y).losses[
        "h_loss"
    ]
    reference = HLoss().per_example(data.y, model.predict(data.X), TREE)
    return np.cumsum(ours - reference)


def bound(model: LabelModel, seed: int) -> np.ndarray:
    """Return the paper's bound after every row, for the rows of one draw."""
    data = model.sample(ROWS, least_margin=LEAST_MARGIN, random_state=seed)
    on = data.y.to_indicator().toarray().astype(bool)
    smallest = np.minimum.accumulate(np.abs(data.X @ model.u.T))
    total = np.zeros(ROWS)
    for v, parent in enumerate(TREE.parent):
        shown = np.ones(ROWS, bool) if parent < 0 else on[:, parent]
        inverse, grown = np.eye(FEATURES), np.zeros(ROWS)
        for t in np.flatnonzero(shown):
            q = inverse @ data.X[t]
            grown[t] = np.log1p(data.X[t] @ q)  # what this row adds to log det(I + S Sᵀ) = Σ log(1 + λ)
            inverse -= np.outer(q, q) / (1 + data.X[t] @ q)
        total += TREE.subtree_sizes[v] / smallest[:, v] ** 2 * np.cumsum(grown)
    return 16 * (1 + 1 / np.e) * total


def curves() -> dict[str, np.ndarray]:
    """Return all curves, means over draws of one label model."""
    model = LabelModel.random(TREE, n_features=FEATURES, random_state=0)
    kinds = {"H-RLS": {}, "SH-RLS, c = 5": {"sparse": True}, "SH-RLS, c = 1": {"sparse": True, "margin_constant": 1.0}}
    found = {
        name: np.mean([regret(model, seed, **options) for seed in range(DRAWS)], axis=0)
        for name, options in kinds.items()
    }
    return found | {"the paper's bound": np.mean([bound(model, seed) for seed in range(DRAWS)], axis=0)}


def main(picture: str = "regret.png") -> None:
    """Draw the curves over log t."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = curves()
    rows = np.arange(1, ROWS + 1)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, values in found.items():
        if name != "the paper's bound":
            left.plot(rows, values, label=name)
        right.plot(rows, np.maximum(values, 1e-1), label=name)
    for axes in (left, right):
        axes.set(xscale="log", xlabel="rows", ylabel="regret in H-loss")
        axes.legend()
    left.set_title("a straight line is logarithmic growth")
    right.set(yscale="log", title="with the bound")
    figure.savefig(picture, dpi=120)
    for name, values in found.items():
        print(f"{name:20} after {ROWS // 10}, {ROWS} rows: {values[ROWS // 10 - 1]:10.1f} {values[-1]:10.1f}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
