"""Files, a package or a seed → `Dataset`."""

from cladist.datasets.dataset import Dataset
from cladist.datasets.hieron_synthetic import make_hieron_synthetic
from cladist.datasets.icd10cm import load_icd10cm
from cladist.datasets.svmlight import read_svmlight
from cladist.datasets.table import read_table, read_texts
from cladist.datasets.topics import make_topics

__all__ = [
    "Dataset",
    "load_icd10cm",
    "make_hieron_synthetic",
    "make_topics",
    "read_svmlight",
    "read_table",
    "read_texts",
]
