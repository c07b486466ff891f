"""``cladist sample``: a small table, its tree, and the commands to try on them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from cladist.cli.options import Debug, Json, Quiet

EXAMPLE = "Example: [bold]cladist sample shop[/bold]"

COLUMNS = "--text title --text description --label category"
COMMANDS = (
    "cladist taxonomy taxonomy.csv",
    f"cladist train train.csv --taxonomy taxonomy.csv {COLUMNS} --out model",
    "cladist evaluate model test.csv --html report.html",
    "cladist predict model test.csv --out answers.csv",
    "echo 'warm down sleeping bag for two' | cladist predict model - --top-k 3",
)

README = """# A shop's catalogue, to try cladist on

`train.csv` and `test.csv` hold products with a title, a description and a category; `taxonomy.csv` holds the tree of
categories. The products are made up. Try, in this folder:

```
{commands}
```
"""


def sample_files() -> dict[str, str]:
    """Return the text of every file, by name; always the same.

    Examples
    --------
    >>> sorted(sample_files())
    ['README.md', 'taxonomy.csv', 'test.csv', 'train.csv']
    """
    from cladist.cli.catalogue import parents, products

    train, test = products()
    return {
        "train.csv": _csv(["title", "description", "category"], train),
        "test.csv": _csv(["title", "description", "category"], test),
        "taxonomy.csv": _csv(["node", "parent"], [(node, parent or "") for node, parent in parents().items()]),
        "README.md": README.format(commands="\n".join(COMMANDS)),
    }


def write_sample(folder: Path) -> list[str]:
    """Write the files into a folder that is new or empty, and return their names."""
    from cladist.cli.output_files import write_text
    from cladist.errors import DatasetError

    if folder.exists() and not folder.is_dir():
        raise DatasetError(f"{folder} is a file; name a new or empty folder.")
    if folder.is_dir() and any(folder.iterdir()):
        raise DatasetError(f"{folder} is not empty, and is left untouched; name a new or empty folder.")
    files = sample_files()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(folder / name, text)
    return list(files)


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a small table of products and its tree, and say what to try on them."""
    from cladist.cli.terminal import Terminal

    files = write_sample(folder)
    terminal = Terminal(json, quiet)
    terminal.answer({"folder": str(folder), "files": files, "commands": list(COMMANDS)})
    if not quiet:
        terminal.plain(f"Wrote {', '.join(files)} to {folder}. Try:\n")
        terminal.plain("\n".join([f"cd {folder}", *COMMANDS]))


def _csv(header: list[str], rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
