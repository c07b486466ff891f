"""The names that rows may hold (nominal values, labels) as a hash table that kernels can search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.datasets.formats.arff.header import Header
from cladist.kernels import arff_tokens as kernels
from cladist.taxonomy import Taxonomy

Schema = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]
Table = tuple[npt.NDArray[Any], ...]

LONGEST_PATH = 1_000  # characters of a label that is a path: in a deep taxonomy, all paths are the square of its names


def schema_of(header: Header) -> Schema:
    """Return (kind, first column, number of columns) of the attributes, and which of them are nominal."""
    kinds = np.array(header.kinds, np.uint8)
    widths = (kinds == kernels.NUMERIC).astype(np.int64)
    nominals = np.array(sorted(header.values), np.int64)
    widths[nominals] = [len(header.values[k]) for k in nominals.tolist()]
    return kinds, np.cumsum(widths) - widths, widths, nominals


def name_table(header: Header, labels: Sequence[tuple[str, int]]) -> Table:
    """Return the table of all nominal values and of labels with their node ids; a value's code is its position."""
    texts, owners, codes = [], [], []
    for owner, values in header.values.items():
        texts.extend(values)
        owners.append(np.full(len(values), owner, np.int32))
        codes.append(np.arange(len(values), dtype=np.int32))
    texts.extend(text for text, _ in labels)
    owners.append(np.full(len(labels), header.labels_at, np.int32))
    codes.append(np.array([v for _, v in labels], np.int32))
    pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=starts[1:])
    pool, owned = np.frombuffer(b"".join(pieces), np.uint8), np.concatenate(owners)
    slots = np.full(2 << len(pieces).bit_length(), -1, np.int32)  # at most half full
    kernels.fill_slots(slots, starts, owned, pool)
    return slots, starts, owned, np.concatenate(codes), pool


def spellings(taxonomy: Taxonomy) -> Iterator[tuple[str, int]]:
    """Yield how rows may spell each node of any taxonomy: by its name or, where `find` takes that, by its path.

    Paths of more than `LONGEST_PATH` characters are left out.

    Examples
    --------
    >>> list(spellings(Taxonomy.from_paths(["a/b"])))
    [('a', 0), ('b', 1), ('a/b', 1)]
    """
    yield from ((name, v) for v, name in enumerate(taxonomy.names))
    if taxonomy.kind == "dag" or taxonomy.sep is None:
        return
    for below_root in (False, True):
        for v, length in enumerate(_path_lengths(taxonomy, below_root)):
            path = taxonomy.joined_path(v, below_root=below_root) if length <= LONGEST_PATH else taxonomy.names[v]
            if path != taxonomy.names[v] and taxonomy.find(path) == v:
                yield path, v


def _path_lengths(taxonomy: Taxonomy, below_root: bool) -> list[int]:
    """Return how many characters `joined_path` has at each node of a tree or forest."""
    parts, sep = taxonomy.parts or taxonomy.names, len(taxonomy.sep or "/")
    first = len(taxonomy.roots) if below_root else 0  # a path begins at nodes below this one
    lengths: list[int] = []
    for part, p in zip(parts, taxonomy.parent.tolist(), strict=True):
        lengths.append(len(part) + (lengths[p] + sep if p >= first else 0))
    return lengths
