"""Servers in processes of their own, and clients that see them end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.server.conftest import AUTHORISED, TOKEN


@contextmanager
def serving(*arguments: object, token: str | None = TOKEN, **environment: str) -> Iterator[tuple[Any, str]]:
    """Run ``cladist serve`` at a free port; yield the process and its address."""
    command = [sys.executable, "-m", "cladist", "serve", *map(str, arguments), "--port", "0", "--json"]
    variables = {name: value for name, value in os.environ.items() if name != "CLADIST_TOKEN"} | environment
    if token is not None:
        variables["CLADIST_TOKEN"] = token
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, text=True)
    try:
        assert process.stdout is not None
        told = ""
        while not told.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr and process.stderr.read()
            told += line
        yield process, json.loads(told)["address"]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def post_until_it_ends(address: str, name: str, corrections: list[dict[str, Any]], kept: list[Any]) -> None:
    """Post corrections one after the other until the server is gone; `kept` gets those that were acknowledged."""
    with httpx.Client(base_url=address, headers=AUTHORISED, timeout=600) as client:
        for correction in corrections:
            try:
                answer = client.post("/feedback", json=correction | {"model": name})
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                kept.append((correction["id"], answer.json()["sequence"]))


def kill_while_posting(folder: Path, corrections: list[dict[str, Any]], after: int, n_threads: int = 3) -> list[Any]:
    """Kill a server after some acknowledgements; return the acknowledged ids and their numbers."""
    kept: list[Any] = []
    with serving(folder) as (process, address):
        wait_until_ready(address)
        threads = [
            threading.Thread(target=post_until_it_ends, args=(address, folder.name, corrections[k::n_threads], kept))
            for k in range(n_threads)
        ]
        for thread in threads:
            thread.start()
        while len(kept) < after and any(thread.is_alive() for thread in threads):
            threads[0].join(0.002)
        process.kill()
        for thread in threads:
            thread.join()
    return kept


def wait_until_ready(address: str) -> None:
    """Return when the server answers."""
    while True:
        try:
            if httpx.get(f"{address}readyz", timeout=600).status_code == 200:
                return
        except httpx.TransportError:
            pass
