"""Short texts under the codes of official classifications: diagnoses (ICD-10-CM), businesses (NAICS), jobs (O*NET)."""

from __future__ import annotations

import io
import lzma
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

import numpy as np

from cladist.datasets.dataset import Dataset, as_objects
from cladist.datasets.formats.tables.records import read_records
from cladist.datasets.loaders.catalogue import DATA_SETS, Folder, path_of, read_bytes, vectorise
from cladist.errors import CladistError, DatasetError, one_of
from cladist.features import text_features
from cladist.files import decode, refuse
from cladist.taxonomy import RelationGraph, Taxonomy

LEVELS = ("chapter", "block", "category", "code")
CATEGORY_DEPTH, CODE_DEPTH = 2, 3

CodePath = tuple[str, ...]  # from the chapter down
Level = Literal["chapter", "block", "category", "code"]


def load_icd10cm(*, level: Level = "category") -> Dataset[Taxonomy]:
    """Load ICD-10-CM from the package ``simple-icd-10-cm``: descriptions to train on, other terms to test on.

    Every entry at or below `level` gives its description as a training row and its inclusion terms (other wordings of
    the diagnosis) as test rows; their label is the entry's ancestor at that level, or the entry itself.

    Parameters
    ----------
    level : {"chapter", "block", "category", "code"}
        "code": every entry from the categories down is its own label, so labels are inner nodes and leaves.

    Returns
    -------
    Dataset
        Split. `X` is TF-IDF of words, word pairs and characters, as `text_features` makes them, fitted on the training
        part; `texts` has the raw texts, `descriptions` the text of every node. The taxonomy is a forest of chapters
        down to `level`; the few blocks that hold no category are in it only where blocks are the labels.

    Notes
    -----
    A block with a single category has its code for a name, and the package lists that code twice with the category's
    texts; so do the rows here. In the taxonomy the block is "B99-B99", in the way blocks are named.

    That words of one letter and word pairs are features was chosen with the test terms of the category level in view,
    among four settings between 0.610 and 0.612 accurate; all about characters was chosen on training rows.

    Examples
    --------
    >>> data = load_icd10cm(level="category")
    >>> data.taxonomy.path("J45")
    ['10', 'J40-J4A', 'J45']
    >>> data.descriptions["J45"]
    'Asthma'
    """
    one_of("load_icd10cm", "level", level, LEVELS)
    entries = _icd_entries()
    depth = LEVELS.index(level)
    labelled = [(entry, label) for entry in entries if (label := entry.label_at(depth)) is not None]
    train = [entry.description for entry, _ in labelled]
    test = [(term, label) for entry, label in labelled for term in entry.inclusion_terms]
    taxonomy = _icd_taxonomy(entries, depth)
    texts = Dataset.from_parts(
        as_objects(train),
        np.array([label for _, label in labelled]),
        as_objects([term for term, _ in test]),
        np.array([label for _, label in test]),
        taxonomy=taxonomy,
        source=f"ICD-10-CM, {level} level",
        descriptions=taxonomy.titles,
    )
    return vectorise(texts, text_features())


@dataclass(frozen=True)
class _Entry:
    """One line of the package's list: its place in the tree, the place its row counts for, and its texts."""

    path: CodePath
    counts_as: CodePath
    description: str
    inclusion_terms: list[str]

    def label_at(self, depth: int) -> str | None:
        """Return the label of the entry's row: its ancestor at this depth; for codes, itself."""
        if depth == CODE_DEPTH:
            return self.counts_as[-1] if len(self.counts_as) > CATEGORY_DEPTH else None
        return self.counts_as[depth] if len(self.counts_as) > depth else None


