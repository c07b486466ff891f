"""`Confidence`: the deepest node that is sure enough; `Specificity`: the most specific answers of a given accuracy."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from cladist.decisions.rule import Answers, ClassTree, Floats, Rule
from cladist.errors import ParameterError
from cladist.kernels import decision
from cladist.labels import LabelMatrix, TopK

STEPS = 60  # of the bisection for the multiplier
MOST_MULTIPLIER = 1e6  # beyond, only masses count


class Confidence(Rule):
    """The deepest node whose probability reaches a level.

    Nodes that reach a level over 0.5 lie on one path, and the answer is the last of them: the climbing rule of Goren et
    al. 2024, which starts at the most probable leaf, ends there too if that leaf is below it. Below 0.5, of several
    deepest nodes the most probable is the answer. If no node reaches the level, as may happen in a forest, the rule
    abstains. A taxonomy's only root has the probability 1.

    Parameters
    ----------
    level : float
        Between 0 and 1.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "sport/chess", "art"])
    >>> P = [[0.05, 0.55, 0.4], [0.02, 0.95, 0.03], [0.5, 0.3, 0.2]]  # art, tennis, chess
    >>> Confidence(0.9).fit(P, None, taxonomy).decide(P).tolist()
    ['sport', 'tennis', None]
    """

    name: ClassVar[str] = "confidence"

    def __init__(self, level: float = 0.9) -> None:
        self.level = level

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""
        if not (isinstance(self.level, (int, float)) and 0 < self.level <= 1):
            raise ParameterError(f"Confidence: level must be over 0 and at most 1; got {self.level!r}.")

    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        nodes, sure = decision.deepest_nodes(*top, *tree.closure, tree.taxonomy.depth, np.array([float(self.level)]))
        return Answers(nodes[:, 0], sure[:, 0])


class Specificity(Rule):
    """The most specific answers whose accuracy on calibration rows reaches a target (DARTS, Deng et al. 2012).

    The answer is the node of greatest (r + λ) p, with p its probability and r = 1 − log(classes at and below it) /
    log(all classes) its information. `fit` finds the smallest λ for which the share of calibration rows whose label is
    at or below the answer reaches `accuracy`: λ = 0 maximises the information gained, a large λ the accuracy.

    Parameters
    ----------
    accuracy : float
        Between 0 and 1; reached on calibration rows, without a guarantee for others (see `RiskControl`).

    Attributes
    ----------
    multiplier_ : float
        λ; infinite if the accuracy cannot be reached, and the rule then abstains.

    References
    ----------
    Deng, Krause, Berg & Fei-Fei, Hedging Your Bets: Optimizing Accuracy-Specificity Trade-offs in Large Scale Visual
    Recognition, CVPR 2012.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art"])
    >>> P = [[0.1, 0.5, 0.4], [0.1, 0.4, 0.5], [0.8, 0.1, 0.1]]  # art, tennis, chess
    >>> rule = Specificity(accuracy=1.0).fit(P, ["chess", "chess", "art"], taxonomy)
    >>> rule.decide(P).tolist()
    ['sport', 'sport', 'art']
    """

    name: ClassVar[str] = "specificity"
    needs_labels: ClassVar[bool] = True
    _fitted: ClassVar[tuple[str, ...]] = ("multiplier_",)

    multiplier_: float

    def __init__(self, accuracy: float = 0.95) -> None:
        self.accuracy = accuracy

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""
        if not (isinstance(self.accuracy, (int, float)) and 0 < self.accuracy <= 1):
            raise ParameterError(f"Specificity: accuracy must be over 0 and at most 1; got {self.accuracy!r}.")

    def _fit(self, top: TopK, labels: LabelMatrix | None, tree: ClassTree) -> None:
        assert labels is not None
        true, reward = labels.nodes("Specificity"), information(tree)

        def reaches(multiplier: float) -> bool:
            nodes, _ = decision.most_informative(*top, *tree.closure, reward, multiplier)
            return bool(np.mean(tree.contains(nodes, true) & (nodes >= 0)) >= self.accuracy)

        low, high = 0.0, MOST_MULTIPLIER
        if not reaches(high):
            self.multiplier_ = float("inf")
            return
        if reaches(low):
            high = low
        for _ in range(STEPS):
            if high - low <= 1e-9 * high:
                break
            middle = np.sqrt(low * high) if low > 1e-3 else (low + high) / 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        self.multiplier_ = float(high)

    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        if not np.isfinite(self.multiplier_):
            return Answers(np.full(len(top), -1), np.zeros(len(top)))
        return Answers(*decision.most_informative(*top, *tree.closure, information(tree), self.multiplier_))


def information(tree: ClassTree) -> Floats:
    """Return 1 − log(classes at and below a node) / log(all classes) of every node; 0 for nodes without classes."""
    below = np.maximum(tree.n_classes_below, 1)
    return 1.0 - np.log(below) / np.log(max(2, len(tree.nodes)))
