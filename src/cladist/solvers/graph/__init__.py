"""Regularisation on a graph of labels."""
