"""One split search of StructRF with every threshold and with the adaptive step."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ldlrepro.experiments import Inputs, MeasuredCell, Outcome
from ldlrepro.report import canvas

from .split_trace import SplitSearch, one_split_search

SEARCHES = {"exhaustive": "StructRF", "adaptive": "StructRF*"}
DRAWN = "drawn"
BINS = 80
"""Number of parts of a feature's cuts in the drawing; each shows its greatest gain."""
COLUMNS = ["sample", "rows x features", "search", "gains", "best feature", "threshold"]
COLUMNS += ["gain (nats)", "search (ms)", "sorting (ms)"]


def measure(inputs: Inputs, rows: int, settings: dict[str, str], seed: int) -> Outcome:
    """Measure both searches on samples of at most ``rows`` rows.

    ``settings`` is search -> the paper's label of its row.
    """
    outcome, rows_of_table = Outcome(), []
    samples = {DRAWN: drawn_sample(rows, seed)}
    samples |= {name: _sample(inputs, name, rows, seed) for name in inputs.available()}
    for name, (X, D) in samples.items():
        found = {step: one_split_search(X, D, step) for step in SEARCHES}
        inputs.say(f"{name}: {found['adaptive'].tried.sum()} gains instead of many")
        rows_of_table += [_row(name, X, step, found[step]) for step in SEARCHES]
        whole, some = found.values()
        outcome.facts[f"speedup_{name}"] = whole.seconds / some.seconds
        outcome.facts[f"gain_kept_{name}"] = some.gain / whole.gain
        if name != DRAWN:
            outcome.cells += [
                cell
                for step, method in SEARCHES.items()
                for cell in _cells(name, settings[step], method, found[step])
            ]
        if name in (DRAWN, "human_gene"):  # the paper's data where they are here
            outcome.series = {"sample": name, **{s: _curves(found[s], s) for s in SEARCHES}}
    outcome.add_table("One split search", COLUMNS, rows_of_table)
    return outcome


def drawn_sample(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw as many rows and features as the paper's sample has.

    All features tell a little and three tell more, so little that the best gain is near the printed
    one (0.0085).
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 36))
    weights = rng.normal(scale=0.02, size=(36, 8))
    weights[[3, 17, 30]] *= 3
    logits = X @ weights + rng.normal(scale=0.5, size=(rows, 8))
    D = np.exp(logits - logits.max(axis=1, keepdims=True))
    return X, D / D.sum(axis=1, keepdims=True)


def _sample(inputs: Inputs, name: str, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = inputs.load(name)
    count = min(rows, len(data.D))
    chosen = np.sort(np.random.default_rng(seed).choice(len(data.D), count, replace=False))
    X = data.X[chosen]
    return (X.toarray() if hasattr(X, "toarray") else X), data.D[chosen]


def _cells(dataset: str, setting: str, method: str, found: SplitSearch) -> list[MeasuredCell]:
    values = {
        "feature_index": found.feature + 1,
        "split_threshold": found.threshold,
        "information_gain": found.gain,
        "time_ms": 1000 * found.seconds,
    }
    return [
        MeasuredCell(dataset, setting, method, metric, float(value), None, 1)
        for metric, value in values.items()
    ]


def _row(name: str, X: np.ndarray, step: str, found: SplitSearch) -> list[Any]:
    return [
        *(name, f"{X.shape[0]} x {X.shape[1]}", step, int(found.tried.sum())),
        *(str(found.feature + 1), found.threshold, found.gain),
        *(1000 * found.seconds, 1000 * found.sort_seconds),
    ]


def _curves(found: SplitSearch, step: str) -> list[dict[str, Any]]:
    """Return for each feature how many gains were looked at, and where they lie."""
    curves = []
    for trace in found.features:
        places, gains = trace.rows_left, trace.gains
        if step == "exhaustive":
            edges = np.linspace(0, len(gains), min(BINS, len(gains)) + 1).astype(int)
            tops = [a + int(gains[a:b].argmax()) for a, b in pairwise(edges)]
            places, gains = places[tops], gains[tops]
        curves.append(
            {
                "evaluations": len(trace.gains),
                "rows_left": places.tolist(),
                "gains": [float(f"{gain:.4g}") for gain in gains],
            }
        )
    return curves


def draw(series: dict[str, Any]) -> dict[str, Any]:
    return {"5": _draw_gains(series), "6": _draw_counts(series)}


def _panels(rows: int, height: float, across: str, up: str) -> tuple[Any, Any]:
    figure, panels = canvas.panels(height, 8, rows)
    for axes in panels[1:]:
        axes.sharex(panels[0])
        axes.sharey(panels[0])
    for axes in panels:
        axes.label_outer()
    figure.supxlabel(across, fontsize=10)
    figure.supylabel(up, fontsize=10)
    return figure, panels


def _draw_gains(series: dict[str, Any]) -> Any:
    across = f"feature and cut ({series['sample']} sample)"
    figure, panels = _panels(2, 4.4, across, "gain in nats (higher is better)")
    titles = {
        "adaptive": "(a) adaptive step: {} gains",
        "exhaustive": "(b) full search: {} gains",
    }
    for axes, (step, title) in zip(panels, titles.items(), strict=True):
        for number, curve in enumerate(series[step]):
            width = max(series["exhaustive"][number]["rows_left"][-1], 1)
            places = [number + 0.5 + place / width for place in curve["rows_left"]]
            axes.plot(
                places,
                curve["gains"],
                ".",
                markersize=2.5,
                color=(canvas.FIRST, canvas.SECOND)[number % 2],
            )
        looked_at = sum(curve["evaluations"] for curve in series[step])
        axes.set_title(title.format(f"{looked_at:,}"), fontsize=10, loc="left")
    return figure


def _draw_counts(series: dict[str, Any]) -> Any:
    counts, every = (
        [curve["evaluations"] for curve in series[step]] for step in ("adaptive", "exhaustive")
    )
    figure, (axes,) = _panels(1, 2.8, "feature", "gains (fewer is faster)")
    axes.bar(range(1, len(counts) + 1), counts, color=canvas.FIRST)
    told = f"{sum(counts):,} gains instead of {sum(every):,} ({series['sample']} sample)"
    axes.set_title(told, fontsize=10, loc="left")
    return figure
