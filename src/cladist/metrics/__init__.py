"""Metrics of predicted labels, in any form of y; each is a function ``f(y_true, y_pred, taxonomy)``.

`average_precision` takes scores in place of predicted labels; measures of calibration take probabilities.
"""

from cladist.metrics import scorers, significance
from cladist.metrics.calibration import (
    LevelCalibration,
    ReliabilityCurve,
    brier_score,
    calibration_by_level,
    expected_calibration_error,
    log_loss,
    reliability_curve,
    sharpness,
)
from cladist.metrics.counts import (
    Counts,
    LevelScore,
    PrecisionRecallF1,
    count,
    macro_f1,
    micro_f1,
    per_level_precision_recall,
    precision_recall_f1,
)
from cladist.metrics.hierarchical import (
    hierarchical_f1,
    hierarchical_precision_recall_f1,
    lca_f1,
    lca_precision_recall_f1,
)
from cladist.metrics.per_example import (
    accuracy,
    cumulative_error,
    h_loss,
    hamming_loss,
    multiclass_error,
    symmetric_difference_loss,
    tree_induced_error,
    zero_one_loss,
)
from cladist.metrics.precision_recall_curve import average_precision
from cladist.metrics.ranking import ndcg_at_k, precision_at_k, propensities
from cladist.metrics.summary import NodeScore, Report, report

__all__ = [
    "Counts",
    "LevelCalibration",
    "LevelScore",
    "NodeScore",
    "PrecisionRecallF1",
    "ReliabilityCurve",
    "Report",
    "accuracy",
    "average_precision",
    "brier_score",
    "calibration_by_level",
    "count",
    "cumulative_error",
    "expected_calibration_error",
    "h_loss",
    "hamming_loss",
    "hierarchical_f1",
    "hierarchical_precision_recall_f1",
    "lca_f1",
    "lca_precision_recall_f1",
    "log_loss",
    "macro_f1",
    "micro_f1",
    "multiclass_error",
    "ndcg_at_k",
    "per_level_precision_recall",
    "precision_at_k",
    "precision_recall_f1",
    "propensities",
    "reliability_curve",
    "report",
    "scorers",
    "sharpness",
    "significance",
    "symmetric_difference_loss",
    "tree_induced_error",
    "zero_one_loss",
]
