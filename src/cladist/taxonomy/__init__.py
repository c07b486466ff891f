"""The shape of the label space."""

from cladist.taxonomy.ipc import IpcSymbol, ipc_taxonomy, parse_ipc
from cladist.taxonomy.mesh import mesh_taxonomy
from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.resolving import as_taxonomy
from cladist.taxonomy.taxonomy import Taxonomy

__all__ = [
    "IpcSymbol",
    "RelationGraph",
    "Taxonomy",
    "as_taxonomy",
    "ipc_taxonomy",
    "mesh_taxonomy",
    "parse_ipc",
]
