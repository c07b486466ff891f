"""Coverage-guided fuzzing of every reader; see README.md."""
