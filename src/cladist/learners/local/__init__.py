"""Local learners: a classifier at every inner node."""
