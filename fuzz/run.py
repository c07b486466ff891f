"""Feed readers with inputs that a coverage-guided fuzzer makes up; see README.md."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
LONGEST_INPUT = 1024  # bytes; longer ones only take longer
LONGEST_RUN = 20  # seconds for one input, compilation aside; more is a hang
MOST_MEMORY = 4096  # megabytes of the whole process

sys.path.insert(0, str(HERE.parent))


def main() -> None:
    """Read the command line, and fuzz the chosen targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?", help="a reader's name, or 'all'; none: list them")
    parser.add_argument("--runs", type=int, default=100_000, help="inputs per reader")
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzer")
    parser.add_argument("--python", action="store_true", help="run kernels as plain Python, guided by coverage")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # the process that is instrumented
    options = parser.parse_args()
    if options.inside:
        fuzz(options.target, options.runs, options.seed)
        return
    names = target_names()
    if options.target is None:
        print("\n".join(names))
        return
    chosen = names if options.target == "all" else [options.target]
    if not set(chosen) <= set(names):
        parser.error(f"there is no target {options.target!r}; the targets are {', '.join(names)}")
    failed = [name for name in chosen if not run_target(name, options)]
    sys.exit(f"Broken: {', '.join(failed)}" if failed else 0)


def target_names() -> list[str]:
    """Return the names of all targets."""
    from fuzz.targets import TARGETS

    return sorted(TARGETS)


def run_target(name: str, options: argparse.Namespace) -> bool:
    """Fuzz one reader in a process of its own; add the outcome to the summary."""
    RESULTS.mkdir(exist_ok=True)
    memory = Path("/dev/shm")  # where there is a disk in memory, files cost less
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore", "TMPDIR": scratch}
        if options.python:
            environment["NUMBA_DISABLE_JIT"] = "1"
        else:
            environment["NUMBA_BOUNDSCHECK"] = "1"
            environment["CLADIST_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "cladist-fuzz-kernels")
        command = [sys.executable, __file__, name, "--inside", "--runs", str(options.runs), "--seed", str(options.seed)]
        started = time.time()
        done = subprocess.run(command, env=environment, cwd=HERE.parent, capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    if done.returncode:
        print(log[-3000:], file=sys.stderr)
    runs = max((int(n) for n in re.findall(r"^(?:Done |#)(\d+)", log, re.MULTILINE)), default=0)
    covered = max((int(n) for n in re.findall(r"cov: (\d+)", log)), default=0)
    outcomes = re.search(r"^outcomes: (.*)$", log, re.MULTILINE)
    row = {
        "runs": runs,
        "seconds": round(time.time() - started),
        "coverage": covered,
        "outcomes": json.loads(outcomes.group(1)) if outcomes else {},
        "kernels": "python" if options.python else "compiled, bounds checked",
        "seed": options.seed,
        "exit": done.returncode,
    }
    note(f"{name}{' (python)' if options.python else ''}", row)
    print(f"{name}: {row}", flush=True)
    return done.returncode == 0


def note(name: str, row: dict[str, object]) -> None:
    """Write a row of the summary, beside those of other readers."""
    path = RESULTS / "summary.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(dict(sorted({**known, name: row}.items())), indent=1) + "\n")


def fuzz(name: str, runs: int, seed: int) -> None:
    """Instrument cladist, and feed one target until `runs` inputs are through; does not return."""
    import atheris

    if not os.environ.get("NUMBA_DISABLE_JIT"):
        # numba compiles the kernels from their bytecode, and cannot where that has been added to: not these, then.
        for kernel in sorted(Path(HERE.parent, "src", "cladist", "kernels").glob("*.py")):
            importlib.import_module(f"cladist.kernels.{kernel.stem}")
    with atheris.instrument_imports(include=["cladist"], enable_loader_override=False):
        from fuzz.targets import TARGETS

        target = TARGETS[name]
        target.prepare()
    outcomes = {"read": 0, "refused": 0}

    def one_input(data: bytes) -> None:
        outcomes["read" if target.accepts(data) else "refused"] += 1

    with tempfile.TemporaryDirectory() as corpus:
        for k, seed_input in enumerate(target.seeds):
            Path(corpus, f"seed{k}").write_bytes(seed_input)
        words = Path(corpus).with_suffix(".dict")
        words.write_text("".join(f'"{as_libfuzzer_writes(word)}"\n' for word in target.words))
        flags = [
            f"-atheris_runs={runs}", f"-seed={seed}", f"-max_len={LONGEST_INPUT}", f"-timeout={LONGEST_RUN}",
            f"-rss_limit_mb={MOST_MEMORY}", f"-artifact_prefix={RESULTS}/crash-{name}-", "-print_final_stats=1",
            *([f"-dict={words}"] if target.words else []), corpus,
        ]  # fmt: skip
        import atexit

        atexit.register(lambda: print(f"outcomes: {json.dumps(outcomes)}", flush=True))
        atheris.Setup([sys.argv[0], *flags], one_input)
        atheris.Fuzz()


def as_libfuzzer_writes(word: bytes) -> str:
    """Return bytes as a dictionary of libFuzzer spells them."""
    return "".join(chr(c) if 32 < c < 127 and c not in b'"\\' else f"\\x{c:02x}" for c in word)


if __name__ == "__main__":
    main()
