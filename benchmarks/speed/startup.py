"""How long a newcomer waits: importing cladist, and the command line's help. Targets: 0.5 s and 0.7 s."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.harness import best_of, print_rows, write_results

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import cladist": ["-c", "import cladist"],
    "import sklearn": ["-c", "import sklearn"],
    "cladist --help": ["-m", "cladist.cli", "--help"],
    "first kernel, cached": ["-c", "from cladist import Taxonomy; Taxonomy.from_paths(['a/b']).depth"],
}


def main() -> None:
    rows = []
    for name, arguments in COMMANDS.items():
        seconds = best_of(5, lambda a=arguments: subprocess.run([sys.executable, *a], check=True, capture_output=True))
        rows.append({"command": name, "seconds": seconds})
    print_rows(rows)
    write_results("startup", rows)


if __name__ == "__main__":
    main()
