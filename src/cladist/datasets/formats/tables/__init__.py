"""Tables with text columns: CSV, TSV, JSON lines, Parquet, Arrow."""
