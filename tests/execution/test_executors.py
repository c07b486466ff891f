"""Executors: the tasks' order, errors, numbers of workers, the caller's context."""

import os
import threading
import time
from contextvars import ContextVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import progress
from cladist.errors import ParameterError
from cladist.execution import Ray, Serial, Threads, executor_for

EXECUTORS = [Serial(), Threads(1), Threads(2), Threads(5)]
every_executor = pytest.mark.parametrize("executor", EXECUTORS, ids=repr)


@every_executor
@given(tasks=st.lists(st.integers(), max_size=20))
def test_results_come_in_the_order_of_tasks(executor, tasks):
    assert list(executor.map(lambda task: (task, task + 1), tasks)) == [(task, task + 1) for task in tasks]
    assert list(executor.map(str, iter(tasks))) == [str(task) for task in tasks]


@every_executor
def test_results_come_in_order_whoever_finishes_first(executor):
    def late(task):
        time.sleep(0.02 * (3 - task))
        return task

    assert list(executor.map(late, range(4))) == [0, 1, 2, 3]


@every_executor
def test_an_error_comes_out_as_it_is_and_in_its_place(executor):
    def fragile(task):
        if task == 2:
            raise KeyError("task two")
        return task

    results = executor.map(fragile, range(5))
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(KeyError, match="task two"):
        next(results)
    with pytest.raises(KeyError, match="task two"):
        list(executor.map(fragile, range(5)))


def test_after_an_error_tasks_that_wait_are_not_begun():
    begun = []

    def fragile(task):
        begun.append(task)
        time.sleep(0.01)
        raise ValueError(task)

    n_tasks = 10_000  # more than are begun until the first error is seen, however late that is
    with pytest.raises(ValueError, match="0"):
        list(Threads(1).map(fragile, range(n_tasks)))
    assert len(begun) < n_tasks
    assert threading.active_count() < 20


def test_an_error_among_the_tasks_themselves():
    def tasks():
        yield 1
        raise OSError("the list broke off")

    for executor in EXECUTORS:
        with pytest.raises(OSError, match="broke off"):
            list(executor.map(abs, tasks()))


def test_leaving_early_leaves_no_thread_behind():
    before = threading.active_count()
    results = Threads(3).map(abs, range(100))
    assert next(results) == 0
    results.close()
    assert threading.active_count() == before


def test_threads_run_side_by_side():
    meeting = threading.Barrier(3, timeout=600)
    assert sorted(Threads(3).map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]


def test_serial_runs_in_the_callers_thread():
    assert list(Serial().map(lambda _: threading.get_ident(), [0])) == [threading.get_ident()]


# ---------------------------------------------------------------- the caller's context


class Listener:
    def __init__(self):
        self.started, self.advanced, self.finished = [], 0, 0

    def start(self, description, total):
        self.started.append((description, total))
        return self

    def advance(self, steps=1):
        self.advanced += steps

    def finish(self, task):
        self.finished += 1


@every_executor
def test_progress_is_reported_to_the_callers_listener(executor):
    def work(task):
        with progress.task(f"node {task}", total=2) as running:
            running.advance()
            running.advance()
        return task

    listener = Listener()
    with progress.report_to(listener):
        assert list(executor.map(work, range(4))) == [0, 1, 2, 3]
    assert sorted(listener.started) == [(f"node {k}", 2) for k in range(4)]
    assert listener.finished == 4
    assert listener.advanced == 8
    assert list(executor.map(work, [9])) == [9]
    assert len(listener.started) == 4


@every_executor
def test_a_task_sees_the_callers_variables_and_threads_keep_theirs(executor):
    variable = ContextVar("variable", default="nobody")
    variable.set("caller")

    def look(task):
        seen = variable.get()
        if not isinstance(executor, Serial):
            variable.set(f"task {task}")
        return seen

    assert list(executor.map(look, range(6))) == ["caller"] * 6
    assert variable.get() == "caller"


# ---------------------------------------------------------------- n_jobs


def test_n_jobs(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    expected = {None: 1, 1: 1, 2: 2, 100: 100, -1: 8, -2: 7, -7: 2, -8: 1, -9: 1, -100: 1}
    for n_jobs, workers in expected.items():
        assert executor_for(n_jobs) == (Serial() if workers == 1 else Threads(workers))
    assert executor_for(np.int64(3)) == Threads(3)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert executor_for(-1) == Serial()


@pytest.mark.parametrize("n_jobs", [0, 2.0, "2", True, [2]])
def test_n_jobs_that_make_no_sense(n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must"):
        executor_for(n_jobs)


def test_an_executor_of_ones_own_wins():
    class Mine:
        def map(self, function, tasks):
            return map(function, tasks)

    mine = Mine()
    assert executor_for(4, mine) is mine
    assert executor_for(None, Threads(2)) == Threads(2)
    with pytest.raises(
        ParameterError, match=r"executor needs a method map\(function, tasks\), or is 'ray'; got 'dask'"
    ):
        executor_for(None, "dask")
    assert executor_for(2, "ray") == Ray()
