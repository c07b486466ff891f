"""Small data sets of texts as their publishers lay them out; ``TEXTS[name](folder)`` writes one."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def news20(folder: Path) -> None:
    write(
        folder,
        {
            "hierarchy.tsv": "parent\tchild\nROOT\trec\nROOT\tsci\nrec\trec.autos\nsci\tsci.med\nsci\tsci.space\n",
            "20news-bydate-train/rec.autos/101": "From: a@b\nSubject: brakes\n\nMy car needs new brakes.\n",
            "20news-bydate-train/sci.med/59": b"From: c@d\n\nA na\xefve question about the flu.\n",
            "20news-bydate-train/sci.space/60": "From: e@f\n\nThe shuttle flies.\n",
            "20news-bydate-train/sci.space/61": "From: e@f\n\nThe moon is far.\n",
            "20news-bydate-test/sci.space/70": "From: g@h\n\nThe moon shuttle.\n",
        },
    )


CLINC_QUERIES = {
    "train": [["freeze my card", "freeze_account"], ["book a table", "reservation"], ["block it", "freeze_account"]],
    "val": [["please freeze", "freeze_account"]],
    "test": [["a table for two", "reservation"], ["freeze", "freeze_account"]],
    "oos_train": [["who won the game", "oos"]],
    "oos_val": [["what is love", "oos"]],
    "oos_test": [["sing", "oos"]],
}


def clinc150(folder: Path) -> None:
    domains = {"banking": ["freeze_account"], "kitchen_and_dining": ["reservation", "recipe"]}
    write(folder, {"data_full.json": json.dumps(CLINC_QUERIES, indent=1), "domains.json": json.dumps(domains)})


def onet_titles(folder: Path) -> None:
    write(
        folder,
        {
            "Occupation Data.txt": "O*NET-SOC Code\tTitle\tDescription\n"
            "11-1011.00\tChief Executives\tDetermine policies.\n"
            "11-1011.03\tChief Sustainability Officers\tAddress sustainability.\n"
            "15-1252.00\tSoftware Developers\tDesign software.\n",
            "Alternate Titles.txt": "O*NET-SOC Code\tAlternate Title\tShort Title\tSource(s)\n"
            "11-1011.00\tBank President\tn/a\t09\n"
            "15-1252.00\tProgrammer\tn/a\t08\n"
            "11-1011.03\tChief Green Officer\tCGO\t08\n",
            "Related Occupations.txt": "O*NET-SOC Code\tRelated O*NET-SOC Code\tRelatedness Tier\tIndex\n"
            "11-1011.00\t11-1011.03\tPrimary-Short\t1\n"
            "11-1011.03\t11-1011.00\tPrimary-Short\t1\n"
            "11-1011.03\t15-1252.00\tSupplemental\t2\n",
        },
    )


def naics2017(folder: Path) -> None:
    rows = [
        ("Seq. No.", "2017 NAICS US   Code", "2017 NAICS US Title"),
        ("", "", ""),
        ("1", "11", "Agriculture, Forestry, Fishing and Hunting"),
        ("2", "111", "Crop Production"),
        ("9", "31-33", "Manufacturing"),
        ("10", "321113", "Sawmills "),
    ]
    write(
        folder,
        {
            "2017_NAICS_Index_File.csv": "\ufeffNAICS17,INDEX ITEM DESCRIPTION\r\n"
            '111110,"Soybean farming, field and seed production"\r\n'
            "******,Clinics -- see type \r\n"
            "321113,Sawmills\r\n"
            "339999,Wig manufacturing\r\n"
            "111110,Soybeans \r\n",
            "2-6 digit_2017_Codes.xlsx": workbook(rows),
        },
    )


def workbook(rows: list[tuple[str, ...]]) -> bytes:
    """A workbook as spreadsheet programs write it: numbers in place, texts in a table of their own."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    texts = [cell for row in rows for cell in row if cell and not cell.isdigit()]
    sheet = ""
    for number, row in enumerate(rows, start=1):
        cells = ""
        for letter, cell in zip("ABC", row, strict=True):
            place = f'r="{letter}{number}"'
            if not cell:
                cells += f"<c {place}/>"
            elif cell.isdigit():
                cells += f"<c {place}><v>{cell}</v></c>"
            else:
                cells += f'<c {place} t="s"><v>{texts.index(cell)}</v></c>'
        sheet += f'<row r="{number}">{cells}</row>'
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"{head}<worksheet {space}><sheetData>{sheet}</sheetData></worksheet>"
        )
        archive.writestr("xl/sharedStrings.xml", f"{head}<sst {space}>{shared}</sst>")
    return packed.getvalue()


TEXTS: dict[str, Callable[[Path], None]] = {
    "news20": news20,
    "clinc150": clinc150,
    "onet_titles": onet_titles,
    "naics2017": naics2017,
}
