"""NAICS 2017: activities of businesses, from the index of the North American Industry Classification System."""

from __future__ import annotations

import re
from pathlib import Path

from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.tables.records import check_column, read_records
from cladist.datasets.loaders.catalogue import DATA_SETS, Folder, path_of
from cladist.datasets.loaders.xlsx import sheet_rows
from cladist.datasets.rows import as_objects
from cladist.errors import DatasetError
from cladist.files import refuse
from cladist.taxonomy import Taxonomy

INDEX, CODES = "2017_NAICS_Index_File.csv", "2-6 digit_2017_Codes.xlsx"
CODE, TEXT = "NAICS17", "INDEX ITEM DESCRIPTION"
NO_CODE = "******"  # of entries that only refer to others: "Clinics, medical -- see type"
# Three sectors have several two-digit numbers.
_SECTORS = dict.fromkeys(("31", "32", "33"), "31-33") | {"44": "44-45", "45": "44-45", "48": "48-49", "49": "48-49"}
_CODE = re.compile(r"[0-9]{6}")
_ANY_CODE = re.compile(r"[0-9]{2,6}|31-33|44-45|48-49")


def load_naics2017(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the index of NAICS 2017: 20,057 short texts with 1,055 labels, not split.

    A label is a six-digit code ("111110"). Above it stand the codes of five, four and three digits and the sector
    ("11"; "31-33", "44-45" and "48-49" are one sector each). The 25 entries of the index without a code, which only
    refer to others, are left out, and so are the two codes that have no entry.

    Parameters
    ----------
    folder : path, optional
        Holds ``2017_NAICS_Index_File.csv`` and, for the titles of the codes, ``2-6 digit_2017_Codes.xlsx``; None:
        ``naics2017`` below the folder that ``CLADIST_DATA`` names.

    Returns
    -------
    Dataset
        `X` is an array of texts, since features fitted before splitting would use the test part: call `split` and
        put a vectoriser before the learner in a `Pipeline`. The taxonomy is a forest of 20 sectors, 5 levels deep.
        Where the workbook is there, the taxonomy's titles and `descriptions` have the title of every code.

    Examples
    --------
    >>> load_naics2017()  # doctest: +SKIP
    Dataset(20057 rows, texts, 2192 nodes, NAICS 2017 index)
    """
    place = DATA_SETS["naics2017"].locate(folder)
    texts, labels = _index(path_of(place, INDEX))
    workbook = place / CODES
    titles = _titles(workbook) if workbook.is_file() else {}
    parents = {node: above for code in dict.fromkeys(labels) for node, above in _links(code)}
    taxonomy = Taxonomy.from_parents(parents, titles=titles)
    return Dataset(
        as_objects(texts), as_objects(labels), taxonomy, source="NAICS 2017 index", descriptions=taxonomy.titles
    )


def _index(path: Path) -> tuple[list[str], list[str]]:
    texts, labels = [], []
    for line, record in read_records(path, format="csv"):
        for column in (CODE, TEXT):
            check_column(path, line, column, record)
        code = record[CODE].strip()
        if code == NO_CODE:
            continue
        if not _CODE.fullmatch(code):
            refuse(path, line, CODE, f"wanted six digits (or {NO_CODE} for no code), got {code!r}.")
        texts.append(record[TEXT].strip())
        labels.append(code)
    if not texts:
        refuse(path, None, None, "the index has no entry with a code.")
    return texts, labels


def _links(code: str) -> list[tuple[str, str | None]]:
    """Return the nodes from the sector to the code, each with the one above it.

    Examples
    --------
    >>> _links("321113")
    [('31-33', None), ('321', '31-33'), ('3211', '321'), ('32111', '3211'), ('321113', '32111')]
    """
    path = [_SECTORS.get(code[:2], code[:2]), *(code[:digits] for digits in (3, 4, 5, 6))]
    return list(zip(path, [None, *path], strict=False))


def _titles(path: Path) -> dict[str, str]:
    """Return the title of each code: the second and third column of the workbook."""
    titles = {}
    for number, cells in sheet_rows(path):
        if number == 1:
            continue  # the header
        if len(cells) < 3 or not _ANY_CODE.fullmatch(cells[1]):
            raise DatasetError(f"{path}, row {number}: wanted a number, a code and a title, got {cells!r}.")
        titles[cells[1]] = cells[2]
    return titles
