"""Very many classes: training within bounded memory, models on disk, and the best five of 100,000 leaves.

    python benchmarks/speed/many_classes/run.py --leaves 100000 --folder /tmp/many --train FlatSVM
    python benchmarks/speed/many_classes/run.py --leaves 100000 --folder /tmp/many --train RecursiveSVM
    python benchmarks/speed/many_classes/run.py --leaves 100000 --folder /tmp/many --measure

Trees in which every inner node has ten children, two documents of 20 words and two features a leaf; C = 1, weights (of
RecursiveSVM: differences from the parent's) of 0.01 and less dropped; FlatSVM has intercepts. `--train` fits and saves
a model in a folder; `--measure` opens the models mapped and compares, on one thread and turn by turn, exact answers
through the index, a walk down the tree with several beams, and scipy's sparse product with the best five taken from it.
``--train "class means"`` makes a model in a minute whose weights are not learnt, for the speed of answering alone.
Writes many-classes-<leaves>.json.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.speed.many_classes import means, shapes, training


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, choices=shapes.LEVELS, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where models are kept")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--train", choices=[*shapes.TOL, shapes.MEANS])
    what.add_argument("--measure", action="store_true")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> None:
    chosen = arguments(given)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    if chosen.train:
        train = means.make if chosen.train == shapes.MEANS else training.train
        train(chosen.train, chosen.leaves, chosen.folder)
        return
    from benchmarks.speed.many_classes import measuring

    measuring.measure(chosen.leaves, chosen.folder)


if __name__ == "__main__":
    main()
