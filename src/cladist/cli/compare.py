"""``cladist compare``: methods with the hierarchy and without it, within a budget of time."""

from __future__ import annotations

import json
import re
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cladist.cli import output
from cladist.cli.train import TAXONOMY_HELP
from cladist.errors import DatasetError, ParameterError

if TYPE_CHECKING:
    from cladist.evaluation import Comparison

EXAMPLE = (
    "Examples: [bold]cladist compare shop.csv --text title --label category --path-sep / --budget 10m[/bold]"
    "\n\n[bold]cladist compare train.svm --taxonomy tree.csv --methods hr-svm,top-down --html report.html[/bold]"
    "\n\n[bold]cladist compare first.json second.json third.json[/bold]"
)
DATA_HELP = f"{output.DATA_HELP} Or the JSON results of several comparisons, to rank methods over data sets."
METHODS_HELP = "Methods of [bold]cladist methods[/bold], separated by commas; flat twins are added."
BUDGET_HELP = "How long it may take: seconds, or as in 90s, 10m or 2h."
GROUPS_HELP = "Keep rows with the same text in this column on one side, as the pages of one document."
TIME_HELP = "Hold out the rows that are later by this column, from training on earlier ones."
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
Measure = StrEnum("Measure", ["macro-f1", "micro-f1", "hierarchical-f1", "accuracy", "tree-induced-error"])


def command(
    terminal: output.Terminal,
    data: Annotated[list[str], output.argument("DATA…", DATA_HELP)],
    taxonomy: Annotated[Path | None, output.option("--taxonomy FILE", TAXONOMY_HELP)] = None,
    methods: Annotated[
        str | None, output.option("--methods NAMES", METHODS_HELP, show_default="those of auto, and hieron")
    ] = None,
    budget: Annotated[str, output.option("--budget TIME", BUDGET_HELP)] = "10m",
    measure: Annotated[Measure, output.option("--measure", "What methods are compared by.")] = Measure["macro-f1"],
    cv: Annotated[int, output.option("--cv N", "The number of parts, of which one at a time is held out.", min=2)] = 5,
    groups: Annotated[str | None, output.option("--groups COLUMN", GROUPS_HELP, output.DATA)] = None,
    time: Annotated[str | None, output.option("--time COLUMN", TIME_HELP, output.DATA)] = None,
    control: Annotated[
        bool, output.option("--control/--no-control", "Also train with the leaves of the hierarchy shuffled.")
    ] = True,
    html: Annotated[Path | None, output.option("--html FILE", "Also write the result as a web page.")] = None,
    seed: Annotated[int, output.option("--seed N", "Another number holds out other rows.", min=0)] = 0,
    text: output.Texts = None,
    label: output.Label = None,
    label_sep: output.LabelSep = None,
    path_sep: output.PathSep = None,
    format: output.Format = None,  # noqa: A002
    zero_based: output.ZeroBased = None,
    query: output.Query = None,
) -> None:
    """Compare methods with the hierarchy and without it, and say whether it helps.

    Ends within the budget with a table: cheap methods come first, all begin with
    a part of the rows, and the best go on. Intervals hold for all comparisons
    together. The last line is the command that trains the recommended method.
    """
    output.check_inputs(*data, taxonomy)
    if len(data) > 1:
        rank(terminal, data)
        return
    seconds = parse_time(budget)
    from cladist.cli.input import DataSource
    from cladist.cli.training_data import model_rows, read_column, read_training_data
    from cladist.evaluation import compare

    columns = (tuple(text or ()), label, label_sep, path_sep)
    source = DataSource(data[0], format and format.value, *columns, zero_based, labelled=True, query=query)
    output.check_target(html, data[0], taxonomy)
    with terminal.bars():
        rows = read_training_data(source, taxonomy)
        given = {"groups": groups, "times": time}
        others: dict[str, Any] = {
            name: read_column(source, column, f"--{name.rstrip('s')}") for name, column in given.items() if column
        }
        if "times" in others:
            others["times"] = as_times(others["times"])
        result = compare(
            model_rows(rows),
            rows.y,
            rows.taxonomy,
            methods=None if methods is None else [name.strip() for name in methods.split(",")],
            measure=measure.value.replace("-", "_"),
            budget=seconds,
            cv=cv,
            control=control,
            random_state=seed,
            **others,
        )
    advice = train_command(result, source, taxonomy)
    if html is not None:
        output.write_text(html, result.to_html(title=f"Methods on {Path(source.name).name}", advice=advice))
        terminal.note(f"The comparison is in {html}")
    terminal.answer(result.to_dict() | {"command": advice})
    terminal.show(result.verdict, output.table(*result.table))
    terminal.show(*(output.table(*table) for table in result.breakdowns))
    for name, reason in result.failed.items():
        terminal.note(f"{name} was left out: {reason}")
    terminal.note(result.setup)
    terminal.plain(advice)


def parse_time(text: str) -> float:
    """Return seconds, from texts such as 90, 90s, 10m or 2h."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise ParameterError(f"--budget must be a time above 0, as 90s, 10m or 2h; got {text!r}.")
    return float(found[1]) * UNITS[found[2]]


def as_times(values: list[str]) -> Any:
    """Return numbers, if all times are; other texts are sorted as they are, as dates of the form 2024-05-31."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return values


def train_command(result: Comparison, source: Any, taxonomy: Path | None) -> str:
    """Return the command that trains the recommended method on the data."""
    from cladist import registry

    row = next(row for row in result.rows if row.method == result.recommended)
    name = row.method
    if name not in {method.name for method in registry.methods()}:
        return f"The recommended method is {name}."
    words = ["cladist", "train", source.path]
    options = [("--taxonomy", taxonomy), *(("--text", column) for column in source.text), ("--label", source.label)]
    options += [("--label-sep", source.label_sep), ("--path-sep", source.path_sep), ("--format", source.format)]
    options += [("--query", source.query), ("--method", name), ("--param", None if row.C is None else "C=cv")]
    for option, value in options:
        words += [] if value is None else [option, str(value)]
    words += [] if source.zero_based is None else ["--zero-based" if source.zero_based else "--one-based"]
    return shlex.join([*words, "--out", "model"])


def rank(terminal: output.Terminal, paths: list[str]) -> None:
    """Show the ranks of methods over the results of several comparisons."""
    from cladist.evaluation import rank_methods

    contents = {}
    for path in paths:
        try:
            contents[Path(path).stem] = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as problem:
            raise DatasetError(
                f"{path} is no result of cladist compare --json; several files are ranked, one is compared on."
            ) from problem
    if len(contents) < len(paths):
        raise DatasetError("Two of the files have the same name; rename one, as names tell data sets apart.")
    ranking = rank_methods(contents)
    terminal.answer(ranking.to_dict())
    terminal.show(output.table(*ranking.table), ranking.sentence)
