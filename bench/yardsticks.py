"""What a method is measured against where no library has it: the plainest model of that size."""

from __future__ import annotations

from typing import Any

import numpy as np


class SoftmaxRegression:
    """Mini-batch descent with momentum as torch's introductions write it, on ``width`` outputs.

    The labels are the first outputs; the others exist for the sake of the width only.
    """

    def __init__(
        self,
        width: int,
        max_iter: int,
        batch_size: int,
        learning_rate: float,
        standardise: bool,
        random_state: int,
    ) -> None:
        self.width = width
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.standardise = standardise
        self.random_state = random_state

    def fit(self, X: Any, D: np.ndarray) -> None:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(self.random_state)
        self.labels_ = D.shape[1]
        X = _dense(X)
        self.shift_, self.spread_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardise:
            self.shift_, self.spread_ = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
        rows = torch.from_numpy((X - self.shift_) / self.spread_).float()
        targets = torch.zeros((len(X), self.width))
        targets[:, : self.labels_] = torch.from_numpy(D)
        self.model_ = torch.nn.Linear(X.shape[1], self.width)
        optimiser = torch.optim.SGD(self.model_.parameters(), lr=self.learning_rate, momentum=0.9)
        for _ in range(self.max_iter):
            batch = torch.randint(len(rows), (min(self.batch_size, len(rows)),))
            scores = self.model_(rows[batch])
            loss = torch.nn.functional.cross_entropy(scores, targets[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    def predict(self, X: Any) -> np.ndarray:
        import torch

        with torch.no_grad():
            scores = self.model_(torch.from_numpy((_dense(X) - self.shift_) / self.spread_).float())
        P = torch.softmax(scores[:, : self.labels_].double(), 1)
        found: np.ndarray = P.numpy()
        return found


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)
