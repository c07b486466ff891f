"""What a joint fit that keeps its weights as "dual" takes in memory: a bound, term by term.

With n rows, z nonzeros, d features in use, S stored nodes (those whose leaves fill more than one block of sixteen), b
blocks of which B are solved in a round, w workers, and p pairs of a row and a block in which an α is not 0:

rows          2 (8 z + 12 n) + 100 n: as the learner prepared them, and in the solver's order; and their labels
stored nodes  4 d S
workers       (w + 1) (128 d + (84 + 4 s) n): two sets of sixteen weights a feature, sixteen α a row, a bit mask, lists
              of rows, and by how much each row moves the s stored nodes above a block (s at most); one more for the
              thread that calls, which puts α back where the dual was highest
α, hinges     5 · 68 p: those of the search, those where the dual was highest, those of the best point and its leaves'
              own, and the leaves' own of a check under way. The second and third are mostly the same arrays: then 4
α, logistic   68 (p + n b): those of the search, and the leaves' own of a check, nearly all of which are above 0
active rows   4 bytes for each pair that was active when all rows were last looked at
a round       4 d (T + w) + B p/b (144 + 8 s): the moves of the T stored nodes above its blocks; each block's new α,
              blended with the old ones where steps agree too much; and by how much they move what is above, of this
              round and the one before it

What was in memory before the fit, the caller's X among it, comes on top. So does what malloc holds back: arrays that
threads free leave holes in glibc's arenas, and the bound can be exceeded for that. ``MALLOC_MMAP_THRESHOLD_=65536`` in
the environment gives large arrays back at once; the results say whether it was set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cladist.linear_model.problem_tree import LeafBlocks, schedule_rounds

ALPHA_COPIES = 5


@dataclass(frozen=True)
class Sizes:
    """What the bound depends on; `pairs` and `active` are the most that were seen."""

    rows: int
    nonzeros: int
    features: int
    stored: int
    blocks: int
    workers: int
    together: int
    touched: int
    above: int
    pairs: int
    active: int

    @classmethod
    def of(
        cls, layout: LeafBlocks, *, rows: int, nonzeros: int, features: int, workers: int, blocks_per_round: int,
        pairs: int, active: int,
    ) -> Sizes:  # fmt: skip
        """Take from a tree's layout how many nodes and blocks there are."""
        stored = [block.stored for block in layout.blocks]
        rounds = schedule_rounds(len(stored), blocks_per_round)
        return cls(
            rows=rows,
            nonzeros=nonzeros,
            features=features,
            stored=len(layout.stored_nodes),
            blocks=len(stored),
            workers=workers,
            together=max(map(len, rounds)),
            touched=max(len(np.unique(np.concatenate([stored[b] for b in together]))) for together in rounds),
            above=max(map(len, stored)),
            pairs=pairs,
            active=active,
        )


def predicted(sizes: Sizes, loss: str) -> dict[str, int]:
    """Return the bytes of each term.

    Examples
    --------
    >>> sizes = Sizes(rows=10, nonzeros=100, features=20, stored=3, blocks=4, workers=2, together=2, touched=2, above=1,
    ...               pairs=12, active=16)
    >>> predicted(sizes, "hinge")
    {'rows': 2840, 'stored nodes': 240, 'workers': 10320, 'α': 4080, 'active rows': 64, 'a round': 1232}
    >>> predicted(sizes, "logistic")["α"]
    3536
    """
    n, d, pairs = sizes.rows, sizes.features, sizes.pairs
    alphas = pairs + n * sizes.blocks if loss == "logistic" else ALPHA_COPIES * pairs
    in_a_round = pairs * sizes.together // sizes.blocks
    return {
        "rows": 2 * (8 * sizes.nonzeros + 12 * n) + 100 * n,
        "stored nodes": 4 * d * sizes.stored,
        "workers": (sizes.workers + 1) * (128 * d + (84 + 4 * sizes.above) * n),
        "α": 68 * alphas,
        "active rows": 4 * sizes.active,
        "a round": 4 * d * (sizes.touched + sizes.workers) + in_a_round * (144 + 8 * sizes.above),
    }
