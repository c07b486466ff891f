"""Losses: numbers that evaluate one prediction against the truth."""

from cladist.losses.losses import LOSSES, HLoss, Loss, SymmetricDifference, TreeDistance, ZeroOne, node_costs

__all__ = ["LOSSES", "HLoss", "Loss", "SymmetricDifference", "TreeDistance", "ZeroOne", "node_costs"]
