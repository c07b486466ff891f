"""Crosswalks: those proposed between yearly versions of ICD-10-CM, and the migration of many rows through one.

The three versions come from the package index, each installed into a folder of its own. The truth does not use the
library: a code that persists is the same code (renamed where its official title changed, moved where its parent did),
a code that has subdivisions now is split into its billable ones, and codes with a seventh character or a placeholder X
follow ICD-10-CM's own rule for writing these. With "hidden codes" the new codes are replaced by numbers in random
order, so that only titles and the tree are left to go by.

Arguments: ``icd`` and ``rows``, or none for both; ``--rows N`` for another number of rows.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.harness import RESULTS, in_new_process, peak_memory, print_rows, write_results
from cladist import Crosswalk, Taxonomy

PACKAGE = "simple-icd-10-cm"
VERSIONS = {"2021": "1.1.2", "2025": "1.3.0", "2026": "1.5.0"}
Pair = tuple[str, str, str]  # old node, new node, kind

READER = """
import json, sys, warnings
sys.path.insert(0, sys.argv[1]); warnings.simplefilter("ignore")
import simple_icd_10_cm as icd
parents, titles, terms, above, chapter, block = {}, {}, {}, {}, None, None
for code in icd.get_all_codes():
    lone = icd.is_block(code) and icd.is_category(code) and "block " + code not in parents
    if icd.is_chapter(code):
        name = chapter = "chapter " + code; parent = None
    elif lone or (icd.is_block(code) and not icd.is_category(code)):
        name = block = "block " + code; parent = chapter
    else:
        name, parent = code, block if icd.is_category(code) else icd.get_parent(code)
    parents[name], titles[name] = parent, icd.get_description(code)
    terms[name] = icd.get_inclusion_term(code)
