"""Labels related by a graph, without a tree: languages that share words, and errors that stay among them.

The sentences are made here from roots that related languages share. Run as
``python examples/related_labels.py [graph.svg]``.
"""

import random
import sys
from html import escape
from itertools import combinations
from math import cos, pi, sin
from pathlib import Path

from cladist import FlatLogistic, RecursiveLogistic, RelationGraph, TextClassifier
from cladist.features import text_features

RELATED = [
    ("Danish", "Norwegian"), ("Danish", "Swedish"), ("Norwegian", "Swedish"), ("Norwegian", "Icelandic", 0.5),
    ("Spanish", "Portuguese"), ("Spanish", "Catalan"), ("Catalan", "Occitan"), ("Portuguese", "Galician"),
    ("Spanish", "Galician"), ("Czech", "Slovak"), ("Polish", "Slovak", 0.5),
]  # fmt: skip


def write_sentences(graph: RelationGraph, n_each: int, seed: int) -> tuple[list[str], list[str]]:
    """Return sentences, mostly in words that the language shares with those related to it."""
    rng = random.Random(seed)
    roots = {frozenset(pair): number for number, pair in enumerate(combinations(graph.names, 2))}
    sentences, languages = [], []
    for number, language in enumerate(graph.names):
        shared = [roots[frozenset((language, other))] for other in graph.neighbours(language)]
        for _ in range(n_each):
            words = [f"own{number}n{rng.randrange(60)}" for _ in range(2)]
            words += [f"root{rng.choice(shared)}n{rng.randrange(40)}" for _ in range(4)]
            words += [f"name{rng.randrange(60)}" for _ in range(4)]
            sentences.append(" ".join(words))
            languages.append(language)
    return sentences, languages


def draw(graph: RelationGraph) -> str:
    """Return the labels on a circle, with a line between those that are related."""
    turn = 2 * pi / graph.n_nodes
    places = {name: (320 + 190 * cos(k * turn), 230 + 190 * sin(k * turn)) for k, name in enumerate(graph.names)}
    lines, dots = [], []
    for name, (x, y) in places.items():
        for other, weight in graph.neighbours(name).items():
            end_x, end_y = places[other]
            lines.append(
                f'<line x1="{x:.0f}" y1="{y:.0f}" x2="{end_x:.0f}" y2="{end_y:.0f}" stroke-width="{3 * weight}"/>'
            )
        side = "start" if x >= 320 else "end"
        gap = 10 if x >= 320 else -10
        dots.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5"/>')
        dots.append(f'<text x="{x + gap:.0f}" y="{y + 4:.0f}" text-anchor="{side}">{escape(name)}</text>')
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 460" role="img" aria-label="A graph of languages" '
        f'font-family="sans-serif" font-size="14" fill="#6b7785"><g stroke="#9fb3c8">{"".join(lines)}</g>'
        f"<g>{''.join(dots)}</g></svg>"
    )


def main(picture: str = "related-labels.svg") -> None:
    """Train with the graph and without, on a few sentences of each language."""
    graph = RelationGraph.from_edges(RELATED)
    print(graph)
    new_sentences, new_languages = write_sentences(graph, 60, seed=1)
    for n_each in (3, 10, 30):
        sentences, languages = write_sentences(graph, n_each, seed=0)
        print(f"{n_each} sentences of each language:")
        for name, learner in (("graph", RecursiveLogistic(relations=graph, C=10)), ("no graph", FlatLogistic(C=10))):
            model = TextClassifier(learner, features=text_features(words=(1, 1), characters=False))
            predicted = model.fit(sentences, languages).predict(new_sentences)
            errors = [pair for pair in zip(new_languages, predicted, strict=True) if pair[0] != pair[1]]
            n_near = sum(answer in graph.neighbours(true) for true, answer in errors)
            right = 1 - len(errors) / len(new_languages)
            print(f"  {name}: {right:.1%} right, {n_near / len(errors):.1%} of the errors are a related language")
    Path(picture).write_text(draw(graph), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
