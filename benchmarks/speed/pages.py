"""The pages in Chromium without a GPU: the error report of 1,000,000 rows, and the explorer of ICD-10-CM at code level.

First picture: from the start of the navigation to the first drawing of the map, median of five loads. Panning: drawings
per second while the map is dragged a few pixels per frame. Search: from a key to the list of nodes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

from benchmarks.harness import print_rows, write_results
from cladist import TextClassifier
from cladist.datasets import load_icd10cm
from cladist.labels import LabelMatrix
from cladist.metrics import report
from cladist.persistence.models import save
from cladist.report import find_errors, html_report

N_ROWS, N_LOADS = 1_000_000, 5
N_TRAINED, N_EVALUATED = 4000, 2000  # rows of the model that is served; its taxonomy has all nodes
SECONDS = 3.0  # of panning
QUERIES = ("diabetes", "fracture left wrist initial", "e11", "a")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]

FIRST = "performance.getEntriesByName('first-picture')[0].startTime"
PAN = """seconds => new Promise(resolve => {
  const map = document.querySelector("#map"), canvas = map.querySelector("canvas"), icicle = map.icicle;
  icicle.zoomBy(40);
  const box = canvas.getBoundingClientRect(), at = (type, y) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerType: "mouse", button: 0, pointerId: 1, bubbles: true, clientX: box.left + 200, clientY: y }));
  let y = box.top + 200, step = 7;
  at("pointerdown", y);
  const begun = performance.now(), paints = icicle.nPaints;
  const move = now => {
    if (now - begun > 1000 * seconds) {
      at("pointerup", y);
      return resolve(1000 * (icicle.nPaints - paints) / (now - begun));
    }
    y += step;
    if (y > box.bottom - 50 || y < box.top + 50) step = -step;
    at("pointermove", y);
    requestAnimationFrame(move);
  };
  requestAnimationFrame(move);
})"""
SEARCH = """query => {
  const input = document.querySelector("#search"), begun = performance.now();
  input.focus();
  input.value = query;
  input.dispatchEvent(new Event("input"));
  document.querySelector("#search-list").offsetHeight;
  return performance.now() - begun;
}"""


def chromium() -> str | None:
    """Return the program of the browser, None for Playwright's own."""
    named = os.environ.get("CLADIST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def measure_page(browser: Any, url: str) -> dict[str, float]:
    """Return the numbers of a page with a map."""
    firsts = []
    for _ in range(N_LOADS):
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(url)
        page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
        firsts.append(page.evaluate(FIRST))
        if len(firsts) < N_LOADS:
            page.close()
    page.wait_for_timeout(500)
    rate = page.evaluate(PAN, SECONDS)
    searches = {query: page.evaluate(SEARCH, query) for query in QUERIES}
    version = page.evaluate("navigator.userAgent")
    page.close()
    return {
        "first picture, ms": statistics.median(firsts),
        "fastest of 5, ms": min(firsts),
        "slowest of 5, ms": max(firsts),
        "panning, pictures/s": rate,
        "slowest search, ms": max(searches.values()),
        "browser": re.search(r"Chrome/(\d+)", version)[1],  # type: ignore[index]
    }


def predictions(taxonomy: Any) -> tuple[LabelMatrix, LabelMatrix]:
    """Return labels with frequencies of a power law, and predictions: 63 % right, a quarter near, the rest anywhere."""
    random, leaves = np.random.default_rng(0), np.asarray(taxonomy.leaves)
    weights = random.pareto(1.1, len(leaves)) + 0.05
    true = random.choice(len(leaves), N_ROWS, p=weights / weights.sum())
    near = np.clip(true + random.integers(-4, 5, N_ROWS), 0, len(leaves) - 1)
    anywhere, kind = random.integers(0, len(leaves), N_ROWS), random.random(N_ROWS)
    predicted = np.where(kind < 0.6, true, np.where(kind < 0.85, near, anywhere))
    return LabelMatrix.from_nodes(leaves[true], taxonomy), LabelMatrix.from_nodes(leaves[predicted], taxonomy)


def report_row(browser: Any, taxonomy: Any, folder: Path) -> dict[str, Any]:
    """Write the report of a million rows, and open it."""
    true, predicted = predictions(taxonomy)
    find_errors(true[:10], predicted[:10], taxonomy)  # compiles the kernels
    report(true[:10], predicted[:10], taxonomy)
    begun, used = time.perf_counter(), time.process_time()
    errors = find_errors(true, predicted, taxonomy)
    text = html_report(
        report(true, predicted, taxonomy), title="ICD-10-CM", errors=errors, texts=lambda row: f"row {row}"
    )
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    seconds, cpu = time.perf_counter() - begun, time.process_time() - used
    sizes = {"rows": N_ROWS, "nodes": taxonomy.n_nodes, "seconds to write": seconds, "CPU seconds": cpu}
    return {"page": "error report", **sizes, "MB": path.stat().st_size / 1e6, **measure_page(browser, path.as_uri())}


@contextmanager
def served(folder: Path, data: Path) -> Iterator[str]:
    """Serve a model in a process of its own; give its address."""
    command = [sys.executable, "-m", "cladist.cli", "serve", str(folder), "--data", str(data), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        text = ""
        assert process.stdout is not None
        for line in process.stdout:
            text += line
            if line.startswith("}"):
                break
        answer = json.loads(text)
        yield f"{answer['address']}#token={answer['token']}"
    finally:
        process.terminate()
        process.wait()


def explorer_row(browser: Any, icd: Any, folder: Path) -> dict[str, Any]:
    """Serve a model of all codes, and open its explorer."""
    import csv

    chosen = np.random.default_rng(0).choice(len(icd.texts_train), N_TRAINED + N_EVALUATED, replace=False)
    texts, labels = ([values[k] for k in chosen] for values in (icd.texts_train, icd.y_train))
    model = TextClassifier("top-down", taxonomy=icd.taxonomy).fit(texts[:N_TRAINED], labels[:N_TRAINED])
    save(model, folder / "icd", notes={"text": ["text"], "label": "label"})
    data = folder / "rows.csv"
    with open(data, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *zip(texts[N_TRAINED:], labels[N_TRAINED:], strict=True)])
    with served(folder / "icd", data) as address:
        first = browser.new_page()  # the first answer of a server is of a process that has just started
        first.goto(address)
        first.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        first.close()
        numbers = measure_page(browser, address)
    return {"page": "explorer", "rows": N_EVALUATED, "nodes": icd.taxonomy.n_nodes, **numbers}


def main() -> None:
    from playwright.sync_api import sync_playwright

    icd = load_icd10cm(level="code")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        rows = [report_row(browser, icd.taxonomy, Path(place)), explorer_row(browser, icd, Path(place))]
        browser.close()
    print_rows(rows)
    limits = {"first picture, ms": 300, "panning, pictures/s": 30, "slowest search, ms": 100, "seconds to write": 30}
    write_results("pages", rows, data="ICD-10-CM, all codes", limits=limits, gpu=False)


if __name__ == "__main__":
    main()
