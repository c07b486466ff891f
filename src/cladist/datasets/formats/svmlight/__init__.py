"""svmlight rows with one or several labels."""
