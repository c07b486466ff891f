"""IPC symbols in every spelling, and the taxonomy they span."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cladist import Taxonomy
from cladist.errors import CladistError, ParameterError, TaxonomyError
from cladist.taxonomy.formats.ipc import LEVELS, IpcSymbol, ipc_taxonomy, parse_ipc

SPELLINGS = {
    # what is written: section, class and subclass; main group; subgroup
    "A": ("A", 0, ""),
    "H05": ("H05", 0, ""),
    "A01B": ("A01B", 0, ""),
    " A01B ": ("A01B", 0, ""),
    "A01B 1/06": ("A01B", 1, "06"),
    "A01B1/06": ("A01B", 1, "06"),
    "A01B   1/06": ("A01B", 1, "06"),
    "A01B0001/06": ("A01B", 1, "06"),
    "A01B00106": ("A01B", 1, "06"),
    "A01B0001060000": ("A01B", 1, "06"),
    "A01B00100": ("A01B", 1, "00"),
    "A01B0001000000": ("A01B", 1, "00"),
    "C07D 487/04": ("C07D", 487, "04"),
    "C07D48704": ("C07D", 487, "04"),
    "A61K031415": ("A61K", 31, "415"),
    "A61K0314155": ("A61K", 31, "4155"),
    "A61K03141555": ("A61K", 31, "41555"),
    "A61K0031415500": ("A61K", 31, "4155"),
    "B01D 1/10": ("B01D", 1, "10"),
    "B01D0001100000": ("B01D", 1, "10"),
    "B01D 1/100": ("B01D", 1, "10"),
    "G06F1203/999999": ("G06F", 1203, "999999"),
}


@pytest.mark.parametrize(("text", "parts"), SPELLINGS.items(), ids=map(repr, SPELLINGS))
def test_every_spelling_is_read(text, parts):
    assert parse_ipc(text) == IpcSymbol(*parts)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "a", "I", "Y02", "A1", "A001", "A00", "A00B", "A01b", "A01B1", "A01B 1", "A01B001", "A01B0010",
        "A01B000106000", "A01B00010600000", "A01B 0/06", "A01B00006", "A01B 1/", "A01B 1/6", "A01B/06", "A01 1/06",
        "A 1/06", "A0100106", "A01B 12345/06", "A01B 1/0612345", "A01B 1/0 6", "A01B\t1/06", "A01B 1/06\n", "A01B 1-06",
        "Ａ01B", "A٠١B", "A01B ١/06", None, 3, b"A01B", "A" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_symbol_is_refused(text):
    with pytest.raises(TaxonomyError, match="is no IPC symbol; wanted is one such as 'A01B 1/06'") as caught:
        parse_ipc(text)
    assert len(str(caught.value)) < 200


heads = st.builds(
    lambda section, number, subclass: f"{section}{number:02d}{subclass}",
    st.sampled_from("ABCDEFGH"),
    st.integers(1, 99),
    st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
)
digits = st.text("0123456789", min_size=2, max_size=5)
groups = st.builds(IpcSymbol, heads, st.integers(1, 999), digits.map(lambda d: d[:2] + d[2:].rstrip("0")))
symbols = st.one_of(groups, heads.flatmap(lambda h: st.sampled_from([h[:1], h[:3], h])).map(IpcSymbol))


@given(groups)
def test_all_spellings_of_a_group_are_one_symbol(symbol):
    head, main, sub = symbol
    spellings = [
        f"{head} {main}/{sub}",
        f"{head}{main}/{sub}",
        f"{head}{main:>4}/{sub:<6}",
        f"{head}{main:03d}{sub}",
        f"{head}{main:04d}{sub:0<6}",
    ]
    assert {parse_ipc(text) for text in spellings} == {symbol}


@given(symbols)
def test_a_symbol_s_name_is_read_back_and_its_path_leads_to_it(symbol):
    assert parse_ipc(symbol.name) == symbol
    path = symbol.path()
    assert path[-1] == symbol
    assert [above.level for above in path] == list(LEVELS[: len(path)])
    assert [symbol.at(level) for level in LEVELS] == path + [None] * (5 - len(path))


@given(st.text("ABH019 /", max_size=16) | st.text(max_size=20))
def test_only_our_error_comes_out(text):
    try:
        symbol = parse_ipc(text)
    except CladistError:
        return
    assert parse_ipc(symbol.name) == symbol


@given(st.lists(symbols, min_size=1, max_size=12), st.sampled_from(LEVELS), st.randoms())
def test_a_taxonomy_holds_what_is_above_its_symbols_down_to_the_level(chosen, level, random):
    depth = LEVELS.index(level)
    paths = [[s.name for s in symbol.path()][: depth + 1] for symbol in chosen]
    taxonomy = ipc_taxonomy([symbol.name for symbol in chosen], level=level)
    assert set(taxonomy.names) == {name for path in paths for name in path}
    for path in paths:
        assert taxonomy.path(path[-1]) == path
    shuffled = random.sample(chosen, len(chosen))
    assert ipc_taxonomy(shuffled, level=level).names == taxonomy.names


def test_the_deepest_level_is_chosen():
    seen = ["D01B00106", "D01B 1/04", "D01B0003000000", "D02G"]
    assert ipc_taxonomy(seen).names == ("D", "D01", "D02", "D01B", "D02G", "D01B 1/00", "D01B 3/00")
    assert ipc_taxonomy(seen, level="subgroup").children("D01B 1/00") == ["D01B 1/04", "D01B 1/06"]
    assert ipc_taxonomy(seen, level="section") == Taxonomy.from_parents({"D": None})
    with pytest.raises(ParameterError, match=r"level must be one of 'section', .*'group'"):
        ipc_taxonomy(seen, level="group")


@pytest.mark.parametrize(
    ("given_symbols", "message"),
    [
        ([], "at least one node"),
        ("A01B", "several symbols; got str"),
        (7, "several symbols; got int"),
        (["A01B", "A01B 1"], "entry 1: 'A01B 1' is no IPC symbol"),
        ([None], "entry 0: None is no IPC symbol"),
    ],
)
def test_what_spans_no_taxonomy(given_symbols, message):
    with pytest.raises(TaxonomyError, match=message):
        ipc_taxonomy(given_symbols)
