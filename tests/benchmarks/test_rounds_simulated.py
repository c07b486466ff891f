"""Rounds simulated from a log: the longest of the workers counts, and one worker takes what one process took."""

import numpy as np
import pytest

from benchmarks.rounds_simulated import CALL, FIXED, LINK, Log, Round, record, simulate
from cladist import RecursiveSVM, Relations
from cladist.datasets import make_topics

DATA = make_topics(n_samples=250, n_features=150, branching=(1, 8, 8), random_state=0)  # 64 leaves: four blocks


@pytest.fixture(scope="module")
def log():
    model = RecursiveSVM(DATA.taxonomy, loss="hinge", sharing=1, relations=Relations(root="zero", blocks_per_round=2))
    plain = model.fit(DATA.X, DATA.y).decision_function(DATA.X)
    with record() as found:
        model.fit(DATA.X, DATA.y)
    assert np.array_equal(model.decision_function(DATA.X), plain)  # watching changes nothing
    assert len(found.rounds) == 2 * model.n_iter_
    return found


def test_every_visit_is_in_the_log(log):
    assert all(len(r.visits) == 2 and r.visits.keys() == r.rows.keys() for r in log.rounds)
    assert all(r.terms >= 2 * len(r.sums) for r in log.rounds)
    assert log.block_of == {}


def test_one_worker_takes_what_one_process_took(log):
    alone = simulate(log, 1)
    assert alone["visit"] + alone["measure"] == pytest.approx(log.seconds)


def test_the_longest_worker_counts(log):
    layout, root = log.layout, 0
    assert [block.stored.tolist() for block in layout.blocks] == [[root]] * 4
    log = Log()
    log.layout = layout
    log.rounds = [
        Round(True, {0: 2.0, 3: 5.0}, {0: 10, 3: 20}, {0: 7, 3: 8}, 0.25, {root: 0.5}, 2, {0: 1.0, 3: 0.125}),
        Round(False, {1: 3.0, 2: 4.0}, {1: 0, 2: 0}, {1: 7, 2: 8}, 0.25, {}, 0, {}),
    ]
    found = simulate(log, 2)  # blocks 0 and 1 here, 2 and 3 there
    assert found["visit"] == 5.0 + max(1.0 + 3.0, 0.125 + 4.0)
    assert found["measure"] == 0.5
    assert found["lead"] == 0.5
    # The root alone is shared by both.
    to_leader, to_all = 30 * (FIXED + 4) + 4 * 15, 30 * 8
    assert found["bytes"] == to_leader + to_all
    assert found["network"] == pytest.approx((to_leader + 2 * to_all) / LINK + 4 * CALL)
