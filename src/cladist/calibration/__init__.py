"""Scores → probabilities that hold and are coherent over a taxonomy, on plain arrays."""

from cladist.calibration.calibrators import Calibrator, calibrate

__all__ = ["Calibrator", "calibrate"]
