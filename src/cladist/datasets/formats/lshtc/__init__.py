"""LSHTC's rows and hierarchies."""
