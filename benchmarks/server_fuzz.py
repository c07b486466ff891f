"""schemathesis sends requests that the interface allows and such that it forbids; no answer may be a 5xx.

    python -m pip install schemathesis
    python benchmarks/server_fuzz.py [--examples 2000]

Two models of the sample shop are served, one of which learns. The server's own numbers say how its answers ended.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import httpx

from benchmarks.annif import train
from benchmarks.harness import print_rows, write_results
from benchmarks.speed.server import running

COLUMNS = ["--text", "title", "--text", "description", "--label", "category"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    token = os.environ["CLADIST_TOKEN"] = secrets.token_hex(16)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        train(folder)
        online = ["train", "train.csv", "--taxonomy", "taxonomy.csv", *COLUMNS, "--method", "hieron", "--out", "online"]
        subprocess.run([sys.executable, "-m", "cladist", *online, "--quiet"], cwd=folder, check=True)
        options = [str(folder / "online"), "--data", str(folder / "test.csv")]
        with running("cladist serve", folder / "model", *options) as (address, process):
            headers = {"Authorization": f"Bearer {token}"}
            schema = httpx.get(f"{address}/openapi.json").json()
            n_operations = sum(len(methods) for methods in schema["paths"].values())
            # Each phase sends up to this many per operation; not all operations have as many different requests.
            per_operation = -(-2 * arguments.examples // n_operations)
            command = [
                str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json",
                "--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing", "--mode", "all",
                "--max-examples", str(per_operation), "--seed", str(arguments.seed), "--continue-on-failure",
                "-H", f"Authorization: {headers['Authorization']}", "--no-color", "--request-timeout", "60",
                "--suppress-health-check", "all", "--warnings", "off",
            ]  # fmt: skip
            told = subprocess.run(command, capture_output=True, text=True, cwd=folder)
            print(told.stdout[-3000:])
            text = httpx.get(f"{address}/metrics", headers=headers).text
            is_alive = process.poll() is None
    statuses: dict[str, int] = {}
    for status, count in re.findall(r'^cladist_requests_total\{route="[^"]*",status="(\w+)"\} (\d+)', text, re.M):
        statuses[status] = statuses.get(status, 0) + int(count)
    version = subprocess.run([command[0], "--version"], capture_output=True, text=True).stdout.split()[-1]
    rows = [{"requests": sum(statuses.values()), "server_errors": errors(statuses), **dict(sorted(statuses.items()))}]
    print_rows(rows)
    facts = {"operations": n_operations, "schemathesis": version, "exit_code": told.returncode, "alive": is_alive}
    write_results("server-fuzz", rows, seed=arguments.seed, **facts)


def errors(statuses: dict[str, int]) -> int:
    """Return how many answers had a status of 500 or more, or one that is not counted by itself."""
    return sum(count for status, count in statuses.items() if not status.isdigit() or int(status) >= 500)


if __name__ == "__main__":
    main()
