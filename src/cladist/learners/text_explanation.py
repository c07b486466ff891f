"""Explanations of texts: contributions of words at each node of the path, and against the runner-up."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from cladist.errors import ParameterError, shorten
from cladist.labels import encode
from cladist.learners.explanation import Explanation, nodes_to_explain
from cladist.learners.out_of_fold import last_step, transformed

Words = dict[str, float]
WORD = re.compile(r"\w+")
FOR, AGAINST = "31, 119, 180", "217, 95, 2"  # red, green, blue of marks: blue for, orange against
CELL = "text-align: left; vertical-align: top; white-space: normal"  # lists of words may take several lines
SHOWN = 8  # words of a node in text and HTML


@dataclass(frozen=True)
class TextExplanation:
    """Why a text has a label: what its words add to the score at each node, and to the lead over the runner-up.

    A feature of several words, or of a part of a word, is divided equally among its places in the text, and there
    among its words.

    Attributes
    ----------
    text : str
        The text.
    path : list of str
        The path from the root to the label.
    explanation : Explanation
        The score as a sum of contributions of features, node by node.
    runner_up : Explanation or None
        The same for the label of the next highest score; None if there is no other.
    spans : list of (int, int)
        Where words begin and end in the text.
    places : dict of str to list of (int, float)
        For each feature, the words that it stands for and their shares of it.

    Examples
    --------
    >>> from cladist import TextClassifier
    >>> model = TextClassifier("top-down", taxonomy={"tennis": "sport", "chess": "sport", "tea": "food"})
    >>> model = model.fit(["ball and net", "king and rook", "hot water"], ["tennis", "chess", "tea"])
    >>> why = model.explain(["a net"])[0]
    >>> why.label, why.path
    ('tennis', ['sport', 'tennis'])
    >>> sorted(why.words["tennis"])
    ['(intercept)', 'net']
    """

    text: str
    path: list[str]
    explanation: Explanation
    runner_up: Explanation | None
    spans: list[tuple[int, int]]
    places: dict[str, list[tuple[int, float]]]

    @property
    def label(self) -> str:
        """The node that is explained."""
        return self.explanation.label

    @property
    def score(self) -> float:
        """Its score."""
        return self.explanation.score

    @property
    def words(self) -> dict[str, Words]:
        """For each node of the path, what each word adds to the node's part, largest first; they sum to the part.

        What belongs to no word of the text, such as an intercept, has its feature's name.
        """
        return {node: self._by_word(part) for node, part in self.explanation.contributions.items()}

    @property
    def lead(self) -> Words:
        """What each word adds to the lead over the runner-up, largest first; empty without one.

        They sum to the difference of the two scores.
        """
        if self.runner_up is None:
            return {}
        total: Words = defaultdict(float)
        for sign, why in ((1.0, self.explanation), (-1.0, self.runner_up)):
            for part in why.terms().values():
                for name, value in part.items():
                    total[name] += sign * value
        return self._by_word(total)

    def _by_word(self, part: Words) -> Words:
        total: Words = defaultdict(float)
        for name, value in part.items():
            for place, share in self.places.get(name, ()):
                total[self.word(place)] += share * value
            if not self.places.get(name):
                total[name] += value
        return {word: value for word, value in sorted(total.items(), key=lambda item: -abs(item[1])) if value}

    def word(self, place: int) -> str:
        """Return a word of the text, in lower case."""
        return self.text[slice(*self.spans[place])].lower()

    def marks(self) -> list[float]:
        """Return what each word, where it stands in the text, adds to the parts of all nodes of the path."""
        values = [0.0] * len(self.spans)
        for part in self.explanation.contributions.values():
            for name, value in part.items():
                for place, share in self.places.get(name, ()):
                    values[place] += share * value
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        nodes = [
            {"node": node, "part": part, "words": _listed(self.words[node])}
            for node, part in self.explanation.parts.items()
        ]
        other = self.runner_up
        lead = None if other is None else {"label": other.label, "score": other.score, "lead": _listed(self.lead)}
        values = {"text": self.text, "label": self.label, "path": self.path, "score": self.score}
        return values | {"rule": self.explanation.rule, "nodes": nodes, "runner_up": lead}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def rows(self) -> Iterator[tuple[str, str, float]]:
        """Yield node, word and contribution; those of the lead over the runner-up have the node ``lead over …``."""
        for node, words in self.words.items():
            yield from ((node, word, value) for word, value in words.items())
        if self.runner_up is not None:
            yield from ((f"lead over {self.runner_up.label}", word, value) for word, value in self.lead.items())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame of node, word and contribution."""
        import pandas as pd

        return pd.DataFrame(list(self.rows()), columns=["node", "word", "contribution"])

    def __str__(self) -> str:
        lines = [f"{shorten(self.text, 100)}", f"{' > '.join(self.path)}: {self.score:.4g}{self.explanation.rule_text}"]
        lines += [f"  {title}  {_shown(words)}" for title, words in self._titled()]
        return "\n".join(lines)

    def _titled(self) -> Iterator[tuple[str, Words]]:
        """Yield a title and the words of each node, and of the lead over the runner-up."""
        words = self.words
        for node, part in self.explanation.parts.items():
            yield f"{node}: {part:+.4g}", words[node]
        if self.runner_up is not None:
            yield f"lead over {self.runner_up.label}: {self.score - self.runner_up.score:+.4g}", self.lead

    def to_html(self) -> str:
        """Return an HTML fragment: the text with its words marked, and the largest contributions at each node."""
        rows = "".join(
            f"<tr><th style='{CELL}'>{html.escape(title)}</th><td style='{CELL}'>{html.escape(_shown(words))}</td></tr>"
            for title, words in self._titled()
        )
        path = " › ".join(map(html.escape, self.path))
        rule = self.explanation.rule_text.removeprefix(", ")
        note = f"<p>The score is {html.escape(rule)}:</p>" if rule else ""
        return (
            f"<div class='cladist-explanation'><p><strong>{path}</strong> {self.score:.4g}</p>"
            f"<p>{self._marked()}</p>{note}<table style='color: inherit; background: transparent'>{rows}</table></div>"
        )

    _repr_html_ = to_html

    def _marked(self) -> str:
        values, end, parts = self.marks(), 0, []
        largest = max(map(abs, values), default=0.0)
        for (a, b), value in zip(self.spans, values, strict=True):
            parts.append(html.escape(self.text[end:a]))
            colour, strength = FOR if value > 0 else AGAINST, 0.6 * abs(value) / largest if largest else 0.0
            style = f"background: rgba({colour}, {strength:.2f}); color: inherit"
            parts.append(f'<mark style="{style}" title="{value:+.3g}">{html.escape(self.text[a:b])}</mark>')
            end = b
        return "".join([*parts, html.escape(self.text[end:])])


