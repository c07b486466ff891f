"""How far down is it safe to go? The deepest node that is 90 % sure, and what other levels of confidence would give.

Run as ``python examples/sure_enough.py [curve.svg]``.
"""

import sys
from collections import Counter
from pathlib import Path

from cladist import DecisionClassifier, FlatLogistic
from cladist.datasets import make_topics
from cladist.decisions import Confidence, automation_curve
from cladist.report.automation import draw_automation


def main(picture: str = "sure-enough.svg") -> None:
    """Calibrate, decide, and draw the curve on rows held out."""
    data = make_topics(n_samples=1500, n_features=300, branching=(3, 4), n_test=600, random_state=0)
    model = DecisionClassifier(FlatLogistic(data.taxonomy), rule=Confidence(0.9), random_state=0)
    model.fit(data.X_train, data.y_train)
    found = model.predict_decisions(data.X_test)
    for place, n_rows in Counter(found.decided_at).most_common():
        print(f"{n_rows} of {len(data.y_test)} rows decided at: {place}")
    curve = automation_curve(model.predict_proba(data.X_test), data.y_test, data.taxonomy)
    answered = 1 - curve.unanswered[89]
    print(f"at 90 % confidence {answered:.0%} of the rows get an answer, and {curve.error[89]:.1%} of these are wrong")
    Path(picture).write_text(draw_automation(curve), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
