"""Labels: every accepted form of y, and the one matrix into which it is encoded."""

from cladist.labels.encoder import Encoded, encode, to_indicator
from cladist.labels.form import LabelForm
from cladist.labels.matrix import LabelMatrix

__all__ = ["Encoded", "LabelForm", "LabelMatrix", "encode", "to_indicator"]