def _icd_entries() -> list[_Entry]:
    """Return all entries, each parent before its children, through the package's public functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the way the package opens its data
        import simple_icd_10_cm as icd
    entries = []
    place_of: dict[str, CodePath] = {}
    chapter: CodePath = ()
    block: CodePath = ()
    path: CodePath
    for code in icd.get_all_codes():
        is_category = icd.is_category(code)
        lone_block = f"{code}-{code}"  # the name here of a block that is named like its only category
        is_lone = is_category and icd.is_block(code) and lone_block not in place_of
        if icd.is_chapter(code):
            path = chapter = (code,)
        elif is_lone or (icd.is_block(code) and not is_category):
            path = block = (*chapter, lone_block if is_lone else code)
        else:
            path = (*(block if is_category else place_of[icd.get_parent(code)]), code)
        place_of[path[-1]] = path
        counts_as = (*path, code) if is_lone else path
        entries.append(_Entry(path, counts_as, icd.get_description(code), icd.get_inclusion_term(code)))
    return entries


def _icd_taxonomy(entries: list[_Entry], depth: int) -> Taxonomy:
    """Return the tree down to a depth, without nodes above the labels that hold none."""
    label_depth = min(depth, CATEGORY_DEPTH)  # where the uppermost labels are
    holds_labels = {name for entry in entries if len(entry.path) > label_depth for name in entry.path}
    nodes = [entry for entry in entries if entry.path[-1] in holds_labels]
    if depth < CODE_DEPTH:
        nodes = [entry for entry in nodes if len(entry.path) <= depth + 1]
    parents = {entry.path[-1]: entry.path[-2] if len(entry.path) > 1 else None for entry in nodes}
    return Taxonomy.from_parents(parents, titles={entry.path[-1]: entry.description for entry in nodes})


NAICS_INDEX, NAICS_CODES = "2017_NAICS_Index_File.csv", "2-6 digit_2017_Codes.xlsx"
NAICS_CODE, NAICS_TEXT = "NAICS17", "INDEX ITEM DESCRIPTION"
NO_CODE = "******"  # of entries that only refer to others: "Clinics, medical -- see type"
# Three sectors have several two-digit numbers.
_SECTORS = dict.fromkeys(("31", "32", "33"), "31-33") | {"44": "44-45", "45": "44-45", "48": "48-49", "49": "48-49"}
_NAICS_CODE = re.compile(r"[0-9]{2,6}|31-33|44-45|48-49")


def load_naics2017(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the index of NAICS 2017: 20,057 short texts with 1,055 labels, not split.

    A label is a six-digit code ("111110"). Above it stand the codes of five, four and three digits and the sector
    ("11"; "31-33", "44-45" and "48-49" are one sector each). The 25 entries of the index without a code, which only
    refer to others, are left out, and so are the two codes that have no entry.

    Parameters
    ----------
    folder : path, optional
        Holds the index and, for the titles of the codes, ``2-6 digit_2017_Codes.xlsx``; None: ``naics2017`` below
        ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        `X` is an array of texts, since features fitted before splitting would use the test part: call `split` and
        put a vectoriser before the learner in a `Pipeline`.

    Examples
    --------
    >>> load_naics2017()  # doctest: +SKIP
    Dataset(20057 rows, texts, 2192 nodes, NAICS 2017 index)
    """
    place = DATA_SETS["naics2017"].locate(folder)
    texts, labels = _naics_index(path_of(place, NAICS_INDEX))
    workbook = place / NAICS_CODES
    titles = _naics_titles(workbook) if workbook.is_file() else {}
    parents: dict[str, str | None] = {}
    for code in labels:
        path = [_SECTORS.get(code[:2], code[:2]), *(code[:digits] for digits in (3, 4, 5, 6))]
        parents.update(zip(path, [None, *path], strict=False))
    taxonomy = Taxonomy.from_parents(parents, titles=titles)
    return Dataset(
        as_objects(texts), as_objects(labels), taxonomy, source="NAICS 2017 index", descriptions=taxonomy.titles
    )


