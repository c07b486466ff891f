"""Throughput and latency of ``cladist serve``, beside the same model behind FastAPI without batches, and an overload.

    python benchmarks/speed/server.py [--seconds 4] [--rounds 5] [--overload 60] [--factor 2]

wrk sends single descriptions of diagnoses on the same machine, so that client and server share its cores. Both servers
run at the same time, and wrk asks them in turn: other work on the machine changes from second to second. The ratio is
the median of those of the rounds. Half load is half of the requests per second that a server answered in the median.
In the two overloads there is room for few rows in the queue. In the first, requests come at a fixed rate, `--factor`
times what the server answered in the median; in the second, 512 connections never wait. Every answer must be 200 or
429, and memory must be flat (see ``server_memory.py``).
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

import cladist
from benchmarks.harness import print_rows, write_results
from benchmarks.speed.server_memory import MemoryWatch, summary
from cladist import TextClassifier
from cladist.datasets import load_icd10cm

HERE = Path(__file__).parent
OURS, BARE = "cladist serve", "FastAPI without batches"
CONNECTIONS = 64
N_BODIES = 2000
SMALL_QUEUE = 32  # rows that may wait in the overload
MANY_CONNECTIONS = 8 * CONNECTIONS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--overload", type=int, default=60, help="seconds of each overload")
    parser.add_argument("--factor", type=float, default=2.0, help="what the first overload asks for, in capacities")
    parser.add_argument("--model", type=Path, help="a saved model of the categories of ICD-10-CM; trained without")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = load_icd10cm(level="category")
        model = arguments.model or folder / "icd"
        if arguments.model is None:
            cladist.save(TextClassifier("top-down", taxonomy=data.taxonomy).fit(data.texts_train, data.y_train), model)
        bodies = {OURS: folder / "bodies", BARE: folder / "bare"}
        write_bodies(bodies[OURS], data.texts_test, {"paths": False})
        write_bodies(bodies[BARE], data.texts_test, {})
        rows = compare(model, bodies, arguments.seconds, arguments.rounds)
        capacity = rows[0]["requests_per_second"]
        overloads = [
            overloaded(model, bodies[OURS], arguments.overload, capacity, rate)
            for rate in (arguments.factor * capacity, 0.0)
        ]
        class_name = type(cladist.load(model)[-1]).__name__
    print_rows(rows)
    print(json.dumps(overloads, indent=2))
    facts = {"connections": CONNECTIONS, "rounds": arguments.rounds, "data": "ICD-10-CM, categories"}
    write_results("server", rows, overloads=overloads, model=class_name, **facts)


def compare(model: Path, bodies: dict[str, Path], seconds: int, rounds: int) -> list[dict[str, Any]]:
    """Return the throughput of two servers under full load, and their latency under half of it."""
    full: dict[str, list[dict[str, Any]]] = {OURS: [], BARE: []}
    busy = dict.fromkeys(full, 0.0)
    with running(OURS, model) as ours, running(BARE, model) as bare:
        servers = {OURS: ours, BARE: bare}
        for name, (address, _) in servers.items():
            wrk(address, bodies[name], 3)  # compiles, and fills caches
        for _ in range(rounds):
            for name, (address, process) in servers.items():
                before = cpu_seconds(process)
                full[name].append(wrk(address, bodies[name], seconds))
                busy[name] += cpu_seconds(process) - before
        rates = {name: median(run["requests_per_second"] for run in runs) for name, runs in full.items()}
        sizes = {name: memory(process) for name, (_, process) in servers.items()}
        half: dict[str, list[dict[str, Any]]] = {OURS: [], BARE: []}
        for _ in range(rounds):
            for name, (address, _) in servers.items():
                pause = 1000 * CONNECTIONS / (rates[name] / 2)
                half[name].append(wrk(address, bodies[name], seconds, pause_ms=pause))
    rows = []
    for name, runs in full.items():
        rows.append(
            {
                "server": name,
                "requests_per_second": rates[name],
                "cpu_seconds_per_1000": round(1000 * busy[name] / sum(run["requests"] for run in runs), 2),
                "p50_ms": median(run["p50_ms"] for run in runs),
                "p99_ms": median(run["p99_ms"] for run in runs),
                "half_requests_per_second": median(run["requests_per_second"] for run in half[name]),
                "half_p50_ms": median(run["p50_ms"] for run in half[name]),
                "half_p99_ms": median(run["p99_ms"] for run in half[name]),
                "memory_mib": sizes[name],
            }
        )
    pairs = zip(full[OURS], full[BARE], strict=True)
    ratios = [round(a["requests_per_second"] / b["requests_per_second"], 2) for a, b in pairs]
    rows[0] |= {"times_bare": median(ratios), "ratios": str(sorted(ratios))}
    return rows


def write_bodies(path: Path, texts: Any, options: dict[str, Any]) -> None:
    """Write requests for single texts, one per line."""
    lines = [json.dumps({"texts": [str(text)], **options}) for text in texts[:N_BODIES]]
    path.write_text("\n".join(lines) + "\n")


def overloaded(model: Path, bodies: Path, seconds: int, capacity: float, rate: float) -> dict[str, Any]:
    """Return statuses and memory of a server that gets `rate` requests per second; 0: as many as can be sent."""
    # At a low rate fewer connections: the server closes those that are idle for seconds.
    connections = max(CONNECTIONS, min(MANY_CONNECTIONS, int(rate))) if rate else MANY_CONNECTIONS
    with running(OURS, model, "--queue", str(SMALL_QUEUE)) as (address, process):
        wrk(address, bodies, 5, connections=4)
        with MemoryWatch(process.pid) as watch:
            result = wrk(address, bodies, seconds, connections=connections, rate=rate)
        lives = process.poll() is None
        ready = httpx.get(f"{address}/readyz").status_code
    answered = result["statuses"].get("200", 0)
    return {
        "seconds": seconds,
        "connections": connections,
        "queue_rows": SMALL_QUEUE,
        "wanted_per_second": round(rate, 1) or None,
        "asked_per_second": result["requests_per_second"],
        "asked_per_capacity": round(result["requests_per_second"] / capacity, 2),
        "asked_per_answered": round(result["requests"] / max(1, answered), 2),
        "statuses": result["statuses"],
        "connection_errors": result["connection_errors"],
        "timeouts": result["timeouts"],
        "memory": summary(watch.samples),
        "lives_and_is_ready_afterwards": lives and ready == 200,
    }


@contextmanager
def running(name: str, model: Path, *options: str) -> Iterator[tuple[str, Any]]:
    """Run a server of a model; yield its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    if name == OURS:
        command = [sys.executable, "-m", "cladist", "serve", str(model), "--port", port, "--quiet", *options]
    else:
        module = "benchmarks.speed.bare_server:app"
        command = [sys.executable, "-m", "uvicorn", module, "--port", port, "--no-access-log", "--log-level", "warning"]
    process = subprocess.Popen(command, env=os.environ | {"BARE_MODEL": str(model)})
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                if httpx.post(f"{address}/predict", json={"texts": ["fracture"]}, timeout=60).status_code == 200:
                    break
            except httpx.TransportError:
                if process.poll() is not None:
                    raise RuntimeError(f"{name} did not start") from None
                time.sleep(0.2)
        yield address, process
    finally:
        process.terminate()
        process.wait()


