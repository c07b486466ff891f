"""`NodeGroups`: the nodes that are trained on the same examples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cladist.errors import ModelFormatError
from cladist.storage.array_groups import Arrays, unpack_ids
from cladist.taxonomy import Taxonomy

Ids = npt.NDArray[np.int64]
EVERY_ROW = -1  # the gate of a group that is trained on all rows


@dataclass
class NodeGroups:
    """Groups of nodes with common examples, and the gate of each: the node whose rows the group is trained on.

    Siblings are trained on the same rows, those of their parent. If every row is stored, they share one set of examples
    and one inverse, and only their targets differ. If a node's margin decides what is stored, each is a group.
    """

    gates: list[int]
    nodes: list[Ids]

    @classmethod
    def of(cls, taxonomy: Taxonomy, *, gated: bool, shared: bool) -> NodeGroups:
        """Return the groups of a taxonomy, parents before children."""
        gate_of = taxonomy.parent if gated else np.full(taxonomy.n_nodes, EVERY_ROW)
        if not shared:
            return cls(gate_of.tolist(), [np.array([v]) for v in range(taxonomy.n_nodes)])
        gates = np.unique(gate_of).tolist()
        return cls(gates, [np.flatnonzero(gate_of == gate) for gate in gates])

    def __len__(self) -> int:
        return len(self.gates)

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all groups."""
        return sum(map(len, self.nodes))

    def add_node(self, new_id: Ids, node: int, gate: int) -> None:
        """Move nodes to their new ids, and make a new group for a new node, which has no examples yet."""
        self.gates = [old if old == EVERY_ROW else int(new_id[old]) for old in self.gates] + [gate]
        self.nodes = [new_id[nodes] for nodes in self.nodes] + [np.array([node], np.int64)]

    def pack(self) -> Arrays:
        """Return the arrays of a model file."""
        sizes = np.array([len(nodes) for nodes in self.nodes], np.int64)
        return {"gates": np.array(self.gates, np.int64), "sizes": sizes, "nodes": np.concatenate(self.nodes)}

    @classmethod
    def unpack(cls, arrays: Arrays, n_nodes: int) -> NodeGroups:
        """Restore packed groups, checking that every node of the taxonomy is in exactly one."""
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
            raise ModelFormatError("One of its stores is gated by a node that is not in its taxonomy.")
        return cls(gates.tolist(), np.split(nodes, np.cumsum(sizes)[:-1]))
