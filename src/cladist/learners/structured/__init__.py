"""Learners that score whole labellings: perceptrons over all consistent ones."""
