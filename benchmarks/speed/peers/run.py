"""cladist beside LIBLINEAR, HiClass, napkinXC, omikuji and PECOS: same data, same run, an environment for each.

The README beside this file says what is compared, and how.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[3]))

import numpy as np

from benchmarks.harness import RESULTS, command, print_rows, write_results
from benchmarks.speed.peers.catalogue import CLADIST, OPTIONAL, PEERS, C, Case, cases
from benchmarks.speed.peers.environments import NotAvailableError, default_cache, python_of, reason
from benchmarks.speed.peers.shapes import SHAPES, described, prepared, spread
from cladist.files import open_for_writing

THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "RAYON", "VECLIB_MAXIMUM", "NUMEXPR")
SHOWN = (
    "method",
    "threads",
    "fit CPU s",
    "CPU / ours",
    "fit wall s",
    "wall / ours",
    "predict wall s",
    "peak MB",
    "growth MB",
    "accuracy",
    "model MB",
    "objective, ours / theirs − 1",
    "worst class",
)


class Measured(NamedTuple):
    """A row of the table, the case it comes from, and the objective of each class."""

    row: dict[str, Any]
    case: Case
    objectives: Any = None


def measure(name: str, title: str, case: Case, data: Path, cache: Path) -> Measured:
    """Run one case of one peer in a process of its own."""
    row = {"method": title, "peer": name, "threads": case["threads"]}
    try:
        python = python_of(name, cache)
        with tempfile.TemporaryDirectory(dir=cache) as work:  # beside the data: memory would count were it there
            found = _in_its_process(python, PEERS[name].script, data, Path(work), case)
            path = Path(work) / "objectives.npy"
            return Measured({**row, **found}, case, np.load(path) if path.exists() else None)
    except NotAvailableError as problem:
        return Measured({**row, "not available": str(problem)}, case)


def shortest(turns: list[Measured]) -> Measured:
    """Return one row for several turns of a case: the shortest time of each kind, and beside it every turn's."""
    there = [turn for turn in turns if "not available" not in turn.row]
    if len(there) < 2:
        return (there or turns)[0]
    best = min(there, key=lambda turn: turn.row["fit CPU s"])
    timed = [key for key in best.row if key.endswith((" CPU s", " wall s"))]
    every = {key: [turn.row[key] for turn in there] for key in timed}
    return best._replace(row={**best.row, **{key: min(every[key]) for key in timed}, "turns": every})


