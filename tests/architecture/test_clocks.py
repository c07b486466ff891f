"""No test depends on how busy the machine is: none asserts seconds, and time limits only end what hangs."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent.parent
CLOCKS = {"perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "monotonic", "time", "thread_time"}
LEAST_LIMIT = 600  # seconds


def is_clock(node: ast.AST) -> bool:
    """Tell whether a node reads a clock."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr in CLOCKS
        and isinstance(node.value, ast.Name)
        and node.value.id == "time"
    )


def problems(text: str) -> list[str]:
    """Return where a test asserts what a clock says, or gives something less than ten minutes."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert) and any(is_clock(part) for part in ast.walk(node.test)):
            found.append(f"line {node.lineno}: asserts seconds; count steps, or measure in benchmarks/")
        limits = [word.value for word in node.keywords if word.arg == "timeout"] if isinstance(node, ast.Call) else []
        for limit in limits:
            if isinstance(limit, ast.Constant) and limit.value is not None and limit.value < LEAST_LIMIT:
                found.append(f"line {node.lineno}: a limit of {limit.value} s ends what is only slow")
    return found


def test_no_test_depends_on_the_load_of_the_machine() -> None:
    found = {str(path.relative_to(TESTS)): problems(path.read_text()) for path in sorted(TESTS.rglob("*.py"))}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_such_tests_are_found() -> None:
    assert problems("start = time.perf_counter()\nassert time.perf_counter() - start < 2")
    assert problems("subprocess.run(['a'], timeout=60)")
    assert not problems("subprocess.run(['a'], timeout=600)\nassert history['seconds'] >= 0")
