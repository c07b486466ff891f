"""O*NET: job titles under the codes of the Standard Occupational Classification, and which occupations are alike."""

from __future__ import annotations

import re
from pathlib import Path

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.tables.records import check_column, read_records
from cladist.datasets.loaders.catalogue import DATA_SETS, Folder, path_of
from cladist.datasets.rows import as_objects
from cladist.files import refuse
from cladist.taxonomy import RelationGraph, Taxonomy

TITLES, OCCUPATIONS, RELATED = "Alternate Titles.txt", "Occupation Data.txt", "Related Occupations.txt"
CODE, RELATED_CODE = "O*NET-SOC Code", "Related O*NET-SOC Code"
_CODE = re.compile(r"[0-9]{2}-[0-9]{4}\.[0-9]{2}")
# Minor groups whose number is not their first digit and three zeros.
_MINOR_GROUPS = {"15-1": "15-1200", "31-1": "31-1100", "51-5": "51-5100"}


def load_onet_titles(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the alternate titles of O*NET's occupations: 52,754 short texts with 1,016 labels, not split.

    A label is an O*NET-SOC code ("11-1011.03"). Above it stand the detailed occupation ("11-1011"), the broad
    occupation ("11-1010"), the minor group ("11-1000") and the major group ("11-0000") of SOC 2018.

    Parameters
    ----------
    folder : path, optional
        Holds ``Alternate Titles.txt``, ``Occupation Data.txt`` and ``Related Occupations.txt``, as O*NET publishes
        them; None: ``onet_titles`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        `X` is an array of texts, since features fitted before splitting would use the test part: call `split` and
        put a vectoriser before the learner in a `Pipeline`. The taxonomy is a forest of 23 major groups, 5 levels
        deep; its titles name the occupations and `descriptions` describes them. `relations` joins two occupations
        if either is listed as related to the other.

    Examples
    --------
    >>> load_onet_titles()  # doctest: +SKIP
    Dataset(52754 rows, texts, 2464 nodes, O*NET alternate titles)
    """
    place = DATA_SETS["onet_titles"].locate(folder)
    taxonomy, descriptions = _occupations(path_of(place, OCCUPATIONS))
    rows = _rows(path_of(place, TITLES), CODE, "Alternate Title", known=taxonomy)
    return Dataset(
        as_objects([title for _, _, title in rows]),
        as_objects([code for _, code, _ in rows]),
        taxonomy,
        source="O*NET alternate titles",
        descriptions=descriptions,
        relations=_relations(path_of(place, RELATED), taxonomy),
    )


def _relations(path: Path, known: Taxonomy) -> RelationGraph:
    edges: dict[tuple[str, str], None] = {}
    for line, code, other in _rows(path, CODE, RELATED_CODE, known=known):
        _check_known(path, line, RELATED_CODE, other, known)
        if code == other:
            refuse(path, line, RELATED_CODE, f"{code} is related to itself.")
        edges[min(code, other), max(code, other)] = None  # most pairs are listed from both sides
    return RelationGraph.from_edges(list(edges))


def _rows(path: Path, first: str, second: str, *, known: Taxonomy) -> list[tuple[int, str, str]]:
    """Return line, code and one other field of each row; the code must be that of an occupation."""
    rows = []
    for line, record in read_records(path, format="tsv"):
        for column in (first, second):
            check_column(path, line, column, record)
        _check_known(path, line, first, record[first], known)
        rows.append((line, record[first], record[second]))
    if not rows:
        refuse(path, None, None, "the table has a header but no rows.")
    return rows


def _check_known(path: Path, line: int, column: str, code: str, known: Taxonomy) -> None:
    if code not in known or not _CODE.fullmatch(code):
        refuse(path, line, column, f"{code!r} is not an occupation of {OCCUPATIONS}.")


def _occupations(path: Path) -> tuple[Taxonomy, dict[str, str]]:
    """Return the tree of codes with the occupations' titles, and their descriptions."""
    parents: dict[str, str | None] = {}
    titles, descriptions = {}, {}
    for line, record in read_records(path, format="tsv"):
        for column in (CODE, "Title", "Description"):
            check_column(path, line, column, record)
        code = record[CODE]
        if not _CODE.fullmatch(code):
            refuse(path, line, CODE, f"{code!r} is not an O*NET-SOC code such as 11-1011.03.")
        if code in parents:
            refuse(path, line, CODE, f"{code} has a row already.")
        above = None
        for node in _groups(code):
            parents.setdefault(node, above)
            above = node
        titles[code], descriptions[code] = record["Title"], record["Description"]
    return Taxonomy.from_parents(parents, titles=titles), descriptions


def _groups(code: str) -> tuple[str, ...]:
    """Return a code's path: major group, minor group, broad occupation, detailed occupation, the code.

    Examples
    --------
    >>> _groups("15-1252.00")
    ('15-0000', '15-1200', '15-1250', '15-1252', '15-1252.00')
    """
    major, minor, broad, detailed = code[:2], code[:4], code[:6], code[:7]
    return f"{major}-0000", _MINOR_GROUPS.get(minor, f"{minor}000"), f"{broad}0", detailed, code
