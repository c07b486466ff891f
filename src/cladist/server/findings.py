"""Findings of ``cladist doctor`` as its file has them, to be shown at their nodes."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from cladist.errors import DatasetError

MOST_FINDINGS = 10_000
MOST_LETTERS = 2000  # of the evidence


class Finding(NamedTuple):
    """A finding: its kind, the names of the nodes it is about, how sure it is, and the evidence in words."""

    kind: str
    nodes: tuple[str, ...]
    sure: float
    evidence: str


def read_findings(path: str | PathLike[str]) -> tuple[Finding, ...]:
    """Return the findings about nodes in a file that ``cladist doctor --json`` wrote, the first 10,000.

    Parameters
    ----------
    path : path
        The file.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        findings = tuple(_finding(entry) for entry in content["findings"])
    except (ValueError, KeyError, TypeError) as problem:
        raise DatasetError(
            f"{path}: wanted the findings that cladist doctor --json writes, got something else "
            f"({type(problem).__name__}); write them by cladist doctor DATA --json > {Path(path).name}."
        ) from problem
    return tuple(finding for finding in findings if finding.nodes)[:MOST_FINDINGS]


def _finding(entry: Any) -> Finding:
    kind, nodes, evidence, sure = (entry[key] for key in ("kind", "nodes", "evidence", "sure"))
    if not (isinstance(kind, str) and isinstance(evidence, str) and isinstance(nodes, list)):
        raise TypeError("kind and evidence are texts, and nodes are a list")
    if not all(isinstance(name, str) for name in nodes):
        raise TypeError("names are texts")
    return Finding(kind, tuple(nodes), float(sure), evidence[:MOST_LETTERS])
