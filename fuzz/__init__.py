"""Fuzzing of every reader, and of saved models; see README.md."""
