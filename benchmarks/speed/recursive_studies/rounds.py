"""What more blocks in a round cost: sweeps and CPU seconds to a gap."""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks.speed.recursive_studies.measuring import Row, fitted, recursive, say, warm
from benchmarks.speed.recursive_studies.shapes import DMOZ_TREE, THOUSAND, data_of
from cladist import Relations
from cladist.datasets import Dataset, load_clinc150
from cladist.datasets.loaders.catalogue import VARIABLE
from cladist.kernels.lanes import WIDTH

BLOCKS_PER_ROUND = (1, 2, 8, 64, 512)
MAX_ITER, WORKERS = 400, 2


def sets(scale: float) -> Iterator[tuple[str, Dataset]]:
    """Yield the data, one after the other."""
    yield "thousand", data_of(THOUSAND.scaled(scale))
    if os.environ.get(VARIABLE):
        queries = load_clinc150()
        every = round(1 / scale)
        few = Dataset.from_parts(
            queries.X_train[::every],
            queries.y_train[::every],
            queries.X_test,
            queries.y_test,
            taxonomy=queries.taxonomy,
        )
        yield "clinc150", few
    else:
        say(f"clinc150 is left out: {VARIABLE} is not set.")
    yield "dmoz tree", data_of(DMOZ_TREE.scaled(scale))


def study(scale: float, loss: str, tols: list[float]) -> Iterator[Row]:
    """Yield a row for each set, tolerance and number of blocks; once all are solved at once, more would be the same."""
    for name, data in sets(scale):
        warm(recursive(loss, data.taxonomy, weights="dual", n_jobs=WORKERS), data)
        blocks = -(-len(set(data.y_train)) // WIDTH)
        for tol in tols:
            for size in (size for k, size in enumerate(BLOCKS_PER_ROUND) if k == 0 or BLOCKS_PER_ROUND[k - 1] < blocks):
                say(f"{name}, {size} of {blocks} blocks in a round, tol {tol:g} …")
                row = {"data": name, "loss": loss, "tol": tol, "blocks": blocks, "blocks_per_round": size}
                row["at once"] = min(size, blocks)
                model = recursive(
                    loss, data.taxonomy, tol=tol, max_iter=MAX_ITER, relations=Relations(blocks_per_round=size),
                    weights="dual", n_jobs=WORKERS,
                )  # fmt: skip
                found = fitted(model, data)
                kept = ("sweeps", "gap", "converged", "fit CPU s", "fit wall s")
                yield row | {key: found[key] for key in kept}