json.dump([parents, titles, terms], sys.stdout)
"""


def install(version: str, folder: Path) -> Taxonomy:
    """Return the codes of one version of the package, installed into a folder, with titles and inclusion terms."""
    target = folder / version
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, f"{PACKAGE}=={VERSIONS[version]}"], check=True, stderr=subprocess.DEVNULL)
    out = subprocess.run([sys.executable, "-c", READER, str(target)], check=True, stdout=subprocess.PIPE).stdout
    parents, titles, terms = json.loads(out)
    return Taxonomy.from_parents(parents, titles=titles, synonyms=terms)


# ---------------------------------------------------------------- the truth


def true_changes(old: Taxonomy, new: Taxonomy) -> tuple[set[Pair], list[str]]:
    """Return the splits, moves and renames by official rules, and old codes that the rules say nothing about."""
    leaves_below = {n: [x for x in new.descendants(n) if new.is_leaf[new.index(x)]] for n in new.names if n[:1] != "c"}
    renamed_blocks = {
        before: after
        for before in old.names
        if before.startswith("block ") and before not in new
        for after in new.names
        if after.startswith(before.partition("-")[0] + "-") and after not in old
    }
    changes: set[Pair] = {(before, after, "rename") for before, after in renamed_blocks.items()}
    open_codes = []
    for code in old.names:
        is_leaf = bool(old.is_leaf[old.index(code)])
        if code in new:
            if is_leaf and not new.is_leaf[new.index(code)]:
                changes |= {(code, leaf, "split") for leaf in leaves_below[code]}
                continue
            above = [renamed_blocks.get(parent, parent) for parent in old.parents_of(code)]
            if above != new.parents_of(code):
                changes.add((code, code, "move"))
            elif old.title_of(code) != new.title_of(code):
                changes.add((code, code, "rename"))
        elif code not in renamed_blocks:
            targets = by_placeholder(code, new) or by_seventh_character(code, new, leaves_below)
            if not targets:
                open_codes.append(code)
            kind = "split" if len(targets) > 1 else "rename"
            changes |= {(code, target, kind) for target in targets}
    return changes, open_codes


def by_seventh_character(code: str, new: Taxonomy, leaves_below: dict[str, list[str]]) -> list[str]:
    """Return the codes below the one without placeholders that have the same seventh character."""
    plain = code.replace(".", "")
    if len(plain) != 7:
        return []
    base = plain[:6].rstrip("X")
    category = base if len(base) <= 3 else f"{base[:3]}.{base[3:]}"
    return [leaf for leaf in leaves_below.get(category, ()) if len(leaf) == 8 and leaf[-1] == plain[-1]]


def by_placeholder(code: str, new: Taxonomy) -> list[str]:
    """Return the codes that have another character in place of a placeholder X inside the code, as in T40.7X1."""
    place = code.find("X", 4)
    if place < 0 or code[place + 1 : place + 2] == "X" or (code[place + 1 :].isalpha() and len(code) == 8):
        return []
    return [
        candidate for c in "0123456789ABCDEFGHIJKLMNOPQRSTUVWYZ"
        if (candidate := code[:place] + c + code[place + 1 :]) in new
    ]  # fmt: skip


def proposed_changes(walk: Crosswalk) -> set[Pair]:
    """Return the splits, merges, moves and renames of a crosswalk."""
    return {(e.old, e.new, e.kind) for e in walk if e.old and e.new and e.kind != "one-to-one"}


def hide_codes(new: Taxonomy, seed: int = 0) -> tuple[Taxonomy, dict[str, str]]:
    """Return the taxonomy with numbers for names, in random order, and the name that each number stands for."""
    order = list(new.names)
    random.Random(seed).shuffle(order)
    number = {name: f"n{k}" for k, name in enumerate(order)}
    parents = {number[name]: [number[p] for p in new.parents_of(name)] for name in order}
    texts = [{number[name]: text for name, text in texts.items()} for texts in (new.titles, new.synonyms)]
    hidden = Taxonomy.from_parents(parents, titles=texts[0], synonyms=texts[1])
    return hidden, {k: name for name, k in number.items()}


def measure_proposal(before: str, after: str, trees: dict[str, Taxonomy], *, hidden: bool) -> list[dict[str, Any]]:
    """Return precision and recall of the proposal between two years, of all changes and by kind."""
    old, new = trees[before], trees[after]
    truth, unknown = true_changes(old, new)
    shown, name_of = hide_codes(new) if hidden else (new, {name: name for name in new.names})
    started = time.perf_counter(), time.process_time()
    walk = old.diff(shown)
    seconds, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
    if hidden:  # a node that keeps its code is a rename here only if its title changed
        found = set()
        for entry in walk:
            if entry.old and entry.new:
                name = name_of[entry.new]
                same = name == entry.old and old.title_of(entry.old) == new.title_of(name)
                if not (entry.kind == "rename" and same):
                    found.add((entry.old, name, entry.kind))
    else:
        found = proposed_changes(walk)
    rows = []
    for kind in ("all", "split", "rename", "move"):
        true = {pair for pair in truth if kind in ("all", pair[2])}
        mine = {pair for pair in found if kind in ("all", pair[2])}
        rows.append(
            {
                "revision": f"{before} → {after}",
                "codes": "hidden" if hidden else "given",
                "kind": kind,
                "true": len(true),
                "proposed": len(mine),
                "recall": round(len(true & mine) / max(1, len(true)), 4),
                "precision": round(len(true & mine) / max(1, len(mine)), 4),
            }
        )
    rows[0] |= {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "without_rule": len(unknown)}
    rows[0] |= {"missed": _shown(truth - found), "wrong": _shown(found - truth)}
    return rows


def _shown(pairs: Iterable[Pair]) -> list[str]:
    return [f"{old} → {new} ({kind})" for old, new, kind in sorted(pairs)[:20]]


def run_icd() -> list[dict[str, Any]]:
    """Measure proposals between all pairs of years that follow each other, and over all."""
    with tempfile.TemporaryDirectory() as folder:
        trees = {version: install(version, Path(folder)) for version in VERSIONS}
    rows = []
    for before, after in (("2021", "2026"), ("2021", "2025"), ("2025", "2026")):
        for hidden in (False, True):
            rows += measure_proposal(before, after, trees, hidden=hidden)
    print_rows([{k: v for k, v in row.items() if k not in ("missed", "wrong")} for row in rows])
    return rows


# ---------------------------------------------------------------- rows


def write_table(
    path: Path, old: Taxonomy, new: Taxonomy, walk: Crosswalk, n_rows: int, n_splits: int, seed: int = 0
) -> list[str]:
    """Write rows whose texts are words of the titles of true new codes; return these codes, "" where not measured.

    Half of the rows have one of some labels that were split, and a tenth of these have their new label already.
    """
    rng = random.Random(seed)
    split = sorted({e.old for e in walk if e.kind == "split" and e.old and old.is_leaf[old.index(e.old)]})
    split = sorted(rng.sample(split, min(n_splits, len(split))))
    plain = [e.old for e in walk if e.kind == "one-to-one" and e.old and old.is_leaf[old.index(e.old)]]
    words = {n: (new.title_of(n) + " " + " ".join(new.synonyms.get(n, ()))).lower().split() for n in new.names}
    truth = []
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "code", "recoded"])
        for _ in range(n_rows):
            is_split = rng.random() < 0.5
            code = rng.choice(split if is_split else plain)
            true = rng.choice(walk.targets(code))
            text = " ".join(word for word in words[true] if rng.random() < 0.7) or words[true][0]
            writer.writerow([text, code, true if is_split and rng.random() < 0.1 else ""])
            truth.append(true if is_split else "")
    return truth


def migrate(folder: str) -> dict[str, Any]:
    """Run the command in this process, and return its seconds and its peak memory."""
    from cladist.cli.app import app

    files = {
        name: str(Path(folder) / name) for name in ("rows.csv", "walk.csv", "old.csv", "new.csv", "out.csv", "work.csv")
    }
    arguments = ["migrate", files["rows.csv"], "--text", "text", "--label", "code", "--known", "recoded"]
    arguments += ["--crosswalk", files["walk.csv"], "--from", files["old.csv"]]
    arguments += ["--to", files["new.csv"], "--out", files["out.csv"]]
    arguments += ["--worklist", files["work.csv"], "--report", str(Path(folder) / "report.json"), "--quiet"]
    started = time.perf_counter(), time.process_time()
    try:
        app(arguments)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"cladist migrate ended with code {end.code}.") from end
    return {
        "seconds": round(time.perf_counter() - started[0], 1),
        "cpu_seconds": round(time.process_time() - started[1], 1),
        "peak_mib": round(peak_memory() / 2**20),
    }


def run_rows(counts: Iterable[int], n_splits: int) -> list[dict[str, Any]]:
    """Measure the migration of tables of several lengths from 2021 to 2026."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new = (install(version, folder) for version in ("2021", "2026"))
        walk = old.diff(new)
        walk.write(folder / "walk.csv")
        old.write(folder / "old.csv")
        new.write(folder / "new.csv")
        for n_rows in counts:
            truth = write_table(folder / "rows.csv", old, new, walk, n_rows, n_splits)
            used = in_new_process("benchmarks.crosswalk:migrate", str(folder))
            right: dict[str, list[int]] = defaultdict(list)
            with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
                for row, true in zip(csv.DictReader(file), truth, strict=True):
                    best = row["new_label"] or row["candidates"].partition(";")[0]
                    if true and row["status"] != "known":
                        right[row["status"]].append(best == true)
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
            decided, left = right["decided"], right["open"]
            rows.append(
                {
                    "rows": n_rows,
                    **used,
                    **report["statuses"],
                    "splits": len(report["splits"]),
                    "decided_right": round(sum(decided) / max(1, len(decided)), 4),
                    "open_right_if_decided": round(sum(left) / max(1, len(left)), 4),
                }
            )
    print_rows(rows)
    return rows


def main() -> None:
    """Measure what is asked for; results of other parts are kept."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=["icd", "rows", []], default=["icd", "rows"])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--splits", type=int, default=50, help="split labels that rows have")
    options = parser.parse_args()
    path = RESULTS / "crosswalk.json"
    before = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    parts = {"icd": run_icd, "rows": lambda: run_rows(options.rows, options.splits)}
    rows = [row for row in before if row["part"] not in options.parts]
    for part in options.parts:
        rows += [{"part": part, **row} for row in parts[part]()]
    write_results("crosswalk", rows, data=f"{PACKAGE} {', '.join(VERSIONS.values())}")


if __name__ == "__main__":
    main()
