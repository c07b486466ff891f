"""What the overload of the server says about its memory."""

import os
import sys
from subprocess import PIPE, Popen

import numpy as np
import pytest

from benchmarks.speed.server_memory import MemoryWatch, Sample, family, memory_of, slope_of, summary


def samples_of(rss: np.ndarray) -> list[Sample]:
    return [Sample(float(second), float(mib), float(mib) / 2) for second, mib in enumerate(rss)]


def test_a_server_that_settles_is_flat_and_one_that_grows_is_not() -> None:
    seconds = np.arange(600.0)
    settled = summary(samples_of(400 - 20 * np.exp(-seconds / 30)))
    assert settled["is_flat"]
    assert settled["pss_mib_largest"] == pytest.approx(200, abs=0.1)
    grown = summary(samples_of(400 + 3 * seconds / 60))
    assert not grown["is_flat"]
    assert grown["rss_mib_per_minute"] == pytest.approx(3)
    assert grown["rss_mib_largest_of_tenths"] == sorted(grown["rss_mib_largest_of_tenths"])
    assert len(grown["rss_mib_largest_of_tenths"]) == 10


def test_the_error_of_a_slope_knows_that_memory_wanders() -> None:
    """Of random walks without a trend, few have a slope above three errors; as independent numbers most would."""
    rng = np.random.default_rng(0)
    minutes = np.arange(400) / 60
    wandering = []
    for _ in range(200):
        values = np.zeros(400)
        for k, step in enumerate(rng.normal(size=399), 1):
            values[k] = 0.9 * values[k - 1] + step
        slope, error = slope_of(minutes, values)
        wandering.append(abs(slope) / error)
    assert np.mean(np.array(wandering) > 3) < 0.05
    slope, error = slope_of(minutes, 2 * minutes + rng.normal(scale=0.1, size=400))
    assert abs(slope - 2) < 4 * error < 0.1


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="Linux tells the memory of processes there")
def test_children_are_counted() -> None:
    with Popen([sys.executable, "-c", "print(1, flush=True); input()"], stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid in family(os.getpid())
        assert min(memory_of(child.pid)) > 0
        with MemoryWatch(os.getpid(), every=0.01) as watch:
            pass
        assert watch.samples[0].rss_mib > memory_of(os.getpid())[0] / 2 + memory_of(child.pid)[0] / 2
        child.communicate(b"\n")
    assert memory_of(child.pid) == (0.0, 0.0)
    assert child.pid not in family(os.getpid())
