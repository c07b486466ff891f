"""Flat learners: one linear classifier a label, whatever the hierarchy."""
