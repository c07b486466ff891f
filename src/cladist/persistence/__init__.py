"""Learners and pipelines ↔ folders on disk, without pickle: what is written and what is accepted."""
