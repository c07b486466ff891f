"""Mistakes that people make on the command line: each answer names what to do."""

from pathlib import Path

import pytest

from tests.cli.conftest import call

pytestmark = pytest.mark.filterwarnings("default")  # as for a user: said, not raised

PATHS = "t,c\nrain coat,wear > coats\ntea cup,home > cups\nrain boots,wear > boots\ndesk lamp,home > lamps\n"
SETS = "t,c\nrain coat,wear;rain\ntea cup,home\nrain boots,wear;rain\ndesk lamp,home\n"
INNER = "t,c\nrain coat,wear/coats\nclothes,wear\ntea cup,home/cups\nthings,home\n"
SHARED = "node,parent\na/x,a\nb/x,b\na,\nb,\n"
FILES = {
    "paths.csv": PATHS,
    "sets.csv": SETS,
    "inner.csv": INNER,
    "slashes.paths": "wear/coats\nwear/boots\nhome/cups\nhome/lamps\n",
    "shared.paths": "a/x\nb/x\nc/y\n",
    "shared.csv": "t,c\nrain coat,x\ntea cup,y\n",
    "dag.csv": "node,parent\ncoats,wear\ncoats,rain\ncups,home\nwear,\nrain,\nhome,\n",
    "leaves.csv": "t,c\nrain coat,coats\ntea cup,cups\n",
    "one.csv": "t,c\nrain coat,coats\nrain boots,coats\n",
    "colons.csv": "t:c\nrain coat:coats\ntea cup:cups\n",
    "blank.csv": "title,description\nqqqq,zzzz\n",
    "typo.csv": "title,description,category\na tent,dome,Tent\n",
}
TRAIN = ("--text", "t", "--label", "c", "--out", "new")
SHOP = ("train", "train.csv", "--text", "title", "--label", "category", "--out", "new")

