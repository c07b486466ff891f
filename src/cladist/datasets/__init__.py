"""Files, real data sets, a package or a random seed → `Dataset`; and a `Dataset` → files."""

from cladist.datasets.corpora.ohsumed import read_ohsumed
from cladist.datasets.corpora.paper_sets import (
    load_dekel_dmoz,
    load_dmoz,
    load_ipc,
    load_lshtc_small,
    load_lwiki,
    load_ohsumed,
    load_phonemes,
    load_rcv1,
    load_swiki2011,
    load_wipo_alpha,
)
from cladist.datasets.corpora.phonemes import phoneme_folding, phonetic_tree, read_phonemes
from cladist.datasets.corpora.wipo import read_wipo_alpha
from cladist.datasets.dataset import Dataset
from cladist.datasets.formats.arff import read_arff_hmc
from cladist.datasets.formats.arff_writer import write_arff_hmc
from cladist.datasets.formats.lshtc import read_lshtc, write_lshtc
from cladist.datasets.formats.rcv1 import read_rcv1
from cladist.datasets.formats.rcv1_writer import write_rcv1
from cladist.datasets.formats.svmlight import read_svmlight, write_svmlight
from cladist.datasets.formats.tables.huggingface import from_huggingface
from cladist.datasets.formats.tables.reader import read_table, read_texts
from cladist.datasets.formats.tables.writer import write_table
from cladist.datasets.generators import LabelModel, make_hieron_synthetic, make_label_model, make_topics
from cladist.datasets.loaders.catalogue import available
from cladist.datasets.loaders.free_sets import (
    load_clinc150,
    load_enron,
    load_genes_fun,
    load_genes_go,
    load_imclef07a,
    load_news20,
)
from cladist.datasets.loaders.official_codes import load_icd10cm, load_naics2017, load_onet_titles
from cladist.datasets.packed import PackedWriter

__all__ = [
    "Dataset",
    "LabelModel",
    "PackedWriter",
    "available",
    "from_huggingface",
    "load_clinc150",
    "load_dekel_dmoz",
    "load_dmoz",
    "load_enron",
    "load_genes_fun",
    "load_genes_go",
    "load_icd10cm",
    "load_imclef07a",
    "load_ipc",
    "load_lshtc_small",
    "load_lwiki",
    "load_naics2017",
    "load_news20",
    "load_ohsumed",
    "load_onet_titles",
    "load_phonemes",
    "load_rcv1",
    "load_swiki2011",
    "load_wipo_alpha",
    "make_hieron_synthetic",
    "make_label_model",
    "make_topics",
    "phoneme_folding",
    "phonetic_tree",
    "read_arff_hmc",
    "read_lshtc",
    "read_ohsumed",
    "read_phonemes",
    "read_rcv1",
    "read_svmlight",
    "read_table",
    "read_texts",
    "read_wipo_alpha",
    "write_arff_hmc",
    "write_lshtc",
    "write_rcv1",
    "write_svmlight",
    "write_table",
]
