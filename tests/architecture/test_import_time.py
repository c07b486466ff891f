"""Starting is quick: the package and its help load nothing heavy; benchmarks/speed/startup.py measures it."""

import subprocess
import sys

# Each of these takes a tenth of a second or more to import.
HEAVY = (
    *("numpy", "scipy", "sklearn", "joblib", "numba", "llvmlite", "pandas", "pyarrow", "networkx", "matplotlib"),
    *("polars", "river", "safetensors"),
)
FOR_THE_TERMINAL = ("rich", "typer")


def loaded(code: str, among: tuple[str, ...]) -> list[str]:
    """Run code in a new process and return which of some modules it has imported."""
    told = f"import sys\n{code}\nprint('\\n', *[m for m in {among} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", told], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded("import cladist", HEAVY + FOR_THE_TERMINAL) == []


def test_the_help_imports_nothing_heavy() -> None:
    code = "from cladist.cli.app import app\ntry: app(['{}'])\nexcept SystemExit as end: assert not end.code"
    for option in ("--help", "--version"):
        assert loaded(code.format(option), HEAVY) == []
        assert "typer" in loaded(code.format(option), FOR_THE_TERMINAL)


def test_all_names_are_imported_without_extras() -> None:
    code = "sys.modules['river'] = None\nfrom cladist import *\nassert Taxonomy and FlatSVM and metrics"
    assert "numpy" in loaded(code, HEAVY)


def test_what_is_loaded_is_seen() -> None:
    assert loaded("import cladist; cladist.Taxonomy", HEAVY)[:1] == ["numpy"]
