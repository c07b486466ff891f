"""The files of RCV1-v2."""