def _listed(words: Words) -> list[dict[str, Any]]:
    return [{"word": word, "contribution": value} for word, value in words.items()]


def _shown(words: Words) -> str:
    some = [f"{word} {value:+.3g}" for word, value in list(words.items())[:SHOWN]]
    return ", ".join(some) + (f", {len(words) - SHOWN:,} more" if len(words) > SHOWN else "")


def explain(model: Any, texts: Any, *, nodes: Any = None) -> list[TextExplanation]:
    """Explain the labels of texts by their words.

    Parameters
    ----------
    model : TextClassifier, or Pipeline of text features and a learner
        A fitted model whose learner has `explain`. Of a `CalibratedClassifier` or a `Thresholded` learner, the scores
        of the learner inside are explained.
    texts : sequence of str
        The texts.
    nodes : sequence of labels, optional
        The label to explain for each text; the predicted one by default, of a set the one with the highest score.

    Returns
    -------
    list of TextExplanation
        One per text.

    Examples
    --------
    >>> import cladist
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(TfidfVectorizer(), cladist.Hieron(random_state=0))
    >>> model = model.fit(["rain coat", "tea cup"], ["wear", "home"])
    >>> why = cladist.explain(model, ["a cup"])[0]
    >>> why.label, [(word, value > 0) for word, value in why.lead.items()]
    ('home', [('cup', True)])
    """
    if isinstance(texts, str):
        raise ParameterError("explain: wanted a list of texts, got one text; write [text].")
    texts, outer = list(texts), last_step(model)
    X = transformed(model, texts)
    learner = explainable(outer)
    taxonomy = outer.taxonomy_
    if nodes is not None:
        ids = nodes_to_explain(nodes, len(texts), taxonomy)
    elif outer.decodes_sets:
        ids = encode(outer.predict_top_k(X, 1)[0][:, 0], taxonomy).labels.nodes("explain")
    else:
        ids = outer.predict_nodes(X)
    names = [taxonomy.names[v] for v in ids]
    whys = learner.explain(X, nodes=names)
    others: list[Any] = [None] * len(texts)
    if len(outer.classes_) > 1:
        best = encode(outer.predict_top_k(X, 2)[0].ravel(), taxonomy).labels.nodes("explain").reshape(-1, 2)
        others = learner.explain(
            X, nodes=[taxonomy.names[a if a != v else b] for v, (a, b) in zip(ids, best, strict=True)]
        )
    explained, finder = [], _Finder(model)
    for text, v, why, other in zip(texts, ids.tolist(), whys, others, strict=True):
        shown, spans, found = finder.find(str(text))
        places = dict(found.values())
        renamed = [
            None if part is None else part.renamed({f"x{j}": n for j, (n, _) in found.items()}) for part in (why, other)
        ]
        assert renamed[0] is not None
        path = list(taxonomy.shortest_path_parts(v))
        explained.append(TextExplanation(shown, path, renamed[0], renamed[1], spans, places))
    return explained


