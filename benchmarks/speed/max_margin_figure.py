"""Draw the curves of max-margin-speed.json, as in Figure 1 of Rousu et al. 2005: writes docs/_static/max-margin.svg."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.ticker import LogLocator

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "max-margin-speed.json"
FIGURE = ROOT / "docs" / "_static" / "max-margin.svg"
RUN = "h-m3, rcv1"
LOSSES = {"hamming": "ℓ_Δ", "hierarchical": "ℓ_H̃"}


def curves() -> dict[str, list[dict[str, float]]]:
    """Return the measurements by training loss."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    points = {row["run"]: row["points"] for row in rows if "points" in row}
    return {loss: points[f"{RUN}, curve, {loss}"] for loss in LOSSES}


def draw(axes: Any, points: list[dict[str, float]], title: str) -> list[Any]:
    """Draw one loss, objectives and gap on the left axis, errors in % on the right one; return the lines."""
    seconds = [point["seconds"] for point in points[1:]]  # before the first pass the weights are 0
    for name, style in (("objective", "-"), ("dual", "--"), ("gap", ":")):
        scale = points[-1]["objective"] if name == "gap" else 1.0  # the gap is relative; all three in one unit
        axes.plot(seconds, [scale * point[name] for point in points[1:]], style, color="tab:blue", label=name)
    errors = axes.twinx()
    for name, style in (("training error", "-"), ("test error", "--")):
        errors.plot(seconds, [100 * point[name] for point in points[1:]], style, color="tab:red", label=name)
    axes.set(xscale="log", yscale="log", xlabel="seconds", ylabel="primal, dual and their difference", title=title)
    errors.set(ylim=(0, 100), ylabel="zero-one error, %")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    return [*axes.get_lines(), *errors.get_lines()]


def main() -> None:
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "cladist"})
    figure, panels = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for axes, (loss, points) in zip(panels, curves().items(), strict=True):
        lines = draw(axes, points, f"H-M³ trained for {LOSSES[loss]}")
    figure.legend(lines, [line.get_label() for line in lines], ncols=len(lines), loc="outside lower center")
    figure.savefig(FIGURE, metadata={"Date": None})


if __name__ == "__main__":
    main()
