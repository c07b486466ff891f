"""Rows of a node, its parent and its texts, which several formats have, as a taxonomy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.construction import Draft, Links

BETWEEN_SYNONYMS = "|"  # in one cell of a table
CALLED = {"title": "is called", "description": "is described as", "synonyms": "has the synonyms"}


class NodeRow(NamedTuple):
    """One row: its line, the node, the parent of the node or "", and the texts of the node, "" where it has none."""

    line: int
    node: str
    parent: str
    title: str = ""
    description: str = ""
    synonyms: tuple[str, ...] = ()


def split_synonyms(cell: str) -> tuple[str, ...]:
    """Return the synonyms in a cell, which stand between "|"."""
    return tuple(text for part in cell.split(BETWEEN_SYNONYMS) if (text := part.strip()))


def draft_rows(rows: Iterable[NodeRow], on_cycle: str) -> Draft:
    """Draft the taxonomy of some rows; those of a node agree on its texts and on being a root."""
    links = Links()
    titles, descriptions, synonyms = dict[str, str](), dict[str, str](), dict[str, tuple[str, ...]]()
    root_at: dict[str, int] = {}
    for row in rows:
        line, node, parent, *_ = row
        if not node:
            raise TaxonomyError(f"A node needs a name; line {line} has an empty one.")
        if parent:
            links.link(parent, node, line)
        else:
            links.node(node)
            if node in root_at:
                raise TaxonomyError(f"line {line}: the node {quoted(node)} has a row without a parent already.")
            root_at[node] = line
        if row.title and titles.setdefault(node, row.title) != row.title:
            raise _differing(row, "title", row.title, titles[node])
        if row.description and descriptions.setdefault(node, row.description) != row.description:
            raise _differing(row, "description", row.description, descriptions[node])
        if row.synonyms and synonyms.setdefault(node, row.synonyms) != row.synonyms:
            raise _differing(row, "synonyms", *(BETWEEN_SYNONYMS.join(s) for s in (row.synonyms, synonyms[node])))
    draft = links.draft(on_cycle, lambda line: f"line {line}")
    for name, n_parents in zip(draft.names, np.diff(draft.indptr), strict=True):
        if n_parents and name in root_at:
            shown = quoted(name)
            raise TaxonomyError(f"line {root_at[name]}: the node {shown} has no parent here, and one in another row.")
    return draft.with_texts(titles, descriptions, synonyms)


def _differing(row: NodeRow, kind: str, here: str, before: str) -> TaxonomyError:
    return TaxonomyError(
        f"line {row.line}: the node {quoted(row.node)} {CALLED[kind]} {quoted(here)} here, {quoted(before)} before."
    )
