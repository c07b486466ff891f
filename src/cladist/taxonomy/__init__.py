"""The shape of the label space."""

from cladist.taxonomy.coercion import as_taxonomy
from cladist.taxonomy.formats.ipc import IpcSymbol, ipc_taxonomy, parse_ipc
from cladist.taxonomy.formats.mesh import mesh_taxonomy
from cladist.taxonomy.relations import RelationGraph
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
