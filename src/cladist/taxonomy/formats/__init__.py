"""Readers and writers of taxonomy files."""
