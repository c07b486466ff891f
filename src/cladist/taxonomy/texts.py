"""The texts of nodes: titles, descriptions and synonyms, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cladist.errors import TaxonomyError, quoted
from cladist.taxonomy.structure import as_text, is_missing


def check_texts(texts: Any, what: str) -> dict[str, str]:
    """Return one text per name; `what` says in messages which texts they are. Empty texts are left out."""
    checked = {}
    for name, text in _items(texts, what):
        if is_missing(text):
            continue
        if isinstance(text, (bytes, Iterable)) and not isinstance(text, str):
            raise TaxonomyError(f"{what} are texts; that of {quoted(as_text(name))} is {text!r}.")
        checked[as_text(name)] = as_text(text)
    return checked


def check_synonyms(synonyms: Any) -> dict[str, tuple[str, ...]]:
    """Return a tuple of texts per name; empty texts, repeated ones and names without any are left out."""
    checked = {}
    for name, several in _items(synonyms, "synonyms"):
        if several is None:
            continue
        if isinstance(several, (str, bytes)) or not isinstance(several, Iterable):
            raise TaxonomyError(f"synonyms are lists of texts; those of {quoted(as_text(name))} are {several!r}.")
        several = tuple(several)
        if not all(isinstance(text, str) for text in several):
            raise TaxonomyError(f"synonyms are lists of texts; those of {quoted(as_text(name))} are {several!r}.")
        kept = tuple(dict.fromkeys(text for text in several if text))
        if kept:
            checked[as_text(name)] = kept
    return checked


def _items(texts: Any, what: str) -> Iterable[tuple[Any, Any]]:
    """Return the entries of a mapping, or raise a `TaxonomyError`; a Series of pandas is a mapping too."""
    if texts is None:
        return ()
    if not isinstance(texts, Mapping) and type(texts).__name__ != "Series":
        raise TaxonomyError(f"{what} must be a mapping by name of node; got {type(texts).__name__}.")
    return texts.items()


def own_words(
    name: str, titles: Mapping[str, str], descriptions: Mapping[str, str], synonyms: Mapping[str, Any]
) -> str:
    """Return the words of one node: its title, its description and its synonyms, "" where it has none."""
    listed = (titles.get(name, ""), descriptions.get(name, ""), *synonyms.get(name, ()))
    texts = [text for text in dict.fromkeys(text.strip(" .") for text in listed) if text]
    return ". ".join(texts)
