"""What a migration did, which splits need people, and which rows people should check first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cladist.evaluation.migration import FEWEST_CHECKED, Drawn, Group, Migration, Relabelled
from cladist.evaluation.sureness import fewest_checks

ENOUGH_CHECKED = 30  # rows of a group by which people may judge whether its split is hopeless
HOPELESS = 0.05  # the share of rows that models settle, below which they do not help

UNCHECKED, HELPED, NEEDS_PEOPLE, NO_TEXT = "check some rows", "models help", "needs people", "no texts"


@dataclass(frozen=True)
class Split:
    """A group of ambiguous old labels: its rows, its checked rows, and whether models help."""

    olds: tuple[str, ...]
    news: tuple[str, ...]
    open_rows: int
    checked: int
    share_right: float | None
    share_settled: float | None
    verdict: str


@dataclass(frozen=True)
class Task:
    """A row of the worklist: its number in the data, its old label, the candidates best first, and its text."""

    row: int
    old: str
    candidates: tuple[str, ...]
    text: str
    why: str


def judge(group: Group) -> str:
    """Return whether models help with a group of ambiguous labels."""
    if group.model is None:
        return NO_TEXT
    if group.n_checked < FEWEST_CHECKED:
        return UNCHECKED
    if (group.share_settled or 0.0) >= HOPELESS:
        return HELPED
    return NEEDS_PEOPLE if group.n_checked >= ENOUGH_CHECKED else UNCHECKED


def describe_splits(migration: Migration) -> list[Split]:
    """Return the groups of ambiguous labels, those with most rows first."""
    splits = [
        Split(
            tuple(group.olds),
            tuple(group.labels),
            group.n_rows,
            group.n_checked,
            group.share_right,
            group.share_settled,
            judge(group),
        )
        for group in migration.groups
    ]
    return sorted(splits, key=lambda split: (-split.open_rows, split.olds))


class Tally:
    """Counts what became of rows while they are written."""

    def __init__(self) -> None:
        self.statuses: Counter[str] = Counter()
        self.open_of: Counter[str] = Counter()
        self.confidence: Counter[str] = Counter()

    def add(self, old: str, settled: Relabelled) -> None:
        """Count a row."""
        self.statuses[settled.status] += 1
        self.confidence[settled.status] += settled.confidence  # type: ignore[assignment]
        if settled.label is None:
            self.open_of[old] += 1

    def to_dict(self, migration: Migration) -> dict[str, Any]:
        """Return the report as JSON values."""
        threshold = migration.threshold
        n_rows = sum(self.statuses.values())
        mean = {s: round(self.confidence[s] / n, 4) for s, n in self.statuses.items()}
        return {
            "rows": n_rows,
            "statuses": dict(sorted(self.statuses.items())),
            "mean_confidence": dict(sorted(mean.items())),
            "settled": n_rows - sum(self.open_of.values()),
            "sure": migration.sure,
            "threshold": None
            if threshold is None
            else {
                "probability": round(threshold.at_least, 4),
                "right_on_checked_rows": round(threshold.share_right, 4),
                "lower_bound": round(threshold.lower_bound, 4),
                "checked_rows": threshold.n_checked,
            },
            "splits": [
                {
                    "old": list(split.olds),
                    "new": list(split.news),
                    "rows": split.open_rows,
                    "checked": split.checked,
                    "right": None if split.share_right is None else round(split.share_right, 4),
                    "settled": None if split.share_settled is None else round(split.share_settled, 4),
                    "verdict": split.verdict,
                }
                for split in describe_splits(migration)
            ],
            "retired_or_unknown": {
                old: count for old, count in self.open_of.most_common() if not migration.candidates(old)
            },
        }


def worklist(migration: Migration, most: int = 200) -> list[Task]:
    """Return the rows that people should label first, in the order that helps most.

    First come rows drawn at random from groups with too few checked rows to decide anything, the groups in the order of
    the rows that a check may settle; then rows of groups that models do not help with, in the same order.
    """
    needed = max(FEWEST_CHECKED, ENOUGH_CHECKED)
    first, last = [], []
    for group in migration.groups:
        verdict = judge(group)
        if group.n_rows and verdict == UNCHECKED:
            first.append((group.n_rows / max(1, needed - group.n_checked), group))
        elif group.n_rows and verdict != HELPED:
            last.append((float(group.n_rows), group))
    tasks: list[Task] = []
    for gain, group in sorted(first, key=lambda pair: (-pair[0], pair[1].olds)):
        why = f"a check here settles up to {gain:,.0f} rows"
        tasks += list(_tasks(migration, group, max(1, needed - group.n_checked), why))
    for _, group in sorted(last, key=lambda pair: (-pair[0], pair[1].olds)):
        tasks += list(_tasks(migration, group, most, "the words do not tell the new labels apart"))
    short = fewest_checks(migration.sure)
    if migration.threshold is None and len(tasks) < min(most, short):
        for group in sorted(migration.groups, key=lambda group: (-group.n_rows, group.olds)):
            if judge(group) == HELPED:
                tasks += list(_tasks(migration, group, short, "more checked rows show how sure models are"))
    return tasks[:most]


def _tasks(migration: Migration, group: Group, most: int, why: str) -> Iterator[Task]:
    rows = sorted((number, row) for old in group.olds for number, row in migration.drawn.get(old, Drawn()).rows)
    if len(rows) > most:  # spread over the rows drawn, which are a random sample
        rows = [rows[k * len(rows) // most] for k in range(most)]
    texts = [row for _, row in rows]
    ranked = migration.relabel_texts(group, texts)
    for (number, row), settled in zip(rows, ranked, strict=True):
        yield Task(number, row.old, settled.candidates, row.text, why)
