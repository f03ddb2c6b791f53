"""The folders that a run reads and writes, and the place of each file in them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RESULTS, DATA = Path("results"), Path("data")
WEIGHTS = ".weights.pth"


def id_of_weights(path: str) -> str:
    """Return the id of weights by their file in a workspace."""
    return Path(path).name.removesuffix(WEIGHTS)


@dataclass(frozen=True)
class Workspace:
    """Results and data of one run. By default they are in the current folder."""

    results: Path = RESULTS
    data: Path = DATA

    def ready(self, dataset: str) -> Path:
        """Return the table of a prepared data set."""
        return self.data / "ready" / f"{dataset}.npz"

    def faces(self, dataset: str) -> Path:
        """Return the table of a data set's images, the unusable ones too."""
        return self.data / "ready" / f"{dataset}.images.csv"

    def pixels(self, dataset: str) -> Path:
        """Return the aligned images of a prepared data set."""
        return self.data / "ready" / f"{dataset}.pixels.npy"

    def weights(self, weights: str) -> Path:
        """Return the file of a network's weights, in the form that networks load."""
        return self.data / "ready" / f"{weights}{WEIGHTS}"

    def folds(self, protocol: str, dataset: str) -> Path:
        """Return the rows of each fold."""
        return self.results / "folds" / protocol / f"{dataset}.npz"

    def leaks(self, protocol: str, dataset: str) -> Path:
        """Return the result of the search for leaks."""
        return self.folds(protocol, dataset).with_suffix(".leaks.json")

    def journal(self, unit: str) -> Path:
        """Return the folder where a unit keeps its finished folds until its paper is judged."""
        return self.results / "journal" / unit

    def answer(self, paper: str) -> Path:
        """Return the file with all judgements about a paper."""
        return self.results / "compare" / paper / "answer.json"

    def figures(self, paper: str) -> Path:
        """Return the folder of a paper's drawings."""
        return self.results / "figures" / paper
