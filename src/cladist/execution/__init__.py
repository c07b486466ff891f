"""Where work runs: in this thread, in threads, on a Ray cluster, or on an engine of your own."""

from cladist.execution.executors import Executor, Serial, Threads, Workers, executor_for, in_this_process
from cladist.execution.executors import count_workers as count_workers
from cladist.execution.payload import pack, run_task, unpack
from cladist.execution.ray_executor import Ray
from cladist.execution.streams import elsewhere as elsewhere
from cladist.execution.streams import processes as processes
from cladist.execution.streams import stream_in_threads as stream_in_threads
from cladist.execution.worker_group import Worker

__all__ = [
    "Executor",
    "Ray",
    "Serial",
    "Threads",
    "Worker",
    "Workers",
    "executor_for",
    "in_this_process",
    "pack",
    "run_task",
    "unpack",
]
