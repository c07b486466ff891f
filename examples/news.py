"""News: which groups are taken for which, and how far these are from each other in the tree.

With the 20 Newsgroups below ``CLADIST_DATA`` the rows are a part of its posts; otherwise they are notices that are made
here from a few words for each group. Run as ``python examples/news.py [blocks.svg]``.
"""

import random
import sys
from collections import Counter
from pathlib import Path

from cladist import Taxonomy, TextClassifier
from cladist.datasets import Dataset, available, load_news20
from cladist.metrics import report
from cladist.report import icicle

N_TRAIN, N_TEST = 3_000, 2_000
WORDS = {
    "sport/ball games/football": "goal striker penalty match coach referee keeper league",
    "sport/ball games/tennis": "serve racket set umpire match final court coach",
    "sport/winter/skiing": "slope snow downhill medal season final trainer injury",
    "sport/winter/skating": "ice rink jump medal judges season final couple",
    "science/space/rockets": "launch engine stage orbit fuel pad mission crew",
    "science/space/planets": "orbit telescope moon crater mission surface image crew",
    "science/medicine": "trial vaccine patients dose hospital injury study doctors",
    "politics/elections": "vote ballot candidate poll party campaign final league",
    "politics/budget": "tax spending deficit party minister bill hospital study",
}


def write_notices(n_notices: int, seed: int) -> tuple[list[str], list[str]]:
    """Return notices of words of their group, of the branch around it and of any group; and the groups."""
    rng = random.Random(seed)
    everything = " ".join(WORDS.values()).split()
    notices, groups = [], []
    for _ in range(n_notices):
        group = rng.choice(list(WORDS))
        branch = " ".join(words for path, words in WORDS.items() if path.split("/")[0] == group.split("/")[0]).split()
        notices.append(
            " ".join(rng.choices(WORDS[group].split(), k=3) + rng.choices(branch, k=3) + rng.choices(everything, k=3))
        )
        groups.append(group)
    return notices, groups


def read_news() -> Dataset:
    """Return posts of the 20 Newsgroups where they are, and otherwise notices made here."""
    if "news20" in available():
        data = load_news20()
        train, test = (
            slice(None, None, max(1, len(y) // n)) for y, n in ((data.y_train, N_TRAIN), (data.y_test, N_TEST))
        )
        parts = (data.texts_train[train], data.y_train[train], data.texts_test[test], data.y_test[test])
        return Dataset.from_parts(*parts, taxonomy=data.taxonomy, source=data.source)
    parts = (*write_notices(600, seed=0), *write_notices(600, seed=1))
    return Dataset.from_parts(*parts, taxonomy=Taxonomy.from_paths(list(WORDS)), source="notices made here")


def main(picture: str = "news.svg") -> None:
    """Train, and list the most frequent errors with their distance."""
    data = read_news()
    model = TextClassifier("top-down", data.taxonomy).fit(data.X_train, data.y_train)
    predicted = model.predict(data.X_test)
    found = report(data.y_test, predicted, data.taxonomy)
    print(f"{data.source}: accuracy {found.metrics['accuracy']:.3f}")
    print(f"{found.metrics['tree_induced_error']:.2f} edges between truth and prediction on average")
    errors = Counter(
        (str(true), str(answer)) for true, answer in zip(data.y_test, predicted, strict=True) if true != answer
    )
    for (true, answer), n_rows in errors.most_common(5):
        print(f"{n_rows} times {answer} instead of {true}, {data.taxonomy.distance(true, answer)} edges away")
    Path(picture).write_text(icicle(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
