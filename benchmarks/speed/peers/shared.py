"""What the scripts of all peers share: data, clocks, memory, objectives. Needs numpy and scipy, nothing of cladist.

A script is called as ``python with_<peer>.py DATA WORK CASE``: the folder of the data, a folder to write to, and a JSON
object that says what to run. Its last line of output is a JSON object; ``WORK/objectives.npy`` has one value per class.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

CLASSES_AT_ONCE = 64  # margins of that many classes are in memory while the objective is computed

# ---------------------------------------------------------------- data


class Data(NamedTuple):
    """Rows to train on and to test on, the number of each row's class, and the tree."""

    X_train: sparse.csr_matrix
    y_train: np.ndarray
    X_test: sparse.csr_matrix
    y_test: np.ndarray
    parent: np.ndarray  # of each node; −1: a root
    leaves: np.ndarray  # the node of each class

    @property
    def paths(self) -> np.ndarray:
        """The nodes from the root to each class, classes × levels; all leaves are equally deep."""
        levels = [self.leaves]
        while (above := self.parent[levels[-1]]).min() >= 0:
            levels.append(above)
        if above.max() >= 0:
            raise SystemExit("The leaves of this tree are not equally deep.")
        return np.stack(levels[::-1], axis=1)


def write(folder: Path, data: Data) -> None:
    """Write the data as plain arrays."""
    for part, X, y in (("train", data.X_train, data.y_train), ("test", data.X_test, data.y_test)):
        np.savez(folder / f"{part}.npz", data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
    np.savez(folder / "tree.npz", parent=data.parent, leaves=data.leaves)


def read(folder: Path) -> Data:
    """Read what `write` wrote."""
    parts: list[Any] = []
    for part in ("train", "test"):
        with np.load(folder / f"{part}.npz") as found:
            X = sparse.csr_matrix((found["data"], found["indices"], found["indptr"]), shape=tuple(found["shape"]))
            X.has_sorted_indices = True
            parts += [X, found["y"]]
    with np.load(folder / "tree.npz") as tree:
        return Data(*parts, tree["parent"], tree["leaves"])


# ---------------------------------------------------------------- what a script defines


class Peer:
    """One method on one set of data; making it puts the data into the form it wants, before the clock starts."""

    packages: tuple[str, ...] = ()  # whose versions matter
    settings = ""

    def fit(self) -> None:
        """Learn; timed."""
        raise TypeError(f"{type(self).__name__} does not say how it learns.")

    def ready(self) -> None:
        """Do what stands between fitting and predicting, such as loading what was written; timed apart."""

    def predict(self) -> Any:
        """Return the class of each test row, in any form that `numbers` takes; timed."""
        raise TypeError(f"{type(self).__name__} does not say how it predicts.")

    def numbers(self, predicted: Any) -> np.ndarray:
        """Return predictions as numbers of classes."""
        return np.asarray(predicted)

    def model_bytes(self) -> int:
        """Return what the model takes on disk."""
        raise TypeError(f"{type(self).__name__} does not say what it takes on disk.")


class OneVsRest(Peer):
    """A peer that solves one problem per class."""

    can_sample = False  # whether it solves the classes in ``case["classes"]`` alone

    def weights(self) -> tuple[Any, np.ndarray]:
        """Return weights (classes × features) and intercepts of the classes in ``case["classes"]``, or of all."""
        raise TypeError(f"{type(self).__name__} does not tell its weights.")

    def fit_others(self) -> None:
        """Solve alone what `fit` has to solve beside the problems of the sampled classes; its time is taken off."""


# ---------------------------------------------------------------- running one


def answer(make: Callable[[Data, dict[str, Any], Path], Peer]) -> None:
    """Run one peer as the command line says, and print what was measured."""
    folder, work, case = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
    data = read(folder)
    peer = make(data, case, work)
    found: dict[str, Any] = {"settings": peer.settings}
    forget_peak()
    before = memory("VmRSS")
    found["fit CPU s"], found["fit wall s"], _ = timed(peer.fit)
    if isinstance(peer, OneVsRest) and peer.can_sample and case["classes"] is not None:
        found.update(_for_all_classes(peer, found, len(data.leaves), len(case["classes"])))
    else:
        found["load wall s"] = timed(peer.ready)[1]
        found["predict CPU s"], found["predict wall s"], predicted = timed(peer.predict)
        peak = memory("VmHWM")
        found |= {"peak MB": peak / 1e6, "growth MB": (peak - before) / 1e6}
        found["accuracy"] = float(np.mean(peer.numbers(predicted) == data.y_test))
        found["model MB"] = peer.model_bytes() / 1e6
    if isinstance(peer, OneVsRest):
        values = objectives(*peer.weights(), data, case)
        np.save(work / "objectives.npy", values)
        found["objective"] = float(values.sum())
    found["versions"] = {name: version(name) for name in peer.packages} | {"python": sys.version.split()[0]}
    print(f"\n{json.dumps(found)}", flush=True)


def _for_all_classes(peer: OneVsRest, found: dict[str, Any], n_classes: int, n_sampled: int) -> dict[str, Any]:
    """Return the seconds multiplied up from some classes to all of them."""
    others = timed(peer.fit_others)
    times = {"fit CPU s": others[0], "fit wall s": others[1]}
    scaled = {what: (found[what] - extra) * n_classes / n_sampled for what, extra in times.items()}
    return {**scaled, "multiplied up from classes": n_sampled}


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return CPU seconds (of ended child processes too), wall seconds, and what came out."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = work()
    return cpu_seconds() - cpu, time.perf_counter() - wall, result


def cpu_seconds() -> float:
    """Return the CPU seconds of this process so far, and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def forget_peak() -> None:
    """Let the kernel forget the peak so far: that of reading the data."""
    Path("/proc/self/clear_refs").write_text("5")


def memory(what: str) -> int:
    """Return bytes of this process: VmRSS now, or VmHWM at the peak.

    Not ``ru_maxrss``: that of a new process begins with what its parent had.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status does not tell {what}.")


# ---------------------------------------------------------------- objectives


def objectives(W: Any, b: np.ndarray, data: Data, case: dict[str, Any]) -> np.ndarray:
    """Return ½(‖w‖² + b²) + C Σ ℓ(±(⟨w, x⟩ + b)) of each class, in float64 throughout."""
    classes = np.arange(len(data.leaves)) if case["classes"] is None else np.asarray(case["classes"])
    X = data.X_train.astype(np.float64)
    found = np.empty(len(classes))
    for start in range(0, len(classes), CLASSES_AT_ONCE):
        part = slice(start, start + CLASSES_AT_ONCE)
        w = W[part].toarray() if sparse.issparse(W) else W[part]
        w, intercept = np.asarray(w, np.float64), np.asarray(b[part], np.float64)
        sign = np.where(data.y_train[:, None] == classes[part], 1.0, -1.0)
        margin = sign * (X @ w.T + intercept)
        penalty = (np.einsum("kd,kd->k", w, w) + intercept**2) / 2
        found[part] = penalty + case["C"] * losses(case["loss"], margin).sum(axis=0)
    return found


def losses(name: str, margin: np.ndarray) -> np.ndarray:
    """Return the loss of each margin."""
    if name == "logistic":
        return np.logaddexp(0, -margin)
    short = np.maximum(1 - margin, 0)
    return short if name == "hinge" else short**2


# ---------------------------------------------------------------- sizes on disk


class _Counted:
    """A file that only counts: a pickle of gigabytes need not be written to know its size."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, content: Any) -> int:
        size = memoryview(content).nbytes
        self.size += size
        return size


def pickled_bytes(model: Any) -> int:
    """Return the size of a model as a pickle."""
    counted = _Counted()
    pickle.Pickler(counted, protocol=5).dump(model)
    return counted.size


def folder_bytes(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
