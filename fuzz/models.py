"""Damage and forge saved models of all methods, and count the outcomes; see README.md."""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

MODES: dict[str, dict[str, bool]] = {"read": {}, "mapped": {"mmap": True}, "verified": {"mmap": True, "verify": True}}
KINDS = {"flip": 0.25, "cut": 0.05, "array": 0.4, "value": 0.3}  # and how often each
PATIENCE = 300  # seconds for one case, compilation included; more is a hang
ALLOWED = {"refused", "same", "other rows", "forged: other answers", "unread weights: other answers"}


def main() -> None:
    """Read the command line, run the cases in another process, and print the outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="cases")
    parser.add_argument("--seconds", type=float, help="stop earlier, after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only models whose name contains this")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the process that loads: the folder of models
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    if options.inside:
        for line in run_cases(Path(options.inside), options.first, options.n, options.seed, options.only):
            print(json.dumps(line), flush=True)
        return
    counts, broken = run(options.n, options.seed, only=options.only, seconds=options.seconds, first=options.first)
    print(json.dumps(counts, indent=1, sort_keys=True))
    for line in broken[:200]:
        print(json.dumps(line, indent=1), file=sys.stderr)
    sys.exit(f"{len(broken)} cases went wrong" if broken else 0)


def run(
    n: int, seed: int, *, only: str = "", seconds: float | None = None, first: int = 0
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Run cases; return the number of each outcome, and the cases with one that is not allowed.

    They run in a process of their own, which is started again after a case that ended it.
    """
    counts: collections.Counter[str] = collections.Counter()
    broken: list[dict[str, Any]] = []
    until = time.monotonic() + seconds if seconds else None
    with tempfile.TemporaryDirectory() as folder:
        at = first
        while at < first + n and (until is None or time.monotonic() < until):
            for line in _worker(Path(folder), at, first + n - at, seed, only, until):
                counts[f"{line['kind']}, {line['mode']}: {line['outcome']}"] += 1
                if line["outcome"] not in ALLOWED:
                    broken.append(line)
                at = line["case"] + 1
    return dict(counts), broken


def _worker(folder: Path, first: int, n: int, seed: int, only: str, until: float | None) -> Iterator[dict[str, Any]]:
    """Yield the outcomes that a process reports, and a crash for the case that ended it."""
    command = [sys.executable, __file__, "--inside", str(folder), "--first", str(first), "--n", str(n)]
    command += ["--seed", str(seed), "--only", only]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        done, ready = first - 1, False
        for text in process.stdout:
            line = json.loads(text)
            if "ready" in line:
                ready = True
                continue
            done = line["case"]
            yield line
            if until is not None and time.monotonic() > until:
                process.kill()
                return
        if process.wait():
            errors.seek(0)
            message = errors.read()[-2000:]
            if not ready:
                raise RuntimeError(f"The models could not be made: {message}")
            name, kind, mode, _ = describe(folder, done + 1, seed, only)
            case = {"case": done + 1, "model": name, "kind": kind, "mode": mode}
            yield {**case, "outcome": "crash", "error": f"exit {process.returncode}: {message}"}


def prepare(folder: Path, only: str) -> dict[str, Any]:
    """Fit and save all models, unless the folder has them; return them by name."""
    import cladist
    from cladist.storage import tensor_file
    from fuzz.model_zoo import models

    tensor_file.LARGE_BYTES = 64  # so that the weights of small models are left unread, too
    specimens: dict[str, Any] = {}
    for name, specimen in models().items():
        if only in name:
            place = folder / str(len(specimens))
            if not place.exists():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # some models do not converge on so few rows
                    cladist.save(specimen.model.fit(specimen.rows, specimen.labels), place)
            specimens[name] = specimen._replace(model=cladist.load(place))
    return specimens


def describe(folder: Path, case: int, seed: int, only: str) -> tuple[str, str, str, np.random.Generator]:
    """Return the model, the kind of change, the mode of loading and the random generator of a case."""
    from fuzz.model_zoo import models

    random = np.random.default_rng([seed, case])
    names = [name for name in models() if only in name]
    return (
        names[random.integers(len(names))],
        str(random.choice(list(KINDS), p=list(KINDS.values()))),
        str(random.choice(list(MODES))),
        random,
    )


def run_cases(folder: Path, first: int, n: int, seed: int, only: str) -> Iterator[dict[str, Any]]:
    """Yield the outcome of each case."""
    import faulthandler

    from fuzz.model_zoo import answers

    zoo = prepare(folder, only)
    yield {"ready": len(zoo)}
    references: dict[str, Any] = {}
    for case in range(first, first + n):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        name, kind, mode, random = describe(folder, case, seed, only)
        source = folder / str(list(zoo).index(name))
        if name not in references:
            references[name] = answers(zoo[name])
        outcome = run_case(source, zoo[name], references[name], kind, mode, random, folder / f"changed-{os.getpid()}")
        yield {"case": case, "model": name, "kind": kind, "mode": mode, **outcome}
    faulthandler.cancel_dump_traceback_later()


def run_case(
    source: Path, specimen: Any, reference: Any, kind: str, mode: str, random: np.random.Generator, place: Path
) -> dict[str, Any]:
    """Change a model, load it and compare all its answers; return the outcome and the change."""
    import cladist
    from cladist.errors import CladistError
    from fuzz.model_changes import CHANGES
    from fuzz.model_zoo import answers

    shutil.rmtree(place, ignore_errors=True)
    change, unread = CHANGES[kind](source, place, random)
    try:
        try:
            model = cladist.load(place, **MODES[mode])
        except CladistError as refusal:
            return {"outcome": "refused", "change": change, "message": str(refusal).replace(str(place), "")[:200]}
        if n_features(model) != n_features(specimen.model):
            return {"outcome": "other rows", "change": change}
        results = answers(specimen._replace(model=model))
    except Exception as problem:
        trace = traceback.format_exc(limit=-6)[-1500:]
        return {"outcome": "foreign error", "change": change, "error": f"{problem!r}"[:300], "trace": trace}
    if missing := [name for name in results if results[name] == "AttributeError" != reference[name]]:
        return {"outcome": "foreign error", "change": change, "error": f"AttributeError in {missing}"}
    if repr(results) == repr(reference):
        return {"outcome": "same", "change": change}
    if kind in ("array", "value"):
        return {"outcome": "forged: other answers", "change": change}
    outcome = "unread weights: other answers" if unread and mode == "mapped" else "other answers"
    return {"outcome": outcome, "change": change}


def n_features(model: Any) -> int:
    """Return the number of features of a learner, alone or at the end of a pipeline."""
    return int(getattr(model[-1] if hasattr(model, "steps") else model, "n_features_in_", -1))


if __name__ == "__main__":
    main()
