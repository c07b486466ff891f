"""Versions of taxonomies: a name, a date, and a digest of the content; what has changed between two."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cladist.errors import TaxonomyError, quoted

if TYPE_CHECKING:
    from cladist.taxonomy.taxonomy import Taxonomy

MOST_SHOWN = 3
DIGEST_LENGTH = 16  # hexadecimal digits
LONGEST = 200  # characters of a name or a date


@dataclass(frozen=True)
class Version:
    """Which version a taxonomy is.

    Parameters
    ----------
    name : str or None
        What people call the version.
    date : str or None
        Its date, as a text.
    digest : str
        The digest of its nodes and edges.
    """

    name: str | None
    date: str | None
    digest: str

    def __str__(self) -> str:
        named = " of ".join(text for text in (self.name, self.date) if text)
        return f"{named} ({self.digest})" if named else self.digest


def digest(taxonomy: Taxonomy) -> str:
    """Return the digest of the nodes and their parents, whatever their order; texts do not count."""
    edges = sorted((name, sorted(taxonomy.parents_of(name))) for name in taxonomy.names)
    content = hashlib.sha256()
    for name, parents in edges:
        for text in (name, *parents):
            raw = text.encode("utf-8", "surrogatepass")
            content.update(len(raw).to_bytes(4, "big") + raw)
        content.update(b"\xff")  # ends the parents; no length begins so
    return content.hexdigest()[:DIGEST_LENGTH]


def check_label(value: Any, what: str) -> str | None:
    """Return the name or the date of a version, a short text or None."""
    if value is not None and (not isinstance(value, str) or not value.strip() or len(value) > LONGEST):
        raise TaxonomyError(f"The {what} of a version is a text of at most {LONGEST} characters; got {value!r}.")
    return value


def describe_changes(old: Taxonomy, new: Taxonomy) -> str:
    """Return a sentence about what differs between two versions; "" if nothing does.

    Parameters
    ----------
    old, new : Taxonomy
        The two versions.

    Examples
    --------
    >>> from cladist import Taxonomy
    >>> old = Taxonomy.from_parents({"a": None, "b": "a", "c": "a"})
    >>> describe_changes(old, Taxonomy.from_parents({"a": None, "b": "a", "c": "b", "d": "a"}))
    "1 node is new ('d') and 1 has another parent ('c')"
    """
    if old.version.digest == new.version.digest:
        return ""
    groups = (
        ("is new", "are new", [name for name in new.names if name not in old]),
        ("is gone", "are gone", [name for name in old.names if name not in new]),
        ("has another parent", "have another parent", list(_moved(old, new))),
    )
    parts = [
        f"{len(names):,} {one if len(names) == 1 else many} ({_shown(names)})" for one, many, names in groups if names
    ]
    first, *others = parts
    number, space, rest = first.partition(" ")
    return " and ".join([f"{number} node{'s' * (number != '1')}{space}{rest}", *others])


def _moved(old: Taxonomy, new: Taxonomy) -> Iterator[str]:
    for name in old.names:
        if name in new and set(old.parents_of(name)) != set(new.parents_of(name)):
            yield name


def _shown(names: Sequence[str]) -> str:
    more = f", … {len(names) - MOST_SHOWN:,} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(map(quoted, names[:MOST_SHOWN])) + more
