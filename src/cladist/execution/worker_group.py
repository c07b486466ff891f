"""Workers that keep a state between calls; one that is lost is replaced, and the new one is told what it missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cladist.errors import ExecutionError
from cladist.execution.executors import Workers
from cladist.execution.payload import Payload, attempt, pack, result_of, size_of, unpack

MOST_LOSSES = 10  # of workers in one call, before a run ends

Entry = tuple[Callable[..., Any], Sequence[Any], Any]  # a function, an argument for each worker, and one for all


class Worker:
    """A state, and the functions called with it, where the engine keeps it; engines make one for each worker.

    Parameters
    ----------
    make : payload
        Of a function that takes a number and returns the state of that worker.
    number : int
        The number of this worker.
    """

    def __init__(self, make: Payload, number: int) -> None:
        self.made = attempt(lambda: None)
        self.payload = make  # the state may look into it
        self.state: Any = None
        try:
            self.state = unpack(make)(number)
        except Exception as problem:  # told with the first call
            self.made = pack((False, problem))

    def call(self, call: Payload, shared: Payload) -> Payload:
        """Return ``function(state, argument, shared)``, or its error, as a payload.

        Parameters
        ----------
        call : payload
            Of a function and its argument.
        shared : payload
            Of an argument that all workers are given.
        """
        if self.state is None:
            return self.made
        function, argument = unpack(call, copy=True)
        return attempt(lambda: function(self.state, argument, unpack(shared, copy=True)))


class WorkerGroup:
    """Calls a function with the state of every worker, and repeats for a new worker what a lost one was told.

    Parameters
    ----------
    executor : Executor
        One with `start_workers`.
    make : callable
        Takes a number and returns the state of that worker.
    n_workers : int
        The number of workers.
    """

    def __init__(self, executor: Any, make: Callable[[int], Any], n_workers: int) -> None:
        self.workers: Workers = executor.start_workers(pack(make), n_workers)
        self.n_workers, self.log = n_workers, list[Entry]()
        self.bytes_sent = self.bytes_received = 0

    def call(
        self,
        function: Callable[[Any, Any, Any], Any],
        arguments: Sequence[Any] | None = None,
        shared: Any = None,
        *,
        replay: Callable[[list[Any]], Entry] | None = None,
        is_logged: bool = True,
    ) -> list[Any]:
        """Return ``function(state, argument, shared)`` of each worker.

        The call is repeated for new workers, or what `replay` makes of its results, unless it changes no state.
        """
        arguments = [None] * self.n_workers if arguments is None else arguments
        results = self._call((function, arguments, shared))
        if is_logged:
            self.log.append((function, arguments, shared) if replay is None else replay(results))
        return results

    def begin_log(self, *entries: Entry) -> None:
        """Forget the calls so far: these entries, with the calls that follow, make the states anew."""
        self.log = list(entries)

    def _call(self, entry: Entry) -> list[Any]:
        results: dict[int, Any] = {}
        for _ in range(MOST_LOSSES + 1):
            results |= self._try([k for k in range(self.n_workers) if k not in results], entry)
            lost = [k for k in range(self.n_workers) if k not in results]
            if not lost:
                return [results[k] for k in range(self.n_workers)]
            for k in lost:
                self._rebuild(k)
        raise self._error()

    def _try(self, chosen: list[int], entry: Entry) -> dict[int, Any]:
        """Call some workers; return the results of those that were not lost."""
        function, arguments, shared = entry
        packed, calls = pack(shared), {k: pack((function, arguments[k])) for k in chosen}
        self.bytes_sent += sum(size_of(call) + size_of(packed) for call in calls.values())
        answers = {k: answer for k, answer in self.workers.call(calls, packed).items() if answer is not None}
        self.bytes_received += sum(map(size_of, answers.values()))
        return {k: result_of(answer) for k, answer in answers.items()}

    def _rebuild(self, k: int) -> None:
        """Start a worker in the place of a lost one, and repeat the log."""
        for _ in range(MOST_LOSSES):
            self.workers.restart(k)
            if all(self._try([k], entry) for entry in self.log):
                return
        raise self._error()

    def _error(self) -> ExecutionError:
        reason = getattr(self.workers, "reason", "")
        why = f" ({reason})" if reason else ""
        return ExecutionError(
            f"A worker was lost {MOST_LOSSES} times in the same step{why}; see whether its machine has enough memory. "
            "What the checkpoint holds, if there is one, is kept."
        )

    def close(self) -> None:
        """End all workers."""
        self.workers.close()
