"""Probabilities of a neural network in the decisions of a tree: the deepest node that is sure enough.

A classifier head, two layers on an embedding of the texts, knows nothing of the tree: it gives probabilities of leaves.
`cladist.decisions` takes anybody's: `Confidence` answers with the deepest node that is sure enough, `MinimumRisk` with
the node of least expected distance. The head is written in torch where that is installed, and else scikit-learn's.
Run as ``python examples/neural_head.py``.
"""

import warnings
from importlib.util import find_spec

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from cladist.datasets import load_icd10cm
from cladist.decisions import Confidence, MinimumRisk
from cladist.features import Embedding, text_features
from cladist.metrics import accuracy, tree_induced_error

N_TRAIN, N_TEST = 4_000, 1_000
HIDDEN, EPOCHS = 64, 15


def torch_probabilities(X, y, X_other, n_classes):
    """Train a head in torch, and return its probabilities for other rows, one array for each of them."""
    import torch

    torch.manual_seed(0)
    head = torch.nn.Sequential(torch.nn.Linear(X.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, n_classes))
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(64):
            loss = torch.nn.functional.cross_entropy(head(inputs[rows]), targets[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        return [torch.softmax(head(torch.from_numpy(rows)), dim=1).numpy().astype(float) for rows in X_other]


def sklearn_probabilities(X, y, X_other, n_classes):
    """Do as `torch_probabilities` with scikit-learn."""
    head = MLPClassifier((HIDDEN,), learning_rate_init=0.01, batch_size=32, max_iter=EPOCHS, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs, and no more
        head.fit(X, y)
    probabilities = [np.zeros((len(rows), n_classes)) for rows in X_other]
    for full, rows in zip(probabilities, X_other, strict=True):
        full[:, head.classes_] = head.predict_proba(rows)  # a class without training rows has no column
    return probabilities


def main() -> None:
    """Train a head on blocks of ICD-10-CM, and answer with nodes."""
    data = load_icd10cm(level="block")
    step = len(data.y_train) // N_TRAIN
    texts, y, y_test = data.texts_train[::step], data.y_train[::step], data.y_test[:N_TEST]
    known = all(find_spec(name) is not None for name in ("wordllama", "tokenizers", "safetensors"))
    embedding = Embedding("wordllama") if known else make_pipeline(text_features(), TruncatedSVD(100, random_state=0))
    X = embedding.fit_transform(texts).astype(np.float32)
    X_test = embedding.transform(data.texts_test[:N_TEST]).astype(np.float32)

    # The columns of probabilities follow the leaves of the taxonomy.
    leaves = [data.taxonomy.names[v] for v in data.taxonomy.leaves]
    number = {name: k for k, name in enumerate(leaves)}
    targets = np.array([number[label] for label in y])
    third = np.arange(len(y)) % 3 == 0  # held out, to fit the rules on
    train = torch_probabilities if find_spec("torch") is not None else sklearn_probabilities
    P_held, P = train(X[~third], targets[~third], (X[third], X_test), len(leaves))

    best = np.array(leaves)[P.argmax(axis=1)]
    print(f"best leaf: accuracy {accuracy(y_test, best, data.taxonomy):.3f}, "
          f"{tree_induced_error(y_test, best, data.taxonomy):.2f} edges off")  # fmt: skip
    for rule in (Confidence(0.8), MinimumRisk("tree-distance")):
        nodes = rule.fit(P_held, y[third], data.taxonomy).decide(P)
        answers = [(node, truth) for node, truth in zip(nodes, y_test, strict=True) if node is not None]
        right = sum(node in data.taxonomy.path(truth) for node, truth in answers)
        at_leaf = sum(node in number for node, _ in answers)
        print(f"{rule}: {len(answers):,} answers, {right:,} at or above the truth, {at_leaf:,} at a leaf")


if __name__ == "__main__":
    main()
