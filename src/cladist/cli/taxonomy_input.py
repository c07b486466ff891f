"""Taxonomy files as the command line takes them: any format, the header of an ARFF file, and cycles with a way out."""

from __future__ import annotations

from cladist.datasets.formats.arff import header as arff_header
from cladist.datasets.formats.arff import hierarchy as arff_hierarchy
from cladist.datasets.formats.lshtc import hierarchy as lshtc_hierarchy
from cladist.errors import TaxonomyError
from cladist.files import Source, data_suffix, display_name, open_for_reading
from cladist.taxonomy import Taxonomy
from cladist.taxonomy.inspection import restore_cycle

MOST_EDGES, MOST_NODES = 10, 12  # listed in a message


def read_taxonomy(
    path: Source,
    *,
    advice: str,
    format: str | None = None,  # noqa: A002
    sep: str = "/",
    drop_cycles: bool = False,
) -> Taxonomy:
    """Read a taxonomy; cycles are refused with the edges that close them and `advice`, or left out.

    In `advice`, {} is these edges.
    Besides the formats of `Taxonomy.read` there are the header of an ARFF file and the hierarchies of LSHTC.
    """
    if format == "arff" or (format is None and data_suffix(path) == ".arff"):
        taxonomy = _of_header(path)
    elif format == "lshtc":
        taxonomy = lshtc_hierarchy.read_hierarchy(path, "drop")
    else:
        taxonomy = Taxonomy.read(path, format=format, sep=sep, on_cycle="drop")
    if taxonomy.dropped_edges and not drop_cycles:
        them = "it" if len(taxonomy.dropped_edges) == 1 else "them"
        found = f"{display_name(path)}: {cycles_in_words(taxonomy)}"
        raise TaxonomyError(f"{found}; remove {them}, or {advice.format(them)}.")
    return taxonomy


def _of_header(path: Source) -> Taxonomy:
    with open_for_reading(path) as stream:
        header = arff_header.read_header(path, stream)
    return arff_hierarchy.read_hierarchy(path, header, on_cycle="drop")


def cycles_in_words(taxonomy: Taxonomy) -> str:
    """Return which edges close cycles, and the first of these cycles.

    Examples
    --------
    >>> cycles_in_words(Taxonomy.from_edges([("a", "b"), ("b", "a"), ("b", "b")], on_cycle="drop"))
    '2 edges close cycles (b → a, b → b), the first of them a → b → a'
    """
    edges = taxonomy.dropped_edges
    shown = ", ".join(f"{parent} → {child}" for parent, child in edges[:MOST_EDGES])
    more = f" and {len(edges) - MOST_EDGES:,} more" if len(edges) > MOST_EDGES else ""
    cycle = restore_cycle(taxonomy, edges[0])
    first = " → ".join(cycle if len(cycle) <= MOST_NODES else (*cycle[: MOST_NODES - 2], "…", cycle[-1]))
    if len(edges) == 1:
        return f"1 edge closes a cycle ({shown}): {first}"
    return f"{len(edges):,} edges close cycles ({shown}{more}), the first of them {first}"
