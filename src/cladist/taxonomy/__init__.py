"""The taxonomy of the labels, and graphs of related labels."""

from cladist.taxonomy.formats.ipc import IpcSymbol, ipc_taxonomy, parse_ipc
from cladist.taxonomy.formats.mesh import mesh_taxonomy
from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.revisions.crosswalk import Crosswalk
from cladist.taxonomy.revisions.entries import Entry
from cladist.taxonomy.taxonomy import Taxonomy, as_taxonomy
from cladist.taxonomy.version import Version, describe_changes

__all__ = [
    "Crosswalk",
    "Entry",
    "IpcSymbol",
    "RelationGraph",
    "Taxonomy",
    "Version",
    "as_taxonomy",
    "describe_changes",
    "ipc_taxonomy",
    "mesh_taxonomy",
    "parse_ipc",
]
