"""Throughput and latency of ``cladist serve``, beside the same model behind FastAPI without batches, and an overload.

    python benchmarks/speed/server.py [--seconds 15] [--overload 90]

wrk sends single descriptions of diagnoses on the same machine, so that client and server share its cores. Half load is
half of the requests per second that were answered before. In the overload, connections that never wait ask for more
than can be answered, with room for few rows in the queue; every answer must be 200 or 429, and memory must not grow.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[2]))

import cladist
from benchmarks.harness import print_rows, write_results
from cladist import TextClassifier
from cladist.datasets import load_icd10cm

HERE = Path(__file__).parent
CONNECTIONS = 64
N_BODIES = 2000
SMALL_QUEUE = 32  # rows that may wait in the overload


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--overload", type=int, default=90)
    parser.add_argument("--model", type=Path, help="a saved model of the categories of ICD-10-CM; trained without")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = load_icd10cm(level="category")
        model = arguments.model or folder / "icd"
        if arguments.model is None:
            cladist.save(TextClassifier("top-down", taxonomy=data.taxonomy).fit(data.texts_train, data.y_train), model)
        bodies = folder / "bodies"
        plain = {"paths": False}
        write_bodies(bodies, data.texts_test, plain)
        write_bodies(folder / "bare", data.texts_test, {})
        rows = [
            measure("cladist serve", model, bodies, arguments.seconds),
            measure("FastAPI without batches", model, folder / "bare", arguments.seconds),
        ]
        rows[0]["times_bare"] = round(rows[0]["requests_per_second"] / rows[1]["requests_per_second"], 2)
        overload = overloaded(model, bodies, arguments.overload)
    print_rows(rows)
    print(json.dumps(overload, indent=2))
    write_results("server", rows, connections=CONNECTIONS, overload=overload, data="ICD-10-CM, categories")


def write_bodies(path: Path, texts: Any, options: dict[str, Any]) -> None:
    """Write requests for single texts, one per line."""
    lines = [json.dumps({"texts": [str(text)], **options}) for text in texts[:N_BODIES]]
    path.write_text("\n".join(lines) + "\n")


def measure(name: str, model: Path, bodies: Path, seconds: int) -> dict[str, Any]:
    """Return the throughput of a server under full load, and its latency under half of that."""
    with running(name, model) as (address, process):
        wrk(address, bodies, 3)  # compiles, and fills caches
        before = cpu_seconds(process)
        full = wrk(address, bodies, seconds)
        busy = cpu_seconds(process) - before
        rate = full["requests_per_second"]
        half = wrk(address, bodies, seconds, pause_ms=1000 * CONNECTIONS / (rate / 2))
    return {
        "server": name,
        "requests_per_second": rate,
        "cpu_seconds_per_1000": round(1000 * busy / max(1, full["requests"]), 2),
        "p50_ms": full["p50_ms"],
        "p99_ms": full["p99_ms"],
        "half_requests_per_second": half["requests_per_second"],
        "half_p50_ms": half["p50_ms"],
        "half_p99_ms": half["p99_ms"],
        "statuses": full["statuses"],
        "memory_mib": memory(process),
    }


def overloaded(model: Path, bodies: Path, seconds: int) -> dict[str, Any]:
    """Return statuses and memory of a server that is asked for more than it can answer."""
    with running("cladist serve", model, "--queue", str(SMALL_QUEUE)) as (address, process):
        wrk(address, bodies, 5, connections=4)
        samples: list[float] = []
        stop = threading.Event()

        def watch() -> None:
            while not stop.wait(1.0):
                samples.append(memory(process))

        watcher = threading.Thread(target=watch)
        watcher.start()
        result = wrk(address, bodies, seconds, connections=8 * CONNECTIONS)
        stop.set()
        watcher.join()
        ready = httpx.get(f"{address}/readyz").status_code
        third = max(1, len(samples) // 3)
    answered = result["statuses"].get("200", 0)
    return {
        "seconds": seconds,
        "connections": 8 * CONNECTIONS,
        "queue_rows": SMALL_QUEUE,
        "statuses": result["statuses"],
        "asked_per_answered": round(result["requests"] / max(1, answered), 2),
        "connection_errors": result["connection_errors"],
        "timeouts": result["timeouts"],
        "memory_mib_first_third": round(max(samples[:third]), 1),
        "memory_mib_last_third": round(max(samples[-third:]), 1),
        "ready_afterwards": ready == 200,
    }


@contextmanager
def running(name: str, model: Path, *options: str) -> Iterator[tuple[str, Any]]:
    """Run a server of a model; yield its address and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    if name == "cladist serve":
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
    address: str, bodies: Path, seconds: int, *, connections: int = CONNECTIONS, pause_ms: float = 0.0
) -> dict[str, Any]:
    """Send requests for some seconds; return what wrk counted."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s"]
    command += ["-s", str(HERE / "server.lua"), address]
    variables = os.environ | {"WRK_BODIES": str(bodies), "WRK_PAUSE_MS": f"{pause_ms:.0f}"}
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
