"""From scores to labels that respect the taxonomy."""

from cladist.decoders.labelling import best_labelling, top_down
from cladist.decoders.paths import greedy_path, path_margins, path_scores, prototype_argmax

__all__ = ["best_labelling", "greedy_path", "path_margins", "path_scores", "prototype_argmax", "top_down"]
