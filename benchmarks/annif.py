"""The real Annif asks ``cladist serve`` for suggestions through its backend ``http``.

    python -m venv annif-env && annif-env/bin/pip install annif
    python benchmarks/annif.py annif-env/bin/annif

Annif wants other versions of libraries than cladist, so it has an environment of its own. The sample shop is trained
and served; a project of Annif names the server as its endpoint. What ``annif suggest`` prints must be what the model
predicts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import cladist
from benchmarks.harness import print_rows, write_results
from benchmarks.speed.server import running
from cladist.datasets import read_table

PREFIX = "http://example.org/shop/"
LIMIT, N_TEXTS = 5, 12
TOLERANCE = 0.002
PROJECT = """[shop]
name=Shop
language=en
backend=http
vocab=shop
endpoint={address}/annif/model/suggest
limit={limit}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("annif", type=Path, help="the program annif of its environment")
    annif = parser.parse_args().annif.absolute()
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        train(folder)
        model = cladist.load(folder / "model")
        texts = [
            str(text) for text in read_table(folder / "test.csv", text=["title", "description"], label="category").X
        ]
        chosen = texts[:: len(texts) // N_TEXTS][:N_TEXTS]
        with running("cladist serve", folder / "model", "--uri-prefix", PREFIX) as (address, _):
            (folder / "projects.cfg").write_text(PROJECT.format(address=address, limit=LIMIT))
            titles = [f"<{PREFIX}{name.replace(' ', '%20')}>\t{name}" for name in model.taxonomy_.names]
            (folder / "shop.tsv").write_text("\n".join(titles) + "\n")
            run(annif, folder, "load-vocab", "shop", "shop.tsv", "--language", "en")
            listed = run(annif, folder, "list-projects")
            rows = [compare(annif, folder, model, text) for text in chosen]
    print_rows(rows)
    facts = {
        "annif": run(annif, Path.cwd(), "--version").split()[-1],
        "is_trained": next(line for line in listed.splitlines() if line.startswith("shop")).split()[-3],
        "all_equal": all(row["equal"] for row in rows),
    }
    print(json.dumps(facts))
    write_results("annif", rows, **facts)


def train(folder: Path) -> None:
    """Make the sample shop, and train a calibrated model on it."""
    columns = ["--text", "title", "--text", "description", "--label", "category"]
    for arguments in (
        ["sample", "."],
        ["train", "train.csv", "--taxonomy", "taxonomy.csv", *columns, "--calibrate", "--out", "model", "--quiet"],
    ):
        subprocess.run([sys.executable, "-m", "cladist", *arguments], cwd=folder, check=True, capture_output=True)


def compare(annif: Path, folder: Path, model: Any, text: str) -> dict[str, Any]:
    """Return what Annif suggests for a text beside what the model predicts."""
    told = run(annif, folder, "suggest", "shop", text=text)
    lines = [line.split("\t") for line in told.splitlines() if line.startswith("<")]
    suggested = [(label, round(float(score), 3)) for _, label, score in lines]
    labels, scores = model.predict_top_k([text], LIMIT)
    expected = [(str(label), round(float(score), 3)) for label, score in zip(labels[0], scores[0], strict=True)]
    return {
        "text": text[:40],
        "suggested": "; ".join(f"{label} {score:.3f}" for label, score in suggested),
        "predicted": "; ".join(f"{label} {score:.3f}" for label, score in expected),
        "equal": bool(suggested) and is_equal(dict(suggested), dict(expected)),
    }


def is_equal(suggested: dict[str, float], expected: dict[str, float]) -> bool:
    """Return whether labels and scores are the same; Annif keeps 32-bit scores, and orders equal ones itself."""
    names = suggested.keys() | expected.keys()
    return all(abs(suggested.get(name, 0.0) - expected.get(name, 0.0)) < TOLERANCE for name in names)


def run(annif: Path, folder: Path, *arguments: str, text: str | None = None) -> str:
    """Return what a command of Annif prints."""
    done = subprocess.run(
        [str(annif), *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": ""},
    )
    if done.returncode:
        raise RuntimeError(f"annif {' '.join(arguments)}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
