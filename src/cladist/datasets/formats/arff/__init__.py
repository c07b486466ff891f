"""ARFF-HMC: hierarchical multi-label rows, trees and DAGs."""
