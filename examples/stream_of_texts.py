"""A stream of texts: predict each, learn from it, and add a category that comes up later.

Run as ``python examples/stream_of_texts.py [model-folder]``.
"""

import sys

from cladist import TextClassifier

DAYS = [
    [("red tent for two", "camping/tents"), ("warm sleeping bag", "camping/bags"), ("tea cup", "kitchen/cups")],
    [("dome tent", "camping/tents"), ("coffee cup", "kitchen/cups"), ("down sleeping bag", "camping/bags")],
    [("tunnel tent with pegs", "camping/tents"), ("cup with lid", "kitchen/cups"), ("iron pan", "kitchen/pans")],
    [("frying pan", "kitchen/pans"), ("light tent", "camping/tents"), ("small pan", "kitchen/pans")],
]


def main(folder: str = "stream-model") -> None:
    """Learn day by day; the category of pans is new on the third day."""
    paths = [["camping", "tents"], ["camping", "bags"], ["kitchen", "cups"]]
    model = TextClassifier("hieron", {"tents": "camping", "bags": "camping", "cups": "kitchen"})
    for number, day in enumerate(DAYS, start=1):
        texts, labels = [text for text, _ in day], [label.split("/")[-1] for _, label in day]
        if number > 1:
            for label in set(labels) - set(model.taxonomy_.names):
                model[-1].add_node(label, "kitchen")
                print(f"day {number}: new category {label!r}")
            right = sum(a == b for a, b in zip(model.predict(texts).tolist(), labels, strict=True))
            print(f"day {number}: {right} of {len(day)} right before learning from them")
        model.partial_fit(texts, labels)
    print(model.predict_paths(["cast iron pan"]), "instead of one of", paths)
    model.save(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
