"""Corpora of the papers that must be licensed or requested."""
