"""Labels: every accepted form of y, and the one matrix into which it is encoded."""

from cladist.labels.encoder import encode, to_indicator
from cladist.labels.matrix import Encoded, LabelForm, LabelMatrix
from cladist.labels.probabilities import TopK

__all__ = ["Encoded", "LabelForm", "LabelMatrix", "TopK", "encode", "to_indicator"]
