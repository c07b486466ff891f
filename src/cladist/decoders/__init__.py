"""From scores to labels that respect the taxonomy."""

from cladist.decoders.labelling import (
    LossShift,
    SecondBest,
    best_labelling,
    greedy_path,
    loss_augmented_labelling,
    loss_shift,
    node_margins,
    node_probabilities,
    path_margins,
    path_scores,
    prototype_argmax,
    runner_up_labelling,
    second_best_labelling,
    top_down,
)

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