# The mistake: the command, and what the answer must name.
MISTAKES = {
    "labels with another separator": (
        ("train", "paths.csv", *TRAIN, "--path-sep", "/", "--method", "svm"),
        ("4 of 4 labels have no '/'", "' > '", "--path-sep"),
    ),
    "no hierarchy given": (
        ("train", "paths.csv", *TRAIN, "--method", "svm"),
        ("There is no hierarchy", "4 of 4 labels contain ' > '", "--path-sep ' > '"),
    ),
    "a taxonomy with another separator": (
        ("train", "paths.csv", *TRAIN, "--taxonomy", "slashes.paths", "--path-sep", " > "),
        ("'wear > coats' is not in the taxonomy", "'wear/coats' is one node", "write both with one separator"),
    ),
    "a label whose last part is not unique": (
        ("train", "shared.csv", *TRAIN, "--taxonomy", "shared.paths"),
        ("'x' is not in the taxonomy", "2 nodes end in it: 'a/x', 'b/x'"),
    ),
    "labels above others with a method of leaves": (
        ("train", "inner.csv", *TRAIN, "--path-sep", "/", "--method", "top-down"),
        ("can never predict 2 of the 4 labels", "2 of 4 rows", "--param stop=true"),
    ),
    "sets of labels for a method of single ones": (
        ("train", "sets.csv", *TRAIN, "--label-sep", ";", "--method", "top-down"),
        ("exactly one label per row", "'wear'", "For several labels per row, take --method hr-svm"),
    ),
    "a DAG for a method of trees": (
        ("train", "leaves.csv", *TRAIN, "--taxonomy", "dag.csv", "--method", "top-down"),
        ("'coats' has the parents 'wear' and 'rain'", "--method hr-svm, hr-lr, svm and lr", "spanning_forest()"),
    ),
    "one class": (
        ("train", "one.csv", *TRAIN, "--method", "svm"),
        ("1 class that can be predicted", "Every row has the label 'coats'"),
    ),
    "a column that is not there": (
        ("train", "train.csv", "--text", "titel", "--label", "category", "--out", "new"),
        ("there is no column 'titel'", "'title', 'description', 'category'"),
    ),
    "columns after one --text": (
        ("train", "train.csv", "--text", "title", "description", "--label", "category", "--out", "new"),
        ("--text takes one column", "--text title --text description"),
    ),
    "no columns": (("train", "train.csv", "--out", "new"), ("--text COLUMN", "--label COLUMN")),
    "another delimiter": (
        ("train", "colons.csv", *TRAIN),
        ("there is no column 't'", "its fields look separated by ':'"),
    ),
    "a method that is none": ((*SHOP, "--method", "hrsvm"), ("There is no method 'hrsvm'", "hr-svm", "top-down")),
    "a parameter that is none": (
        (*SHOP, "--method", "hr-svm", "--param", "c=1"),
        ("hr-svm has no parameter 'c'", "C,"),
    ),
    "a share in per cent": ((*SHOP, "--test-size", "20"), ("--test-size", "between 0 and 1", "got 20")),
    "an old workbook": (
        ("train", "shop.xls", *TRAIN),
        (".xls files are not read", "convert texts to CSV"),
    ),
    "a database without a query": (("train", "sqlite:///shop.db", *TRAIN), ("is a database", "--query 'SELECT")),
    "a file in the place of a model": (("predict", "train.csv", "test.csv"), ("train.csv is not a folder",)),
    "texts for a model of numbers": (
        ("predict", "numbers", "test.csv"),
        ("numbers was trained on numbers", "test.csv holds texts"),
    ),
    "an id column that is not there": (
        ("predict", "model", "test.csv", "--keep", "sku"),
        ("there is no column 'sku'", "'title', 'description', 'category'"),
    ),
    "probabilities of a model without": (
        ("predict", "model", "test.csv", "--proba"),
        ("no calibrated probabilities", "cladist train --calibrate"),
    ),
    "a level of confidence of a model without": (
        ("predict", "model", "test.csv", "--min-confidence", "0.9"),
        ("no calibrated probabilities", "cladist train --calibrate"),
    ),
    "texts without a known word": (
        ("predict", "model", "blank.csv"),
        ("knows no word in 1 of 1 rows (row 1)",),
    ),
    "a label that is not in the model": (
        ("evaluate", "model", "typo.csv"),
        ("'Tent' is not in the taxonomy; did you mean 'Tents'?", "--unknown wrong", "--unknown skip"),
    ),
    "the tree of a column without a separator": (
        ("taxonomy", "paths.csv", "--label", "c"),
        ("--path-sep TEXT", "4 of 4 labels contain ' > '"),
    ),
    "labelled data as a taxonomy": (
        ("taxonomy", "paths.csv"),
        ("'node' and 'parent'", "--label COLUMN"),
    ),
    "an output that no ending tells": (
        ("predict", "model", "test.csv", "--out", "answers.txt"),
        ("answers.txt", ".csv, .tsv or .jsonl"),
    ),
    "an explanation of an unknown label": (
        ("explain", "model", "test.csv", "--node", "Tent"),
        ("'Tent' is not in the taxonomy; did you mean 'Tents'?",),
    ),
    "training on more rows of a batch method": (
        ("stream", "model", "test.csv"),
        ("cannot be trained row by row", "--method hieron, h-rls or h-perc"),
    ),
    "a config file with an unknown name": (
        ("train", "train.csv", "--config", "train.toml"),
        ("there is no option 'columns'", "text", "label"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_answer_names_what_to_do(shop, mistake):
    for name, content in FILES.items():
        Path(name).write_text(content)
    Path("shop.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    Path("train.toml").write_text("columns = ['title']\n")
    arguments, wanted = MISTAKES[mistake]
    result = call(*arguments)
    said = " ".join((result.stdout + result.stderr).split())
    assert "Traceback" not in said
    assert result.exit_code in (0, 2)
    if result.exit_code:
        assert result.stderr.splitlines()[-1].startswith("Error: ")
        assert result.stdout == ""
    for part in wanted:
        assert part in said, said


def test_there_are_enough_of_them():
    assert len(MISTAKES) >= 30
