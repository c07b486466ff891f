"""Texts → CSR: TF-IDF of words and of the characters in them, for short texts in deep taxonomies, and embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cladist.features.embedding import Embedding as Embedding
    from cladist.features.vectorizer import TextFeatures as TextFeatures

__all__ = ["Embedding", "TextFeatures", "text_features"]


def text_features(**options: Any) -> TextFeatures:
    """Return an unfitted vectorizer of texts, the first step of a `Pipeline` before a learner.

    Parameters
    ----------
    **options
        The parameters of `TextFeatures`; without any, words, word pairs and the characters in words.

    Returns
    -------
    TextFeatures
        Its rows have unit length.

    Examples
    --------
    >>> vectorizer = text_features(characters=False)
    >>> vectorizer.fit_transform(["acute bronchitis", "chronic bronchitis"]).shape
    (2, 5)
    >>> text_features(hashing=True, n_features=64).transform(["acute bronchitis"]).shape
    (1, 64)
    """
    # Imported here, since most imports of this package never vectorize a text.
    from cladist.features.vectorizer import TextFeatures

    return TextFeatures(**options)


def __getattr__(name: str) -> Any:
    if name == "TextFeatures":
        from cladist.features.vectorizer import TextFeatures

        return TextFeatures
    if name == "Embedding":
        from cladist.features.embedding import Embedding

        return Embedding
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
