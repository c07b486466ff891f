"""Online learners: they see a row, answer, and learn from the label."""
