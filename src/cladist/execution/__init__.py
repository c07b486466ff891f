"""How independent work runs. Nothing here knows of nodes."""

from cladist.execution.executors import Executor, Serial, Threads, executor_for

__all__ = ["Executor", "Serial", "Threads", "executor_for"]
