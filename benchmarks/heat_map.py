"""Which method where: methods × data sets of the comparison as a drawing, and in sentences."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from benchmarks import cells, comparison
from benchmarks.cells import MEASURED, REFUSED, STOPPED, Cell, Pair
from benchmarks.comparison import METHODS
from benchmarks.data_sets import DATA, STAND_IN
from benchmarks.tables import fit_seconds
from cladist.report.icicle import colour, text_colour

MEASURE = "micro"
DEEPEST = 10.0  # points behind the best that have the last colour
ENOUGH = 4  # methods measured on a data set; with fewer, sentences leave it out
CLOSE = 1.0  # points behind the best that still count as good
LEFT, TOP, RIGHT, WIDTH, HEIGHT = 112, 96, 40, 62, 24  # space for labels; size of a cell
MARKS = {STOPPED: "> limit", REFUSED: "n/a", "": "·"}


class Ranking(NamedTuple):
    """Points behind the best method of each data set, by method and data set, and what else the picture shows."""

    data: list[str]
    methods: list[str]
    found: dict[Pair, Cell]
    behind: dict[Pair, float]

    def of_method(self, method: str) -> dict[str, float]:
        """Return how far behind a method is, by data set."""
        return {d: self.behind[d, method] for d in self.data if (d, method) in self.behind}

    def best(self, data: str) -> str:
        """Return the best method of a data set."""
        return min((m for m in self.methods if (data, m) in self.behind), key=lambda m: self.behind[data, m])


def rank() -> Ranking:
    """Return the ranking of the cells as they are; licensed data sets are left out, unless something is measured."""
    found = cells.read(comparison.NAME)
    figures = {pair: cell["measured"][MEASURE] for pair, cell in found.items() if cell["status"] == MEASURED}
    data = [d for d, data_set in DATA.items() if not data_set.is_licensed or any(d == e for e, _ in figures)]
    best = {d: max((value for (e, _), value in figures.items() if e == d), default=np.nan) for d in data}
    behind = {(d, m): best[d] - value for (d, m), value in figures.items() if d in best}
    gaps = {m: [gap for (_, n), gap in behind.items() if n == m] for m in METHODS}
    most = max(map(len, gaps.values()))
    # A mean over few data sets says little: such methods come below the others.
    methods = sorted(METHODS, key=lambda m: (2 * len(gaps[m]) < most, _mean(gaps[m]), m))
    return Ranking(data, methods, found, behind)


def _title(data: str) -> str:
    """Return the title of a data set, with a remark if the rows measured are not those it names."""
    has_standin = any(source.kind == STAND_IN for source in DATA[data].sources)
    return f"{DATA[data].title} {STAND_IN}" if has_standin else DATA[data].title


def _mean(gaps: list[float]) -> float:
    return float(np.mean(gaps)) if gaps else np.inf


# ------------------------------------------------------------------ sentences


def sentences(ranking: Ranking) -> list[str]:
    """Return three sentences on which method to take where, from the figures alone."""
    measured = [d for d in ranking.data if sum(d == e for e, _ in ranking.behind) >= ENOUGH]
    if not measured:
        return []
    ranking = ranking._replace(data=measured)
    wins: dict[str, list[str]] = {}
    for d in measured:
        wins.setdefault(ranking.best(d), []).append(_title(d))
    first = "; ".join(f"`{m}` on {', '.join(titles)}" for m, titles in sorted(wins.items(), key=lambda w: -len(w[1])))
    often = [m for m in ranking.methods if len(ranking.of_method(m)) > len(measured) / 2] or ranking.methods[:1]
    leader = min(often, key=lambda m: _mean(list(ranking.of_method(m).values())))
    gaps = ranking.of_method(leader)
    worst = max(gaps, key=lambda d: gaps[d])
    return [
        f"Best micro-F1 (accuracy, where rows have one label), on data sets with {ENOUGH} methods or more: {first}.",
        f"Of the methods measured on more than half of the {len(measured)} data sets, `{leader}` is the safest choice: "
        f"{_mean(list(gaps.values())):.1f} points behind the best on average over {len(gaps)} data sets, at worst "
        f"{gaps[worst]:.1f} ({_title(worst)}).",
        _quickest(ranking, often),
    ]


def _quickest(ranking: Ranking, often: list[str]) -> str:
    """Return the sentence on the method that is least often behind for its time."""
    seconds = {m: [fit_seconds(ranking.found[d, m]) or 0.0 for d in ranking.of_method(m)] for m in often}
    close = {m: sum(gap <= CLOSE for gap in ranking.of_method(m).values()) for m in often}
    good = [m for m in often if close[m] >= max(close.values()) / 2]
    quick = min(good, key=lambda m: float(np.median(seconds[m])))
    return (
        f"If training has to be quick: the median fit of `{quick}` takes {np.median(seconds[quick]):.1f} s, and it is "
        f"within {CLOSE:g} point of the best on {close[quick]} of its {len(seconds[quick])} data sets."
    )


# ------------------------------------------------------------------ the drawing


def draw(ranking: Ranking) -> str:
    """Return the drawing as SVG: a row for each method, the closest to the best first, a column for each data set."""
    width, height = LEFT + WIDTH * len(ranking.data) + RIGHT, TOP + HEIGHT * len(ranking.methods) + 64
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="11" role="img" aria-label="Points of micro-F1 behind the best method, by method and data set">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for k, d in enumerate(ranking.data):
        x, y = LEFT + WIDTH * k + WIDTH / 2 + 4, TOP - 8
        parts.append(f'<text transform="translate({x},{y}) rotate(-40)" fill="#101418">{escape(_title(d))}</text>')
    for j, m in enumerate(ranking.methods):
        y = TOP + HEIGHT * j
        parts.append(f'<text x="{LEFT - 8}" y="{y + 16}" text-anchor="end" fill="#101418">{escape(m)}</text>')
        parts += [_cell(ranking, d, m, LEFT + WIDTH * k, y) for k, d in enumerate(ranking.data)]
    return "\n".join([*parts, *_legend(height - 46), "</svg>", ""])


def _cell(ranking: Ranking, d: str, m: str, x: int, y: int) -> str:
    gap = ranking.behind.get((d, m))
    cell = ranking.found.get((d, m))
    if gap is None:
        status = cell["status"] if cell else REFUSED if (d, m) not in comparison.pairs() else ""
        fill, ink, weight, text = "#f1f1f1", "#5c6370", "normal", MARKS[status]
    else:
        fill = colour(1 - min(gap, DEEPEST) / DEEPEST)
        ink, weight = text_colour(fill), "bold" if gap == 0 else "normal"
        text = f"{ranking.found[d, m]['measured'][MEASURE]:.1f}" if gap == 0 else f"−{gap:.1f}"
    box = f'<rect x="{x}" y="{y}" width="{WIDTH - 2}" height="{HEIGHT - 2}" rx="2" fill="{fill}"/>'
    style = f'text-anchor="middle" font-weight="{weight}" fill="{ink}"'
    return f'{box}<text x="{x + WIDTH // 2 - 1}" y="{y + 15}" {style}>{escape(text)}</text>'


def _legend(y: int) -> list[str]:
    parts = []
    for k in range(6):
        gap = DEEPEST * k / 5
        fill = colour(1 - gap / DEEPEST)
        label = "best" if k == 0 else f"−{gap:g}" + (" or more" if k == 5 else "")
        parts.append(f'<rect x="{LEFT + 74 * k}" y="{y}" width="16" height="12" fill="{fill}"/>')
        parts.append(f'<text x="{LEFT + 74 * k + 21}" y="{y + 10}" fill="#101418">{label}</text>')
    words = (
        "Bold: best micro-F1 in %; others: points behind it. n/a: does not apply; > limit: stopped; ·: not measured yet"
    )
    return [*parts, f'<text x="{LEFT}" y="{y + 32}" fill="#101418">{escape(words)}</text>']
