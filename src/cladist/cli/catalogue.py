"""A made-up shop's catalogue: what its categories are called, and products written from templates."""

from __future__ import annotations

import random
from collections.abc import Iterator

ROWS_PER_CATEGORY, TEST_ROWS_PER_CATEGORY = 20, 6
SEED = 7

# Department → aisle → (what is said of anything in the aisle; category → (names, what is said of it)).
CATALOGUE: dict[str, dict[str, tuple[list[str], dict[str, tuple[list[str], list[str]]]]]] = {
    "Electronics": {
        "Phones": (
            ["fits in any pocket", "works with all networks", "charges without a cable"],
            {
                "Smartphones": (
                    ["phone", "smartphone", "5G phone"],
                    ["two cameras", "bright screen", "large battery", "unlocks with a fingerprint", "128 GB storage"],
                ),
                "Phone cases": (
                    ["phone case", "flip cover", "bumper"],
                    ["survives a fall", "soft silicone", "leather with card slots", "clear back", "raised edges"],
                ),
            },
        ),
        "Computers": (
            ["quiet and light", "for work and travel", "full day of battery"],
            {
                "Laptops": (
                    ["laptop", "notebook", "ultrabook"],
                    ["16 GB memory", "backlit keyboard", "aluminium lid", "fast solid-state disk", "wide trackpad"],
                ),
                "Tablets": (
                    ["tablet", "e-reader", "drawing tablet"],
                    ["touch screen", "comes with a pen", "paper-like display", "storage for 128 GB", "kids mode"],
                ),
            },
        ),
        "Audio": (
            ["rich bass", "Bluetooth", "twenty hours of music"],
            {
                "Headphones": (
                    ["headphones", "earbuds", "headset"],
                    ["cancels noise", "soft ear cushions", "folds flat", "built-in microphone", "stays in the ear"],
                ),
                "Speakers": (
                    ["speaker", "soundbar", "party speaker"],
                    ["fills a room", "two tweeters", "wall mount", "waterproof", "pairs for stereo"],
                ),
            },
        ),
    },
    "Home": {
        "Cookware": (
            ["suits induction", "dishwasher safe", "stays cool at the handle"],
            {
                "Frying pans": (
                    ["frying pan", "skillet", "wok"],
                    ["non-stick coating", "cast iron", "crisp edges", "for eggs and pancakes", "sears steak"],
                ),
                "Saucepans": (
                    ["saucepan", "stock pot", "pot with lid"],
                    ["glass lid", "pouring rim", "measures inside", "for soup and pasta", "simmers evenly"],
                ),
            },
        ),
        "Bedding": (
            ["washes at 60 degrees", "soft organic cotton", "for good sleep"],
            {
                "Duvets": (
                    ["duvet", "comforter", "quilt"],
                    ["warm down filling", "for winter nights", "double size", "light for summer", "stitched squares"],
                ),
                "Pillows": (
                    ["pillow", "neck pillow", "cushion"],
                    ["memory foam", "supports the neck", "for side sleepers", "down filling", "adjustable height"],
                ),
            },
        ),
        "Lighting": (
            ["saves energy", "warm white light", "dims in three steps"],
            {
                "Desk lamps": (
                    ["desk lamp", "reading lamp", "clip lamp"],
                    ["bends to any angle", "no glare on the page", "USB port", "small foot", "for late work"],
                ),
                "Ceiling lights": (
                    ["ceiling light", "pendant lamp", "chandelier"],
                    ["hangs above the table", "linen shade", "for high rooms", "glass globes", "flat on the wall"],
                ),
            },
        ),
    },
    "Outdoors": {
        "Camping": (
            ["packs small", "waterproof", "for two people"],
            {
                "Tents": (
                    ["tent", "dome tent", "shelter"],
                    ["pitches in minutes", "steel pegs", "mosquito net", "sewn-in floor", "holds in a storm"],
                ),
                "Sleeping bags": (
                    ["sleeping bag", "mummy bag", "bivouac bag"],
                    ["down filling", "comfort to minus five", "two-way zip", "warm hood", "for winter nights"],
                ),
            },
        ),
        "Cycling": (
            ["made for the road", "reflects at night", "light frame"],
            {
                "Bicycles": (
                    ["bicycle", "mountain bike", "city bike"],
                    ["21 gears", "disc brakes", "aluminium frame", "luggage rack", "front suspension"],
                ),
                "Bike helmets": (
                    ["helmet", "bike helmet", "cycling helmet"],
                    ["twelve air vents", "dial at the back", "rear light", "soft chin strap", "survives a fall"],
                ),
            },
        ),
        "Fitness": (
            ["for the gym at home", "non-slip", "for beginners and professionals"],
            {
                "Yoga mats": (
                    ["yoga mat", "exercise mat", "mat"],
                    ["6 mm thick", "natural rubber", "rolls up", "soft under the knees", "carrying strap"],
                ),
                "Dumbbells": (
                    ["dumbbell", "kettlebell", "pair of weights"],
                    ["5 kg each", "cast iron", "rubber coating", "adjustable plates", "fits the hand"],
                ),
            },
        ),
    },
}

MAKERS = ("Alba", "Birch & Co", "Corvo", "Dunlin", "Esker", "Fjord", "Grove", "Harrow")
WORDS = ("new", "classic", "premium", "everyday", "slim", "large", "compact", "original")
PLEASANTRIES = ("two years of warranty", "ships tomorrow", "makes a fine gift", "back in stock", "our best seller")
COLOURS = ("black", "grey", "blue", "red", "green", "white")

Product = tuple[str, ...]  # title, description, category


def parents() -> dict[str, str | None]:
    """Return the tree of categories as ``{node: parent}``, each parent before its children.

    Examples
    --------
    >>> parents()["Tents"]
    'Camping'
    """
    departments: dict[str, str | None] = dict.fromkeys(CATALOGUE)
    aisles = {aisle: name for name, aisles in CATALOGUE.items() for aisle in aisles}
    categories = {c: aisle for aisles in CATALOGUE.values() for aisle, (_, found) in aisles.items() for c in found}
    return departments | aisles | categories


def products() -> tuple[list[Product], list[Product]]:
    """Return products to train on and to test on, each in an order of its own that is always the same."""
    generator = random.Random(SEED)
    made = [list(_of_category(generator, *place)) for place in _categories()]
    test = [product for found in made for product in found[:TEST_ROWS_PER_CATEGORY]]
    train = [product for found in made for product in found[TEST_ROWS_PER_CATEGORY:]]
    generator.shuffle(train)
    generator.shuffle(test)
    return train, test


def _categories() -> Iterator[tuple[str, list[str], list[str], list[str]]]:
    for aisles in CATALOGUE.values():
        for shared, categories in aisles.values():
            for category, (names, details) in categories.items():
                yield category, names, details, shared


def _of_category(
    generator: random.Random, category: str, names: list[str], details: list[str], shared: list[str]
) -> Iterator[Product]:
    for _ in range(ROWS_PER_CATEGORY):
        maker, word, colour = (generator.choice(options) for options in (MAKERS, WORDS, COLOURS))
        # Some titles do not say what the thing is, as in any catalogue.
        name = generator.choice(names) if generator.random() < 0.4 else "edition"
        said = [generator.choice(details), generator.choice(shared), generator.choice(PLEASANTRIES)]
        generator.shuffle(said)
        yield f"{maker} {word} {name}, {colour}", f"{'; '.join(said).capitalize()}.", category
