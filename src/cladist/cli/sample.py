"""``cladist sample``: write a small catalogue of made-up products, its taxonomy, and commands to try on them."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cladist.cli.output import Terminal, argument, option, write_text
from cladist.errors import DatasetError

EXAMPLE = "Examples: [bold]cladist sample shop[/bold]\n\n[bold]cladist sample shop --rows 20000[/bold]"
ROWS_HELP = "Also write shop.csv, a catalogue of so many products with stock numbers and paths for categories."
ABOVE = 100  # of so many products in shop.csv, one is filed at an aisle, above the categories

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

ROWS_PER_CATEGORY, TEST_ROWS_PER_CATEGORY = 20, 6
SEED = 7
MAKERS = ("Alba", "Birch & Co", "Corvo", "Dunlin", "Esker", "Fjord", "Grove", "Harrow")
ADJECTIVES = ("new", "classic", "premium", "everyday", "slim", "large", "compact", "original")
PHRASES = ("two years of warranty", "ships tomorrow", "makes a fine gift", "back in stock", "our best seller")
COLOURS = ("black", "grey", "blue", "red", "green", "white")

Category = tuple[str, list[str], list[str], list[str]]  # title, names, phrases, phrases of the aisle


def command(
    terminal: Terminal,
    folder: Annotated[Path, argument("DIR", "A new or empty folder.")],
    rows: Annotated[int, option("--rows N", ROWS_HELP, min=0)] = 0,
) -> None:
    """Write a small table of products and its taxonomy, and print commands to try on them."""
    files = write_sample(folder, rows)
    terminal.answer({"folder": str(folder), "files": files, "commands": list(COMMANDS)})
    if not terminal.quiet:
        terminal.plain(f"Wrote {', '.join(files)} to {folder}. Try:\n")
        terminal.plain("\n".join([f"cd {folder}", *COMMANDS]))


def write_sample(folder: Path, rows: int = 0) -> list[str]:
    """Write the files into a new or empty folder and return their names."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetError(f"{folder} is not an empty folder, and was not changed; name a new or empty folder.")
    files = sample_files() | ({"shop.csv": shop(rows)} if rows else {})
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_text(folder / name, text)
    return list(files)


def sample_files() -> dict[str, str]:
    """Return the name and text of every file; they are always the same."""
    parents, categories = read_catalogue()
    generator = random.Random(SEED)
    products = [list(_products(generator, *category)) for category in categories]
    test = [product for rows in products for product in rows[:TEST_ROWS_PER_CATEGORY]]
    train = [product for rows in products for product in rows[TEST_ROWS_PER_CATEGORY:]]
    generator.shuffle(train)
    generator.shuffle(test)
    columns = ("title", "description", "category")
    return {
        "train.csv": _csv([columns, *train]),
        "test.csv": _csv([columns, *test]),
        "taxonomy.csv": _csv([("node", "parent"), *parents.items()]),
        "README.md": README.format(commands="\n".join(COMMANDS)),
    }


def shop(n_rows: int) -> str:
    """Return a catalogue as a shop exports it: stock number, title, description, and the path of the category."""
    parents, categories = read_catalogue()
    generator = random.Random(SEED)
    rows: list[tuple[str, ...]] = [("sku", "title", "description", "category")]
    for k in range(n_rows):
        title, description, category = next(_products(generator, *generator.choice(categories)))
        aisle = parents[category]
        path = [parents[aisle], aisle] if k % ABOVE == ABOVE - 1 else [parents[aisle], aisle, category]
        rows.append((f"A{k + 1:06}", title, description, " > ".join(path)))
    return _csv(rows)


def read_catalogue() -> tuple[dict[str, str], list[Category]]:
    """Return the parent of each node, level by level and "" for roots, and the categories.

    In the file, departments come first; below them aisles, each with phrases for all its products; below them
    categories, each with the names of its products and, on the next line, phrases about them.
    """
    levels: list[dict[str, str]] = [{}, {}, {}]
    path = ["", "", ""]
    categories: list[Category] = []
    phrases: list[list[str]] = [[], [], []]  # of the department (none), the aisle and the category
    for line in Path(__file__).with_name("catalogue.txt").read_text(encoding="utf-8").splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        title, _, texts = line.strip().rpartition(": ") if depth else (line, "", "")
        if depth == 3:
            categories.append((path[2], phrases[2], texts.split(", "), phrases[1]))
            continue
        path[depth], phrases[depth] = title, texts.split(", ")
        levels[depth][title] = path[depth - 1] if depth else ""
    return levels[0] | levels[1] | levels[2], categories


def _products(
    generator: random.Random, category: str, names: list[str], phrases: list[str], shared: list[str]
) -> Iterator[tuple[str, ...]]:
    """Yield the title, description and category of made-up products."""
    for _ in range(ROWS_PER_CATEGORY):
        maker, adjective, colour = (generator.choice(options) for options in (MAKERS, ADJECTIVES, COLOURS))
        # Some titles do not name the kind of product, as in any catalogue.
        name = generator.choice(names) if generator.random() < 0.4 else "edition"
        sentence = [generator.choice(phrases), generator.choice(shared), generator.choice(PHRASES)]
        generator.shuffle(sentence)
        yield f"{maker} {adjective} {name}, {colour}", f"{'; '.join(sentence).capitalize()}.", category


def _csv(rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
