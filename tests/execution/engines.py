"""An engine without processes: everything passes through payloads, so that workers share nothing, and may be lost."""

from cladist.execution import Worker, pack, run_task
from cladist.execution.payload import result_of, size_of


class Isolated:
    """An executor with workers of its own; `losses` are the numbers of the calls in which a worker is lost."""

    shares_memory = False

    def __init__(self, n_workers, losses=()):
        self.n_workers, self.losses = n_workers, set(losses)
        self.n_calls = self.largest_call = self.n_tasks = 0

    def map(self, function, tasks):
        work = copied(pack(function))
        for task in tasks:
            self.n_tasks += 1
            yield result_of(run_task(work, copied(pack(task)), str(id(work))))

    def start_workers(self, make, n_workers):
        return IsolatedWorkers(self, copied(make), n_workers)


class IsolatedWorkers:
    def __init__(self, engine, make, n_workers):
        self.engine, self.make = engine, make
        self.workers = {k: Worker(make, k) for k in range(n_workers)}

    def call(self, calls, shared):
        answers = {}
        for k, call in calls.items():
            answers[k] = self.workers[k].call(copied(call), copied(shared))
            self.engine.n_calls += 1
            self.engine.largest_call = max(self.engine.largest_call, size_of(call) + size_of(shared))
            if self.engine.n_calls in self.engine.losses:  # after its work, which is lost with it
                answers[k], self.workers[k] = None, None
        return answers

    def restart(self, k):
        self.workers[k] = Worker(self.make, k)

    def close(self):
        self.workers = {}


def copied(payload):
    """Return a payload in other memory, which must not be written to."""
    parts = [part.copy() for part in payload]
    for part in parts:
        part.flags.writeable = False
    return parts
