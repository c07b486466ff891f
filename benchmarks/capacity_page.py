"""Tables of what training needs on one machine and on many, written between the markers of four guides.

`python -m benchmarks.capacity_page` reads benchmarks/results/capacity.json, cluster-*.json and out-of-core.json, and
fills docs/guides/capacity.md, larger-than-memory.md, checkpoints.md and ray-clusters.md. What is said of all of LWIKI
is computed here, from the numbers of the cost model.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from benchmarks.capacity import LWIKI, WIDTH
from benchmarks.harness import RESULTS
from benchmarks.probability_page import BEGIN, END, GUIDES, filled, table, write_guides
from benchmarks.rounds_simulated import CALL, FIXED, LINK

__all__ = ["BEGIN", "END", "GUIDES", "contents", "filled"]
CORES = 8  # of a machine, each of them one worker
MACHINES = (1, 8, 64)
MOST_MISSED = 0.25  # by a prediction that counts as right
LEAST = 1e-13  # seconds that are not the noise of a fit
LEVELS = 4  # of LWIKI's shape, as the data of benchmarks.capacity have


def read(name: str) -> dict[str, Any]:
    """Return a result file; one without rows if there is none."""
    path = RESULTS / f"{name}.json"
    return dict(json.loads(path.read_text())) if path.exists() else {"rows": []}


def in_units(value: float, units: tuple[tuple[float, str], ...]) -> str:
    """Return a number in the largest unit that it is at least 1 of, with three digits."""
    size, unit = next(((size, unit) for size, unit in units if value >= size), units[-1])
    return f"{float(f'{value / size:.3g}'):,g} {unit}"


def duration(seconds: float) -> str:
    """Return seconds in words."""
    if not seconds:
        return "0"
    return in_units(
        seconds, ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
    )


def size(n_bytes: float) -> str:
    """Return bytes in words."""
    return in_units(n_bytes, ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B")))


# ---------------------------------------------------------------- the cost model


def numbers(found: dict[str, Any]) -> str:
    """Return the table of the numbers of the cost model."""
    terms = {"one": "a block", "blocks": "a block", "path features": "features", "values · log features": "log"}
    names = {"block s": "a block of `FlatSVM`", "fit s": "the families of `TopDown`",
             "visit s": "a visit of `RecursiveSVM`", "sum s": "a step in a sum of `RecursiveSVM`"}  # fmt: skip
    rows = []
    for of in found["numbers"].values():
        for name, factors in of.items():
            if name in names:
                shown = {terms.get(term, term): duration(f) if f > LEAST else "0" for term, f in factors.items()}
                rows.append(
                    [names[name], *(shown.get(t, "") for t in ("a block", "rows", "values", "log", "features"))]
                )
    header = ["CPU seconds of", "fixed", "each row", "each value", "each value · log₂ d", "each feature"]
    return table(header, rows)


def held_out(found: dict[str, Any]) -> str:
    """Return predictions beside measurements of runs that the numbers do not come from."""
    rows, missed = [], list[str]()
    for row in found["rows"]:
        if row["kind"] == "held out":
            shown = size if "bytes" in row["what"] else (lambda v: f"{v:,.0f}") if "α" in row["what"] else duration
            what = row["what"].removesuffix(" s").replace("peak bytes", "memory")
            cells = [f"`{row['method']}`", what, f"1/{row['parts']}", shown(row["predicted"]), shown(row["measured"])]
            rows.append([*cells, f"{row['ratio']:.2f}"])
            missed += [f"{what} of {cells[0]} at {cells[2]}"] if abs(row["ratio"] - 1) > MOST_MISSED else []
    apart = f"{len(rows) - len(missed)} of {len(rows)} are within {MOST_MISSED:.0%} of what was measured"
    words = f"{apart}; not so: {', '.join(missed)}." if missed else f"{apart}."
    return f"{table(['learner', 'what', 'of LWIKI', 'predicted', 'measured', 'ratio'], rows)}\n\n{words}"


# ---------------------------------------------------------------- all of LWIKI


class Whole:
    """All of LWIKI: its sizes, and what the cost model gives for them."""

    def __init__(self, found: dict[str, Any], simulated: list[dict[str, Any]]) -> None:
        self.numbers = found["numbers"]
        largest = {name: min(of.items(), key=lambda item: int(item[0]))[1] for name, of in found["sizes"].items()}
        self.n, self.d = LWIKI["rows"], LWIKI["features"]
        self.values = self.n * largest["FlatSVM"]["values"] / largest["FlatSVM"]["rows"]
        self.blocks = math.ceil(LWIKI["leaves"] / WIDTH)
        self.children = round(LWIKI["leaves"] ** (1 / LEVELS))
        self.inner = sum(self.children**level for level in range(LEVELS))
        self.above = largest["RecursiveSVM"]["nodes above a block"]
        self.sizes = {
            "rows": self.n, "values": self.values, "features": self.d, "path features": self.d * (1 + self.above),
            "values · log features": self.values * math.log2(self.d),
        }  # fmt: skip
        self.sweeps = {row["blocks a round"]: row["sweeps"] for row in simulated}
        self.active = self.cost("RecursiveSVM", "rows with α", **{"rows": self.n, "log rows": math.log2(self.n)})

    def cost(self, method: str, name: str, **sizes: float) -> float:
        """Return what the model gives for some sizes."""
        sizes = {"one": 1.0, **sizes}
        return float(sum(factor * sizes[term] for term, factor in self.numbers[method][name].items()))

    def family(self, level: int) -> dict[str, float]:
        """Return the sizes of a family of a level, for its blocks together; features at most."""
        families, blocks = self.children**level, math.ceil(self.children / WIDTH)
        values = self.values / families
        features = min(self.d, values)
        sizes = {"rows": self.n / families, "values": values, "features": features}
        sizes["values · log features"] = values * math.log2(features)
        return {"blocks": blocks, **{name: blocks * value for name, value in sizes.items()}}

    def flat(self, machines: int) -> tuple[float, float, float]:
        """Return CPU seconds, hours by the clock, and bytes of a machine, of `FlatSVM`."""
        block = self.cost("FlatSVM", "block s", **self.sizes)
        clock = block * math.ceil(self.blocks / (machines * CORES))
        n_bytes = 16 * self.values + 40 * self.n + CORES * (88 * self.n + (192 + 64) * self.d)
        return block * self.blocks, clock, n_bytes

    def top_down(self, machines: int) -> tuple[float, float, float]:
        """Return the same of `TopDown`, in which a family is one task."""
        families = [self.cost("TopDown", "fit s", **self.family(level)) for level in range(LEVELS)]
        total = sum(self.children**level * seconds for level, seconds in enumerate(families))
        n_bytes = 8 * self.values + 16 * self.values + 40 * self.n + CORES * (88 * self.n + (192 + 64) * self.d)
        return total, max(total / (machines * CORES), families[0]), n_bytes

    def recursive(self, machines: int) -> tuple[float, float, float]:
        """Return the same of `RecursiveSVM` with as many blocks a round as workers, and without checks of the gap."""
        workers = machines * CORES
        visit = self.cost("RecursiveSVM", "visit s", **self.sizes)
        step = self.cost("RecursiveSVM", "sum s", features=self.d)
        sums = workers * (1 + 1 / self.children) * step  # at the root, and at the node below it
        sweeps, rounds = self.sweeps[workers], math.ceil(self.blocks / workers)
        up, down = workers * self.active * (FIXED + 8), workers * self.active * 12
        network = (up + down * math.ceil(math.log2(workers + 1))) / LINK + 2 * CALL if machines > 1 else 0.0
        clock = sweeps * rounds * (visit + sums + network)
        n_bytes = 16 * self.values + 40 * self.n + CORES * (88 * self.n + 256 * self.d)
        n_bytes += (self.inner / machines + 2 * CORES) * 4 * self.d + 68 * self.blocks * self.active / machines
        return sweeps * self.blocks * visit, clock, n_bytes


def whole(found: dict[str, Any], simulated: list[dict[str, Any]]) -> str:
    """Return the table of what LWIKI needs on some machines, and what the leading process needs at the end."""
    lwiki, rows = Whole(found, simulated), []
    kinds = {"FlatSVM": lwiki.flat, "TopDown": lwiki.top_down, "RecursiveSVM": lwiki.recursive}
    for name, of in kinds.items():
        for machines in MACHINES:
            cpu, clock, n_bytes = of(machines)
            sweeps = str(lwiki.sweeps[machines * CORES]) if name == "RecursiveSVM" else ""
            rows.append([f"`{name}`", str(machines), sweeps, duration(cpu), duration(clock), size(n_bytes)])
    dense = 64 * lwiki.d * lwiki.blocks
    leader = 4 * lwiki.d * lwiki.inner + 68 * lwiki.blocks * lwiki.active
    text = (
        f"The leading process of `RecursiveSVM` holds, at the end, the vectors of all {lwiki.inner:,} inner nodes and "
        f"the α of all blocks: {size(leader)}. Dense weights of all leaves would take {size(dense)}: keep weights "
        '`"sparse"` with `prune`, or `"dual"`.'
    )
    return f"{table(['learner', 'machines', 'sweeps', 'CPU time', 'time', 'memory of a machine'], rows)}\n\n{text}"


def rounds(simulated: list[dict[str, Any]]) -> str:
    """Return the table of the simulation."""
    rows = []
    for row in simulated:
        parts = [duration(row[f"{name} s"]) for name in ("visit", "measure", "lead", "network")]
        first = [f"{row['blocks a round']}", f"{row['workers']}", f"{row['sweeps']}", f"{row['gap']:.4f}"]
        rest = [duration(row["path s"]), *parts, f"{row['times faster']:.1f}", size(row["bytes per sweep"])]
        rows.append([*first, *rest])
    header = ["blocks a round", "workers", "sweeps", "gap", "path", "visits", "sums", "leading process", "network",
              "times faster", "bytes a sweep"]  # fmt: skip
    return table(header, rows)


def capacity() -> str:
    """Return what the guide on capacity has between its markers."""
    found, simulated = read("capacity"), read("cluster-simulate")
    parts = ["### Numbers", numbers(found), "### Predicted and measured", held_out(found)]
    if simulated["rows"]:
        parts += ["### All of LWIKI", whole(found, simulated["rows"]), "### Rounds on 8 to 512 workers",
                  f"Simulated from the log of runs with {wide_shape(simulated)}.",
                  rounds(simulated["rows"])]  # fmt: skip
    return "\n\n".join(parts)


def wide_shape(found: dict[str, Any]) -> str:
    """Return the sizes of the data of the simulation, which have other leaves."""
    leaves = found["note"].removeprefix("with ").removesuffix(", in place of those of the data")
    return f"{shape(found).rsplit(', ', 1)[0]} and {leaves}"


def shape(found: dict[str, Any]) -> str:
    """Return the sizes of generated data."""
    return str(found["data"]).removeprefix("generated: ")


# ---------------------------------------------------------------- faults, bytes, memory


def out_of_core() -> str:
    """Return the table of memory on packed rows."""
    found = read("out-of-core")
    rows = [
        [f"`{row['method']}`", size(row["bytes"]), size(row["peak_VmRSS"]), size(row["own_bytes_of_fit"]),
         size(row["formula_bytes"]), f"{row['times_dropped']}"]
        for row in found["rows"]
    ]  # fmt: skip
    text = (
        f"{found['data']}, packed (`python -m benchmarks.speed.out_of_core`). Whenever more than three quarters of "
        f"{size(found['rows'][0]['limit_bytes'])} were resident, the pages of all files were dropped, so that they "
        "were read from the disk again. Beside the memory that only the process can free stands the formula above, "
        "with one copy of the α."
    )
    header = ["learner", "values and indices", "most resident", "of these its own", "formula", "times dropped"]
    return f"{text}\n\n{table(header, rows)}"


def kills_of_drivers() -> str:
    """Return a sentence on drivers that were killed."""
    found = read("cluster-driver")
    rows = found["rows"]
    same, kept = (sum(bool(row[key]) for row in rows) for key in ("same", "state kept"))
    rest = float(np.mean([row["CPU s of the rest"] for row in rows if row["state kept"]]))
    return (
        f"`RecursiveSVM` on {shape(found)} takes {rows[0]['CPU s of a whole fit']:.0f} CPU seconds to a gap of 10⁻⁵. "
        f"It was killed {len(rows)} times with SIGKILL at random moments and went on each time "
        f"(`python benchmarks/speed/cluster.py driver`): {same} of {len(rows)} models were the same bit for bit. "
        f"{kept} times a checkpoint had been written; from there, the rest took {rest:.0f} CPU seconds on average. "
        "Checkpoints were allowed half of the time, rather than 2 %."
    )


def faults_and_bytes() -> str:
    """Return the sentences on nodes that were killed, and the table of bytes."""
    found, sent = read("cluster-kills"), read("cluster-bytes")
    killed = [row for row in found["rows"] if row["killed after s"] is not None]
    same, restarts = sum(row["same"] for row in killed), [row["restarts"] for row in killed]
    text = (
        f"On a cluster of three nodes, simulated on one machine, `RecursiveSVM` was trained on {shape(found)}, and one "
        f"node was killed at a random moment, {len(killed)} times (`python benchmarks/speed/cluster.py kills`): {same} "
        f"of {len(killed)} models were the same bit for bit as with threads. {sum(1 for n in restarts if n)} times a "
        "worker was lost with the node and rebuilt."
    )
    rows = [
        [f"{row['workers']}", size(row["bytes per sweep"]), size(row["vectors of visited blocks"]),
         f"{row['of these']:.3f}", size(row["vectors of shared nodes"]), f"{row['of them']:.3f}"]
        for row in sent["rows"]
    ]  # fmt: skip
    about = (
        f"Bytes of a sweep on {shape(sent)}, in the first sweeps, in which the most rows move "
        "(`python benchmarks/speed/cluster.py bytes`). Beside them: what the vectors of the nodes above all visited "
        "blocks would take, and those of the nodes that workers share, after each round."
    )
    header = ["workers, and blocks a round", "bytes", "vectors of visited blocks", "ratio", "vectors of shared nodes",
              "ratio"]  # fmt: skip
    return f"{text}\n\n{about}\n\n{table(header, rows)}"


def contents() -> dict[str, str]:
    """Return what each guide has between its markers; guides whose results are missing are left out."""
    made = {
        "capacity.md": ("capacity", capacity),
        "larger-than-memory.md": ("out-of-core", out_of_core),
        "checkpoints.md": ("cluster-driver", kills_of_drivers),
        "ray-clusters.md": ("cluster-kills", faults_and_bytes),
    }
    return {name: make() for name, (result, make) in made.items() if read(result)["rows"]}


if __name__ == "__main__":
    write_guides(contents())
