"""How often bootstrap intervals contain what they should: simulations with a known answer.

Rows are drawn from a known distribution of truth and of two models' predictions, over six leaves in three pairs; the
answer is the metric of that distribution itself. Rows that are alike are counted, not listed: a resample is a draw of
counts, so that thousands of test sets take seconds. Intervals are made by the functions of `cladist.metrics.bootstrap`
that users call, from values that are checked against `cladist.metrics`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import print_rows, write_results
from cladist import LabelMatrix, Taxonomy, metrics
from cladist.metrics.bootstrap import (
    ADDED,
    accelerated_interval,
    estimate_acceleration,
    percentile_interval,
    t_interval,
)
from cladist.metrics.counts import Counts

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
TREE = Taxonomy.from_paths(["a/a1", "a/a2", "b/b1", "b/b2", "c1", "c2"])
LEAVES = np.asarray(TREE.leaves)  # siblings come in pairs
SUMS = ("zero_one", "tree_distance", "h_subtree", "sample_precision", "sample_recall")
SHARES = {"even": np.ones(6), "skewed": 1 / np.arange(1, 7) ** 1.5}
QUALITIES = {"0.80": (0.80, 0.75), "0.95": (0.95, 0.93)}  # how often each model is right
ROWS, RESAMPLES = (50, 150, 1000), (200, 1000)
DEFAULTS = {False: "accelerated", True: "t"}  # of a metric, of a difference


def _f1_of_nodes(sums: Any) -> Floats:
    whole = 2 * sums["tp"] + sums["fp"] + sums["fn"]
    return np.divide(2 * sums["tp"], whole, out=np.zeros_like(whole), where=whole > 0)[..., LEAVES]


def _macro_present(sums: Any) -> Floats:
    present = (sums["tp"] + sums["fn"])[..., LEAVES] > 0
    return np.asarray((_f1_of_nodes(sums) * present).sum(axis=-1) / present.sum(axis=-1))


def _hierarchical_micro(sums: Any) -> Floats:
    tp, fp, fn = (sums[name].sum(axis=-1) for name in ("tp", "fp", "fn"))
    return np.asarray(2 * tp / (2 * tp + fp + fn))


def _hierarchical_samples(sums: Any) -> Floats:
    return np.asarray(2 * sums["sample_precision"] * sums["sample_recall"] / (
        (sums["sample_precision"] + sums["sample_recall"]) * sums["weight"]
    ))  # fmt: skip


def _mean(name: str, sums: Any) -> Floats:
    return np.asarray(sums[name] / sums["weight"])


METRICS: dict[str, tuple[Callable[[Any], Floats], Callable[..., Any]]] = {
    "accuracy": (lambda sums: 1 - _mean("zero_one", sums), metrics.accuracy),
    "tree-induced error": (partial(_mean, "tree_distance"), metrics.tree_induced_error),
    "H-loss, subtree": (partial(_mean, "h_subtree"), partial(metrics.h_loss, weights="subtree")),
    "hierarchical F1, sums over rows": (_hierarchical_micro, metrics.hierarchical_f1),
    "hierarchical F1, mean of rows": (_hierarchical_samples, partial(metrics.hierarchical_f1, average="samples")),
    "macro F1, leaves with true rows": (_macro_present, partial(metrics.macro_f1, absent="skip")),
    "macro F1, all leaves": (lambda sums: _f1_of_nodes(sums).mean(axis=-1), metrics.macro_f1),
}


class Population(NamedTuple):
    """Kinds of rows: the leaf and the two predictions of each, and how frequent it is."""

    true: npt.NDArray[np.int64]
    preds: tuple[npt.NDArray[np.int64], ...]
    share: Floats

    @classmethod
    def of(cls, leaf_shares: Floats, right: tuple[float, ...]) -> Population:
        """Draw two models that are right so often and err alike in half of the rows; one model: the first alone."""
        n = len(leaf_shares)
        grids = np.meshgrid(*[np.arange(n)] * (1 + len(right)), indexing="ij")
        true, *preds = (grid.ravel() for grid in grids)
        near = (true // 2)[:, None] == (np.arange(n) // 2)
        alone = []
        for share in right:  # a wrong label is the sibling in six cases of ten
            odds = np.where(near, 0.6, 0.4 / (n - 2))
            odds[np.arange(len(true)), true] = 0
            odds *= (1 - share) / odds.sum(axis=1, keepdims=True)
            odds[np.arange(len(true)), true] = share
            alone.append(odds)
        chance = np.prod([odds[np.arange(len(true)), pred] for odds, pred in zip(alone, preds, strict=True)], axis=0)
        if len(right) == 2:
            common = np.minimum(*(odds[np.arange(len(true)), preds[0]] for odds in alone)) * (preds[0] == preds[1])
            chance = 0.5 * chance + 0.5 * common
        chance = chance * leaf_shares[true]
        return cls(true, tuple(preds), chance / chance.sum())

    def sums(self, which: int) -> dict[str, Floats]:
        """Return what a row of every kind adds to the sums that metrics are made of."""
        found = [
            Counts.from_labels(*(LabelMatrix.from_nodes(LEAVES[[label]], TREE) for label in pair))
            for pair in zip(self.true, self.preds[which], strict=True)
        ]
        plain = {name: np.array([getattr(counts, name) for counts in found]) for name in SUMS}
        of_nodes = {name: np.stack([getattr(counts, name) for counts in found]) for name in ("tp", "fp", "fn")}
        return {**plain, **of_nodes, "weight": np.ones(len(found))}

    def added(self, counts: Floats) -> Floats:
        """Return the added rows of samples, as `cladist.metrics.bootstrap` adds them, in the mean."""
        n_labels = self.true.max() + 1
        of_label = np.stack([counts[..., self.true == label].sum(axis=-1) for label in range(n_labels)], axis=-1)
        share = of_label / of_label.sum(axis=-1, keepdims=True)
        others = np.maximum(1 - share[..., self.true], 1e-12)
        found = np.ones_like(counts)
        for pred in self.preds:
            found = found * np.where(pred == self.true, 1.0, share[..., pred] / others)
        if len(self.preds) == 2:  # both are wrong by the same label
            both = (self.preds[0] != self.true) & (self.preds[1] != self.true)
            alike = np.where(self.preds[0] == self.preds[1], share[..., self.preds[0]] / others, 0.0)
            found = np.where(both, alike, found)
        found = found * share[..., self.true]
        return np.asarray(found * ADDED / found.sum(axis=-1, keepdims=True))


def measured(counts: Floats, sums: list[dict[str, Floats]]) -> dict[str, Floats]:
    """Return every metric of samples given by their counts, or the differences of two models."""
    found = []
    for of_kind in sums:
        totals = {name: counts @ values for name, values in of_kind.items()}
        found.append({name: values(totals) for name, (values, _) in METRICS.items()})
    return {name: found[0][name] - found[1][name] if len(found) > 1 else found[0][name] for name in METRICS}


def check(population: Population, sums: list[dict[str, Floats]], rng: np.random.Generator) -> None:
    """Stop unless the library's metrics are what is measured here."""
    counts = rng.multinomial(200, population.share).astype(np.float64)
    here = measured(counts, sums[:1])
    true, pred = (LabelMatrix.from_nodes(LEAVES[labels], TREE) for labels in (population.true, population.preds[0]))
    for name, (_, metric) in METRICS.items():
        there = metric(true, pred, TREE, sample_weight=counts)
        if abs(here[name] - there) > 1e-9:
            raise SystemExit(f"{name} is {here[name]} here and {there} in cladist.metrics.")


