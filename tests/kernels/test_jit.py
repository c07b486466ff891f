"""The cache of compiled kernels: reused by the next process, never stale, never in the way."""

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cladist.kernels import jit

# Two kernels in two files, beside a copy of the package's own: numba itself looks only at the caller's file.
CALLEE = """
from cladist.kernels.jit import kernel

@kernel
def added(x):
    return x + {amount}
"""
CALLER = """
from cladist.kernels.callee import added
from cladist.kernels.jit import kernel

@kernel
def total(x):
    return 10 * added(x)
"""
PROGRAM = """
import numba
before = numba.config.CACHE_DIR
from cladist.kernels import jit
from cladist.kernels.caller import total
print(total(1), jit.CACHE_FOLDER, sum(total.stats.cache_hits.values()), numba.config.CACHE_DIR == before)
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the kernels in a package of their own, with the two kernels of this test."""
    folder = tmp_path / "source" / "cladist"
    shutil.copytree(Path(jit.__file__).parent, folder / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__init__.py").write_text("")
    (folder / "kernels" / "callee.py").write_text(CALLEE.format(amount=1))
    (folder / "kernels" / "caller.py").write_text(CALLER)
    return folder


def run(package, **environment):
    """Run the program in a new process; returns its result, cache folder and number of cache hits."""
    result, folder, hits, restored = start(package, PROGRAM, **environment)
    assert restored == "True"
    return int(result), None if folder == "None" else Path(folder), int(hits)


def start(package, program, **environment):
    """Run a program in a new process; returns the words that it prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLADIST", "NUMBA", "XDG"))}
    environment = {**kept, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=False, capture_output=True, text=True, timeout=600
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.split()


def binaries(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*.nbc"))


def test_a_second_process_reuses_the_cache_and_an_edit_is_never_missed(package, tmp_path):
    cache = tmp_path / "cache"
    result, folder, hits = run(package, CLADIST_CACHE_DIR=str(cache))
    assert (result, hits) == (20, 0)
    assert folder.parent == cache
    compiled = binaries(cache)
    assert len(compiled) >= 1
    times = {path: (cache / path).stat().st_mtime_ns for path in compiled}

    result, again, hits = run(package, CLADIST_CACHE_DIR=str(cache))
    assert (result, again, hits) == (20, folder, 1)
    assert {path: (cache / path).stat().st_mtime_ns for path in binaries(cache)} == times

    # Only the callee changes; the caller, which holds its code inlined, does not.
    (package / "kernels" / "callee.py").write_text(CALLEE.format(amount=4))
    result, other, hits = run(package, CLADIST_CACHE_DIR=str(cache))
    assert (result, hits) == (50, 0)
    assert other != folder
    assert other.parent == cache

    # And back again: the old folder still fits.
    (package / "kernels" / "callee.py").write_text(CALLEE.format(amount=1))
    assert run(package, CLADIST_CACHE_DIR=str(cache)) == (20, folder, 1)


def test_without_a_word_the_cache_is_the_users(package, tmp_path):
    result, folder, _ = run(package, XDG_CACHE_HOME=str(tmp_path / "home"))
    assert result == 20
    assert folder.parent == tmp_path / "home" / "cladist" / "kernels"
    assert binaries(folder)


def test_where_nothing_can_be_written_kernels_work_without_a_cache(package, tmp_path):
    (tmp_path / "file").write_text("a file, where a folder would have to be")
    assert run(package, CLADIST_CACHE_DIR=str(tmp_path / "file")) == (20, None, 0)
    assert (tmp_path / "file").read_text() == "a file, where a folder would have to be"
    assert not list(package.rglob("*.nbc"))


def test_compiling_is_announced_once_and_not_when_kernels_are_cached(package, tmp_path):
    log = "import logging, sys\nlog = logging.getLogger('cladist.kernels')\nlog.setLevel('INFO')\n"
    log += "log.addHandler(logging.StreamHandler(sys.stdout))\n"
    program = log + "from cladist.kernels.caller import total\ntotal(1), total(1.5)"
    said = " ".join(start(package, program, CLADIST_CACHE_DIR=str(tmp_path / "cache")))
    assert said == "Compiling kernels; they are kept, so that this takes time only once."
    assert start(package, program, CLADIST_CACHE_DIR=str(tmp_path / "cache")) == []
    (tmp_path / "file").write_text("")
    said = " ".join(start(package, program, CLADIST_CACHE_DIR=str(tmp_path / "file")))
    assert said.startswith("Compiling kernels; they cannot be kept; set CLADIST_CACHE_DIR")


def test_the_oldest_caches_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setenv("CLADIST_CACHE_DIR", str(tmp_path))
    for age in range(1, 9):
        folder = tmp_path / f"{age:016x}"
        folder.mkdir()
        (folder / "kernel.nbc").write_text("")
        os.utime(folder, (1e9 - age, 1e9 - age))
    current = Path(jit._open_cache())
    assert current.parent == tmp_path
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {current.name, *(f"{age:016x}" for age in range(1, jit._KEPT_CACHES))}


def test_folders_that_are_not_ours_stay(tmp_path, monkeypatch):
    """The variable may name a folder that holds other things."""
    monkeypatch.setenv("CLADIST_CACHE_DIR", str(tmp_path))
    precious = [tmp_path / f"photos of {year}" for year in range(2000, 2010)]
    for folder in precious:
        folder.mkdir()
        (folder / "one.jpg").write_text("")
        os.utime(folder, (1e9, 1e9))
    jit._open_cache()
    assert all((folder / "one.jpg").exists() for folder in precious)


def test_every_kernel_releases_the_gil_and_keeps_its_python_source():
    @jit.kernel
    def double(x):
        return 2 * x

    @jit.kernel(fastmath=True)
    def triple(x):
        return 3 * x

    for compiled, factor in ((double, 2), (triple, 3)):
        assert compiled(2.0) == compiled.py_func(2.0) == factor * 2
        assert compiled.targetoptions["nogil"] is True
    assert triple.targetoptions["fastmath"] is True


def flipped(raw):
    """Every eighth byte changed, the first among them."""
    return bytes(byte ^ (0x5A if k % 8 == 0 else 0) for k, byte in enumerate(raw))


def sealed(content):
    """What a version that writes other things behind its checksum might leave."""
    raw = pickle.dumps(content)
    return hashlib.sha256(raw).digest() + raw


DAMAGE = [
    lambda raw: b"",
    lambda raw: raw[:70],
    lambda raw: raw[:-1],
    lambda raw: b"not a kernel\n" * 20,
    lambda raw: b"I" + b"x" * 200 + b"\n.",  # a pickle of a number that is none
    lambda raw: raw[:-9] + bytes([raw[-9] ^ 1]) + raw[-8:],
    flipped,
    lambda raw: raw[32:],  # as numba itself writes it
    lambda raw: sealed(None),
    lambda raw: sealed(("0.1",)),
    lambda raw: sealed(("0.1", 0, {})),
]
MANY = "from cladist.kernels.jit import kernel\n" + "".join(
    f"\n@kernel\ndef added_{k}(x):\n    return x + {k}\n" for k in range(len(DAMAGE))
)
RUN_MANY = f"""
from cladist.kernels import many
kernels = [getattr(many, f"added_{{k}}") for k in range({len(DAMAGE)})]
assert [kernel(1) for kernel in kernels] == list(range(1, {len(DAMAGE)} + 1))
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels))
"""


def test_a_damaged_cache_is_dropped_and_compiled_anew(package, tmp_path):
    """Every kernel's file damaged in another way: the right answers, compiled anew, and found by the next process."""
    (package / "kernels" / "many.py").write_text(MANY)

    def hits():
        return start(package, RUN_MANY, CLADIST_CACHE_DIR=str(tmp_path / "cache"))

    assert hits() == ["0"]
    for ending in ("nbi", "nbc"):
        for k, damage in enumerate(DAMAGE):
            (path,) = (tmp_path / "cache").rglob(f"many.added_{k}-*.{ending}")
            path.write_bytes(damage(path.read_bytes()))
        assert hits() == ["0"]
        assert hits() == [str(len(DAMAGE))]
