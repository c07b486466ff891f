"""Which rows are trained on and which are held out: random folds, folds of whole groups, or by time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ParameterError, is_count
from cladist.learners.base import random_generator

Ids = npt.NDArray[np.int64]
Split = tuple[Ids, Ids]  # rows to train on, rows held out


def splits(
    n_rows: int,
    *,
    cv: int = 5,
    groups: Any = None,
    times: Any = None,
    labels: Ids | None = None,
    random_state: Any = 0,
    who: str = "compare",
) -> list[Split]:
    """Return splits of the rows.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    cv : int
        The number of parts of about equal size.
    groups : sequence, optional
        One entry per row; rows of one group are on one side of each split.
    times : sequence, optional
        One entry per row that can be sorted. The parts are then in the order of time: each of them, but the first, is
        held out from a training on all parts before it. The last part, with the most rows to train on, comes first.
    labels : array, optional
        One number per row; each part gets about the same share of each.
    random_state : int, RandomState or None
        The seed of random parts.
    who : str
        Who asks, for messages.

    Examples
    --------
    >>> [(train.tolist(), out.tolist()) for train, out in splits(4, cv=2, times=[3, 1, 2, 4])]
    [([1, 2], [0, 3])]
    """
    if not is_count(cv) or cv < 2:
        raise ParameterError(f"{who}: cv must be a whole number from 2 up; got {cv!r}.")
    if groups is not None and times is not None:
        raise ParameterError(f"{who}: groups and times are two ways to split rows; give one of them.")
    for name, column in (("groups", groups), ("times", times)):
        if column is not None and len(column) != n_rows:
            raise ParameterError(f"{who}: {name} has {len(column)} entries for {n_rows} rows.")
    if times is not None:
        return _by_time(_codes(times), cv, who)
    random = random_generator(who, random_state)
    if groups is not None:
        part_of = _deal_groups(_codes(groups), cv, random, who)
    else:
        if n_rows < cv:
            raise ParameterError(f"{who}: cv={cv} parts need as many rows; there are {n_rows}.")
        shuffled = random.permutation(n_rows)
        order = shuffled if labels is None else shuffled[np.argsort(labels[shuffled], kind="stable")]
        part_of = np.empty(n_rows, np.int64)
        part_of[order] = np.arange(n_rows) % cv
    return [(np.flatnonzero(part_of != k), np.flatnonzero(part_of == k)) for k in range(cv)]


def _codes(column: Any) -> Ids:
    return np.unique(np.asarray(column), return_inverse=True)[1].astype(np.int64)


def _by_time(codes: Ids, cv: int, who: str) -> list[Split]:
    parts = np.minimum(np.searchsorted(np.sort(codes), codes) * cv // len(codes), cv - 1)  # equal times stay together
    values = np.unique(parts)
    if len(values) < 2:
        raise ParameterError(f"{who}: all rows have about the same time, so none are later than others.")
    return [(np.flatnonzero(parts < k), np.flatnonzero(parts == k)) for k in values[:0:-1]]


def _deal_groups(codes: Ids, cv: int, random: np.random.RandomState, who: str) -> Ids:
    """Deal groups to parts, the largest first, each to the part with the fewest rows."""
    sizes = np.bincount(codes)
    if len(sizes) < cv:
        raise ParameterError(f"{who}: cv={cv} parts need as many groups; there are {len(sizes)}.")
    order = random.permutation(len(sizes))
    part_of, filled = np.empty(len(sizes), np.int64), np.zeros(cv, np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        part_of[group] = filled.argmin()
        filled[part_of[group]] += sizes[group]
    return part_of[codes]