def drawn(counts: Floats, n_resamples: int, rng: np.random.Generator, sums: Any) -> dict[str, Floats]:
    """Return the values of resamples of every sample."""
    n = round(float(counts[0].sum()))
    parts = [
        measured(rng.multinomial(n, sample / sample.sum(), size=n_resamples).astype(np.float64), sums)
        for sample in counts
    ]
    return {name: np.stack([part[name] for part in parts]) for name in METRICS}


def accelerations(counts: Floats, sums: Any) -> dict[str, Floats]:
    """Return the acceleration of every metric in every sample, a row of each kind left out in turn."""
    left_out = []
    for kind in range(counts.shape[1]):
        without = counts.copy()
        without[:, kind] = np.maximum(without[:, kind] - 1, 0)
        left_out.append(measured(without, sums))
    return {
        name: estimate_acceleration(np.stack([part[name] for part in left_out], axis=-1), counts) for name in METRICS
    }


def study(name: str, quality: str, n_rows: int, *, paired: bool, n_samples: int, seed: int) -> list[dict[str, Any]]:
    """Return how often each method's intervals contain the answer, and how wide they are."""
    rng = np.random.default_rng(seed)
    population = Population.of(SHARES[name], QUALITIES[quality][: 1 + paired])
    sums = [population.sums(which) for which in range(1 + paired)]
    check(population, sums, rng)
    answer = measured(population.share, sums)
    counts = rng.multinomial(n_rows, population.share, size=n_samples).astype(np.float64)
    estimates = measured(counts, sums)
    extended = counts + population.added(counts)
    centres, acceleration = measured(extended, sums), accelerations(extended, sums)
    plain, values = (drawn(given, max(RESAMPLES), rng, sums) for given in (counts, extended))
    rows = []
    for metric in METRICS:
        for n_resamples in RESAMPLES:
            few, own = values[metric][:, :n_resamples], plain[metric][:, :n_resamples]
            ends = {
                "percentile": percentile_interval(estimates[metric], own, LEVEL),
                "t": t_interval(centres[metric], few, n_rows, LEVEL),
                "accelerated": accelerated_interval(centres[metric], few, acceleration[metric], n_rows, LEVEL),
            }
            for method, (low, high) in ends.items():
                low, high = np.minimum(low, estimates[metric]), np.maximum(high, estimates[metric])
                covered = float(np.mean((low <= answer[metric] + 1e-12) & (answer[metric] - 1e-12 <= high)))
                error = float(np.sqrt(covered * (1 - covered) / n_samples))
                rows.append(
                    {
                        "metric": metric, "of": "difference" if paired else "one model", "labels": name,
                        "right": quality, "rows": n_rows, "method": method, "resamples": n_resamples,
                        "coverage": round(covered, 5), "standard error": round(error, 5),
                        "mean width": round(float(np.mean(high - low)), 5),
                    }
                )  # fmt: skip
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=800, help="test sets drawn for each setting")
    n_samples = parser.parse_args().samples
    rows = []
    for seed, (name, quality, n_rows, paired) in enumerate(
        (name, quality, n_rows, paired)
        for name in SHARES for quality in QUALITIES for n_rows in ROWS for paired in (False, True)
    ):  # fmt: skip
        rows += study(name, quality, n_rows, paired=paired, n_samples=n_samples, seed=seed)
    print_rows(rows)
    data = "rows drawn from a known distribution over six leaves in three pairs"
    write_results("coverage", rows, data=data, level=LEVEL, samples=n_samples)


if __name__ == "__main__":
    main()
