"""Whatever a user passes as `taxonomy`, made a `Taxonomy`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from cladist.errors import TaxonomyError
from cladist.taxonomy.taxonomy import Taxonomy


def as_taxonomy(value: Any) -> Taxonomy:
    """Return `value` if it is a `Taxonomy`, else build one from a mapping, edges or a file's path.

    Examples
    --------
    >>> as_taxonomy([("a", "b"), ("a", "c")])
    Taxonomy(tree, 3 nodes, 2 leaves, depth 1)
    """
    if isinstance(value, Taxonomy):
        return value
    if isinstance(value, Mapping):
        return Taxonomy.from_parents(value)
    if isinstance(value, (str, os.PathLike)):
        return Taxonomy.read(value)
    if hasattr(value, "is_directed"):
        return Taxonomy.from_networkx(value)
    if isinstance(value, Iterable):
        return Taxonomy.from_edges(value)
    raise TaxonomyError(
        "taxonomy must be a Taxonomy, a mapping of child to parent, (parent, child) edges or the path of a file; "
        f"got {type(value).__name__}."
    )
