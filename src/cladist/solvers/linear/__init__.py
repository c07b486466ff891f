"""One-vs-rest linear classifiers."""