def _in_its_process(python: str, script: str, data: Path, work: Path, case: Case) -> dict[str, Any]:
    limits = {f"{library}_NUM_THREADS": str(case["threads"]) for library in THREADS}
    done = subprocess.run(
        [python, str(Path(__file__).parent / script), str(data), str(work), json.dumps(case)],
        env={**os.environ, **limits},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise NotAvailableError(f"failed with code {done.returncode}, {reason(done.stderr)}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


# ---------------------------------------------------------------- ours beside theirs


def twin(row: Measured, ours: list[Measured]) -> Measured | None:
    """Return our row for the same problem: with as many threads, or with the fewest for a row of ours."""
    same = ["loss", "intercept"] + ([] if row.row["peer"] == CLADIST else ["threads"])
    return next((mine for mine in ours if all(mine.case.get(key) == row.case.get(key) for key in same)), None)


def compare(peer: Measured, ours: list[Measured]) -> None:
    """Add to a row how it compares with ours."""
    mine, row = twin(peer, ours), peer.row
    if mine is None or "fit CPU s" not in row or "fit CPU s" not in mine.row:
        return
    row["ours"] = mine.row["method"]
    for kind in ("CPU", "wall"):
        row[f"{kind} / ours"] = row[f"fit {kind} s"] / mine.row[f"fit {kind} s"]
    if peer.objectives is not None and mine is not peer:
        relative = mine.objectives / peer.objectives - 1
        row["objective, ours / theirs − 1"] = float(mine.objectives.sum() / peer.objectives.sum() - 1)
        row["worst class"], row["best class"] = float(relative.max()), float(relative.min())


def print_table(rows: list[dict[str, Any]]) -> None:
    """Print rows, ours first, and below them what is not available."""
    there = [row for row in rows if "not available" not in row]
    if there:
        columns = [column for column in SHOWN if any(column in row for row in there)]
        print_rows([{column: row.get(column, "") for column in columns} for row in there])
    multiplied = [row for row in there if "multiplied up from classes" in row]
    if multiplied:
        count = multiplied[0]["multiplied up from classes"]
        print(f"Seconds multiplied up from {count} classes: {'; '.join(row['method'] for row in multiplied)}.")
    for row in rows:
        if "not available" in row:
            print(f"{row['method']}, {row['threads']} thread(s): not available: {row['not available']}")


def write_objectives(name: str, classes: list[int], found: list[Measured]) -> None:
    """Write the objective of each class, a column a method, at the same C and in float64."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["class", *(f"{m.row['method']}, {m.row['threads']} thread(s)" for m in found)])
    for k, number in enumerate(classes):
        table.writerow([number, *(f"{m.objectives[k]:.10g}" for m in found)])
    with open_for_writing(RESULTS / f"{name}-objectives.csv") as file:
        file.write(text.getvalue().encode())


# ---------------------------------------------------------------- command line


def listed(text: str) -> list[str]:
    """Return what stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="small")
    parser.add_argument("--peers", type=listed, help=f"of {', '.join(PEERS)}; default: those of the shape, less pecos")
    parser.add_argument("--threads", type=listed, default=["1"], help="a number, or several: 1,2")
    parser.add_argument("--classes-sampled", type=int, metavar="N", help="LIBLINEAR solves N classes, not all")
    parser.add_argument("--losses", type=listed, help="of hinge, squared_hinge, logistic; default: all, under one name")
    parser.add_argument("--turns", type=int, default=1, help="measure all so often, and keep the shortest times")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of rows, features and leaves, for a trial")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="environments and data")
    chosen = parser.parse_args()
    if chosen.peers is None:
        families = set(SHAPES[chosen.shape].families)
        chosen.peers = [name for name, p in PEERS.items() if families.intersection(p.families) and name not in OPTIONAL]
    if unknown := [name for name in chosen.peers if name not in PEERS]:
        parser.error(f"--peers: there is no {unknown[0]!r}; there are {', '.join(PEERS)}")
    if not all(count.isdigit() and int(count) for count in chosen.threads):
        parser.error(f"--threads: numbers of at least 1, separated by commas; got {','.join(chosen.threads)!r}")
    if chosen.turns < 1:
        parser.error(f"--turns: at least 1; got {chosen.turns}")
    if chosen.classes_sampled is not None and chosen.classes_sampled < 2:
        parser.error(f"--classes-sampled: at least 2; got {chosen.classes_sampled}")
    return chosen


def work_list(
    peers: list[str], families: set[str], threads: list[int], losses: list[str] | None
) -> list[tuple[str, str, Case]]:
    """Return every case of every peer, ours first, each as often as there are numbers of threads it can use."""
    return [
        (name, title, {"C": C, **case, "threads": count})
        for name in sorted(peers, key=lambda name: name != CLADIST)
        for title, case in cases(name, families)
        if losses is None or case.get("loss") in losses
        for count in (threads if PEERS[name].uses_threads else [1])
    ]


def main() -> None:
    chosen = arguments()
    shape = SHAPES[chosen.shape].scaled(chosen.scale)
    name = "-".join(["peers", chosen.shape, *(chosen.losses or ())])
    name += "" if chosen.scale == 1 else f"-scale-{chosen.scale:g}"
    chosen.cache.mkdir(parents=True, exist_ok=True)
    data = prepared(shape, chosen.cache)
    facts = described(shape, data)
    classes = None if chosen.classes_sampled is None else spread(data, chosen.classes_sampled)
    theirs = {family for peer in chosen.peers if peer != CLADIST for family in PEERS[peer].families}
    threads = sorted(map(int, chosen.threads))
    work = work_list(chosen.peers, theirs or set(shape.families), threads, chosen.losses)
    turns: list[list[Measured]] = [[] for _ in work]
    for _ in range(chosen.turns):  # everyone's turn, then everyone's next: a noisy minute hits no one alone
        for (peer, title, case), so_far in zip(work, turns, strict=True):
            print(f"{title} …", file=sys.stderr, flush=True)
            so_far.append(measure(peer, title, {**case, "classes": classes}, data, chosen.cache))
    found = [shortest(so_far) for so_far in turns]
    ours = [m for m in found if m.row["peer"] == CLADIST]
    for m in found:
        compare(m, ours)
    rows = [m.row for m in found]
    print_table(rows)
    if solved := [m for m in found if m.objectives is not None]:
        write_objectives(name, list(range(facts["classes"])) if classes is None else classes, solved)
    called = command().replace(f" --cache {chosen.cache}", "")  # a folder of this machine
    write_results(name, rows, command=called, data=facts, C=C, peer_versions="in each row")


if __name__ == "__main__":
    main()
