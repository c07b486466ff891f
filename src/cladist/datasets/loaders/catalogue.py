"""The catalogue of data sets that cannot be shipped: their folders, files, sources, licences and papers.

Each lies in a folder of its own below the one that ``CLADIST_DATA`` names. The guide, the loaders and the benchmarks
all read `DATA_SETS`; data sets with several variants have one entry per variant. A loader asks its entry for the
folder, and a missing file is reported, with its source, before anything is read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from cladist.datasets.dataset import Dataset, T, stack_rows
from cladist.errors import DatasetError
from cladist.files import PACKED_ENDINGS, Source, data_suffix, open_for_reading, refuse

VARIABLE = "CLADIST_DATA"

Folder = str | PathLike[str] | None

_DEKEL = "Dekel, Keshet & Singer 2004"
_ROUSU = "Rousu, Saunders, Szedmak & Shawe-Taylor 2005"
_CESA = "Cesa-Bianchi, Gentile & Zaniboni 2006"
_LIU = "Liu, Tu, Qian & Zhang 2013"
_GOPAL = "Gopal & Yang 2013"

_C_HMCNN = "repository EGiunchiglia/C-HMCNN, HMC_data"
_LSHTC = "the LSHTC challenge, lshtc.iit.demokritos.gr"
_NO_LICENCE = "none stated; used in research"
_ODP = "Open Directory licence, with attribution"
_WIPO = "World Intellectual Property Organization, Geneva: the WIPO-alpha collection"
_ON_REQUEST = "on request, for research"
_CC_BY_SA = "CC BY-SA (Wikipedia)"


@dataclass(frozen=True)
class CatalogueEntry:
    """One data set: its folder and files, and where to get them."""

    name: str  # in `DATA_SETS`
    title: str  # for people
    folder: str  # below the one that ``CLADIST_DATA`` names
    files: tuple[str, ...]  # that must be there, relative to `folder`; a name that ends with ``/`` is a folder
    loader: str  # the call that loads it
    source: str
    licence: str
    used_by: tuple[str, ...] = ()  # the papers whose tables have rows for it
    optional_files: tuple[str, ...] = ()

    def locate(self, folder: Folder = None) -> Path:
        """Return the folder that holds the files; `folder` itself, or the one below ``CLADIST_DATA``.

        A missing folder or file is a `DatasetError` that names it and where it comes from.
        """
        above = os.environ.get(VARIABLE)
        if folder is None and not above:
            self._refuse(f"no folder is given and {VARIABLE} is not set")
        place = Path(folder) if folder is not None else Path(str(above), self.folder)
        if not os.path.isdir(place):
            self._refuse(f"there is no folder {place}")
        if missing := self.missing(place):
            self._refuse(f"{place} has no {', '.join(missing)}")
        return place

    def missing(self, place: Path) -> list[str]:
        """Return the files that a folder lacks."""
        return [
            file
            for file in self.files
            if not (os.path.isdir(place / file) if file.endswith("/") else os.path.isfile(path_of(place, file)))
        ]

    def _refuse(self, problem: str) -> NoReturn:
        raise DatasetError(
            f"{self.title}: {problem}; wanted: a folder with {', '.join(self.files)}, as folder=… or as {self.folder} "
            f"below the folder that {VARIABLE} names. Source: {self.source}.",
            kind="missing-data",
        )


def _genes(labels: str, ontology: str, which: str, licence: str) -> CatalogueEntry:
    kind = labels.upper()
    files = tuple(f"{which}/{which}_{kind}.{part}.arff" for part in ("train", "valid", "test"))
    source, title = f"{_C_HMCNN}/datasets_{kind} (Vens et al. 2008)", f"Yeast genes, {ontology}, {which}"
    name, loader = f"genes_{labels}", f'load_genes_{labels}(which="{which}")'
    return CatalogueEntry(f"{name}_{which}", title, name, files, loader, source, licence)


def _lshtc_small(task: int) -> CatalogueEntry:
    files = ("cat_hier.txt", *(f"Task{task}/{part}.txt" for part in ("train", "test", "validation")))
    name, title = f"lshtc_small_task{task}", f"LSHTC-small, task {task}"
    source, used_by = f"{_LSHTC}, dry run of 2009", (f"{_GOPAL} (LSHTC-small)",) if task == 1 else ()
    return CatalogueEntry(name, title, "lshtc_dryrun", files, f"load_lshtc_small(task={task})", source, _ODP, used_by)


def _lshtc(title: str, loader: str, challenge: str, licence: str, *more_files: str) -> CatalogueEntry:
    name = title.replace("-", "").lower()
    files = ("cat_hier.txt", "train.txt", "test.txt", *more_files)
    return CatalogueEntry(name, title, name, files, loader, f"{_LSHTC}, {challenge}", licence, (f"{_GOPAL} ({title})",))


# fmt: off
_ENTRIES = (
    CatalogueEntry(
        "imclef07a", "ImCLEF07A", "imclef07a", ("ImCLEF07A_Train.arff", "ImCLEF07A_Test.arff"), "load_imclef07a()",
        f"{_C_HMCNN}/others (features of Dimitrovski et al. 2008, images of ImageCLEF 2007)", _NO_LICENCE,
        (f"{_GOPAL} (CLEF)",),
    ),
    CatalogueEntry(
        "enron", "Enron e-mails", "enron", ("Enron_corr_trainvalid.arff", "Enron_corr_test.arff"), "load_enron()",
        f"{_C_HMCNN}/others (labels of UC Berkeley)", _NO_LICENCE,
    ),
    _genes("fun", "FunCat", "cellcycle", _NO_LICENCE),
    _genes("fun", "FunCat", "derisi", _NO_LICENCE),
    _genes("go", "Gene Ontology", "cellcycle", f"{_NO_LICENCE}; the ontology itself CC BY 4.0"),
    CatalogueEntry(
        "news20", "20 Newsgroups by date", "news20_bydate",
        ("20news-bydate-train/", "20news-bydate-test/", "hierarchy.tsv"), "load_news20()",
        "J. Rennie's 20news-bydate archive; hierarchy.tsv is in the guide on real data", "none stated; public posts",
        (f"{_LIU} (NEWS20, another split)",),
    ),
    _lshtc_small(1),
    _lshtc_small(2),
    CatalogueEntry(
        "onet_titles", "O*NET alternate titles", "onet_titles",
        ("Alternate Titles.txt", "Occupation Data.txt", "Related Occupations.txt"), "load_onet_titles()",
        "O*NET 27.0 database as text, www.onetcenter.org", "CC BY 4.0",
    ),
    CatalogueEntry(
        "naics2017", "NAICS 2017 index", "naics2017", ("2017_NAICS_Index_File.csv",), "load_naics2017()",
        "United States Census Bureau, www.census.gov/naics", "public domain",
        optional_files=("2-6 digit_2017_Codes.xlsx",),
    ),
    CatalogueEntry(
        "clinc150", "CLINC150", "clinc150", ("data_full.json", "domains.json"), "load_clinc150()",
        "repository clinc/oos-eval, data", "CC BY 3.0",
    ),
    CatalogueEntry(
        "rcv1", "RCV1-v2", "rcv1",
        ("rcv1-v2.topics.qrels", "rcv1.topics.hier.orig", "lyrl2004_vectors_train.dat",
         *(f"lyrl2004_vectors_test_pt{part}.dat" for part in range(4))), "load_rcv1()",
        "online appendices 2, 8 and 13 of Lewis et al. 2004, jmlr.csail.mit.edu/papers/volume5/lewis04a",
        "free for research",
        (f"{_ROUSU} (Reuters, family CCAT)", f"{_CESA} (RCV1)", f"{_LIU} (CCAT, ECAT, GCAT, MCAT)", f"{_GOPAL} (RCV1)"),
        ("rcv1.topics.hier.expanded",),
    ),
    CatalogueEntry(
        "wipo_alpha", "WIPO-alpha", "wipo_alpha", ("train/", "test/"), 'load_wipo_alpha(section="D")', _WIPO,
        _ON_REQUEST, (f"{_ROUSU} (WIPO-alpha)", f"{_LIU} (WIPO)"),
    ),
    CatalogueEntry(
        "ipc", "IPC", "wipo_alpha", ("train/", "test/"), "load_ipc()", _WIPO, _ON_REQUEST, (f"{_GOPAL} (IPC)",),
    ),
    CatalogueEntry(
        "ohsumed", "OHSUMED", "ohsumed", ("ohsumed.87", "mtrees.bin"), "load_ohsumed()",
        "Hersh et al. 1994, also TREC-9 filtering, trec.nist.gov; MeSH trees: National Library of Medicine",
        "research, not clinical use", (f"{_CESA} (OHSUMED)",),
        ("ohsumed.88", "ohsumed.89", "ohsumed.90", "ohsumed.91", "ohsumed.88-91"),
    ),
    CatalogueEntry(
        "phonemes", "TIMIT phonemes", "phonemes", ("train/", "test/"), "load_phonemes()",
        "TIMIT, Linguistic Data Consortium LDC93S1; features computed from it, as HTK writes them",
        "LDC user agreement", (f"{_DEKEL} (phonemes)",),
    ),
    CatalogueEntry(
        "dekel_dmoz", "DMOZ of Dekel et al. 2004", "dekel_dmoz", ("pages.svm", "hierarchy.txt"), "load_dekel_dmoz()",
        "never published; its authors", _ODP, (f"{_DEKEL} (DMOZ)",),
    ),
    _lshtc("DMOZ-2010", "load_dmoz(year=2010)", "first challenge, large_lshtc_dataset, task 1", _ODP, "validation.txt"),
    _lshtc("DMOZ-2011", "load_dmoz(year=2011)", "second challenge, task 1", _ODP),
    _lshtc("DMOZ-2012", "load_dmoz(year=2012)", "third challenge", _ODP),
    _lshtc(
        "SWIKI-2011", "load_swiki2011()", "second challenge, task 2 (the third's wikipediaMediumPreproc)", _CC_BY_SA,
    ),
    _lshtc("LWIKI", "load_lwiki()", "second challenge, task 3; also kaggle.com/c/lshtc", _CC_BY_SA),
)
# fmt: on

DATA_SETS: dict[str, CatalogueEntry] = {entry.name: entry for entry in _ENTRIES}


def available(folder: Folder = None) -> tuple[str, ...]:
    """Return the names in `DATA_SETS` whose files are all there.

    Parameters
    ----------
    folder : path, optional
        The folder above all of them; None: the one that ``CLADIST_DATA`` names. Without either, none is there.

    Examples
    --------
    >>> available("an-empty-folder")
    ()
    """
    above = folder if folder is not None else os.environ.get(VARIABLE)
    if not above:
        return ()
    return tuple(name for name, entry in DATA_SETS.items() if not entry.missing(Path(above, entry.folder)))


def path_of(folder: Path, file: str) -> Path:
    """Return the path of a file, under its own name or with the ending of a compression."""
    paths = (folder / (file + ending) for ending in ("", *PACKED_ENDINGS))
    return next(filter(os.path.isfile, paths), folder / file)


def files_below(folder: str | PathLike[str], *endings: str) -> list[str]:
    """Return the paths of all files below a folder that have one of the endings, packed or not, in order."""
    paths: list[str] = []
    for place, _, names in os.walk(_check_folder(folder), onerror=_refuse):
        paths.extend(os.path.join(place, name) for name in names if data_suffix(name) in endings)
    return sorted(paths)


def parts_below(folder: str | PathLike[str]) -> tuple[str, str] | None:
    """Return the folders ``train`` and ``test`` inside a folder, in letters of any case; None unless both are there."""
    try:
        inside = {name.lower(): name for name in sorted(os.listdir(_check_folder(folder)))}
    except OSError as problem:
        _refuse(problem)
    train, test = (os.path.join(folder, inside.get(part, part)) for part in ("train", "test"))
    return (train, test) if os.path.isdir(train) and os.path.isdir(test) else None


def _check_folder(folder: str | PathLike[str]) -> str:
    name = os.fspath(folder)
    if "\0" in name:
        raise DatasetError(f"{name!r}: no folder can have this name.")
    return name


def _refuse(problem: OSError) -> NoReturn:
    raise DatasetError(f"{problem.filename}: cannot be read ({problem.strerror}).") from problem


def read_bytes(source: Source, largest: int) -> bytearray:
    """Read a file whole, block by block: memory follows its true size, not the largest one."""
    content = bytearray()
    with open_for_reading(source) as stream:
        while block := stream.read(1 << 16):
            content += block
            if len(content) > largest:
                refuse(source, None, None, f"longer than {largest:,} bytes, the most that is read of such a file.")
    return content


def vectorise(data: Dataset[T], vectoriser: Any) -> Dataset[T]:
    """Return a split Dataset of texts with features for `X`, fitted on the training part; `texts` then has the texts.

    Its parts follow each other, as `Dataset.from_parts` leaves them. If it has features already, they are replaced.
    """
    if data.texts is not None:
        data = replace(data, X=data.texts, texts=None, feature_names=None)
    parts = {"training": data.X_train, "test": data.X_test}
    if data.validation_rows is not None:
        parts["validation"] = data.X_validation
    for name, texts in parts.items():
        if not len(texts):
            raise DatasetError(f"{data.source}: there are no texts in the {name} part.")
    train, *others = parts.values()
    try:
        Xs = [vectoriser.fit_transform(train), *map(vectoriser.transform, others)]
    except ValueError as problem:  # texts without a single word
        raise DatasetError(f"{data.source}: no features can be fitted on the training texts ({problem}).") from problem
    X = stack_rows(Xs)
    X.sort_indices()  # the vectoriser leaves them in the order of first appearance
    return replace(data, X=X, texts=data.X, feature_names=vectoriser.get_feature_names_out())
