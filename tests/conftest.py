"""Settings and fixtures of all tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first call of a kernel compiles it. In CI the same examples run every time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
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
