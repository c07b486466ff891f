"""Scores of rows that models were not trained on, computed once and kept, for all studies of probabilities.

`python -m benchmarks.held_out_scores [SET …] [--parts PART …] [--scores FOLDER]` writes, for each set of texts and each
part of it, the out-of-fold scores of the training rows and the scores of the part's own rows, by three learners.

Parts 0 to 3 hold a random quarter of the rows out each; of sets with a test part of their own, a quarter of the
training part, and part "test" is the test part; of icd10cm, a quarter of 40,000 rows of it. Features are learnt anew in
every fold, from its training rows alone: words that only a held-out row has are unknown there, as they are for new
rows. C is chosen for each learner and set, on a fifth of 15,000 training rows of part 0: it rises from 1 tenfold as
long as the accuracy does, up to 100.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.text_features import SETS
from cladist import FlatLogistic, RecursiveSVM, TopDown
from cladist.features import text_features
from cladist.labels import encode
from cladist.learners.out_of_fold import scores_of_models
from cladist.taxonomy import Taxonomy

FOLDER = Path(tempfile.gettempdir(), "cladist-scores")
FOLDS = 5
OWN_TEST = ("icd10cm", "clinc150", "news20")
PARTS: dict[str, tuple[str, ...]] = {
    name: (("0",) if name == "icd10cm" else ("0", "1", "2", "3")) + (("test",) if name in OWN_TEST else ())
    for name in SETS
}
MOST_ROWS = {"icd10cm": 40_000}  # of parts 0 to 3
NO_FOLDS = {("icd10cm", "test"): ("FlatLogistic",)}  # scores of own rows alone: five fits more would take an hour
OPTIONS: dict[str, dict[str, Any]] = {"news20": {"words": (1, 1), "sublinear_tf": True, "characters": False}}
LEARNERS: dict[str, Any] = {
    "TopDown": TopDown,
    "RecursiveSVM": lambda taxonomy, **options: RecursiveSVM(taxonomy, loss="squared_hinge", sharing=1, **options),
    "FlatLogistic": FlatLogistic,
}
ROWS_TO_CHOOSE = 15_000
LARGEST_C = {"icd10cm": 10.0}  # a fit with 100 takes minutes there


class Part(NamedTuple):
    """The texts of a part and of its training rows, with their nodes."""

    texts: Any
    nodes: Any
    own_texts: Any
    own_nodes: Any
    taxonomy: Taxonomy


class Scores(NamedTuple):
    """The scores of one part: of training rows, out of fold, and of its own rows; arrays are mapped from the disk."""

    taxonomy: Taxonomy
    class_nodes: Any
    nodes: Any
    own_nodes: Any
    out_of_fold: dict[str, Any]
    own: dict[str, Any]


def load_part(name: str, part: str) -> Part:
    """Return the texts of a part."""
    data = SETS[name]()
    taxonomy = data.taxonomy
    rows = [np.asarray(data.train, dtype=object), encode(data.y_train, taxonomy).labels.nodes("scores")]
    test = [np.asarray(data.test, dtype=object), encode(data.y_test, taxonomy).labels.nodes("scores")]
    if part == "test":
        return Part(*rows, *test, taxonomy)
    if name not in OWN_TEST:
        rows = [np.concatenate(arrays) for arrays in zip(rows, test, strict=True)]
    quarters = np.array_split(np.random.default_rng(0).permutation(len(rows[0]))[: MOST_ROWS.get(name)], 4)
    own = np.sort(quarters[int(part)])
    others = np.setdiff1d(np.sort(np.concatenate(quarters)), own)
    return Part(rows[0][others], rows[1][others], rows[0][own], rows[1][own], taxonomy)


def fit(name: str, learner: str, part: Part, rows: Any, others: Any, X: Any = None, **options: Any) -> tuple[Any, Any]:
    """Return a learner fitted to some training rows and the scores of other rows, and the features of both."""
    names = np.array(part.taxonomy.names, dtype=object)
    if X is None:
        features = text_features(**OPTIONS.get(name, {}))
        X = features.fit_transform(part.texts[rows]), features.transform(others)
    model = LEARNERS[learner](part.taxonomy, **options).fit(X[0], names[part.nodes[rows]])
    classes = np.unique(part.nodes)
    scores = scores_of_models([model], X[1], part.taxonomy, classes)[0]
    scores[:, ~np.isin(classes, part.nodes[rows])] = -np.inf  # a clone was not trained on them
    return scores.astype(np.float32), X


def choose_C(name: str, folder: Path) -> dict[str, float]:  # noqa: N802 - C is the papers' letter
    """Return the C of each learner, chosen on training rows of part 0."""
    path = folder / name / "C.json"
    if path.exists():
        return {key: float(value) for key, value in json.loads(path.read_text()).items()}
    part, chosen, X = load_part(name, "0"), {}, None
    order = np.random.default_rng(1).permutation(len(part.nodes))[:ROWS_TO_CHOOSE]
    own, others = np.split(order, [len(order) // 5])
    classes = np.unique(part.nodes)
    for learner in LEARNERS:
        best, C = -1.0, 1.0
        while LARGEST_C.get(name, 100.0) >= C:
            scores, X = fit(name, learner, part, others, part.texts[own], X, C=C)
            right = float((classes[scores.argmax(axis=1)] == part.nodes[own]).mean())
            print(f"  {learner} C = {C:g}: {right:.4f}", flush=True)
            if right <= best:
                break
            best, chosen[learner], C = right, C, 10 * C
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(chosen))
    return chosen


def compute(name: str, of_part: str, folder: Path) -> None:
    """Write the scores of a part, if they are not there."""
    target = folder / name / of_part
    if (target / "rows.npz").exists():
        return
    chosen, started = choose_C(name, folder), time.process_time()
    target.mkdir(parents=True, exist_ok=True)
    part = load_part(name, of_part)
    n_rows, classes = len(part.nodes), np.unique(part.nodes)
    folded = [learner for learner in LEARNERS if learner not in NO_FOLDS.get((name, of_part), ())]
    fold_of = np.random.default_rng(2).permutation(n_rows) % FOLDS
    out = {
        learner: np.lib.format.open_memmap(
            target / f"{learner}-out-of-fold.npy", mode="w+", dtype=np.float32, shape=(n_rows, len(classes))
        )
        for learner in folded
    }
    for k in (*range(FOLDS), None):
        rows = np.arange(n_rows) if k is None else np.flatnonzero(fold_of != k)
        held = np.flatnonzero(fold_of == k)
        X = None
        for learner in LEARNERS if k is None else folded:
            others = part.own_texts if k is None else part.texts[held]
            scores, X = fit(name, learner, part, rows, others, X, C=chosen[learner])
            if k is None:
                np.save(target / f"{learner}-own.npy", scores)
            else:
                out[learner][held] = scores
        print(f"  {name} {of_part} fold {k}: {time.process_time() - started:.0f} CPU s so far", flush=True)
    for array in out.values():
        array.flush()
    np.savez(target / "rows.npz", nodes=part.nodes, own_nodes=part.own_nodes, class_nodes=classes, fold_of=fold_of)


def load_scores(name: str, of_part: str, folder: Path) -> Scores:
    """Return the scores of a part; they are computed if they are not there."""
    compute(name, of_part, folder)
    target = folder / name / of_part
    rows = np.load(target / "rows.npz")
    out_of_fold, own = (
        {
            learner: np.load(target / f"{learner}-{kind}.npy", mmap_mode="r")
            for learner in LEARNERS
            if (target / f"{learner}-{kind}.npy").exists()
        }
        for kind in ("out-of-fold", "own")
    )
    return Scores(SETS[name]().taxonomy, rows["class_nodes"], rows["nodes"], rows["own_nodes"], out_of_fold, own)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--parts", nargs="+", help="0, 1, 2, 3 or test; all by default")
    parser.add_argument("--scores", type=Path, default=FOLDER, help="the folder to write to")
    given = parser.parse_args()
    for name in given.sets or SETS:
        for part in given.parts or PARTS[name]:
            if part in PARTS[name]:
                print(name, part, flush=True)
                compute(name, part, given.scores)


if __name__ == "__main__":
    main()
