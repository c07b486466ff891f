"""A language model's list of the best k labels in the decisions of a tree.

Language models are asked for a few labels with probabilities, not for a column per leaf. `cladist.labels.TopK` holds
such lists, and every rule of `cladist.decisions` takes them. `ask` stands for the call of a model here: it ranks leaves
by the words that they share with the text, so that the example needs no network. Put your own call in its place; names
that are no leaves, which language models invent now and then, are dropped. Run as ``python examples/llm_top_k.py``.
"""

import re

import numpy as np

from cladist.datasets import load_icd10cm
from cladist.decisions import Confidence
from cladist.labels import TopK

N_TEST, K = 300, 5
WORD = re.compile(r"\w+")


def ask(text, titles):
    """Return what a language model might: up to K names of labels with probabilities, and one that it made up."""
    words = set(WORD.findall(text.lower()))
    shared = {name: len(words & own) / (1 + len(own)) for name, own in titles.items()}
    best = sorted(shared, key=shared.__getitem__, reverse=True)[:K]
    total = sum(np.exp(6 * shared[name]) for name in best)
    return [{"label": name, "probability": float(0.9 * np.exp(6 * shared[name]) / total)} for name in best] + [
        {"label": "Z99.999", "probability": 0.1}
    ]


def as_top_k(answers, number):
    """Return the answers as a `TopK` of leaves: columns and probabilities, which others share what is left of 1."""
    columns = np.zeros((len(answers), K), np.int64)
    probabilities = np.zeros((len(answers), K))
    for row, answer in enumerate(answers):
        known = [(number[entry["label"]], entry["probability"]) for entry in answer if entry["label"] in number][:K]
        unused = (k for k in range(len(number)) if k not in {column for column, _ in known})
        known += [(next(unused), 0.0) for _ in range(K - len(known))]  # a column may not be there twice
        columns[row], probabilities[row] = zip(*known, strict=True)
    return TopK(columns, probabilities)


def main() -> None:
    """Decide on diagnoses with the lists of a model."""
    data = load_icd10cm(level="category")
    leaves = [data.taxonomy.names[v] for v in data.taxonomy.leaves]
    number = {name: k for k, name in enumerate(leaves)}
    names = {name: set(WORD.findall(data.taxonomy.words_of(name).lower())) for name in leaves}
    texts, truths = data.texts_test[: 2 * N_TEST], data.y_test[: 2 * N_TEST]
    P = [as_top_k([ask(text, names) for text in part], number) for part in (texts[::2], texts[1::2])]

    best = np.array(leaves)[P[1].columns[:, 0]]  # the most probable comes first
    print(f"first of the list: {np.mean(best == truths[1::2]):.0%} right")
    for least in (0.3, 0.5, 0.7):
        nodes = Confidence(least).fit(P[0], truths[::2], data.taxonomy).decide(P[1])
        answers = [(node, truth) for node, truth in zip(nodes, truths[1::2], strict=True) if node is not None]
        right = np.mean([node in data.taxonomy.path(truth) for node, truth in answers]) if answers else 0.0
        print(f"the deepest node that is {least:.0%} sure: {len(answers):,} of {N_TEST:,} answered, {right:.0%} right")


if __name__ == "__main__":
    main()
