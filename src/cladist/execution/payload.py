"""Python values ↔ arrays of bytes that any engine can move, the arrays in them without a copy.

The first array is a pickle by cloudpickle, which also takes functions within functions; the others are the bytes of
arrays. Payloads pass between processes of one run, which trust each other; no file holds one.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cladist.errors import ExecutionError, ParameterError

Payload = list[npt.NDArray[np.uint8]]


def pack(value: Any) -> Payload:
    """Return a value as arrays of bytes; large arrays in it are not copied.

    Parameters
    ----------
    value : object
        Anything that cloudpickle takes, such as a function that refers to arrays.

    Examples
    --------
    >>> unpack(pack(lambda x: x + 1))(2)
    3
    """
    try:
        import cloudpickle
    except ImportError as problem:
        raise ParameterError(
            "Work in other processes needs cloudpickle, which is missing: pip install 'cladist[ray]'."
        ) from problem
    buffers: list[pickle.PickleBuffer] = []
    text = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return [np.frombuffer(text, np.uint8), *(np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers)]


def unpack(payload: Sequence[npt.NDArray[np.uint8]], *, copy: bool = False) -> Any:
    """Return the value of a payload.

    Parameters
    ----------
    payload : sequence of arrays
        What `pack` returned.
    copy : bool
        Whether arrays in the value are copies. Otherwise they are the payload's own bytes, often memory that several
        processes share: they must not be written to.
    """
    text, *buffers = payload
    return pickle.loads(text.tobytes(), buffers=[_buffer(part, copy) for part in buffers])


def _buffer(part: npt.NDArray[np.uint8], copy: bool) -> Any:
    if copy:
        return bytearray(part.tobytes())
    if part.flags.writeable or not part.nbytes:
        return part
    # Compiled kernels take arrays that may be written to as another type than arrays that may not. They write to none
    # of these, so the same kernels serve if they look alike.
    view = (ctypes.c_char * part.nbytes).from_address(part.ctypes.data)
    view._owner = part  # type: ignore[attr-defined]
    return view


def size_of(payload: Sequence[npt.NDArray[np.uint8]] | None) -> int:
    """Return the bytes of a payload."""
    return 0 if payload is None else sum(part.nbytes for part in payload)


def run_task(function: Payload, task: Payload, key: str) -> Payload:
    """Return ``function(task)``, or the error that it raised, as a payload; engines call it where the work is done.

    Parameters
    ----------
    function : payload
        Of the function.
    task : payload
        Of its argument.
    key : str
        What tells this function from others: a process unpacks it once.
    """
    if key not in _functions:
        _functions.clear()
        _functions[key] = unpack(function)
    return attempt(lambda: _functions[key](unpack(task)))


_functions: dict[str, Callable[[Any], Any]] = {}  # the last one


def attempt(work: Callable[[], Any]) -> Payload:
    """Return what some work returns, or the error that it raises, as a payload; with one thread for BLAS."""
    try:
        with _blas().limit(limits=1, user_api="blas"):
            return pack((True, work()))
    except Exception as problem:
        try:
            return pack((False, problem))
        except Exception:  # an error that cannot be pickled
            return pack((False, ExecutionError(f"{type(problem).__name__}: {problem}")))


@cache
def _blas() -> Any:
    """Return what sets the threads of BLAS; finding its libraries takes longer than a small task."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def result_of(payload: Payload) -> Any:
    """Return the result in a payload of `attempt`, or raise the error in it."""
    succeeded, result = unpack(payload, copy=True)
    if not succeeded:
        raise result
    return result