def wrk(
    address: str,
    bodies: Path,
    seconds: int,
    *,
    connections: int = CONNECTIONS,
    pause_ms: float = 0.0,
    rate: float = 0.0,
) -> dict[str, Any]:
    """Send requests for some seconds, with pauses or at a rate if one is given; return what wrk counted."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"]
    command += ["-s", str(HERE / "server.lua"), address]
    variables = os.environ | {"WRK_BODIES": str(bodies), "WRK_PAUSE_MS": f"{pause_ms:.0f}", "WRK_RATE": f"{rate:.1f}"}
    told = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
    lines = {line.split()[0]: line.split()[1:] for line in told.splitlines() if line.startswith(("result", "statuses"))}
    requests, microseconds, p50, p95, p99, connect, transfer, timeouts = map(float, lines["result"])
    return {
        "requests": int(requests),
        "requests_per_second": round(requests / microseconds * 1e6, 1),
        "p50_ms": round(p50 / 1000, 1),
        "p95_ms": round(p95 / 1000, 1),
        "p99_ms": round(p99 / 1000, 1),
        "statuses": {code: int(count) for code, count in (part.split(":") for part in lines["statuses"])},
        "connection_errors": int(connect + transfer),
        "timeouts": int(timeouts),
    }


def memory(process: Any) -> float:
    """Return the memory of a process in MiB."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def cpu_seconds(process: Any) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