def explainable(learner: Any) -> Any:
    """Return a learner, or the one inside a calibration or a rule, that explains its scores."""
    inner = learner
    while not hasattr(inner, "explain") and (hasattr(inner, "estimator_") or hasattr(inner, "model_")):
        inner = last_step(inner.estimator_ if hasattr(inner, "estimator_") else inner.model_)
    if not hasattr(inner, "explain"):
        raise ParameterError(
            f"{type(inner).__name__} has no explain, as its scores are no sums over features; the linear methods have "
            "it, such as hr-svm and top-down."
        )
    return inner


class _Finder:
    """Finds the features of a model in a text: their names, and the words they stand for."""

    def __init__(self, model: Any) -> None:
        from cladist.features import TextFeatures

        steps = [step for _, step in getattr(model, "steps", [])[:-1]]
        self.features = steps[0] if len(steps) == 1 and isinstance(steps[0], TextFeatures) else None
        self.names: list[str] = []
        if self.features is None and steps:
            with suppress(AttributeError, NotImplementedError, ValueError):
                self.names = [str(name) for name in model[:-1].get_feature_names_out()]
        self.column_of = {name: j for j, name in enumerate(self.names)}

    def find(self, text: str) -> tuple[str, list[tuple[int, int]], dict[int, tuple[str, list[tuple[int, float]]]]]:
        """Return the text as its features see it, its words, and by column the name and places of each feature."""
        if self.features is not None:
            return self.features.find_features(text)
        spans = [match.span() for match in WORD.finditer(text)]
        words = [text[a:b] for a, b in spans]
        found: dict[int, tuple[str, list[tuple[int, float]]]] = {}
        for n in range(1, 4):
            for k in range(len(words) - n + 1):
                for gram in {" ".join(words[k : k + n]), " ".join(words[k : k + n]).lower()}:
                    if gram in self.column_of:
                        own = found.setdefault(self.column_of[gram], (gram, []))[1]
                        own += [(k + i, 1.0 / n) for i in range(n)]
        for name, own in found.values():
            n_places = sum(share for _, share in own)
            own[:] = [(place, share / n_places) for place, share in own]
            del name
        return text, spans, found | {j: (name, []) for j, name in enumerate(self.names) if j not in found}
