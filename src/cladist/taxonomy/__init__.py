"""The taxonomy of the labels, and graphs of related labels."""

from cladist.taxonomy.formats.ipc import IpcSymbol, ipc_taxonomy, parse_ipc
from cladist.taxonomy.formats.mesh import mesh_taxonomy
from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.taxonomy import Taxonomy, as_taxonomy

__all__ = [
    "IpcSymbol",
    "RelationGraph",
    "Taxonomy",
    "as_taxonomy",
    "ipc_taxonomy",
    "mesh_taxonomy",
    "parse_ipc",
]
