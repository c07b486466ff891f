"""Recursive regularisation: every node's weights are pulled towards its parent's."""
