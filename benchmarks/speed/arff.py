"""Reading ARFF: ours, with the hierarchical column, beside liac-arff on the same rows without it; and peak memory."""

from __future__ import annotations

import os
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

sys.path.append(sys.path.pop(0))  # the folder of this file comes last: the peer's module has this file's name
sys.path.insert(0, str(Path(__file__).parents[2]))

import arff
import numpy as np

from benchmarks.harness import best_of, print_rows, write_results
from cladist.datasets.formats.arff import read_arff_hmc

MEGABYTES = 22
CELLCYCLE = Path("genes_fun", "cellcycle", "cellcycle_FUN.train.arff")


def generated() -> tuple[list[str], list[str]]:
    """Return header and rows like those of expression data: 77 numbers with two decimals, one in twenty missing."""
    random = np.random.default_rng(0)
    labels = [f"{a}/{b}" for a in range(10) for b in range(10)]
    header = [f"@attribute a{k} numeric" for k in range(77)]
    header.append("@attribute class hierarchical " + ",".join(labels))
    rows = []
    for values in random.normal(size=(2000, 77)).round(2).tolist():
        shown = ["?" if random.random() < 0.05 else str(x) for x in values]
        rows.append(",".join([*shown, "@".join(random.choice(labels, 3, replace=False))]))
    return header, rows


def sparse_rows(header: list[str], rows: list[str]) -> list[str]:
    """Return the rows in sparse form, each with about every third value."""
    made = []
    for number, row in enumerate(rows):
        *values, labels = row.split(",")
        pairs = [f"{k} {x}" for k, x in enumerate(values) if (k + number) % 3 == 0]
        made.append("{" + ", ".join([*pairs, f"{len(header) - 1} {labels}"]) + "}")
    return made


def sources() -> Iterator[tuple[str, list[str], list[str]]]:
    header, rows = generated()
    yield "dense rows, generated", header, rows
    yield "sparse rows, generated", header, sparse_rows(header, rows)
    path = Path(os.environ.get("CLADIST_DATA", ""), CELLCYCLE)
    if not path.is_file():
        print(f"data not found: {CELLCYCLE} below CLADIST_DATA")
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.lower().startswith("@data"))
    header = [line for line in lines[:start] if line.lower().startswith("@attribute")]
    yield "dense rows, cellcycle repeated", header, [line for line in lines[start + 1 :] if line]


def without_labels(rows: list[str]) -> list[str]:
    return [row[: row.rindex("," if row[0] != "{" else ", ")] + ("}" if row[0] == "{" else "") for row in rows]


def write(path: Path, header: list[str], rows: list[str]) -> None:
    """Write the rows as often as makes a file of enough megabytes."""
    block = "\n".join(rows) + "\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(["@relation speed", *header, "@data", ""]))
        for _ in range(MEGABYTES * 1_000_000 // len(block) + 1):
            file.write(block)


def peers(path: Path) -> int:
    """Read with liac-arff; return the number of rows."""
    with open(path, encoding="utf-8") as file:
        is_sparse = path.name.startswith("sparse")
        return len(arff.load(file, return_type=arff.LOD if is_sparse else arff.DENSE)["data"])


def memory_ratio(path: Path) -> float:
    """Return the peak of memory over what is still held after reading."""
    tracemalloc.start()
    data = read_arff_hmc(path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del data
    return peak / held


def measured(folder: Path, what: str, header: list[str], rows: list[str]) -> dict[str, object]:
    kind = what.split()[0]
    full, bare = folder / f"{kind}-full.arff", folder / f"{kind}-bare.arff"
    write(full, header, rows)
    write(bare, header[:-1], without_labels(rows))
    n_rows = read_arff_hmc(full).X.shape[0]  # compiles, too
    ours = best_of(5, lambda: read_arff_hmc(full))
    theirs = best_of(2, lambda: peers(bare))
    size = full.stat().st_size / 1e6
    return {
        "what": what,
        "rows": n_rows,
        "megabytes": size,
        "seconds": ours,
        "megabytes_a_second": size / ours,
        "peer": theirs,
        "ratio": theirs / ours,
        "peak_over_held_memory": memory_ratio(full),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [measured(Path(folder), *source) for source in sources()]
    print_rows(rows)
    write_results("arff", rows, data="generated, and cellcycle where CLADIST_DATA has it", peer="liac-arff")


if __name__ == "__main__":
    main()
