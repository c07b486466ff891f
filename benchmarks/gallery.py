"""Runs the examples of the gallery, and keeps what they print and draw for its pages in ``docs/_static/gallery``.

Real data sets are left out, so that every reader sees what these pages show. Web pages become pictures where playwright
and Chromium are installed. ``python benchmarks/gallery.py [NAME…]`` runs the examples named, or all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "docs" / "_static" / "gallery"
APART = {"dask_executor", "plot_regret"}  # these need a cluster and matplotlib
CHROMIUM = "/usr/bin/chromium"
WIDTH, HEIGHT = 1000, 560  # of the part of a web page that is shown
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def names() -> list[str]:
    """Return the examples that need nothing but cladist."""
    return [path.stem for path in sorted((ROOT / "examples").glob("*.py")) if path.stem not in APART]


def picture_of(page: Path, picture: Path) -> None:
    """Draw the upper part of a web page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        sheet = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        sheet.goto(page.as_uri())
        sheet.screenshot(path=str(picture))
        browser.close()


def keep(name: str) -> None:
    """Run one example in an empty folder, and keep its output."""
    surroundings = {key: value for key, value in os.environ.items() if key != "CLADIST_DATA"}
    with TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "examples" / f"{name}.py")]
        done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=True)
        written = KEPT / f"{name.replace('_', '-')}.txt"
        written.write_text(re.sub(r" +$", "", done.stdout, flags=re.MULTILINE), encoding="utf-8")
        for path in Path(folder).iterdir():
            if path.suffix == ".svg":
                (KEPT / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
            elif path.suffix == ".html" and find_spec("playwright") and Path(CHROMIUM).exists():
                picture_of(path, KEPT / f"{path.stem}.png")
    print(f"{name}: {len(done.stdout.splitlines())} lines")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or names():
        keep(chosen)
