"""Requests that arrive together are answered together, in bounded numbers."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from cladist.server.batches import Batches, Job, QueueFullError, StoppedError


def ask_all(batches: Batches, requests: Sequence[Any], n_rows: int = 1) -> list[Any]:
    """Ask several things at once, and return the answers, exceptions among them."""

    async def ask() -> list[Any]:
        return await asyncio.gather(*(batches.ask(request, n_rows) for request in requests), return_exceptions=True)

    return asyncio.run(ask())


class Recorder:
    """Answers each request by itself doubled, after a gate is opened, and records the sizes of batches."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.gate = threading.Event()

    def __call__(self, jobs: Sequence[Job]) -> None:
        assert self.gate.wait(600)
        self.sizes.append(len(jobs))
        for job in jobs:
            job.set(ValueError("odd") if job.request == "odd" else job.request * 2)


def test_those_that_wait_are_answered_together() -> None:
    recorder = Recorder()
    batches = Batches(recorder, max_rows=4, wait=0.0, max_waiting=100)

    async def ask() -> list[Any]:
        asked = [asyncio.ensure_future(batches.ask(k, 1)) for k in range(11)]
        await asyncio.sleep(0)
        recorder.gate.set()
        return list(await asyncio.gather(*asked))

    assert asyncio.run(ask()) == [2 * k for k in range(11)]
    assert max(recorder.sizes) == 4
    assert sum(recorder.sizes) == 11
    assert len(recorder.sizes) <= 4
    batches.stop()


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    recorder = Recorder()
    batches = Batches(recorder, max_rows=1, wait=0.0, max_waiting=3)

    async def ask() -> list[Any]:
        first = asyncio.ensure_future(batches.ask(0, 1))
        await asyncio.sleep(0)
        while batches.waiting:  # until the thread works at it
            await asyncio.sleep(0.001)
        others = [asyncio.ensure_future(batches.ask(k, 1)) for k in range(1, 8)]
        await asyncio.sleep(0)
        recorder.gate.set()
        return list(await asyncio.gather(first, *others, return_exceptions=True))

    answers = asyncio.run(ask())
    assert answers[:4] == [0, 2, 4, 6]
    assert all(isinstance(answer, QueueFullError) and answer.seconds > 0 for answer in answers[4:])
    batches.stop()


def test_what_was_given_up_is_not_worked_at() -> None:
    recorder = Recorder()
    batches = Batches(recorder, max_rows=1, wait=0.0, max_waiting=100)

    async def ask() -> Any:
        first = asyncio.ensure_future(batches.ask(1, 1))
        await asyncio.sleep(0)
        while batches.waiting:
            await asyncio.sleep(0.001)
        given_up = asyncio.ensure_future(batches.ask(2, 1))
        last = asyncio.ensure_future(batches.ask(3, 1))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.sleep(0)
        recorder.gate.set()
        return await asyncio.gather(first, last)

    assert asyncio.run(ask()) == [2, 6]
    assert recorder.sizes == [1, 1]
    batches.stop()


def test_a_failure_is_told_to_whom_it_concerns() -> None:
    recorder = Recorder()
    recorder.gate.set()
    batches = Batches(recorder, max_rows=10, wait=0.0, max_waiting=100)
    answers = ask_all(batches, ["a", "odd", "b"])
    assert (answers[0], answers[2]) == ("aa", "bb")
    assert isinstance(answers[1], ValueError)
    batches.stop()


def test_after_the_end_nothing_is_taken() -> None:
    recorder = Recorder()
    recorder.gate.set()
    batches = Batches(recorder, max_rows=10, wait=0.0, max_waiting=100)
    batches.stop()
    (answer,) = ask_all(batches, ["a"])
    assert isinstance(answer, StoppedError)


@pytest.mark.parametrize("n_rows", [5, 50])
def test_a_request_larger_than_the_queue_is_taken_when_nothing_waits(n_rows: int) -> None:
    recorder = Recorder()
    recorder.gate.set()
    batches = Batches(recorder, max_rows=2, wait=0.0, max_waiting=3)
    assert ask_all(batches, [1], n_rows) == [2]
    batches.stop()