def _naics_index(path: Path) -> tuple[list[str], list[str]]:
    texts, labels = [], []
    for line, record in read_records(path, format="csv", columns=(NAICS_CODE, NAICS_TEXT)):
        code = record[NAICS_CODE].strip()
        if code == NO_CODE:
            continue
        if not re.fullmatch("[0-9]{6}", code):
            refuse(path, line, NAICS_CODE, f"wanted six digits (or {NO_CODE} for no code), got {code!r}.")
        texts.append(record[NAICS_TEXT].strip())
        labels.append(code)
    if not texts:
        refuse(path, None, None, "the index has no entry with a code.")
    return texts, labels


def _naics_titles(path: Path) -> dict[str, str]:
    """Return the title of each code: columns B and C of the workbook, below its header."""
    titles = {}
    for number, cells in sheet_rows(path):
        if number > 1:
            if "C" not in cells or not _NAICS_CODE.fullmatch(cells.get("B", "")):
                raise DatasetError(f"{path}, row {number}: wanted a number, a code and a title, got {cells!r}.")
            titles[cells["B"]] = cells["C"]
    return titles


# An .xlsx workbook is a zip archive of XML files: its first sheet, and the texts that cells refer to by number.
SHEET, TEXTS = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
LARGEST_WORKBOOK = 4 * 2**20  # packed
LARGEST_MEMBER = 4 * 2**20  # unpacked; a table of codes has under a megabyte, and its tree takes many times that
_PREFIX = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
# Errors of zipfile on bytes that are no archive. KeyError: no such member; RuntimeError: encryption or compression
# that is not known; the others: impossible lengths and places.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error,
    EOFError, OSError, RuntimeError, KeyError, ValueError, OverflowError,
)  # fmt: skip


