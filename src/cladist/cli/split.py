"""``cladist split``: the rows of a file in two files, one to train on and one to evaluate on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cladist.cli import output
from cladist.errors import DatasetError, ParameterError
from cladist.files import data_suffix, iterate_text_lines, open_for_reading, open_for_writing

EXAMPLE = (
    "Examples: [bold]cladist split shop.csv --test-size 0.2[/bold]"
    "\n\n[bold]cladist split shop.csv --label category --out-train train.csv --out-test test.csv[/bold]"
)
SIZE_HELP = "The share of the rows in the second file."
LABEL_HELP = "Draw this share from each label of this column, and leave at least one row of each to train on."
GROUPS_HELP = "Keep rows with the same text in this column in one file, as the pages of one document."
KINDS = ("csv", "tsv", "jsonl", "svmlight", "arff")  # formats of text, whose rows are copied as they are


def command(
    terminal: output.Terminal,
    data: output.DataFile,
    test_size: Annotated[float, output.option("--test-size SHARE", SIZE_HELP)] = 0.2,
    label: Annotated[str | None, output.option("--label COLUMN", LABEL_HELP)] = None,
    groups: Annotated[str | None, output.option("--groups COLUMN", GROUPS_HELP)] = None,
    out_train: Annotated[
        Path | None, output.option("--out-train FILE", "The first file.", show_default="DATA-train")
    ] = None,
    out_test: Annotated[
        Path | None, output.option("--out-test FILE", "The second file.", show_default="DATA-test")
    ] = None,
    seed: Annotated[int, output.option("--seed N", "Another number draws other rows.", min=0)] = 0,
    format: output.Format = None,  # noqa: A002
) -> None:
    """Split the rows of a file into two files, to train on one and to evaluate on the other.

    Rows are drawn at random, and written in their order and as they are.
    """
    from cladist.datasets.formats.tables.query import is_database

    output.check_inputs(data)
    if is_database(data):
        raise ParameterError(
            f"split writes the rows of a file as they are, and {data} is a database; let two queries choose the rows, "
            "or give --test-size to cladist train."
        )
    source = Path(data)
    if not 0 < test_size < 1:
        raise ParameterError(f"--test-size must be a share of the rows between 0 and 1; got {test_size:g}.")
    if label and groups:
        raise ParameterError("--label and --groups are two ways to draw rows; give one of them.")
    stem, endings = source.name.partition(".")[::2]
    train, test = out_train or Path(f"{stem}-train.{endings}"), out_test or Path(f"{stem}-test.{endings}")
    output.check_target(train, source)
    output.check_target(test, source, train)
    with terminal.bars():
        header, rows, values = read_rows(source, label or groups, format and format.value)
        chosen = draw(len(rows), values, test_size, is_group=groups is not None, seed=seed)
        sizes = []
        for path, is_test in ((train, False), (test, True)):
            lines = [row for row, own in zip(rows, chosen.tolist(), strict=True) if own is is_test]
            sizes.append(len(lines))
            with open_for_writing(path) as file:
                file.write("".join([header, *lines]).encode())
    terminal.answer({"train": str(train), "test": str(test), "train_rows": sizes[0], "test_rows": sizes[1]})
    terminal.plain(f"{sizes[0]:,} rows are in {train}, {sizes[1]:,} in {test}")


def read_rows(path: Path, column: str | None, kind: str | None) -> tuple[str, list[str], list[str]]:
    """Return the text before the first row, the text of each row, and the rows' values in a column."""
    from cladist.cli.input import KIND_OF_SUFFIX
    from cladist.datasets.formats.tables.records import cell_text, format_of_ending, read_records

    kind = kind or KIND_OF_SUFFIX.get(data_suffix(path)) or format_of_ending(path) or "csv"
    if kind not in KINDS:
        raise DatasetError(f"{path}: {kind} files are not split; those that are: {', '.join(KINDS)}.")
    with open_for_reading(path) as stream:
        lines = [line if line.endswith("\n") else f"{line}\n" for _, line in iterate_text_lines(path, stream)]
    values: list[str] = []
    if kind in ("svmlight", "arff"):
        if column is not None:
            raise ParameterError(f"{path} is read as {kind}, in which no columns are named.")
        starts = list(_number_rows(lines, kind))
    else:
        starts = []
        for number, record in read_records(path, format=kind, columns=[column] if column else ()):
            starts.append(number)
            values.append(cell_text(record[column]) or "" if column else "")
    if len(starts) < 2:
        raise DatasetError(f"{path}: two rows at least are needed to split them.")
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    rows = ["".join(lines[start - 1 : end]) for start, end in zip(starts, ends, strict=True)]
    return "".join(lines[: starts[0] - 1]), rows, values if column else []


def _number_rows(lines: Sequence[str], kind: str) -> Iterator[int]:
    """Yield the numbers of the lines that are rows: not empty, no comments, and in ARFF below @data."""
    is_below = kind == "svmlight"
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if is_below and text and not text.startswith(("#", "%")):
            yield number
        is_below = is_below or text.lower() == "@data"


def draw(n_rows: int, values: Sequence[str], test_size: float, *, is_group: bool, seed: int) -> Any:
    """Return which rows are in the second file: any of them, a share of each value, or the rows of whole groups."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(n_rows)
    chosen = np.zeros(n_rows, bool)
    _, codes = np.unique(np.array(values or [""] * n_rows, dtype=object), return_inverse=True)
    sizes, n_wanted = np.bincount(codes), 0.0
    if is_group:
        groups = np.random.default_rng(seed).permutation(len(sizes))
        n_below = np.cumsum(sizes[groups]) - sizes[groups] / 2  # a group is in if more than half of it is
        chosen = np.isin(codes, groups[n_below < test_size * n_rows])
    else:
        of_value = np.split(order[np.argsort(codes[order], kind="stable")], np.cumsum(sizes)[:-1])
        for value in np.random.default_rng(seed).permutation(len(sizes)):
            own = of_value[value]
            n_wanted += test_size * len(own)
            n_taken = min(round(n_wanted), len(own) - 1)
            chosen[own[:n_taken]] = True
            n_wanted -= n_taken  # what rounding left is drawn from the labels that follow
    if chosen.all() or not chosen.any():
        raise ParameterError(f"--test-size {test_size:g} of {n_rows:,} rows leaves one of the files without rows.")
    return chosen
