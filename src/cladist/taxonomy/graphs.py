"""networkx, where it is installed."""

from __future__ import annotations

from typing import Any

from cladist.errors import TaxonomyError


def networkx(who: str) -> Any:
    """Return the package, or say for whom it is missing."""
    try:
        import networkx as package
    except ImportError:
        raise TaxonomyError(
            f"{who} needs the package networkx; install it with: pip install 'cladist[graphs]'"
        ) from None
    return package
