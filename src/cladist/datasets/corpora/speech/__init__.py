"""Frames of speech and a tree of phonemes."""
