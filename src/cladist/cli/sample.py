"""``cladist sample``: write a small catalogue of made-up products, its taxonomy, and commands to try on them."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cladist.cli.options import Debug, Json, Quiet, argument

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

ROWS_PER_CATEGORY, TEST_ROWS_PER_CATEGORY = 20, 6
SEED = 7
# Departments; below them aisles, each with phrases for all its products; below them categories, each with the names of
# its products and, on the next line, phrases about them.
CATALOGUE = """
Electronics
  Phones: fits in any pocket, works with all networks, charges without a cable
    Smartphones: phone, smartphone, 5G phone
      two cameras, bright screen, large battery, unlocks with a fingerprint, 128 GB storage
    Phone cases: phone case, flip cover, bumper
      survives a fall, soft silicone, leather with card slots, clear back, raised edges
  Computers: quiet and light, for work and travel, full day of battery
    Laptops: laptop, notebook, ultrabook
      16 GB memory, backlit keyboard, aluminium lid, fast solid-state disk, wide trackpad
    Tablets: tablet, e-reader, drawing tablet
      touch screen, comes with a pen, paper-like display, storage for 128 GB, kids mode
  Audio: rich bass, Bluetooth, twenty hours of music
    Headphones: headphones, earbuds, headset
      cancels noise, soft ear cushions, folds flat, built-in microphone, stays in the ear
    Speakers: speaker, soundbar, party speaker
      fills a room, two tweeters, wall mount, waterproof, pairs for stereo
Home
  Cookware: suits induction, dishwasher safe, stays cool at the handle
    Frying pans: frying pan, skillet, wok
      non-stick coating, cast iron, crisp edges, for eggs and pancakes, sears steak
    Saucepans: saucepan, stock pot, pot with lid
      glass lid, pouring rim, measures inside, for soup and pasta, simmers evenly
  Bedding: washes at 60 degrees, soft organic cotton, for good sleep
    Duvets: duvet, comforter, quilt
      warm down filling, for winter nights, double size, light for summer, stitched squares
    Pillows: pillow, neck pillow, cushion
      memory foam, supports the neck, for side sleepers, down filling, adjustable height
  Lighting: saves energy, warm white light, dims in three steps
    Desk lamps: desk lamp, reading lamp, clip lamp
      bends to any angle, no glare on the page, USB port, small foot, for late work
    Ceiling lights: ceiling light, pendant lamp, chandelier
      hangs above the table, linen shade, for high rooms, glass globes, flat on the wall
Outdoors
  Camping: packs small, waterproof, for two people
    Tents: tent, dome tent, shelter
      pitches in minutes, steel pegs, mosquito net, sewn-in floor, holds in a storm
    Sleeping bags: sleeping bag, mummy bag, bivouac bag
      down filling, comfort to minus five, two-way zip, warm hood, for winter nights
  Cycling: made for the road, reflects at night, light frame
    Bicycles: bicycle, mountain bike, city bike
      21 gears, disc brakes, aluminium frame, luggage rack, front suspension
    Bike helmets: helmet, bike helmet, cycling helmet
      twelve air vents, dial at the back, rear light, soft chin strap, survives a fall
  Fitness: for the gym at home, non-slip, for beginners and professionals
    Yoga mats: yoga mat, exercise mat, mat
      6 mm thick, natural rubber, rolls up, soft under the knees, carrying strap
    Dumbbells: dumbbell, kettlebell, pair of weights
      5 kg each, cast iron, rubber coating, adjustable plates, fits the hand
"""
MAKERS = ("Alba", "Birch & Co", "Corvo", "Dunlin", "Esker", "Fjord", "Grove", "Harrow")
ADJECTIVES = ("new", "classic", "premium", "everyday", "slim", "large", "compact", "original")
PHRASES = ("two years of warranty", "ships tomorrow", "makes a fine gift", "back in stock", "our best seller")
COLOURS = ("black", "grey", "blue", "red", "green", "white")

Product = tuple[str, ...]  # title, description, category
Category = tuple[str, list[str], list[str], list[str]]  # title, names, phrases, phrases of the aisle


def command(
    folder: Annotated[Path, argument("DIR", "A new or empty folder.")],
    json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Write a small table of products and its taxonomy, and print commands to try on them."""
    from cladist.cli.output import Terminal

    files = write_sample(folder)
    terminal = Terminal(json, quiet)
    terminal.answer({"folder": str(folder), "files": files, "commands": list(COMMANDS)})
    if not quiet:
        terminal.plain(f"Wrote {', '.join(files)} to {folder}. Try:\n")
        terminal.plain("\n".join([f"cd {folder}", *COMMANDS]))


def write_sample(folder: Path) -> list[str]:
    """Write the files into a new or empty folder and return their names."""
    from cladist.cli.output import write_text
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


def sample_files() -> dict[str, str]:
    """Return the name and text of every file; they are always the same.

    Examples
    --------
    >>> sorted(sample_files())
    ['README.md', 'taxonomy.csv', 'test.csv', 'train.csv']
    """
    parents, categories = read_catalogue()
    generator = random.Random(SEED)
    products = [list(_products(generator, *category)) for category in categories]
    test = [product for rows in products for product in rows[:TEST_ROWS_PER_CATEGORY]]
    train = [product for rows in products for product in rows[TEST_ROWS_PER_CATEGORY:]]
    generator.shuffle(train)
    generator.shuffle(test)
    return {
        "train.csv": _csv(["title", "description", "category"], train),
        "test.csv": _csv(["title", "description", "category"], test),
        "taxonomy.csv": _csv(["node", "parent"], list(parents.items())),
        "README.md": README.format(commands="\n".join(COMMANDS)),
    }


def read_catalogue() -> tuple[dict[str, str], list[Category]]:
    """Return the parent of each node, level by level and "" for roots, and the categories.

    Examples
    --------
    >>> parents, categories = read_catalogue()
    >>> parents["Tents"], len(categories)
    ('Camping', 18)
    """
    levels: list[dict[str, str]] = [{}, {}, {}]
    path = ["", "", ""]
    categories: list[Category] = []
    phrases: list[list[str]] = [[], [], []]  # of the department (none), the aisle and the category
    for line in CATALOGUE.strip("\n").split("\n"):
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
) -> Iterator[Product]:
    for _ in range(ROWS_PER_CATEGORY):
        maker, adjective, colour = (generator.choice(options) for options in (MAKERS, ADJECTIVES, COLOURS))
        # Some titles do not name the kind of product, as in any catalogue.
        name = generator.choice(names) if generator.random() < 0.4 else "edition"
        sentence = [generator.choice(phrases), generator.choice(shared), generator.choice(PHRASES)]
        generator.shuffle(sentence)
        yield f"{maker} {adjective} {name}, {colour}", f"{'; '.join(sentence).capitalize()}.", category


def _csv(header: list[str], rows: list[tuple[str, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
