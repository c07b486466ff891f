"""Whatever the files of a data set hold, its loader gives a Dataset or an error of ours."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cladist.datasets.dataset import Dataset
from cladist.datasets.loaders.free_sets import load_clinc150, load_news20
from cladist.datasets.loaders.official_codes import load_naics2017, load_onet_titles
from cladist.errors import CladistError
from tests.datasets.folders import TEXTS

LOADERS = {
    "news20": load_news20,
    "clinc150": load_clinc150,
    "onet_titles": load_onet_titles,
    "naics2017": load_naics2017,
}
bytes_that_matter = st.sampled_from(
    [b"\n", b"\t", b",", b'"', b"[", b"{", b"}", b"\0", b"\xff", b"0", b"-", b"", b"\r"]
)
splices = st.lists(
    st.tuples(st.integers(0, 2**16), st.integers(0, 30), bytes_that_matter | st.binary(max_size=8)), max_size=4
)


def spliced(content: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for place, removed, added in changes:
        start = place % (len(content) + 1)
        content = content[:start] + added + content[start + removed :]
    return content


@pytest.mark.parametrize("name", LOADERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files(name: str, tmp_path: Path, data: st.DataObject) -> None:
    TEXTS[name](tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files), label="file")
    original = path.read_bytes()
    path.write_bytes(data.draw(st.binary(max_size=100) | splices.map(lambda changes: spliced(original, changes))))
    with suppress(CladistError):
        assert isinstance(LOADERS[name](folder=tmp_path), Dataset)
