"""Starting is quick: the package and its help load nothing heavy; benchmarks/speed/startup.py measures it."""

import subprocess
import sys
from pathlib import Path

import pytest

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


# A module of each that is imported with it; a stand-in for the package itself may be loaded.
NOT_FOR_COMMANDS = ("pandas", "pyarrow", "scipy.stats._stats_py", "sklearn.model_selection", "sklearn.metrics")
RUN = "from cladist.cli.app import app\ntry: app({})\nexcept SystemExit as end: assert end.code == {}, end.code"


def test_commands_import_what_they_need(tmp_path: Path) -> None:
    table, model = tmp_path / "shop.csv", tmp_path / "model"
    table.write_text("title,category\n" + "rain coat,wear/coats\ntea cup,home/cups\n" * 5)
    train = ["train", str(table), "--text", "title", "--label", "category", "--path-sep", "/", "--out", str(model)]
    for arguments in (train, ["predict", str(model), str(table)], ["evaluate", str(model), str(table)]):
        assert loaded(RUN.format(arguments, 0), (*NOT_FOR_COMMANDS, "numba")) == ["numba"]


def test_what_commands_do_not_import_can_be_imported_later() -> None:
    code = "import cladist.cli.lean_sklearn\nassert 'sklearn' in sys.modules and 'pandas' not in sys.modules\n"
    code += "from scipy.stats import rankdata\nimport scipy.stats, pandas\n"
    code += "assert rankdata([3, 1])[1] == 1 and scipy.stats is sys.modules['scipy.stats'] and pandas.DataFrame"
    assert loaded(code, NOT_FOR_COMMANDS[:3]) == ["pandas", "pyarrow", "scipy.stats._stats_py"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "--nope"],
        ["train", "nowhere.csv", "--out", "model"],
        ["train", __file__],
        ["train", __file__, "--out", "model", "--taxonomy", "nowhere.csv"],
        ["train", __file__, "--out", "model", "--method", "nothing"],
        ["train", __file__, "--out", "model", "--param", "C"],
        ["predict", "nowhere", "-"],
        ["predict", ".", "nowhere.csv"],
        ["evaluate", ".", "nowhere.csv"],
        ["taxonomy", "nowhere.csv"],
    ],
)
def test_mistakes_are_reported_before_anything_heavy_is_imported(arguments: list[str]) -> None:
    assert loaded(RUN.format(arguments, 2), HEAVY) == []
