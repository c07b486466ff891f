"""Collections of documents: WIPO-alpha, OHSUMED."""