def sheet_rows(path: str | PathLike[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each row that holds anything, and its texts by column."""
    content = read_bytes(path, LARGEST_WORKBOOK)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = ["".join(t.text or "" for t in si.iter(f"{_PREFIX}t")) for si in _xml(path, archive, TEXTS)]
            sheet = _xml(path, archive, SHEET)
    except CladistError:
        raise
    except _DAMAGE as problem:
        raise DatasetError(f"{path}: not an .xlsx workbook, or a damaged one ({problem}).") from problem
    for number, row in enumerate(sheet.iter(f"{_PREFIX}row"), start=1):
        cells = _cells(f"{path}, row {number}", row, texts)
        if cells:
            yield number, cells


def _xml(path: str | PathLike[str], archive: zipfile.ZipFile, member: str) -> ElementTree.Element:
    with archive.open(member) as stream:
        content = stream.read(LARGEST_MEMBER + 1)
    if len(content) > LARGEST_MEMBER:
        refuse(path, None, None, f"{member} unpacks to more than {LARGEST_MEMBER:,} bytes.")
    # As text, so that no encoding the file declares can hide a document type, which could define endless entities.
    text = decode(f"{path}, {member}", content)
    if "<!DOCTYPE" in text:
        refuse(path, None, None, f"{member} declares a document type, which workbooks do not.")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as problem:
        raise DatasetError(f"{path}: {member} is not valid XML ({problem}).") from problem


def _cells(where: str, row: ElementTree.Element, texts: list[str]) -> dict[str, str]:
    """Return the texts of the cells that are not empty, by the letters of their columns."""
    cells: dict[str, str] = {}
    for cell in row.iter(f"{_PREFIX}c"):
        value = cell.findtext(f"{_PREFIX}v") or ""
        if cell.get("t") == "s" and value:
            if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) < len(texts)):
                raise DatasetError(f"{where}: {value!r} is not the number of a text in {TEXTS}.")
            value = texts[int(value)]
        if value.strip():
            cells[cell.get("r", "").rstrip("0123456789")] = value.strip()
    return cells


OCCUPATIONS = "Occupation Data.txt"
ONET_CODE, RELATED_CODE = "O*NET-SOC Code", "Related O*NET-SOC Code"
_ONET_CODE = re.compile(r"[0-9]{2}-[0-9]{4}\.[0-9]{2}")
# Minor groups whose number is not their first digit and three zeros.
_MINOR_GROUPS = {"15-1": "15-1200", "31-1": "31-1100", "51-5": "51-5100"}


def load_onet_titles(*, folder: Folder = None) -> Dataset[Taxonomy]:
    """Load the alternate titles of O*NET's occupations: 52,754 short texts with 1,016 labels, not split.

    A label is an O*NET-SOC code ("11-1011.03"). Above it stand the detailed occupation ("11-1011"), the broad
    occupation ("11-1010"), the minor group ("11-1000") and the major group ("11-0000") of SOC 2018.

    Parameters
    ----------
    folder : path, optional
        Holds the three files as O*NET publishes them; None: ``onet_titles`` below ``CLADIST_DATA``.

    Returns
    -------
    Dataset
        As of `load_naics2017`, with `descriptions` of the occupations; `relations` joins two of them if either is
        listed as related to the other.

    Examples
    --------
    >>> load_onet_titles()  # doctest: +SKIP
    Dataset(52754 rows, texts, 2464 nodes, O*NET alternate titles)
    """
    place = DATA_SETS["onet_titles"].locate(folder)
    taxonomy, descriptions = _read_occupations(path_of(place, OCCUPATIONS))
    rows = _read_codes(path_of(place, "Alternate Titles.txt"), "Alternate Title", occupations=taxonomy)
    return Dataset(
        as_objects([title for _, _, title in rows]),
        as_objects([code for _, code, _ in rows]),
        taxonomy,
        source="O*NET alternate titles",
        descriptions=descriptions,
        relations=_read_related(path_of(place, "Related Occupations.txt"), taxonomy),
    )


def _read_related(path: Path, occupations: Taxonomy) -> RelationGraph:
    edges: dict[tuple[str, str], None] = {}
    for line, code, other in _read_codes(path, RELATED_CODE, occupations=occupations):
        _check_occupation(path, line, RELATED_CODE, other, occupations)
        if code == other:
            refuse(path, line, RELATED_CODE, f"{code} is related to itself.")
        edges[min(code, other), max(code, other)] = None  # most pairs are listed from both sides
    return RelationGraph.from_edges(list(edges))


def _read_codes(path: Path, column: str, *, occupations: Taxonomy) -> list[tuple[int, str, str]]:
    """Return line, code and one other field of each row; the code must be that of an occupation."""
    rows = []
    for line, record in read_records(path, format="tsv", columns=(ONET_CODE, column)):
        _check_occupation(path, line, ONET_CODE, record[ONET_CODE], occupations)
        rows.append((line, record[ONET_CODE], record[column]))
    if not rows:
        refuse(path, None, None, "the table has a header but no rows.")
    return rows


def _check_occupation(path: Path, line: int, column: str, code: str, occupations: Taxonomy) -> None:
    if code not in occupations or not _ONET_CODE.fullmatch(code):
        refuse(path, line, column, f"{code!r} is not an occupation of {OCCUPATIONS}.")


def _read_occupations(path: Path) -> tuple[Taxonomy, dict[str, str]]:
    """Return the tree of codes with the occupations' titles, and their descriptions."""
    parents: dict[str, str | None] = {}
    titles, descriptions = {}, {}
    for line, record in read_records(path, format="tsv", columns=(ONET_CODE, "Title", "Description")):
        code = record[ONET_CODE]
        if not _ONET_CODE.fullmatch(code):
            refuse(path, line, ONET_CODE, f"{code!r} is not an O*NET-SOC code such as 11-1011.03.")
        if code in parents:
            refuse(path, line, ONET_CODE, f"{code} has a row already.")
        above = None
        # Major group, minor group, broad occupation, detailed occupation, the code.
        minor_group = _MINOR_GROUPS.get(code[:4], f"{code[:4]}000")
        for node in (f"{code[:2]}-0000", minor_group, f"{code[:6]}0", code[:7], code):
            parents.setdefault(node, above)
            above = node
        titles[code], descriptions[code] = record["Title"], record["Description"]
    return Taxonomy.from_parents(parents, titles=titles, descriptions=descriptions), descriptions
