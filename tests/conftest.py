"""Settings and fixtures of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline and no limit on drawing examples: the first call of a kernel compiles it, and machines are busy. In CI the
# same examples run every time.
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("local", **UNHURRIED)
settings.register_profile("ci", **UNHURRIED, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, for the few tests that want them; mark those with `data`."""
    named = os.environ.get("CLADIST_DATA")
    if not named:
        pytest.skip("CLADIST_DATA names no folder of data sets")
    folder = Path(named)
    assert folder.is_dir(), f"CLADIST_DATA names {named!r}, which is not a folder"
    return folder
