"""Data sets made from a seed."""
