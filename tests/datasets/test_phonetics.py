"""TIMIT's symbols folded, and the tree above them."""

import pytest

from cladist.datasets.corpora.phonemes import phoneme_folding, phonetic_tree
from cladist.errors import ParameterError


@pytest.mark.parametrize("n_phonemes", [61, 48, 40, 39])
def test_as_many_phonemes_as_asked_for(n_phonemes: int) -> None:
    kept = {name for name in phoneme_folding(n_phonemes).values() if name is not None}
    assert len(kept) == n_phonemes
    tree = phonetic_tree(n_phonemes=n_phonemes)
    assert {tree.names[v] for v in tree.leaves} == kept
    assert tree.kind == "tree"
    assert tree.children("phonemes") == ["obstruents", "silences", "sonorants"]
    assert set(phoneme_folding(61)) <= set(phoneme_folding(n_phonemes))
    assert all(phoneme_folding(n_phonemes)[name] == name for name in kept)


def test_lee_and_hon_s_folding() -> None:
    """The table as others print it: what is folded together, of 61 symbols."""
    table = {
        "aa": "aa ao", "ah": "ah ax ax-h", "er": "er axr", "hh": "hh hv", "ih": "ih ix", "l": "l el", "m": "m em",
        "n": "n en nx", "ng": "ng eng", "sh": "sh zh", "uw": "uw ux", "sil": "pcl tcl kcl bcl dcl gcl h# pau epi",
    }  # fmt: skip
    folded = {symbol: name for name, those in table.items() for symbol in those.split()}
    for symbol in phoneme_folding(61):
        assert phoneme_folding(39)[symbol] == (None if symbol == "q" else folded.get(symbol, symbol))
    assert [phoneme_folding(48)[s] for s in ("pcl", "bcl", "h#", "epi", "ao", "zh", "el", "ax-h", "q")] == [
        "cl", "vcl", "sil", "epi", "ao", "zh", "el", "ax", None,
    ]  # fmt: skip
    differ = {
        s: phoneme_folding(40)[s] for s in phoneme_folding(61) if phoneme_folding(40)[s] != phoneme_folding(39)[s]
    }
    assert differ == {"ao": "ao", "zh": "zh", "dx": "d"}


def test_near_phonemes_are_near_in_the_tree() -> None:
    tree = phonetic_tree()
    assert tree.distance("b", "d") < tree.distance("b", "s") < tree.distance("b", "ow")
    assert tree.path("sil") == ["phonemes", "silences", "sil"]
    assert "front" in tree.path("iy")
    with pytest.raises(ParameterError, match="n_phonemes must be one of 61, 48, 40, 39; got 50"):
        phonetic_tree(n_phonemes=50)
