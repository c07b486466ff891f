"""The shape of the label space."""

from cladist.taxonomy.relations import RelationGraph
from cladist.taxonomy.resolving import as_taxonomy
from cladist.taxonomy.taxonomy import Taxonomy

__all__ = ["RelationGraph", "Taxonomy", "as_taxonomy"]
