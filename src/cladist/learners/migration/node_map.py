"""`NodeMap`: which old nodes each node of a revised taxonomy comes from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cladist.errors import TaxonomyError
from cladist.taxonomy import Crosswalk, Taxonomy

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class NodeMap:
    """The old nodes that each new node comes from, and the new nodes that each old one goes to, as ids.

    A leaf that goes to an inner node goes to the leaves below it, too. An inner node that goes to a leaf takes along
    the leaves below it that go nowhere else.
    """

    old: Taxonomy
    new: Taxonomy
    sources: dict[int, tuple[int, ...]]
    targets: dict[int, tuple[int, ...]]

    @classmethod
    def of(cls, old: Taxonomy, crosswalk: Crosswalk, new: Taxonomy) -> NodeMap:
        """Return the map of a crosswalk; nodes that it does not name keep their names."""
        if crosswalk.old_names and not any(name in old for name in crosswalk.old_names):
            raise TaxonomyError(
                "migrate: the crosswalk names no node of the model's taxonomy; is it for another one, or inverted?"
            )
        complete = Crosswalk(crosswalk.entries, old=old, new=new).completed()
        named = [(entry.old, entry.new) for entry in complete if entry.old is not None and entry.new is not None]
        pairs = [(old.index(u), new.index(v)) for u, v in named if u in old and v in new]
        goes = {u for u, _ in pairs}
        found: dict[tuple[int, int], None] = dict.fromkeys(pairs)
        for u, v in pairs:
            if old.is_leaf[u] and not new.is_leaf[v]:
                found.update(dict.fromkeys((u, int(w)) for w in new.ids_below(v) if new.is_leaf[w]))
            elif new.is_leaf[v] and not old.is_leaf[u]:
                below = [int(w) for w in old.ids_below(u) if old.is_leaf[w] and int(w) not in goes]
                found.update(dict.fromkeys((w, v) for w in below))
        return cls(old, new, _group((v, u) for u, v in found), _group(found))

    def is_whole(self, v: int) -> bool:
        """Tell whether a new node is an old one: it comes from one node, which goes nowhere else."""
        sources = self.sources.get(v, ())
        return len(sources) == 1 and self.targets[sources[0]] == (v,)


def _group(pairs: object) -> dict[int, tuple[int, ...]]:
    groups: dict[int, list[int]] = {}
    for one, other in pairs:  # type: ignore[attr-defined]
        groups.setdefault(one, []).append(other)
    return {one: tuple(sorted(others)) for one, others in groups.items()}
