"""Damage and forge saved models of all methods, and count what becomes of them; see README.md."""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

MODES: dict[str, dict[str, bool]] = {"read": {}, "mapped": {"mmap": True}, "verified": {"mmap": True, "verify": True}}
KINDS = {"flip": 0.25, "cut": 0.05, "array": 0.4, "value": 0.3}  # and how often each
PATIENCE = 300  # seconds for one case, compilation included; more is a hang
ALLOWED = {"refused", "same", "other rows", "forged: other answers", "unread weights: other answers"}
WHOLE = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 5, 6, 12, 16, 255, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1]
REAL = [0.0, -0.0, 1.0, -1.5, 1e-300, 1e6, 1e300, np.nan, np.inf, -np.inf]
TYPES = ["i1", "i4", "i8", "u1", "u4", "u8", "f2", "f4", "f8", "?"]
JUNK = [
    None, True, False, -1, 0, 1, 2, 7, 2**31, 2**40, -(2**63), 10**30, 0.5, -0.5, 1e300, "", "x", "auto", "path",
    "int8", "sets", "filename", "precomputed", "rbf", [], [1], ["x"], {}, {"x": 1}, {"$float": "nan"},
    {"$float": "inf"}, {"$tuple": [1, 2]}, {"$array": "x"}, {"$type": "float"}, {"$numpy": ["int8", 3]}, [[[]]],
    "(a+)+$",
]  # fmt: skip


def main() -> None:
    """Read the command line, run the cases in another process, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1000, help="cases")
    parser.add_argument("--seconds", type=float, help="stop earlier, after so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only models whose name contains this")
    parser.add_argument("--inside", help=argparse.SUPPRESS)  # the process that loads: the folder of models
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    options = parser.parse_args()
    if options.inside:
        for line in run_cases(Path(options.inside), options.first, options.n, options.seed, options.only):
            print(json.dumps(line), flush=True)
        return
    counts, broken = run(options.n, options.seed, only=options.only, seconds=options.seconds, first=options.first)
    print(json.dumps(counts, indent=1, sort_keys=True))
    for line in broken[:200]:
        print(json.dumps(line, indent=1), file=sys.stderr)
    sys.exit(f"{len(broken)} cases went wrong" if broken else 0)


def run(
    n: int, seed: int, *, only: str = "", seconds: float | None = None, first: int = 0
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Run cases; return how many ended in which way, and those that must not be.

    They run in a process of their own, which is started again after the case that ended it.
    """
    counts: collections.Counter[str] = collections.Counter()
    broken: list[dict[str, Any]] = []
    until = time.monotonic() + seconds if seconds else None
    with tempfile.TemporaryDirectory() as folder:
        at = first
        while at < first + n and (until is None or time.monotonic() < until):
            for line in _worker(Path(folder), at, first + n - at, seed, only, until):
                counts[f"{line['kind']}, {line['mode']}: {line['outcome']}"] += 1
                if line["outcome"] not in ALLOWED:
                    broken.append(line)
                at = line["case"] + 1
    return dict(counts), broken


def _worker(folder: Path, first: int, n: int, seed: int, only: str, until: float | None) -> Iterator[dict[str, Any]]:
    """Yield what a process says of its cases; of the one that ended it, that it did."""
    command = [sys.executable, __file__, "--inside", str(folder), "--first", str(first), "--n", str(n)]
    command += ["--seed", str(seed), "--only", only]
    environment = {**os.environ, "PYTHONFAULTHANDLER": "1", "PYTHONUNBUFFERED": "1"}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        done, ready = first - 1, False
        for text in process.stdout:
            line = json.loads(text)
            if "ready" in line:
                ready = True
                continue
            done = line["case"]
            yield line
            if until is not None and time.monotonic() > until:
                process.kill()
                return
        if process.wait():
            errors.seek(0)
            told = errors.read()[-2000:]
            if not ready:
                raise RuntimeError(f"The models could not be made: {told}")
            name, kind, mode, _ = describe(folder, done + 1, seed, only)
            case = {"case": done + 1, "model": name, "kind": kind, "mode": mode}
            yield {**case, "outcome": "crash", "error": f"exit {process.returncode}: {told}"}


