"""Methods over several data sets: mean ranks, Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cladist.errors import ParameterError
from cladist.evaluation.comparison import Comparison
from cladist.evaluation.resamples import MEASURES
from cladist.metrics.significance import FriedmanTest, friedman_test
from cladist.metrics.summary import text_table
from cladist.report.page import Table


@dataclass(frozen=True, eq=False)
class Ranking:
    """The scores of methods on several data sets, and their test; printing it shows the table.

    Attributes
    ----------
    scores : dict
        For each method its score on each data set, the best mean rank first.
    mean_ranks : dict
        For each method its mean rank; the best has rank 1.
    test : FriedmanTest
        Friedman's test, with Nemenyi's critical difference.
    measure : str
        What methods were compared by.
    """

    scores: dict[str, dict[str, float]]
    mean_ranks: dict[str, float]
    test: FriedmanTest
    measure: str

    @property
    def table(self) -> Table:
        """One row per method, the best first."""
        measure = MEASURES[self.measure]
        rows = [
            [name, f"{self.mean_ranks[name]:.2f}", *map(measure.shown, values.values())]
            for name, values in self.scores.items()
        ]
        return Table(["method", "mean rank", *next(iter(self.scores.values()))], rows)

    @property
    def sentence(self) -> str:
        """What the test says."""
        first, *others = self.mean_ranks
        alike = [name for name in others if self.mean_ranks[name] - self.mean_ranks[first] <= self.test[3]]
        words = (
            f"Friedman: p = {self.test.p_value:.2g}; mean ranks that differ by {self.test[3]:.2f} differ (Nemenyi). "
        )
        worse = [name for name in others if name not in alike]
        return words + (
            f"{first} is better than {', '.join(worse)}." if worse else f"No method is proven worse than {first}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        test = self.test._asdict() | {"mean_ranks": self.mean_ranks}
        return {"measure": self.measure, "scores": self.scores, **test, "sentence": self.sentence}

    def __str__(self) -> str:
        return f"{text_table(self.table.header, self.table.rows)}\n\n{self.sentence}"


def rank_methods(comparisons: Mapping[str, Any], *, level: float = 0.95) -> Ranking:
    """Rank methods over several data sets.

    Parameters
    ----------
    comparisons : mapping
        The name of each data set and its `Comparison`, or what its `to_dict` returns. All have the same measure;
        methods that are not in all of them are left out.
    level : float
        See `friedman_test`.

    Examples
    --------
    >>> def result(**scores):
    ...     methods = [{"method": name, "scores": {"accuracy": value}} for name, value in scores.items()]
    ...     return {"measure": "accuracy", "methods": methods}
    >>> ranking = rank_methods({"a": result(svm=0.8, lr=0.7), "b": result(svm=0.6, lr=0.5)})
    >>> ranking.mean_ranks
    {'svm': 1.0, 'lr': 2.0}
    """
    contents = {
        name: found.to_dict() if isinstance(found, Comparison) else found for name, found in comparisons.items()
    }
    try:
        measures = {content["measure"] for content in contents.values()}
        (measure,) = measures or {""}
        scores = {
            name: {row["method"]: float(row["scores"][measure]) for row in content["methods"]}
            for name, content in contents.items()
        }
    except (KeyError, TypeError, ValueError) as problem:
        raise ParameterError("rank_methods: wanted results of compare that all have the same measure.") from problem
    shared = [name for name in next(iter(scores.values()), {}) if all(name in found for found in scores.values())]
    if len(scores) < 2 or len(shared) < 2 or measure not in MEASURES:
        raise ParameterError("rank_methods: wanted at least two data sets, and two methods that all of them have.")
    sign = 1 if MEASURES[measure].more_is_better else -1
    test = friedman_test([[sign * found[name] for name in shared] for found in scores.values()], level=level)
    ranks = dict(sorted(zip(shared, test.mean_ranks, strict=True), key=lambda pair: pair[1]))
    return Ranking({m: {name: scores[name][m] for name in scores} for m in ranks}, ranks, test, measure)
