"""The shape of the label space."""

from cladist.taxonomy.resolving import as_taxonomy
from cladist.taxonomy.taxonomy import Taxonomy

__all__ = ["Taxonomy", "as_taxonomy"]
