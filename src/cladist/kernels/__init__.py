"""Compiled loops: arrays in, arrays out. Nothing here knows a class of ours."""
