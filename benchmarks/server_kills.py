"""A server is killed while corrections are posted, again and again: each acknowledged one is kept once, and learnt.

    python benchmarks/server_kills.py [--rounds 20] [--posts 1000]

In each round, three clients post corrections to a model that learns row by row, and SIGKILL comes after a random number
of acknowledgements. The next round sends the rest of those posts again, as clients do that do not know what was kept.
In the end, the model that learns the log row by row must equal the one that ``cladist replay`` saves, bit by bit.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from benchmarks.harness import print_rows, write_results
from cladist import TextClassifier
from cladist.datasets import load_icd10cm
from cladist.persistence.models import load_noted, save
from cladist.server.feedback_log import FeedbackLog
from cladist.server.learner import Learning
from cladist.server.served import ServedModel
from cladist.storage import read_folder
from tests.server.processes import kill_while_posting

CLIENTS = 3
STEP = 40  # one in so many is taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--posts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "model"
        corrections = train(folder, arguments.rounds * arguments.posts)
        path, rows = folder.with_name("model.feedback"), []
        acknowledged: dict[str, int] = {}
        for k in range(arguments.rounds):
            first = max(0, k - 1) * arguments.posts  # the posts of the round before come again
            sent = corrections[first : (k + 1) * arguments.posts]
            kept = kill_while_posting(folder, sent, chance.randrange(1, arguments.posts), CLIENTS)
            again = sum(given in acknowledged for given, _ in kept)
            moved = sum(acknowledged.setdefault(given, sequence) != sequence for given, sequence in kept)
            size = path.stat().st_size
            ids = [record.content["id"] for record in FeedbackLog(path).read()]
            rows.append(
                {
                    "round": k + 1,
                    "acknowledged": len(kept),
                    "of_them_again": again,
                    "in_the_log": len(ids),
                    "lost": sum(given not in set(ids) for given in acknowledged),
                    "twice": len(ids) - len(set(ids)),
                    "other_numbers": moved + sum(ids[n - 1] != given for given, n in acknowledged.items()),
                    "torn_bytes": size - whole_bytes(path),
                }
            )
            print(rows[-1], flush=True)
        equal = replayed_equals_live(folder, path, Path(name))
    print_rows(rows)
    facts = {name: sum(row[name] for row in rows) for name in ("acknowledged", "lost", "twice", "other_numbers")}
    print(facts, {"replay_equals_live": equal})
    write_results("server-kills", rows, posts=arguments.posts, clients=CLIENTS, replay_equals_live=equal, **facts)


def train(folder: Path, count: int) -> list[dict[str, Any]]:
    """Save a small online model of some categories of diagnoses, and return corrections for it."""
    data = load_icd10cm(level="category")
    categories = sorted(set(data.y_train))[::STEP]
    found = np.flatnonzero(np.isin(data.y_train, categories))
    parents = {name: data.taxonomy.path(name)[0] for name in categories}
    texts, labels = ([str(values[i]) for i in found] for values in (data.texts_train, data.y_train))
    save(TextClassifier("hieron", taxonomy=parents).fit(texts, labels), folder)
    chance = random.Random(0)
    words = sorted({word for text in texts for word in text.split()})
    return [
        {"id": f"c{k}", "text": " ".join(chance.sample(words, 5)), "labels": [chance.choice(categories)]}
        for k in range(count)
    ]


def whole_bytes(path: Path) -> int:
    """Return the bytes of the lines of a log that are whole."""
    log = FeedbackLog(path)
    position = log.position({})
    for _ in log.read(position):
        pass
    return position.offset


def replayed_equals_live(folder: Path, path: Path, place: Path) -> bool:
    """Return whether a model that learns row by row, as while it is served, equals the one that is replayed."""
    command = [sys.executable, "-m", "cladist", "replay", str(folder), "--out", str(place / "replayed"), "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=dict(os.environ))
    live = Learning(ServedModel(*load_noted(folder)[:2]), FeedbackLog(path))
    for record in FeedbackLog(path).read():
        live._learn([record])
    save(live.model.model, place / "live")
    one, other = (read_folder(place / name)[1] for name in ("live", "replayed"))
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


if __name__ == "__main__":
    main()
