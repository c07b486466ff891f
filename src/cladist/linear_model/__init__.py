"""Forms of linear weights (dense, sparse, dual, path sums, node differences), their inverted index and their arrays."""
