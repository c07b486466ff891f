"""Texts → numbers."""

from cladist.features.text import text_features

__all__ = ["text_features"]
