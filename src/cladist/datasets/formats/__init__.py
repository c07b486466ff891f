"""Readers and writers of data files, one package per format."""
