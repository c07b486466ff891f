"""Two checkouts side by side: CPU seconds of the fits in ``peers`` and ``recursive``, and of prediction, as ratios.

    git worktree add ../before v0.1
    python benchmarks/speed/checkouts.py ../before . --turns 5

Each fit runs in a process of its own, with the sources of one checkout, on one thread, the two checkouts in turn; only
the public interface is used, so that the checkouts may be years apart. A ratio is the least CPU time of the second
checkout over the least of the first. Kernels are compiled, and cached, before anything is measured. Writes
checkouts.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import print_rows, write_results

SHAPES = {
    "peers": {"n_samples": 12_000, "n_features": 30_000, "branching": (8, 8, 6), "random_state": 0},
    "recursive": {"n_samples": 20_000, "n_features": 50_000, "branching": (10, 10, 10), "random_state": 0},
}
CASES = {
    "FlatSVM hinge": ("peers", "FlatSVM", {"loss": "hinge"}),
    "FlatSVM squared hinge": ("peers", "FlatSVM", {"loss": "squared_hinge"}),
    "FlatLogistic": ("peers", "FlatLogistic", {}),
    "TopDown": ("peers", "TopDown", {}),
    "NodewiseSVM": ("peers", "NodewiseSVM", {}),
    "Hieron": ("peers", "Hieron", {}),
    "RecursiveSVM hinge": ("recursive", "RecursiveSVM", {"sharing": 1, "fit_intercept": False}),
    "RecursiveSVM squared hinge": (
        "recursive",
        "RecursiveSVM",
        {"loss": "squared_hinge", "sharing": 1, "fit_intercept": False},
    ),
    "RecursiveLogistic": ("recursive", "RecursiveLogistic", {"sharing": 1, "fit_intercept": False}),
}
CHILD = """
import json, sys, time, warnings
import cladist
from cladist.datasets import make_topics
warnings.simplefilter("ignore")
shape, learner, options = json.loads(sys.argv[1])
shape["branching"] = tuple(shape["branching"])
small = make_topics(n_samples=400, n_features=500, branching=(3, 3, 3), random_state=0)
model = getattr(cladist, learner)(small.taxonomy, **options).fit(small.X, small.y)
model.predict(small.X)
data = make_topics(**shape)
model = getattr(cladist, learner)(data.taxonomy, **options)
started = time.process_time()
model.fit(data.X, data.y)
fitted = time.process_time()
model.predict(data.X)
print(json.dumps({"fit": fitted - started, "predict": time.process_time() - fitted}))
"""


def measure(checkout: Path, case: str) -> dict[str, float]:
    """Return the CPU seconds of one fit and of its predictions, in a process of its own."""
    shape, learner, options = CASES[case]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["CLADIST_CACHE_DIR"] = str(checkout / ".venv" / "kernels")
    request = json.dumps([SHAPES[shape], learner, options])
    child = subprocess.run(
        [sys.executable, "-c", CHILD, request], env=environment, capture_output=True, text=True, check=False
    )
    if child.returncode:
        raise SystemExit(f"{checkout}, {case}: {child.stderr.strip().splitlines()[-1]}")
    seconds: dict[str, float] = json.loads(child.stdout)
    return seconds


def compare(case: str, checkouts: list[Path], turns: int) -> list[dict[str, Any]]:
    """Return the rows of one case: the fit, and the prediction."""
    runs: list[list[dict[str, float]]] = [[], []]
    for turn in range(turns):
        print(f"{case}: turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            runs[side].append(measure(checkouts[side], case))
    rows = []
    for step in ("fit", "predict"):
        first, second = (min(run[step] for run in side) for side in runs)
        rows.append({"case": case, "step": step, "first": first, "second": second, "second / first": second / first})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs=2, type=Path, metavar="CHECKOUT")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--cases", default=",".join(CASES), help="names of cases, joined by commas")
    chosen = parser.parse_args()
    checkouts = [checkout.resolve() for checkout in chosen.checkouts]
    rows = [row for case in chosen.cases.split(",") for row in compare(case, checkouts, chosen.turns)]
    print_rows(rows)
    commits = [
        subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
        for checkout in checkouts
    ]
    write_results("checkouts", rows, data=SHAPES, commits=[commit.strip() for commit in commits], turns=chosen.turns)


if __name__ == "__main__":
    main()
