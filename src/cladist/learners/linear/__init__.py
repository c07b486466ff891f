"""Learners with one linear classifier per label: prediction, weights, explanations, warm starts."""
