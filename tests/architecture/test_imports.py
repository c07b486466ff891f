"""Dependencies point down: a room imports only from the rows below it, never from a sibling."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "cladist"

# From the top of the house to its foundations; rooms of one row do not import each other.
ROWS = (
    ("cli",),
    ("evaluation", "hiclass", "mlflow", "ray"),  # they use learners or models, and none the others
    ("server",),  # above report, whose map of nodes and whose styles the explorer shares
    ("report",),  # below evaluation, whose results draw their own pages
    ("learners",),
    ("persistence",),  # below learners, whose classes it finds by name in the registry
    ("solvers",),
    ("linear_model", "decisions"),  # linear_model below solvers, which return their weights in these forms
    ("decoders", "metrics", "datasets", "calibration"),
    ("losses", "surrogates", "features"),
    ("labels",),
    ("taxonomy",),
    ("checkpoints",),  # what solvers and learners have finished, by execution and storage
    ("kernels", "execution", "storage"),
    ("files",),  # above progress and errors, which it reports to
    ("locks",),  # below files and storage, whose writers both need them
    ("registry", "progress", "notebook", "mixed_rows"),
    ("errors",),  # below registry, which reports an unknown name with the library's own error
)
LEVEL = {room: len(ROWS) - depth for depth, row in enumerate(ROWS) for room in row}

FREE_TO_IMPORT = {"__init__", "__main__", "versions", "_version"}  # the door of the package, not a room
FREE_TO_BE_IMPORTED = {"versions", "_version"}  # facts about the package; they import no room
ALONE = {"kernels"}  # arrays in, arrays out: nothing of ours, not even from below

# Libraries that one room has to itself.
CONFINED = {"numba": "kernels", "typer": "cli", "rich": "cli"}
CONFINED |= dict.fromkeys(("fastapi", "starlette", "uvicorn", "pydantic"), "server")


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Yield line and dotted name of everything imported, wherever in the file; `package` resolves dots."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                base = ".".join(parts[: len(parts) - node.level + 1] + ([base] if base else []))
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func) and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                yield node.lineno, name.value


def complaint(room: str, name: str) -> str | None:
    """Say what is wrong with `room` importing `name`, if anything."""
    top, _, rest = name.partition(".")
    if top in CONFINED:
        owner = CONFINED[top]
        return None if room == owner else f"imports {top}, which only {owner} may"
    if top != "cladist":
        return None
    target = rest.partition(".")[0]
    if target in FREE_TO_BE_IMPORTED or target == "__version__" or target == room:
        return None
    if target not in LEVEL:
        return f"imports {name} through the package's front door; import it from its room"
    if room in ALONE:
        return f"imports {target}, but {room} imports nothing of ours"
    if LEVEL[target] >= LEVEL[room]:
        return f"imports {target}, which is {'above' if LEVEL[target] > LEVEL[room] else 'beside'} it"
    return None


def violations(source: Path) -> list[str]:
    """Return one line for every import under `source` that the table forbids."""
    found = []
    for path in sorted(source.rglob("*.py")):
        inside = path.relative_to(source)
        room = inside.parts[0].removesuffix(".py")
        if room in FREE_TO_IMPORT:
            continue
        if room not in LEVEL:
            found.append(f"{inside}: {room} is not in the table of rooms")
            continue
        package = ".".join(("cladist", *inside.parent.parts))
        for line, name in imported(ast.parse(path.read_text(encoding="utf-8")), package):
            wrong = complaint(room, name)
            if wrong:
                found.append(f"{inside}:{line}: {room} {wrong}")
    return found


def test_dependencies_point_down() -> None:
    assert (SOURCE / "__init__.py").is_file()
    assert violations(SOURCE) == []


def test_the_free_modules_stay_light() -> None:
    """What everybody may import must itself import no room, or it would be a way round the table."""
    for name in sorted(FREE_TO_BE_IMPORTED):
        tree = ast.parse((SOURCE / f"{name}.py").read_text(encoding="utf-8"))
        ours = [dotted.split(".")[1] for _, dotted in imported(tree, "cladist") if dotted.startswith("cladist.")]
        assert set(ours) <= FREE_TO_BE_IMPORTED


@pytest.mark.parametrize(
    ("file", "code", "wrong"),
    [
        ("taxonomy/tree.py", "from cladist.labels import LabelMatrix", "labels, which is above it"),
        ("taxonomy/tree.py", "import cladist.cli.demo as demo", "cli, which is above it"),
        ("metrics/f1.py", "from cladist.decoders import top_down", "decoders, which is beside it"),
        ("metrics/f1.py", "def f():\n    from cladist.learners import base", "learners, which is above it"),
        ("metrics/f1.py", "if TYPE_CHECKING:\n    from cladist.datasets import Dataset", "beside it"),
        ("metrics/f1.py", "from ..decoders import top_down", "decoders, which is beside it"),
        ("metrics/deep/f1.py", "from ...decoders.best import best", "decoders, which is beside it"),
        ("metrics/f1.py", "from .. import solvers", "solvers, which is above it"),
        ("metrics/f1.py", "from cladist import evaluation", "evaluation, which is above it"),
        ("metrics/f1.py", "importlib.import_module('cladist.learners.base')", "learners, which is above it"),
        ("metrics/f1.py", "from cladist import Hieron", "front door"),
        ("metrics/f1.py", "import cladist", "front door"),
        ("progress.py", "from cladist.registry import find", "registry, which is beside it"),
        ("kernels/dot.py", "from cladist.errors import CladistError", "nothing of ours"),
        ("solvers/dual.py", "from numba import njit", "numba, which only kernels may"),
        ("utils/misc.py", "import os", "not in the table"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, file: str, code: str, wrong: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    (found,) = violations(tmp_path)
    assert wrong in found
    assert found.startswith(file)


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("metrics/f1.py", "from cladist.taxonomy import Taxonomy\nfrom cladist.losses.h import HLoss"),
        ("metrics/f1.py", "from .counts import Counts\nfrom . import counts\nfrom ..labels import encode"),
        ("storage/folder.py", "from cladist import __version__\nfrom cladist._version import __version__"),
        ("kernels/dot.py", "import numba\nfrom cladist.kernels.jit import kernel"),
        ("cli/demo.py", "import rich\nfrom cladist.persistence.models import load"),
        ("__init__.py", "from cladist.cli import main"),
    ],
)
def test_an_allowed_import_is_left_alone(tmp_path: Path, file: str, code: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    assert violations(tmp_path) == []
