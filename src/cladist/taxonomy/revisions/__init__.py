"""Crosswalks between two versions of a taxonomy: what became of each node."""
