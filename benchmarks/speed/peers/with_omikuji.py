"""omikuji: label trees of its own making, since it takes none; everything else but the number of trees as it comes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from omikuji import Model
from omikuji._libomikuji import ffi, lib
from shared import Data, Peer, answer, folder_bytes

BEAM = 10  # what Model.predict takes by default


class _Omikuji(Peer):
    """Reads training rows from a text file.

    Rows to predict go to the library's C function as arrays: `Model.predict` wants a list of Python tuples for each and
    copies it number by number, which takes longer than the prediction.
    """

    packages = ("omikuji", "numpy")

    def __init__(self, data: Data, case: dict[str, Any], work: Path) -> None:
        self.folder, self.threads = work / "model", case["threads"]
        self.pool = lib.init_omikuji_thread_pool(self.threads)
        path = work / "train.txt"
        write_text(data, path)
        self.rows = lib.load_omikuji_data_set(ffi.new("char[]", str(path).encode()), self.pool)
        if self.rows == ffi.NULL:
            raise SystemExit("omikuji could not read its data.")
        self.options = Model.default_hyper_param()
        self.options.n_trees = case["trees"]
        self.settings = f"n_trees={case['trees']}, n_threads={self.threads}, beam_size={BEAM}"
        self.X_test = data.X_test

    def fit(self) -> None:
        found = lib.train_omikuji_model(self.rows, self.options, self.pool)
        if found == ffi.NULL:
            raise SystemExit("omikuji could not be trained.")
        self.model = Model(found)

    def predict(self) -> np.ndarray:
        X, model = self.X_test, self.model._model_ptr
        label, score = ffi.new("uint32_t[]", 1), ffi.new("float[]", 1)
        predicted = np.full(X.shape[0], -1)
        for i, (first, last) in enumerate(pairwise(X.indptr.tolist())):
            indices = ffi.from_buffer("uint32_t[]", X.indices[first:last])
            values = ffi.from_buffer("float[]", X.data[first:last])
            if lib.omikuji_predict(model, BEAM, last - first, indices, values, 1, label, score, self.pool):
                predicted[i] = label[0]
        return predicted

    def model_bytes(self) -> int:
        self.model.save(str(self.folder))
        return folder_bytes(self.folder)


def write_text(data: Data, path: Path) -> None:
    """Write training rows as "label feature:value …" below a line with rows, features and labels."""
    X = data.X_train
    with open(path, "w", encoding="ascii") as file:
        file.write(f"{X.shape[0]} {X.shape[1]} {len(data.leaves)}\n")
        for y, (first, last) in zip(data.y_train.tolist(), pairwise(X.indptr.tolist()), strict=True):
            pairs = zip(X.indices[first:last].tolist(), X.data[first:last].tolist(), strict=True)
            file.write(f"{y} " + " ".join(f"{index}:{value:.9g}" for index, value in pairs) + "\n")


if __name__ == "__main__":
    answer(_Omikuji)
