"""The phonemes of TIMIT: how its 61 symbols are folded into fewer, and a tree of broad phonetic classes above them."""

from __future__ import annotations

from cladist.errors import one_of
from cladist.taxonomy import Taxonomy

# Each class with the symbols in it, in TIMIT's spelling; closures and pauses are silences. The flap dx is a plosive.
_CLASSES = {
    "obstruents/plosives": "b d g p t k dx q",
    "obstruents/fricatives": "f v th dh s z sh zh hh hv",
    "obstruents/affricates": "ch jh",
    "silences": "bcl dcl gcl pcl tcl kcl pau epi h#",
    "sonorants/nasals": "m n ng em en eng nx",
    "sonorants/liquids": "l r el",
    "sonorants/glides": "w y",
    "sonorants/vowels/front": "iy ih ey eh ae ix",
    "sonorants/vowels/centre": "aa ah er ay aw ax ax-h axr",
    "sonorants/vowels/back": "ao ow oy uh uw ux",
}
# Lee & Hon 1989: 61 → 48, then 48 → 39. The glottal stop q is left out of both.
_TO_48 = {
    "ax-h": "ax", "axr": "er", "em": "m", "eng": "ng", "hv": "hh", "nx": "n", "ux": "uw",
    "h#": "sil", "pau": "sil", "pcl": "cl", "tcl": "cl", "kcl": "cl", "bcl": "vcl", "dcl": "vcl", "gcl": "vcl",
}  # fmt: skip
_TO_39 = {
    "ao": "aa", "ax": "ah", "el": "l", "en": "n", "ix": "ih", "zh": "sh", "cl": "sil", "vcl": "sil", "epi": "sil",
}  # fmt: skip
# Our own: the phonemes of English dictionaries separate ao and zh, and have no flap.
_TO_40 = {"ax": "ah", "dx": "d", "el": "l", "en": "n", "ix": "ih", "cl": "sil", "vcl": "sil", "epi": "sil"}

N_PHONEMES = (61, 48, 40, 39)
GLOTTAL_STOP = "q"


def phoneme_folding(n_phonemes: int = 40) -> dict[str, str | None]:
    """Return the phoneme that each of TIMIT's 61 symbols is folded into; None: it is left out.

    Parameters
    ----------
    n_phonemes : {61, 48, 40, 39}
        61: nothing is folded. 48 and 39: Lee & Hon 1989. 40: as 39, but ``ao`` and ``zh`` are kept apart from ``aa``
        and ``sh``, and the flap ``dx`` is a ``d``; those are the 39 phonemes of English dictionaries and silence.

    Examples
    --------
    >>> folded = phoneme_folding(39)
    >>> folded["ax-h"], folded["h#"], folded["q"], folded["iy"]
    ('ah', 'sil', None, 'iy')
    """
    one_of("phoneme_folding", "n_phonemes", n_phonemes, N_PHONEMES)
    symbols = [symbol for those in _CLASSES.values() for symbol in those.split()]
    if n_phonemes == 61:
        return {symbol: symbol for symbol in symbols}
    further = {48: {}, 40: _TO_40, 39: _TO_39}[n_phonemes]
    folded: dict[str, str | None] = {}
    for symbol in [*symbols, "sil", "cl", "vcl"]:  # symbols that are folded already stay
        into = _TO_48.get(symbol, symbol)
        folded[symbol] = further.get(into, into)
    folded[GLOTTAL_STOP] = None
    return folded


def phonetic_tree(*, n_phonemes: int = 40) -> Taxonomy:
    """Return a tree of phonemes: sonorants, obstruents and silences, divided by manner, the vowels by place.

    Dekel, Keshet & Singer 2004 give neither their 40 phonemes nor their tree; this one is ours. Diphthongs stand with
    the vowel they begin with.

    Parameters
    ----------
    n_phonemes : {61, 48, 40, 39}
        The number of phonemes; see `phoneme_folding`.

    Examples
    --------
    >>> tree = phonetic_tree()
    >>> tree
    Taxonomy(tree, 54 nodes, 40 leaves, depth 4)
    >>> tree.path("iy"), tree.distance("b", "d"), tree.distance("b", "ow")
    (['phonemes', 'sonorants', 'vowels', 'front', 'iy'], 2, 7)
    """
    folded = phoneme_folding(n_phonemes)
    # A symbol stands in the class of the symbol it is named after; sil, cl and vcl are named after none.
    class_of = {symbol: place for place, those in _CLASSES.items() for symbol in those.split()}
    phonemes = dict.fromkeys(name for name in folded.values() if name is not None)
    paths = [f"phonemes/{class_of.get(name, 'silences')}/{name}" for name in phonemes]
    return Taxonomy.from_paths(paths)
