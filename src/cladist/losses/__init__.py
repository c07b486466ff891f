"""Losses: numbers that evaluate one prediction against the truth."""

from cladist.losses.costs import node_costs
from cladist.losses.losses import LOSSES, HLoss, Loss, SymmetricDifference, TreeDistance, ZeroOne

__all__ = ["LOSSES", "HLoss", "Loss", "SymmetricDifference", "TreeDistance", "ZeroOne", "node_costs"]