def prepare(folder: Path, only: str) -> dict[str, Any]:
    """Fit and save all models, unless the folder has them; return them by name."""
    import cladist
    from cladist.storage import array_file, tensors
    from fuzz.model_zoo import models

    tensors.LARGE_BYTES = array_file.LARGE_BYTES = 64  # so that the weights of small models are left unread, too
    found = {}
    for name, asked in models().items():
        if only in name:
            place = folder / str(len(found))
            if not place.exists():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # some models do not converge on so few rows
                    cladist.save(asked.model.fit(asked.rows, asked.labels), place)
            found[name] = asked._replace(model=cladist.load(place))
    return found


def describe(folder: Path, case: int, seed: int, only: str) -> tuple[str, str, str, np.random.Generator]:
    """Return the model, the change and the way of loading of a case, and its source of chance."""
    from fuzz.model_zoo import models

    random = np.random.default_rng([seed, case])
    names = [name for name in models() if only in name]
    return (
        names[random.integers(len(names))],
        str(random.choice(list(KINDS), p=list(KINDS.values()))),
        str(random.choice(list(MODES))),
        random,
    )


def run_cases(folder: Path, first: int, n: int, seed: int, only: str) -> Iterator[dict[str, Any]]:
    """Yield what becomes of each case."""
    import faulthandler

    from fuzz.model_zoo import answers

    zoo = prepare(folder, only)
    yield {"ready": len(zoo)}
    references: dict[str, Any] = {}
    for case in range(first, first + n):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        name, kind, mode, random = describe(folder, case, seed, only)
        source = folder / str(list(zoo).index(name))
        if name not in references:
            references[name] = answers(zoo[name])
        told = run_case(source, zoo[name], references[name], kind, mode, random, folder / f"changed-{os.getpid()}")
        yield {"case": case, "model": name, "kind": kind, "mode": mode, **told}
    faulthandler.cancel_dump_traceback_later()


def run_case(
    source: Path, asked: Any, reference: Any, kind: str, mode: str, random: np.random.Generator, place: Path
) -> dict[str, Any]:
    """Change a model, load it and ask it everything; return what became of it, and how it was changed."""
    import shutil

    import cladist
    from cladist.errors import CladistError
    from fuzz.model_zoo import answers

    shutil.rmtree(place, ignore_errors=True)
    change, unread = CHANGES[kind](source, place, random)
    try:
        try:
            model = cladist.load(place, **MODES[mode])
        except CladistError as refusal:
            return {"outcome": "refused", "change": change, "told": str(refusal).replace(str(place), "")[:200]}
        if n_features(model) != n_features(asked.model):
            return {"outcome": "other rows", "change": change}
        found = answers(asked._replace(model=model))
    except Exception as problem:
        trace = traceback.format_exc(limit=-6)[-1500:]
        return {"outcome": "foreign error", "change": change, "error": f"{problem!r}"[:300], "trace": trace}
    if gone := [name for name in found if found[name] == "AttributeError" != reference[name]]:
        return {"outcome": "foreign error", "change": change, "error": f"AttributeError in {gone}"}
    if repr(found) == repr(reference):
        return {"outcome": "same", "change": change}
    if kind in ("array", "value"):
        return {"outcome": "forged: other answers", "change": change}
    outcome = "unread weights: other answers" if unread and mode == "mapped" else "other answers"
    return {"outcome": outcome, "change": change}


def n_features(model: Any) -> int:
    """Return how many features a learner has, alone or at the end of a pipeline."""
    return int(getattr(model[-1] if hasattr(model, "steps") else model, "n_features_in_", -1))


# -------------------------------------------------------------------- changes


def _damaged(source: Path, place: Path, random: np.random.Generator, damage: Any) -> tuple[str, bool]:
    """Copy a model with one of its files damaged; return what was done, and whether to weights that may stay unread."""
    import shutil

    shutil.copytree(source, place)
    manifest, arrays = place / "manifest.json", next(place.glob("arrays-*"))
    file = manifest if random.random() < 0.3 else arrays
    raw = file.read_bytes()
    at = int(random.integers(len(raw)))
    file.write_bytes(damage(raw, at, random))
    return f"{file.name} at {at}", file is arrays and _is_left(raw, at)


