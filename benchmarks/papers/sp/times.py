"""Liu et al.'s Table 3 as ratios: how many times KSP's time the max-margin methods take, published beside measured.

``python benchmarks/papers/sp/times.py`` fits each with the settings that the rows of ``sp.json`` were measured with, in
one process, and takes CPU seconds of the shortest of several turns.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from benchmarks.harness import Part, in_words, print_rows, write_results
from benchmarks.papers.published import read
from benchmarks.papers.rows import MEASURED, stored
from benchmarks.papers.sp.data_sets import DATA
from benchmarks.papers.sp.methods import METHODS
from cladist.datasets.dataset import length

NAME = "sp-times"
TITLE = "Time to train, as a multiple of KSP's"
KSP, RIVALS = "ksp-linear", ("lm-1", "lm-2")
TURNS = 2
HEADER = ["data set", "method", "published", "measured", "fit s", "KSP's fit s"]


def settings_of(data_set: str) -> dict[str, dict[str, Any]]:
    """Return the settings chosen for each method on a data set; those not measured are left out."""
    title_of = {METHODS[name].title: name for name in (KSP, *RIVALS)}
    rows = stored("sp").get("rows", [])
    return {
        title_of[row["method"]]: row["chosen"]
        for row in rows
        if row["data"] == DATA[data_set].title and row["method"] in title_of and row["status"] == MEASURED
    }


def published(data_set: str, method: str) -> float | None:
    """Return the ratio in the paper's Table 3; None where it has none."""
    cells = read("sp").tables["table 3"].rows.get((DATA[data_set].title,), {})
    found = [cells[title].value if title in cells else None for title in (METHODS[method].title, METHODS[KSP].title)]
    return None if None in found else found[0] / found[1]


def measure(data_set: str) -> list[dict[str, Any]]:
    """Return a row for each rival whose settings are known, if KSP's are."""
    source, chosen = DATA[data_set].source(), settings_of(data_set)
    if source is None or KSP not in chosen:
        return []
    data = source.load()
    seconds = dict.fromkeys(chosen, float("inf"))
    for turn in range(TURNS + 1):
        for name, options in chosen.items():
            part = slice(50) if turn == 0 else slice(None)  # first compiled, and warm
            X, y = data.X_train[part], data.y_train[part]
            model = METHODS[name].make(data.taxonomy, options, length(y))
            started = time.process_time()
            model.fit(X, y)
            if turn:
                seconds[name] = min(seconds[name], time.process_time() - started)
    return [
        {
            "data": DATA[data_set].title,
            "method": METHODS[name].title,
            "published": published(data_set, name),
            "measured": seconds[name] / seconds[KSP],
            "fit s": seconds[name],
            "KSP's fit s": seconds[KSP],
        }
        for name in RIVALS
        if name in seconds
    ]


def part(rows: list[dict[str, Any]]) -> Part:
    """Return the rows as a further table of ``cladist bench sp``."""
    formats = {"data": "", "method": "", "published": ".1f", "measured": ".2f", "fit s": ".2f", HEADER[-1]: ".2f"}
    cells = in_words(rows, formats)
    return Part(TITLE, HEADER, cells, ["CPU seconds with the settings of the rows above, KSP's rounds among them."])


def main() -> None:
    rows = [{"status": MEASURED, "settings": {}} | row for name in DATA for row in measure(name)]
    print_rows([{"data set": row["data"], **{name: row[name] for name in HEADER[1:]}} for row in rows])
    write_results(NAME, rows, turns=TURNS, measures="CPU seconds of a fit, as a multiple of KSP-linear's")


if __name__ == "__main__":
    main()
