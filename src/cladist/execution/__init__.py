"""Executors that run independent tasks; nothing here depends on the rest of the package."""

from cladist.execution.executors import Executor, Serial, Threads, executor_for

__all__ = ["Executor", "Serial", "Threads", "executor_for"]
