"""The sizes that are compared, and their data: made once by make_topics, kept as plain arrays."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.peers.catalogue import ONE_VS_REST, TREE
from benchmarks.speed.peers.shared import Data, read, write
from cladist.datasets import generators, make_topics

SEED = 0


@dataclass(frozen=True)
class Shape:
    """How much data there is, and which peers are compared on it unless told otherwise."""

    n_samples: int
    n_test: int
    n_features: int
    branching: tuple[int, ...]
    families: tuple[str, ...]
    doc_length: int = 80
    noise: float = 0.6

    def scaled(self, factor: float) -> Shape:
        """Return a shape with that share of the rows, features and leaves."""
        turn = factor ** (1 / len(self.branching))
        return replace(
            self,
            n_samples=round(self.n_samples * factor),
            n_test=round(self.n_test * factor),
            n_features=round(self.n_features * factor),
            branching=tuple(max(2, round(n * turn)) for n in self.branching),
        )

    @property
    def call(self) -> str:
        """How the data are made."""
        return (
            f"make_topics(n_samples={self.n_samples}, n_test={self.n_test}, n_features={self.n_features}, "
            f"branching={self.branching}, doc_length={self.doc_length}, noise={self.noise}, random_state={SEED})"
        )


# The lengths give about 80 nonzeros a row. The tree's noise makes it hard: at a tenth of the size all get 41 to 45 %.
SHAPES = {
    "flat": Shape(20_000, 5_000, 50_000, (10, 10, 10), (ONE_VS_REST,), doc_length=86),
    "tree": Shape(80_000, 20_000, 50_000, (22, 22, 22), (TREE,), doc_length=78, noise=0.85),
    "small": Shape(2_000, 500, 3_000, (4, 4, 4), (ONE_VS_REST, TREE)),
}


def prepared(shape: Shape, cache: Path) -> Path:
    """Return the folder with a shape's data; make it if it is not there, or if the generator has changed since."""
    made_by = shape.call + inspect.getsource(generators)
    folder = cache / "data" / hashlib.sha256(made_by.encode()).hexdigest()[:16]
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=folder.parent, prefix="unfinished-"))
        try:
            write(place, made(shape))
            (place / "made-by.json").write_text(json.dumps(shape.call))
            place.rename(folder)
        except BaseException:
            shutil.rmtree(place)
            raise
    return folder


def made(shape: Shape) -> Data:
    """Make the data, with classes numbered as the leaves are."""
    data = make_topics(
        n_samples=shape.n_samples,
        n_test=shape.n_test,
        n_features=shape.n_features,
        branching=shape.branching,
        doc_length=shape.doc_length,
        noise=shape.noise,
        random_state=SEED,
    )
    taxonomy = data.taxonomy
    assert taxonomy is not None
    number = {taxonomy.names[v]: k for k, v in enumerate(taxonomy.leaves.tolist())}
    y_train, y_test = (np.array([number[name] for name in y]) for y in (data.y_train, data.y_test))
    return Data(data.X_train, y_train, data.X_test, y_test, taxonomy.parent.astype(np.int64), taxonomy.leaves)


def described(shape: Shape, folder: Path) -> dict[str, Any]:
    """Return what the results say of the data."""
    data = read(folder)
    return {
        "made by": shape.call,
        "rows": data.X_train.shape[0],
        "test rows": data.X_test.shape[0],
        "features": data.X_train.shape[1],
        "nonzeros a row": data.X_train.nnz / data.X_train.shape[0],
        "classes": len(data.leaves),
        "classes with rows": len(np.unique(data.y_train)),
        "nodes": len(data.parent),
    }


def spread(folder: Path, n_sampled: int) -> list[int]:
    """Return the numbers of some classes, evenly spread from the smallest to the largest."""
    y = read(folder).y_train
    by_size = np.argsort(np.bincount(y), kind="stable")
    by_size = by_size[np.bincount(y)[by_size] > 0]
    chosen = by_size[np.linspace(0, len(by_size) - 1, min(n_sampled, len(by_size))).round().astype(int)]
    return [int(k) for k in np.sort(chosen)]
