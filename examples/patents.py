"""Patents with several classes each: sets of labels, thresholds, and precision and recall by level.

The abstracts are made here from the vocabulary of a few classes of the International Patent Classification. Run as
``python examples/patents.py [blocks.svg]``.
"""

import random
import sys
from pathlib import Path

from cladist import NodewiseSVM, Taxonomy, TextClassifier, Thresholded
from cladist.metrics import micro_f1, report
from cladist.report import icicle

CLASSES = {
    "A/A61/A61B": "electrode catheter imaging patient endoscope probe tissue ultrasound",
    "A/A61/A61K": "tablet compound dose excipient peptide solvent vaccine tissue",
    "A/A47/A47J": "kettle grinder coffee boiler brewing lid steam heating",
    "B/B60/B60L": "battery vehicle charging traction inverter motor braking voltage",
    "B/B60/B60W": "vehicle braking steering torque driver lane controller motor",
    "B/B65/B65D": "container lid bottle closure film sealing pouch carton",
    "G/G06/G06N": "neural network training weights layer inference dataset controller",
    "G/G06/G06F": "memory processor instruction cache register bus address interrupt",
    "G/G01/G01N": "sample sensor spectrum analyte detector optical probe compound",
    "H/H01/H01M": "battery electrode electrolyte anode cathode cell separator lithium",
    "H/H01/H01L": "semiconductor wafer layer gate substrate doping transistor etching",
    "H/H04/H04L": "packet network routing session encryption message node protocol",
}
CLAIMS = ["A {} comprising a {} and a {}, wherein the {} is coupled to a {}.",
          "Method of operating a {} with a {}, the {} being arranged at the {}, and a {}."]  # fmt: skip


def write_patents(n_patents: int, seed: int) -> tuple[list[str], list[set[str]]]:
    """Return abstracts with the words of one to three classes, and the classes."""
    rng = random.Random(seed)
    abstracts, labels = [], []
    for _ in range(n_patents):
        own = rng.sample(list(CLASSES), rng.choice([1, 1, 2, 3]))
        claims = (rng.choice(CLAIMS).format(*rng.sample(CLASSES[code].split(), 5)) for code in own)
        noise = rng.sample(" ".join(CLASSES.values()).split(), 15)
        abstracts.append(" ".join([*claims, "Preferred embodiments include:", *noise]))
        labels.append({code.split("/")[-1] for code in own})
    return abstracts, labels


def main(picture: str = "patents.svg") -> None:
    """Predict sets as they come, and with thresholds that suit the F1."""
    taxonomy = Taxonomy.from_paths(list(CLASSES))
    texts, labels = write_patents(400, seed=0)
    new_texts, new_labels = write_patents(200, seed=1)
    methods = {
        "as they come": NodewiseSVM(taxonomy),
        "with thresholds": Thresholded(NodewiseSVM(taxonomy), strategy="global", random_state=0),
    }
    for name, method in methods.items():
        model = TextClassifier(method).fit(texts, labels)
        predicted = model.predict(new_texts)
        print(f"{name}: micro-F1 {micro_f1(new_labels, predicted, taxonomy):.3f}")
    row = next(i for i, codes in enumerate(new_labels) if len(codes) == 3)
    print(f"{sorted(predicted[row])} for a patent with {sorted(new_labels[row])}")
    found = report(new_labels, predicted, taxonomy)
    for level in found.per_level:
        print(f"level {level.level}: precision {level.precision:.3f}, recall {level.recall:.3f}")
    Path(picture).write_text(icicle(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
