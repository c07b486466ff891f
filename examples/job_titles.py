"""Job titles, short and misspelt: occupations from the words of a title and the characters in them.

With O*NET's files below ``CLADIST_DATA`` the titles are a part of O*NET's; otherwise they are those written here. Run
as ``python examples/job_titles.py [tree.svg]``.
"""

import sys
from pathlib import Path

from cladist import Taxonomy, TextClassifier
from cladist.datasets import Dataset, available, load_onet_titles
from cladist.features import text_features
from cladist.report.taxonomy_drawing import taxonomy_drawing

N_ROWS = 6_000
TITLES = {
    "health/nursing/nurse": "ward nurse, staff nurse, nurse practitioner, night nurse, registered nurse, school nurse",
    "health/nursing/midwife": "midwife, community midwife, delivery midwife, staff midwife, midwife assistant",
    "health/doctors/surgeon": "surgeon, heart surgeon, trauma surgeon, surgical resident, orthopaedic surgeon",
    "health/doctors/dentist": "dentist, family dentist, orthodontist, dental surgeon, children's dentist",
    "technology/software/developer": "software developer, web developer, java programmer, software engineer, coder",
    "technology/software/tester": "software tester, test engineer, quality assurance analyst, test developer",
    "technology/electrical/electrician": "electrician, wiring installer, maintenance electrician, junior electrician",
    "technology/electrical/engineer": "electrical engineer, power engineer, circuit designer, electronics engineer",
    "food/kitchen/cook": "cook, line cook, school cook, chef, pastry chef, head chef, breakfast cook",
    "food/kitchen/baker": "baker, bread baker, pastry baker, bakery assistant, master baker",
    "food/service/waiter": "waiter, waitress, banquet waiter, head waiter, restaurant server",
    "food/service/bartender": "bartender, barista, cocktail bartender, bar keeper, hotel bartender",
}
MISSPELT = ["staff nures", "sofware engneer", "electricain", "pastry bakker", "banqet waitres"]


def read_titles() -> Dataset:
    """Return O*NET's titles where they are, and otherwise those of this file."""
    if "onet_titles" in available():
        data = load_onet_titles()
        step = -(-len(data.y) // N_ROWS)
        return Dataset(
            data.X[::step], data.y[::step], data.taxonomy, descriptions=data.descriptions, source=data.source
        )
    rows = [(title, path) for path, titles in TITLES.items() for title in titles.split(", ")]
    titles, paths = zip(*rows, strict=True)
    return Dataset(titles, paths, Taxonomy.from_paths(list(TITLES)), source="the titles written here")


def main(picture: str = "job-titles.svg") -> None:
    """Train with words alone, and with the characters in them."""
    data = read_titles()
    print(f"{len(data.y):,} titles of {len(data.taxonomy.leaves):,} occupations, from {data.source}")
    for name, characters in (("words", False), ("words and their characters", True)):
        features = text_features(characters=characters)
        model = TextClassifier("hr-svm", data.taxonomy, features=features).fit(data.X, data.y)
        print(f"with {name}:")
        for title, path in zip(MISSPELT, model.predict_paths(MISSPELT), strict=True):
            described = data.descriptions.get(path[-1], "")
            print(f"  {title}: {' > '.join(path)} {described[:60]}".rstrip())
    Path(picture).write_text(taxonomy_drawing(data.taxonomy, title="occupations", max_lines=40), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
