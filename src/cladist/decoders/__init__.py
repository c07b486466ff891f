"""From scores to labels that respect the taxonomy."""

from cladist.decoders.labelling import best_labelling, top_down
from cladist.decoders.loss_augmented import LossShift, loss_augmented_labelling, loss_shift
from cladist.decoders.marginals import node_probabilities
from cladist.decoders.paths import greedy_path, path_margins, path_scores, prototype_argmax
from cladist.decoders.runner_up import SecondBest, node_margins, runner_up_labelling, second_best_labelling

__all__ = [
    "LossShift",
    "SecondBest",
    "best_labelling",
    "greedy_path",
    "loss_augmented_labelling",
    "loss_shift",
    "node_margins",
    "node_probabilities",
    "path_margins",
    "path_scores",
    "prototype_argmax",
    "runner_up_labelling",
    "second_best_labelling",
    "top_down",
]
