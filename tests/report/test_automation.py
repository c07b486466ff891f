"""The section on automation: its curve, its examples, and texts that look like HTML."""

import json
import re

import numpy as np

from cladist import Taxonomy
from cladist.decisions import automation_curve
from cladist.labels import TopK
from cladist.report import automation_section, draw_automation, sample_paths

TREE = Taxonomy.from_paths(["all/sport/tennis", "all/sport/chess", "all/art"])
CLASSES = ["art", "tennis", "chess"]
P = TopK.of([[0.05, 0.9, 0.05], [0.1, 0.5, 0.4], [0.6, 0.2, 0.2]], 3)
Y = ["tennis", "chess", "tennis"]


def test_paths_follow_the_most_probable_child():
    samples = sample_paths(["a", "b", "</script><b>"], P, Y, TREE, CLASSES)
    assert [sample.nodes for sample in samples] == [
        ["all", "sport", "tennis"],
        ["all", "sport", "tennis"],
        ["all", "art"],
    ]
    assert samples[1].probabilities == [1.0, 0.9, 0.5]
    assert samples[1].is_true == [True, True, False]


def test_the_section_holds_the_curve_and_no_other_script():
    curve = automation_curve(P, Y, TREE, classes=CLASSES)
    section = automation_section(curve, sample_paths(["a", "b", "</script><b>"], P, Y, TREE, CLASSES))
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', section, re.DOTALL).group(1))
    assert data["samples"][2]["text"] == "</script><b>"
    np.testing.assert_allclose(data["curve"]["error"], curve.error, atol=1e-4)
    assert section.count("<script") == 2


def test_the_drawing_has_an_area_for_each_outcome():
    drawing = draw_automation(automation_curve(P, Y, TREE, classes=CLASSES))
    assert drawing.count("<polygon") == 3
    assert drawing.count("<polyline") == 1
