"""`RiskControl`: the level of confidence at which a risk stays below a bound, with high probability."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr  # the distribution function of the binomial; scipy.stats is slow to import

from cladist.decisions.rule import Answers, ClassTree, Floats, Ids, Rule
from cladist.errors import CladistWarning, ParameterError, is_positive, one_of
from cladist.kernels import decision
from cladist.labels import LabelMatrix, TopK
from cladist.losses import HierarchicalF, HLoss, Loss, ZeroOne, as_loss, node_costs

# Levels of confidence that are tested, fixed before any row is seen; denser near 1, where accuracy is decided.
LEVELS = 1.0 - np.linspace(0.0, 1.0, 200, endpoint=False) ** 2
STARTS = (0.02, 0.05, 0.1, 0.2, 0.4)  # shares of rows with an answer, from which on the error of answers is tested


class RiskControl(Rule):
    """The deepest node that reaches a level of confidence, which is chosen so that the risk is controlled.

    With ``answers="gain"``, the node of greatest expected depth less λ times its probability of an error, or no answer
    where that is negative; a level stands for λ = level / (1 − level). If the probabilities hold, no other rule keeps
    more of the labels' depth at the same error.

    `fit` tests, for each of 200 fixed levels, the hypothesis that the expected loss of the answers at this level
    exceeds `at_most` (Learn then Test). It keeps the lowest level, that of the deepest answers, at which this is
    rejected. With probability 1 − `delta` over the calibration rows, the expected loss on new rows from the same
    distribution is at most `at_most`. Rows of which no node reaches the level get no answer, and lose nothing.

    The loss "error" grows as the level falls, so the levels are tested from 1 downwards until the first that fails,
    each at `delta`, by the exact binomial test. The error of the answers alone (``of="answers"``) may rise and
    fall, and no test can pass with few answers: levels are tested from five starts on, where 2 to 40 % of the rows have
    an answer. Each start brings ``delta / 5``, which goes on to the next level where a test passes, and is lost where
    one fails (the fallback procedure of Wiens). Other losses may fall and rise: all levels are tested at ``delta /
    200``, by the test of Hoeffding and Bentkus.

    Parameters
    ----------
    loss : {"error", "tree-distance", "zero-one", "h-loss", "symmetric-difference", "hierarchical-f1"} or Loss
        "error" is 1 if the label is not at or below the answer. Others are those of `cladist.losses`.
    at_most : float
        The bound of the expected loss, in the loss's own units; positive.
    delta : float
        The probability with which the bound may fail; between 0 and 1.
    answers : {"deepest", "gain"}
        How a node is chosen at a level. Depth is relative to the deepest class. Of errors among answers, only those
        over `at_most` count against the gain, so that sure answers are given for their own sake. Every level then
        answers rows with a node of more than 1 − `at_most`: with "gain", probabilities that are much too high may leave
        no level certified where "deepest" has one.
    of : {"rows", "answers"}
        What "error" is a share of: all rows, where those without an answer are not wrong, or the rows with an answer.

    Attributes
    ----------
    level_ : float
        The level chosen; infinite if no level is certified: the rule then abstains from all answers, and `fit` warns.
    risk_ : float
        The mean loss of the calibration rows at that level; NaN if there is none.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan & Lei, Learn then Test: Calibrating Predictive Algorithms to Achieve Risk
    Control, Annals of Applied Statistics 2025; Wiens & Dmitrienko, The Fallback Procedure for Evaluating a Single
    Family of Hypotheses, Journal of Biopharmaceutical Statistics 2005.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> taxonomy = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art"])
    >>> P = [[0.05, 0.9, 0.05], [0.1, 0.5, 0.4]] * 100  # art, tennis, chess
    >>> rule = RiskControl("error", at_most=0.1).fit(P, ["tennis", "chess"] * 100, taxonomy)
    >>> rule.decide(P[:2]).tolist()
    ['tennis', 'sport']
    """

    name: ClassVar[str] = "risk-control"
    needs_labels: ClassVar[bool] = True
    _fitted: ClassVar[tuple[str, ...]] = ("level_", "risk_")

    level_: float
    risk_: float

    def __init__(
        self,
        loss: Any = "error",
        *,
        at_most: float = 0.05,
        delta: float = 0.1,
        of: str = "rows",
        answers: str = "deepest",
    ) -> None:
        self.loss = loss
        self.at_most = at_most
        self.delta = delta
        self.of = of
        self.answers = answers

    def check_parameters(self) -> None:
        """Raise a `ParameterError` for a parameter that makes no sense."""
        if not is_positive(self.at_most) or (self._loss() is None and self.at_most >= 1):
            raise ParameterError(
                f"RiskControl: at_most must be positive, and below 1 for 'error'; got {self.at_most!r}."
            )
        if not (isinstance(self.delta, (int, float)) and 0 < self.delta < 1):
            raise ParameterError(f"RiskControl: delta must be between 0 and 1; got {self.delta!r}.")
        one_of("RiskControl", "of", self.of, ("rows", "answers"))
        one_of("RiskControl", "answers", self.answers, ("deepest", "gain"))
        if self.of == "answers" and self._loss() is not None:
            raise ParameterError(f"RiskControl: of='answers' is for the loss 'error'; got {self.loss!r}.")

    def _loss(self) -> Loss | None:
        """Return the loss; None for "error"."""
        return None if isinstance(self.loss, str) and self.loss == "error" else as_loss("RiskControl", self.loss)

    def _fit(self, top: TopK, labels: LabelMatrix | None, tree: ClassTree) -> None:
        assert labels is not None
        true = labels.nodes("RiskControl")
        nodes, _ = self._choose(top, tree, LEVELS)
        losses = self._losses(nodes.T.ravel(), np.tile(true, len(LEVELS)), tree).reshape(len(LEVELS), -1)
        risks = losses.mean(axis=1)
        if self.of == "answers":
            wrong, answered = np.round(losses.sum(axis=1)), (nodes >= 0).sum(axis=0)
            passed = certify_answers(wrong, answered, len(true), self.at_most, self.delta)
            risks = wrong / np.maximum(answered, 1)
        elif self._loss() is None:
            p_values = bdtr(np.round(losses.sum(axis=1)), len(true), self.at_most)
            passed = np.logical_and.accumulate(p_values <= self.delta)
        else:
            bound = _largest_loss(self._loss(), tree)
            p_values = hoeffding_bentkus(risks / bound, len(true), min(1.0, self.at_most / bound))
            passed = p_values <= self.delta / len(LEVELS)
        if not passed.any():
            self.level_, self.risk_ = float("inf"), float("nan")
            warnings.warn(
                f"RiskControl: no level keeps the risk at {self.at_most:g} with probability {1 - self.delta:g} on "
                f"{len(true)} calibration rows, so it gives no answers; raise at_most or delta, or give more rows.",
                CladistWarning,
                stacklevel=3,
            )
            return
        lowest = int(np.flatnonzero(passed)[-1])
        self.level_, self.risk_ = float(LEVELS[lowest]), float(risks[lowest])

    def _losses(self, answers: Ids, true: Ids, tree: ClassTree) -> Floats:
        """Return the loss of each row; 0 without an answer."""
        loss, has_answer = self._loss(), answers >= 0
        if loss is None:
            return (~tree.contains(answers, true)).astype(np.float64)
        losses = np.zeros(len(true))
        if has_answer.any():
            labels, nodes = (LabelMatrix.from_nodes(side[has_answer], tree.taxonomy) for side in (true, answers))
            losses[has_answer] = loss.per_example(labels, nodes, tree.taxonomy)
        return losses

    def _answer(self, top: TopK, tree: ClassTree) -> Answers:
        if not np.isfinite(self.level_):
            return Answers(np.full(len(top), -1), np.zeros(len(top)))
        nodes, sure = self._choose(top, tree, np.array([self.level_]))
        return Answers(nodes[:, 0], sure[:, 0])

    def _choose(self, top: TopK, tree: ClassTree, levels: Floats) -> tuple[Ids, Floats]:
        """Return the node of every row and level, and its probability."""
        depth = tree.taxonomy.depth
        if self.answers == "deepest":
            chosen: tuple[Ids, Floats] = decision.deepest_nodes(*top, *tree.closure, depth, levels)
        else:
            reward = (depth + 1.0) / (depth[tree.nodes].max(initial=0) + 1.0)
            margin = float(self.at_most) if self.of == "answers" else 0.0
            chosen = decision.greatest_gain(*top, *tree.closure, reward, levels, margin)
        return chosen


def certify_answers(wrong: Floats, answered: Ids, n_rows: int, at_most: float, delta: float) -> npt.NDArray[np.bool_]:
    """Return the levels, in falling order, at which the share of wrong answers is certified to be at most a bound.

    Where `delta` is added depends on the numbers of answers alone, not on whether they are right.
    """
    p_values = np.where(answered > 0, bdtr(wrong, np.maximum(answered, 1), at_most), 1.0)
    added, passed, at_hand = np.zeros(len(wrong)), np.zeros(len(wrong), bool), 0.0
    for share in STARTS:
        if (answered >= share * n_rows).any():
            added[np.argmax(answered >= share * n_rows)] += delta / len(STARTS)
    for k, p_value in enumerate(p_values):
        at_hand += added[k]
        passed[k] = p_value <= at_hand and at_hand > 0
        at_hand *= passed[k]
    return passed


def hoeffding_bentkus(risks: Floats, n_rows: int, bound: float) -> Floats:
    """Return p-values of the hypotheses that the mean of a loss in [0, 1] exceeds a bound, given its means on rows."""
    low = np.minimum(risks, bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(low > 0, low * np.log(low / bound), 0.0)
        divergence += np.where(low < 1, (1 - low) * np.log((1 - low) / (1 - bound)), 0.0) if bound < 1 else 0.0
    hoeffding = np.exp(-n_rows * divergence)
    bentkus = np.e * bdtr(np.ceil(n_rows * risks), n_rows, bound)
    return np.where(risks >= bound, 1.0, np.minimum(hoeffding, bentkus))


def _largest_loss(loss: Loss | None, tree: ClassTree) -> float:
    """Return an upper bound of a loss between two nodes of a taxonomy."""
    if isinstance(loss, (ZeroOne, HierarchicalF)):
        return 1.0
    if isinstance(loss, HLoss):
        cost = node_costs(loss.weights, tree.taxonomy, virtual_root=loss.virtual_root)
        if tree.is_tree:  # at most one first mistake on each of two paths
            return float(np.sort(cost)[-2:].sum())
        return float(cost.sum())
    longest = int(np.diff(LabelMatrix.from_nodes(np.arange(tree.taxonomy.n_nodes), tree.taxonomy).indptr).max())
    return 2.0 * longest  # the nodes at and above both
