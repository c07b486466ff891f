"""Migration of `HierarchicalRLS`: its least squares problems with their examples."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.learners.migration.node_map import NodeMap
from cladist.learners.online.growing_factor import GrowingFactor
from cladist.learners.online.ridge import EVERY_ROW, NodeGroups, PrimalRidge
from cladist.learners.online.rls import HierarchicalRLS

Ids = npt.NDArray[np.int64]
Key = tuple[int, int, int]  # old group or −1, gate, and without an old group the node


def migrate_ridge(model: HierarchicalRLS, fitted: Any, nodes: NodeMap) -> Any:
    """Give a clone the problems of the old nodes: new ones without examples, merged ones with summed targets.

    Nodes that came from one group and have the same gate stay together. Of merged nodes that had different examples,
    those of the one with most go on.
    """
    for name in ("solver_", "alpha_", "cv_results_"):
        if name in vars(model):
            setattr(fitted, name, vars(model)[name])
    old: Any = model.ridge_
    place = {v: (k, c) for k, group in enumerate(old.groups.nodes) for c, v in enumerate(group.tolist())}
    columns: dict[Key, dict[int, list[int]]] = {}
    for v in range(nodes.new.n_nodes):
        gate = int(nodes.new.parent[v]) if model.gated else EVERY_ROW
        places = [place[u] for u in nodes.sources.get(v, ())]
        k = max((k for k, _ in places), key=lambda k: (old.counts[k], -k), default=-1)
        key = (k, gate, -1) if k >= 0 else (-1, gate, v)
        columns.setdefault(key, {})[v] = [c for j, c in places if j == k]
    ordered = sorted(columns.items(), key=lambda item: min(item[1]))
    groups = NodeGroups(
        [gate for (_, gate, _), _ in ordered], [np.array(sorted(part), np.int64) for _, part in ordered]
    )
    fitted.ridge_ = new = _copied(old)
    new.groups = groups
    fill = _fill_primal if isinstance(old, PrimalRidge) else _fill_dual
    fill(old, new, [(key[0], [part[v] for v in sorted(part)]) for key, part in ordered])
    return fitted


def _copied(state: Any) -> Any:
    copy = object.__new__(type(state))
    copy.__dict__.update(vars(state))
    return copy


def _fill_primal(old: Any, new: Any, parts: list[tuple[int, list[list[int]]]]) -> None:
    new.counts, new.inverses, new.weights = [0] * len(parts), {}, {}
    for j, (k, merged) in enumerate(parts):
        if k in old.inverses:
            new.counts[j], new.inverses[j] = old.counts[k], old.inverses[k].copy()
            W = np.array([old.weights[k][places].sum(axis=0) for places in merged])
            if old.kernel.constant:  # of targets ±1, the sum of m is 1 − m too low where all are off but one
                W[:, -1] += [(len(places) - 1) / np.sqrt(old.kernel.constant) for places in merged]
            new.weights[j] = W


def _fill_dual(old: Any, new: Any, parts: list[tuple[int, list[list[int]]]]) -> None:
    new.factors, new.members, new.targets, new._duals = [], [], [], {}
    for k, merged in parts:
        if k < 0:
            new.factors.append(GrowingFactor(old.budget))
            new.members.append(np.zeros(0, np.int64))
            new.targets.append(np.zeros((0, len(merged))))
            continue
        factor, members, U = old.factors[k], old.members[k], old.targets[k]
        targets = [U[:, places].sum(axis=1) for places in merged]
        if any(len(places) > 1 for places in merged) and len(members):
            ones = factor.solve(np.ones((len(members), 1)))[:, 0]  # targets ±1: the sum of m is m − 1 too low
            targets = [t + (len(places) - 1) * ones for t, places in zip(targets, merged, strict=True)]
        new.factors.append(deepcopy(factor))
        new.members.append(members.copy())
        new.targets.append(np.ascontiguousarray(np.array(targets).T).reshape(len(members), len(merged)))
