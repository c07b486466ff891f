"""Stop leaves: labels at inner nodes as leaves of their own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cladist.taxonomy.taxonomy import Taxonomy


def with_stops(taxonomy: Taxonomy, labels: npt.NDArray[np.int64]) -> tuple[Taxonomy, npt.NDArray[np.int64]]:
    """Return the taxonomy with a leaf below each of these labels that has children, and the node of each label in it.

    Examples
    --------
    >>> taxonomy = Taxonomy.from_paths(["sport/tennis", "art"])
    >>> extended, places = with_stops(taxonomy, np.array([taxonomy.index("sport"), taxonomy.index("art")]))
    >>> [extended.path(extended.names[v])[0] for v in places], len(extended) - len(taxonomy)
    (['sport', 'art'], 1)
    """
    if not taxonomy.stop_leaves and np.all(np.isin(labels, taxonomy.leaves)):
        return taxonomy, labels  # the usual case, in a fraction of the time
    names = taxonomy.names
    extended = taxonomy.with_stop_leaves(names[v] for v in labels)
    stop_of = {inner: stop for stop, inner in extended.stop_leaves.items()}
    return extended, np.array([extended.index(stop_of.get(names[v], names[v])) for v in labels], np.int64)
