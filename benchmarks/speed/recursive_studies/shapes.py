"""The sizes that are measured, and their data: documents of make_topics about the leaves of one tree each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.datasets import Dataset, make_topics
from cladist.taxonomy import Taxonomy

SEED = 0
UNEQUAL = 1.0  # standard deviation of the logarithm of how many children a node attracts

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """How much data there is, and how many nodes of each kind at each level of the tree; its one root is level 0."""

    n_samples: int
    n_test: int
    n_features: int
    inner: tuple[int, ...]
    leaves: tuple[int, ...]
    doc_length: float
    even: bool = False  # whether all nodes of a level have as many children

    @property
    def n_nodes(self) -> int:
        """Inner nodes and leaves."""
        return sum(self.inner) + sum(self.leaves)

    def scaled(self, factor: float) -> Shape:
        """Return a shape with that share of rows, features and nodes; what is at a level stays there if any is left."""
        if factor == 1:
            return self
        inner = (1, *(max(2, round(n * factor)) for n in self.inner[1:]))
        leaves = [round(n * factor) for n in self.leaves]
        leaves[-1] = max(leaves[-1], inner[-1])  # everyone has a child
        return replace(
            self,
            n_samples=max(round(self.n_samples * factor), 2 * sum(leaves)),
            n_test=max(round(self.n_test * factor), 10),
            n_features=max(round(self.n_features * factor), 100),
            inner=inner,
            leaves=tuple(leaves),
        )

    def described(self, data: Dataset | None = None) -> dict[str, Any]:
        """Return what the results say of the data; how many nonzeros there are, if they are given."""
        counted = {} if data is None else {"nonzeros a row": round(data.X.nnz / data.X.shape[0], 1)}
        return {
            "made by": f"make_topics, doc_length={self.doc_length:g}, random_state={SEED}",
            "rows": self.n_samples,
            "test rows": self.n_test,
            "features": self.n_features,
            **counted,
            "nodes": self.n_nodes,
            "inner nodes at each level": list(self.inner),
            "leaves at each level": list(self.leaves),
        }


# About 80 and 84 nonzeros a row. The second has the size of DMOZ-2010: 15,358 nodes, of them 12,294 leaves, six levels.
THOUSAND = Shape(20_000, 5_000, 50_000, (1, 10, 100), (0, 0, 0, 1_000), doc_length=84, even=True)
DMOZ = Shape(
    128_710, 10_000, 381_580, (1, 16, 250, 900, 1_897), (0, 0, 246, 1_229, 3_443, 7_376), doc_length=86.5
)  # fmt: skip
DMOZ_TREE = replace(  # 769 blocks, and little else: two lines of text a leaf
    DMOZ, n_samples=24_588, n_test=1_000, n_features=50_000, doc_length=20
)


def tree_of(shape: Shape) -> Taxonomy:
    """Make the tree: every inner node has a child, and unless it is even some have many and most have few."""
    rng = np.random.default_rng(SEED)
    parents: dict[str, str | None] = {"0": None}
    above = np.zeros(1, np.int64)
    for level in range(1, len(shape.leaves)):
        n_inner = shape.inner[level] if level < len(shape.inner) else 0
        numbers = len(parents) + np.arange(n_inner + shape.leaves[level])
        chosen = above[_parents(rng, len(above), len(numbers), even=shape.even)]
        parents |= {str(node): str(parent) for node, parent in zip(numbers, chosen, strict=True)}
        above = numbers[:n_inner]
    return Taxonomy.from_parents(parents)


def _parents(rng: np.random.Generator, n_above: int, count: int, *, even: bool) -> Ids:
    """Return whose child each of `count` nodes is."""
    if even:
        return np.arange(count) * n_above // count
    weights = rng.lognormal(0.0, UNEQUAL, n_above)
    found = rng.choice(n_above, count, p=weights / weights.sum())
    found[rng.permutation(count)[:n_above]] = np.arange(n_above)
    return found


def data_of(shape: Shape) -> Dataset:
    """Make the documents."""
    return make_topics(
        n_samples=shape.n_samples,
        n_test=shape.n_test,
        n_features=shape.n_features,
        taxonomy=tree_of(shape),
        doc_length=shape.doc_length,
        random_state=SEED,
    )
