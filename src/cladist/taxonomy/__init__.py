"""The taxonomy of the labels, and graphs of related labels."""

from cladist.taxonomy.formats.ipc import IpcSymbol, ipc_taxonomy, parse_ipc
from cladist.taxonomy.formats.mesh import mesh_taxonomy
from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.revisions.crosswalk import Crosswalk
from cladist.taxonomy.revisions.entries import Entry
from cladist.taxonomy.taxonomy import Taxonomy, as_taxonomy

__all__ = [
    "Crosswalk",
    "Entry",
    "IpcSymbol",
    "RelationGraph",
    "Taxonomy",
    "as_taxonomy",
    "ipc_taxonomy",
    "mesh_taxonomy",
    "parse_ipc",
]
