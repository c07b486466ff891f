"""Checkpoints: what a fit has finished, in a folder, so that the same fit goes on there after it was killed.

A fit opens a checkpoint with `of_fit`. Solvers inside it open a `scope` and keep in it the results of independent tasks
(`Scope.map`), or the state after a round (`Scope.save` and `Scope.load`). Scopes are numbered in the order in which a
fit opens them, which is the same each time. Without a checkpoint a scope keeps nothing.

Every part is a folder of its own, written all or nothing and checksummed, see `cladist.storage`. A part that is damaged
is computed anew.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from cladist._version import __version__
from cladist.errors import CladistWarning, ModelFormatError, ParameterError, shorten
from cladist.execution import in_this_process
from cladist.storage import lock_folder, read_folder, write_folder
from cladist.storage.array_pool import ArrayPool, take_arrays

__all__ = ["keep"]
SHARE = 0.02  # of the time of a fit that writing may take
MARK = "fit"  # the part that tells what a folder belongs to
USUAL_SECONDS = 0.02  # of writing, before any was measured
WITHOUT_EFFECT = ("checkpoint", "executor", "n_jobs", "taxonomy", "verbose")  # on the model, or part of the data

FitT = TypeVar("FitT", bound=Callable[..., Any])
_current: ContextVar[Scope | None] = ContextVar("cladist_checkpoint", default=None)


class Scope:
    """A part of a fit, which keeps its results in folders whose names begin with its own; without a store, nothing."""

    def __init__(self, store: Store | None = None, name: str = "") -> None:
        self.store, self.name, self._numbers = store, name, count()

    def child(self, name: str) -> Scope:
        """Return the scope of a smaller part."""
        return Scope(self.store, f"{self.name}.{name}" if self.name else name)

    def next_child(self, name: str) -> Scope:
        """Return the scope of the next part, which is numbered."""
        return self.child(f"{next(self._numbers)}-{name}")

    def load(self) -> Any:
        """Return what `save` has kept; None if there is nothing."""
        return None if self.store is None else self.store.read(self.name)

    def save(self, state: Callable[[], Any]) -> None:
        """Keep ``state()`` in place of what was kept before, if writing has become due."""
        if self.store is not None and self.store.is_due:
            self.store.write(self.name, state())

    def map(
        self,
        executor: Any,
        function: Callable[[Any], Any],
        tasks: Iterable[Any],
        *,
        pack: Callable[[Any], Any] | None = None,
        unpack: Callable[[Any], Any] | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(task)`` of each task in order; results that were kept are not computed again.

        `pack` and `unpack` turn results of types that `ArrayPool` does not know into values of such as it knows, and
        back.
        """
        if self.store is None:
            return executor.map(function, tasks)
        return _Journal(self, list(tasks), pack, unpack).run(executor, function)

    def each(self, executor: Any, function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(task)`` of each task in order, each in a scope of its own; results are not kept."""
        if self.store is None or not in_this_process(executor):
            return executor.map(function, tasks)

        def run(numbered: tuple[int, Any]) -> Any:
            with self.child(str(numbered[0])).active():
                return function(numbered[1])

        return executor.map(run, list(enumerate(tasks)))

    @contextmanager
    def active(self) -> Iterator[Scope]:
        """Let scopes that are opened inside the block be parts of this one."""
        token = _current.set(None if self.store is None else self)
        try:
            yield self
        finally:
            _current.reset(token)


NOTHING = Scope()
Attributes = tuple[Any, tuple[str, ...]]  # an object, and the names of those that change


def state_of(*things: Attributes) -> list[Any]:
    """Return the attributes of some objects, for `Scope.save`."""
    return [[getattr(thing, name) for name in names] for thing, names in things]


def restore(state: list[Any], *things: Attributes) -> None:
    """Set the attributes of some objects to what `state_of` returned."""
    for values, (thing, names) in zip(state, things, strict=True):
        for name, value in zip(names, values, strict=True):
            setattr(thing, name, value)


def scope(name: str) -> Scope:
    """Return the scope of the next part of the fit that is running; one that keeps nothing if it has no checkpoint."""
    current = _current.get()
    return NOTHING if current is None else current.next_child(name)


def is_active() -> bool:
    """Tell whether a fit is running that has a checkpoint."""
    return _current.get() is not None


class _Journal:
    """The results of independent tasks, by their numbers, some of which have been kept."""

    def __init__(self, scope: Scope, tasks: list[Any], pack: Any, unpack: Any) -> None:
        self.scope, self.tasks, self.store = scope, tasks, cast(Store, scope.store)
        self.pack, self.unpack = pack or _same, unpack or _same
        self.known: dict[int, Any] = {}
        self.unwritten: list[tuple[int, Any]] = []
        for self.n_parts in count():
            part = self.store.read(self._name(self.n_parts))
            if part is None and not self.store.has(self._name(self.n_parts)):
                break
            self._take(part or ())

    def _name(self, part: int) -> str:
        return f"{self.scope.name}.part{part}"

    def _take(self, part: Iterable[tuple[int, Any]]) -> None:
        for k, packed in part:
            try:
                self.known[k] = self.unpack(packed)
            except ModelFormatError as problem:
                self.store.warn(f"Part of the checkpoint cannot be used and is computed anew: {problem}")

    def _keep(self, k: int, result: Any) -> None:
        try:
            self.unwritten.append((k, self.pack(result)))
        except ModelFormatError as problem:
            self.store.warn(f"Part of the checkpoint cannot be kept, and would be computed anew: {problem}")
        if self.store.is_due:
            self._write()

    def run(self, executor: Any, function: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield all results in order."""
        numbers = [k for k in range(len(self.tasks)) if k not in self.known]
        if in_this_process(executor):
            results = executor.map(lambda k: self._run_task(function, k), numbers)
        else:  # what runs elsewhere keeps nothing there
            results = executor.map(function, [self.tasks[k] for k in numbers])
        results = iter(results)
        try:
            for k in range(len(self.tasks)):
                if k in self.known:
                    yield self.known.pop(k)
                    continue
                result = next(results)
                self._keep(k, result)
                yield result
        except BaseException:  # in a later task, or from the keyboard
            self._write()
            raise
        if self.store.is_due:
            self._write()

    def _run_task(self, function: Callable[[Any], Any], k: int) -> Any:
        with self.scope.child(str(k)).active():
            return function(self.tasks[k])

    def _write(self) -> None:
        if self.unwritten:
            self.store.write(self._name(self.n_parts), self.unwritten)
            self.n_parts, self.unwritten = self.n_parts + 1, []


def _same(value: Any) -> Any:
    return value


# ---------------------------------------------------------------- the folder


class Store:
    """The folder of a checkpoint, one part per folder in it, and how long writing takes."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.turn = threading.Lock()
        self.seconds = USUAL_SECONDS
        self.last = time.perf_counter()
        self.warned = False

    @property
    def is_due(self) -> bool:
        """Whether so much time has passed since the last writing that another is a small share of it."""
        return time.perf_counter() - self.last >= self.seconds / SHARE

    def has(self, name: str) -> bool:
        """Tell whether a part is there, sound or not."""
        return (self.folder / name).exists()

    def read(self, name: str) -> Any:
        """Return a part, None if there is none, or a damaged one, about which a warning is issued."""
        if not self.has(name):
            return None
        try:
            content, arrays = read_folder(self.folder / name)
            return take_arrays(content["value"], arrays)
        except (ModelFormatError, KeyError, TypeError, ValueError) as problem:
            self.warn(f"Part of the checkpoint is damaged and is computed anew: {problem}")
            return None

    def write(self, name: str, value: Any) -> None:
        """Write a part in place of the one before; if that fails, as on a full disk, warn and go on without."""
        with self.turn:
            started = time.perf_counter()
            pool = ArrayPool()
            content = {"value": pool.add(value, "checkpoint")}
            try:
                write_folder(self.folder / name, content, pool.arrays())
            except (OSError, ModelFormatError) as problem:
                reason = getattr(problem, "strerror", None) or problem
                self.warn(
                    f"The checkpoint {self.folder} could not be written ({reason}); training goes on, and what was "
                    "written before stays; make room there."
                )
            self.last = time.perf_counter()
            self.seconds = max(self.last - started, USUAL_SECONDS / 10)

    def warn(self, message: str) -> None:
        """Warn once of what keeps the checkpoint from being used, or written."""
        if not self.warned:
            self.warned = True
            warnings.warn(message, CladistWarning, stacklevel=4)


# ---------------------------------------------------------------- a fit


class _Fit(Scope):
    """The scope of a whole fit, which is compared with what the folder belongs to once its data are known."""

    def __init__(self, store: Store, identity: dict[str, Any]) -> None:
        super().__init__(store)
        self.identity, self.is_identified = identity, False

    def next_child(self, name: str) -> Scope:
        """Return the scope of the next part, which belongs to known data."""
        if not self.is_identified:
            raise RuntimeError("a fit has to be identified before it keeps anything")
        return super().next_child(name)

    def identify(self, *data: Any) -> None:
        """Say what the fit is trained on: a folder that belongs to another fit is refused, a new one is marked."""
        if self.is_identified:
            return
        assert self.store is not None
        self.is_identified, self.identity["data"] = True, digest_of(data)
        path = self.store.folder / MARK
        if not path.exists():
            try:
                write_folder(path, {"identity": self.identity}, {})
            except OSError as problem:
                reason = problem.strerror or problem
                raise ParameterError(
                    f"The checkpoint {self.store.folder} could not be written ({reason}); make room there, or choose "
                    "another folder."
                ) from problem
            return
        kept = read_folder(path)[0].get("identity")
        if kept != self.identity:
            raise ParameterError(
                f"The checkpoint {self.store.folder} belongs to a fit with {_difference(kept, self.identity)}; fit the "
                "same again, or choose another folder."
            )


def _difference(kept: Any, now: dict[str, Any]) -> str:
    """Say in words what differs between two fits."""
    if not isinstance(kept, dict) or not isinstance(kept.get("parameters"), dict):
        return "other parameters"
    if kept.get("learner") != now["learner"]:
        return f"the method {shorten(kept.get('learner'))}, not {now['learner']!r}"
    if kept.get("version") != now["version"]:
        return f"cladist {kept.get('version')}, not {now['version']}"
    for name, value in now["parameters"].items():
        if kept["parameters"].get(name) != value:
            return f"{name}={shorten(kept['parameters'].get(name))}, not {shorten(value)}"
    same = all(kept.get(name) == now[name] for name in ("data", "weights"))
    return "other parameters" if same else "other rows, labels or weights"


def resumable(fit: FitT) -> FitT:
    """Let a learner's `fit` keep what it has finished in its `checkpoint`, a folder, and go on from there.

    Inside another fit that has a checkpoint, what this one finishes is kept there.
    """

    @wraps(fit)
    def checked(self: Any, X: Any, y: Any = None, *args: Any, **options: Any) -> Any:
        if is_active():
            with scope(type(self).__name__).active():
                return fit(self, X, y, *args, **options)
        if getattr(self, "checkpoint", None) is None:
            return fit(self, X, y, *args, **options)
        given = inspect.signature(fit).bind(self, X, y, *args, **options).arguments
        weights = given.get("sample_weight")
        with of_fit(self.checkpoint, type(self).__name__, self.get_params(), weights):
            return fit(self, X, y, *args, **options)

    return cast(FitT, checked)


@contextmanager
def keep(folder: str | os.PathLike[str], *data: Any, **parameters: Any) -> Iterator[None]:
    """Keep what fits inside the block finish, so that the same program goes on there after it was killed.

    For work that is more than one fit, such as pipelines, wrappers and comparisons; a single learner has a parameter
    `checkpoint`.

    Parameters
    ----------
    folder : path
        The folder, new or of the same work.
    data : arrays, matrices, or lists of texts
        What is trained on; a folder that belongs to other data is refused.
    parameters
        What else tells this work from another, by any names.

    Examples
    --------
    >>> import tempfile, cladist
    >>> from cladist.datasets import make_topics
    >>> data = make_topics(n_samples=60, n_features=50, branching=(2, 2), random_state=0)
    >>> with keep(tempfile.mkdtemp(), data.X, data.y):
    ...     models = [cladist.TopDown(data.taxonomy, C=C).fit(data.X, data.y) for C in (0.1, 1.0)]
    """
    with of_fit(folder, "checkpoint", parameters):
        identify(*data)
        yield


@contextmanager
def of_fit(folder: Any, learner: str, parameters: dict[str, Any], weights: Any = None) -> Iterator[None]:
    """Keep what a fit finishes inside the block in a folder, which no other process can write to meanwhile."""
    if not isinstance(folder, str | os.PathLike):
        raise ParameterError(f"{learner}: checkpoint must be the path of a folder, or None; got {folder!r}.")
    _check_is_ours(Path(folder), learner)
    if parameters.get("warm_start"):
        raise ParameterError(f"{learner}: a fit with a checkpoint begins anew; leave warm_start out.")
    Path(folder).mkdir(parents=True, exist_ok=True)
    described = {name: describe(value) for name, value in parameters.items() if name not in WITHOUT_EFFECT}
    identity = {"learner": learner, "version": __version__, "parameters": described, "weights": digest_of(weights)}
    with lock_folder(folder), _Fit(Store(folder), identity).active():
        yield


def _check_is_ours(folder: Path, learner: str) -> None:
    """Refuse a file, and a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{learner}: checkpoint must be a folder, and {folder} is a file; choose another name.")
    names = os.listdir(folder) if folder.exists() else []
    if MARK not in names and not all(name.startswith(".cladist") for name in names):
        raise ParameterError(
            f"{learner}: {folder} contains files but no checkpoint, and was not changed; choose a new or empty folder."
        )


def identify(*data: Any) -> None:
    """Say what the fit that is running is trained on; see `_Fit.identify`."""
    current = _current.get()
    if isinstance(current, _Fit):
        current.identify(*data)


# ---------------------------------------------------------------- the same fit again


def digest_of(value: Any) -> str:
    """Return a digest of arrays, matrices, and values made of them."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    if sparse.issparse(value):
        value = (value.shape, value.indptr, value.indices, value.data)
    if hasattr(value, "to_numpy"):  # a data frame
        value = (list(map(str, getattr(value, "columns", ()))), value.to_numpy())
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.tolist()
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data if value.dtype.kind in "biuf" else value.tobytes())
    elif isinstance(value, set | frozenset):
        _feed(digest, sorted(value, key=repr))
    elif isinstance(value, list | tuple):
        digest.update(f"[{len(value)}".encode())
        for part in value:
            _feed(digest, part)
    else:
        digest.update(describe(value).encode("utf-8", "surrogatepass"))


def describe(value: Any) -> str:
    """Return a text that is the same in every process for parameters that are."""
    if value is None or isinstance(value, bool | int | float | str | np.generic | bytes):
        return repr(value)
    if isinstance(value, dict):
        return f"{{{', '.join(f'{describe(key)}: {describe(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(describe, value))})"
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return digest_of(value)
    if isinstance(value, np.random.RandomState):
        return describe(value.get_state())
    if isinstance(value, type) or not hasattr(value, "__dict__") or inspect.isroutine(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return f"{type(value).__qualname__}({describe(vars(value))})"
