"""All small data sets as their publishers lay them out; ``MADE[name](folder)`` writes one of `DATA_SETS`."""

from __future__ import annotations

import struct
from pathlib import Path

from tests.datasets.folders import TEXTS, write

ARFF_HEADER = (
    "@RELATION images\n@ATTRIBUTE arg1 NUMERIC\n@ATTRIBUTE arg2 NUMERIC\n@ATTRIBUTE class hierarchical {}\n@DATA\n"
)


def arff(classes: str, *rows: str) -> str:
    return ARFF_HEADER.format(classes) + "".join(f"{row}\n" for row in rows)


def imclef07a(folder: Path) -> None:
    classes = "1,2,1/0,1/1,1/1/3"
    train = arff(classes, "5,6,1/0", "7,8,1/1/3", "9,10,2")
    write(folder, {"ImCLEF07A_Train.arff": train, "ImCLEF07A_Test.arff": arff(classes, "1,2,1/1/3")})


def enron(folder: Path) -> None:
    classes = "1,2,1/1,1/2"
    train = arff(classes, "0,1,1/1@2", "1,1,1/2")
    write(folder, {"Enron_corr_trainvalid.arff": train, "Enron_corr_test.arff": arff(classes, "0,0,2")})


def genes(folder: Path, which: str, kind: str, classes: str, *rows: str) -> None:
    parts = zip(("train", "valid", "test"), (rows[:2], rows[2:3], rows[3:]), strict=True)
    write(folder, {f"{which}/{which}_{kind}.{part}.arff": arff(classes, *rows) for part, rows in parts})


def genes_fun(which: str, folder: Path) -> None:
    rows = ("0.5,?,01/01@02", "1,2,01", "?,?,02", "-1e-3,0,01/01")
    genes(folder, which, "FUN", "01,01/01,02", *rows)


def genes_go_cellcycle(folder: Path) -> None:
    rows = ("0.5,?,GO3", "1,2,GO1@GO2", "?,?,GO2", "0,0,GO4")
    genes(folder, "cellcycle", "GO", "root/GO1,root/GO2,GO1/GO3,GO2/GO3,GO2/GO4", *rows)


PATHS = "1 2 20\n1 2 21\n1 3\n"
PAGES = {"train": "20 0:7 5:1 3:2\n3 0:8 9:1\n", "test": "21 0:9 3:1\n", "validation": "20 0:10 11:4\n"}


def lshtc_small(task: int, folder: Path) -> None:
    write(folder, {"cat_hier.txt": PATHS, **{f"Task{task}/{part}.txt": rows for part, rows in PAGES.items()}})


def dmoz(folder: Path) -> None:
    write(folder, {"cat_hier.txt": PATHS, **{f"{part}.txt": rows for part, rows in PAGES.items()}})


def wiki(folder: Path) -> None:
    edges = "1 2\n1 3\n2 20\n3 20\n20 1\n"  # the last closes a cycle
    write(folder, {"cat_hier.txt": edges, "train.txt": "Data\n20, 3 5:1\n2 3:1\n", "test.txt": "2 5:2\n"})


def swiki(folder: Path) -> None:
    wiki(folder)
    write(folder, {"cat_hier.txt": "1 2\n1 3\n2 20\n3 20\n"})


def rcv1(folder: Path) -> None:
    line = "parent: {} child: {} child-description: {}\n"
    pairs = [("None", "Root"), ("Root", "CCAT"), ("Root", "MCAT"), ("CCAT", "C15"), ("MCAT", "M11")]
    vectors = {"train": "2286  3:0.6 9:0.8\n2287  9:1\n", "test_pt0": "26151  1:1\n", "test_pt1": "26152  47236:1\n"}
    vectors |= {"test_pt2": "26153  2:1\n", "test_pt3": "26154  2:1\n"}
    write(
        folder,
        {
            "rcv1.topics.hier.orig": "".join(line.format(*pair, f"THE {pair[1]}") for pair in pairs),
            "rcv1-v2.topics.qrels": "C15 2286 1\nCCAT 2286 1\nMCAT 2287 1\nM11 26151 1\nMCAT 26151 1\nCCAT 26152 1\n"
            "C15 26153 1\nCCAT 26153 1\nMCAT 26154 1\n",
            **{f"lyrl2004_vectors_{part}.dat": rows for part, rows in vectors.items()},
        },
    )


def wipo_alpha(folder: Path) -> None:
    record = '<record><ipcs mc="{}"/><tis><ti xml:lang="EN">{}</ti></tis></record>'
    write(
        folder,
        {
            "train/A/1.xml": record.format("A01B00100", "Spade"),
            "train/D/2.xml": record.format("D01B00110", "Hemp fibres"),
            "train/D/3.xml": record.format("D21H01712", "Paper with starch"),
            "test/D/4.xml": record.format("D01B00304", "Wool fibres"),
        },
    )


def ohsumed(folder: Path) -> None:
    reference = ".I {0}\n.U\n8704{0}\n.M\n{1}\n.T\nTitle {0}.\n.W\nText {0}.\n"
    write(
        folder,
        {
            "mtrees.bin": "Quality of Health Care;N05.715\nMedical Audit;N05.715.360\nHuman;B01\n",
            "ohsumed.87": reference.format(1, "Human; Medical Audit/*MT.") + reference.format(2, "Human."),
            "ohsumed.88": reference.format(3, "Quality of Health Care/ST."),
        },
    )


def phonemes(folder: Path) -> None:
    frames = struct.pack(">iihH", 8, 100_000, 4, 6) + struct.pack(">8f", *range(8))
    for part in ("train", "test"):
        write(folder, {f"{part}/dr1/SA1.PHN": "0 640 iy\n640 1280 s\n", f"{part}/dr1/SA1.mfc": frames})


def dekel_dmoz(folder: Path) -> None:
    write(folder, {"hierarchy.txt": "sport/tennis\nsport/chess\n", "pages.svm": "tennis 1:1\nsport 2:1\nchess 1:2\n"})


MADE = TEXTS | {
    "imclef07a": imclef07a,
    "enron": enron,
    "genes_fun_cellcycle": lambda folder: genes_fun("cellcycle", folder),
    "genes_fun_derisi": lambda folder: genes_fun("derisi", folder),
    "genes_go_cellcycle": genes_go_cellcycle,
    "lshtc_small_task1": lambda folder: lshtc_small(1, folder),
    "lshtc_small_task2": lambda folder: lshtc_small(2, folder),
    "dmoz2010": dmoz,
    "dmoz2011": dmoz,
    "dmoz2012": dmoz,
    "swiki2011": swiki,
    "lwiki": wiki,
    "rcv1": rcv1,
    "wipo_alpha": wipo_alpha,
    "ipc": wipo_alpha,
    "ohsumed": ohsumed,
    "phonemes": phonemes,
    "dekel_dmoz": dekel_dmoz,
}
