"""From which probability on decisions are right as often as wanted, by rows whose labels people have checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.stats import beta

Floats = npt.NDArray[np.float64]

DOUBT = 0.1  # the probability, at most, that decisions are right less often than the bound says
TRIALS = 4  # that begin at different thresholds
STEPS = 40  # thresholds that are tried, from the most cautious on


@dataclass(frozen=True)
class Threshold:
    """A probability from which decisions are right often enough, and how often the checked rows were."""

    at_least: float
    share_right: float
    lower_bound: float
    n_checked: int


def fit_temperature(log_probabilities: Sequence[Floats], right: Sequence[int]) -> float:
    """Return the number that divides scores, with which the true labels of checked rows are most probable."""
    if not right:
        return 1.0

    def loss(log_temperature: float) -> float:
        temperature = float(np.exp(log_temperature))
        total = 0.0
        for scores, place in zip(log_probabilities, right, strict=True):
            scaled = scores / temperature
            highest = scaled.max()
            total += float(highest + np.log(np.exp(scaled - highest).sum()) - scaled[place])
        return total

    return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def find_threshold(
    confidence: Floats, is_right: npt.NDArray[np.bool_], weight: Floats, sure: float
) -> Threshold | None:
    """Return the lowest threshold at which decisions are right with probability `sure`; None if there is none.

    Thresholds are tried from the highest down, and the first one that fails ends the trial, so that the bound holds
    for the one that is chosen (fixed-sequence testing). Few rows are above the highest thresholds, so trials begin at
    lower ones too, and share the doubt. `weight` says how many rows a checked row stands for.
    """
    found: Threshold | None = None
    order = np.argsort(-confidence, kind="stable")
    fewest = min(2 * fewest_checks(sure), len(order))
    cuts = np.unique(np.linspace(fewest, len(order), STEPS).astype(int))
    cuts = cuts[cuts > 0]
    starts = np.unique(np.linspace(0, len(cuts) - 1, TRIALS).astype(int)).tolist() if len(cuts) else []
    for start in starts:
        for cut in cuts[start:].tolist():
            own = weight[order[:cut]]
            n_effective = float(own.sum() ** 2 / (own * own).sum())
            share = float((own * is_right[order[:cut]]).sum() / own.sum())
            bound = lower_bound(share, n_effective, DOUBT / len(starts))
            if bound < sure:
                break
            if found is None or cut > found.n_checked:
                found = Threshold(float(confidence[order[cut - 1]]), share, bound, cut)
    return found


def fewest_checks(sure: float) -> int:
    """Return how many checked rows, all of them right, show that decisions are right with probability `sure`."""
    return int(np.ceil(np.log(DOUBT) / np.log(sure)))


def lower_bound(share: float, n: float, doubt: float = DOUBT) -> float:
    """Return what a share of n rows is at least, with probability 1 − `doubt` (Clopper and Pearson)."""
    n_right = share * n
    return float(beta.ppf(doubt, n_right, n - n_right + 1)) if n_right > 0 else 0.0
