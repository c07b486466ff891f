"""Real data sets by name, and where they lie."""
