"""Which nodes learn from the same examples, and which rows a store of examples is shown."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.storage.array_groups import Arrays, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
EVERY_ROW = -1  # the gate of a store that is shown all rows


@dataclass
class Stores:
    """Stores of examples: the nodes that learn from each, and the node whose true label lets a row in.

    Siblings are shown the same rows, those of their parent, so that where every row is stored they share one store
    and one inverse; only their targets differ. Where a row is stored by a node's own margin, each has its own.
    """

    gates: list[int] = field(default_factory=list)
    nodes: list[Ids] = field(default_factory=list)

    @classmethod
    def of(cls, taxonomy: Taxonomy, *, gated: bool, shared: bool) -> Stores:
        """Lay out the stores of a taxonomy, parents' before their children's."""
        above = taxonomy.parent if gated else np.full(taxonomy.n_nodes, EVERY_ROW)
        if not shared:
            return cls(above.tolist(), [np.array([v]) for v in range(taxonomy.n_nodes)])
        gates = np.unique(above).tolist()
        return cls(gates, [np.flatnonzero(above == gate) for gate in gates])

    def __len__(self) -> int:
        return len(self.gates)

    def renumber(self, new_id: Ids) -> None:
        """Follow nodes to their new ids."""
        self.gates = [gate if gate == EVERY_ROW else int(new_id[gate]) for gate in self.gates]
        self.nodes = [new_id[nodes] for nodes in self.nodes]

    def add(self, node: int, gate: int) -> None:
        """Give a node a store of its own: what others have stored, it was not a label of."""
        self.gates.append(gate)
        self.nodes.append(np.array([node], np.int64))

    def shown(self, on: npt.NDArray[np.bool_], store: int) -> npt.NDArray[np.bool_]:
        """Return which rows a store is shown, given the true labels (rows × nodes)."""
        gate = self.gates[store]
        return np.ones(len(on), bool) if gate == EVERY_ROW else on[:, gate]

    def pack(self) -> Arrays:
        """Return the arrays a model file holds."""
        sizes = np.array([len(nodes) for nodes in self.nodes], np.int64)
        return {"gates": np.array(self.gates, np.int64), "sizes": sizes, "nodes": np.concatenate(self.nodes)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_nodes: int) -> Stores:
        """Restore what `pack` gave, checking that every node of the taxonomy is in one store."""
        gates, sizes, nodes = (unpack_ids(arrays[name]) for name in ("gates", "sizes", "nodes"))
        fits = (
            gates.ndim == sizes.ndim == nodes.ndim == 1
            and len(gates) == len(sizes)
            and np.all(sizes > 0)
            and sizes.sum() == len(nodes)
        )
        if not fits or not np.array_equal(np.sort(nodes), np.arange(n_nodes)):
            raise ModelFormatError("Its stores do not hold every node of its taxonomy once.")
        if np.any((gates < EVERY_ROW) | (gates >= n_nodes)):
            raise ModelFormatError("A store of it is shown the rows of a node that is not in its taxonomy.")
        return cls(gates.tolist(), np.split(nodes, np.cumsum(sizes)[:-1]))
