"""Regularisation on a tree of labels."""