def _is_left(raw: bytes, at: int) -> bool:
    """Tell whether a byte of an array file belongs to weights that a mapped model leaves there."""
    from cladist.learners.persistence import LARGE
    from cladist.storage.header import parse_header

    start = 8 + int.from_bytes(raw[:8], "little")
    places = parse_header(raw[:start], len(raw) - start, "")
    return any(LARGE.fullmatch(p.name) is not None and p.begin <= at - start < p.end for p in places)


def flip(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Flip some bits of one byte."""
    return _damaged(
        source, place, random, lambda raw, at, r: raw[:at] + bytes([raw[at] ^ int(r.integers(1, 256))]) + raw[at + 1 :]
    )


def cut(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Cut a file short."""
    return _damaged(source, place, random, lambda raw, at, r: raw[:at])


def forge_array(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Change an array or two, and write the model again with checksums that fit."""
    from cladist.storage import read_folder, write_folder

    content, arrays = read_folder(source)
    told = []
    for name in random.choice(sorted(arrays), random.integers(1, 3)).tolist():
        if name in arrays and random.random() < 0.05:
            del arrays[name]
            told.append(f"no {name}")
        elif name in arrays:
            with np.errstate(all="ignore"):
                how, arrays[name] = _changed(arrays[name], random)
            told.append(f"{how} {name}")
    write_folder(place, content, arrays)
    return ", ".join(told), True


def _changed(array: Any, random: np.random.Generator) -> tuple[str, Any]:
    """Return an array after a change of a number, of all, of the order, the length, the shape or the type."""
    how = str(random.choice(["number", "number", "number", "all", "order", "repeat", "cut", "grow", "shape", "type"]))
    new = np.atleast_1d(array).copy()
    at = int(random.integers(max(1, len(new))))
    if how in ("number", "all") and new.size:
        known = np.array(WHOLE, object) if new.dtype.kind in "iub" else np.array(REAL)
        value = known[random.integers(len(known))]
        if new.dtype.kind in "iu" and random.random() < 0.3:
            new = new.astype(np.int64)
        fits = new.dtype.kind not in "iu" or np.iinfo(new.dtype).min <= value <= np.iinfo(new.dtype).max
        value = value if fits else int(value) % 100
        new.reshape(-1)[slice(None) if how == "all" else int(random.integers(new.size))] = value
    elif how == "order":
        new = new[random.permutation(len(new))]
    elif how == "repeat":
        new = np.repeat(new[at : at + 1], len(new), axis=0)
    elif how == "shape":
        new = [new[None], new.reshape(-1), new.T, new.reshape(-1, 1)][random.integers(4)]
    elif how == "type":
        new = new.astype(TYPES[random.integers(len(TYPES))])
    elif how == "cut":
        new = new[:at]
    elif how == "grow":
        new = np.concatenate([new, new[: at + 1]])
    return how, np.ascontiguousarray(new)


def forge_value(source: Path, place: Path, random: np.random.Generator) -> tuple[str, bool]:
    """Change a value of the manifest or two, and write the model again with checksums that fit."""
    from cladist.errors import ModelFormatError
    from cladist.storage import read_folder, write_folder

    content, arrays = read_folder(source)
    told = []
    for _ in range(random.integers(1, 3)):
        places = list(_places(content, ""))
        holder, key, path = places[random.integers(len(places))]
        if random.random() < 0.15:
            holder.pop(key)
            told.append(f"no {path}")
        else:
            holder[key] = json.loads(json.dumps(JUNK[random.integers(len(JUNK))]))
            told.append(f"{path} = {holder[key]!r}")
    try:
        write_folder(place, content, arrays)
    except ModelFormatError:  # not JSON any more: another
        return forge_value(source, place, random)
    return ", ".join(told), True


def _places(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield where the values of a manifest stand: in what, under which key, and its path."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield value, key, f"{path}/{key}"
        yield from _places(inner, f"{path}/{key}")


CHANGES = {"flip": flip, "cut": cut, "array": forge_array, "value": forge_value}

if __name__ == "__main__":
    main()
