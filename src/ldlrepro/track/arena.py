"""The arena's records as runs of MLflow: one for each data set, method and kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ldl import metrics
from ldl.comparison.contenders import MEAN
from ldlrepro.track.layout import (
    CONTROL,
    DEVIATION_DIGITS,
    LAYOUT,
    MEAN_DIGITS,
    OTHER,
    TrackedRun,
    chosen,
    mean_and_deviation,
    metric_column,
    named_views,
    rounded,
    sha256,
    table_state,
    tag_column,
    title_of,
)
from ldlrepro.track.sync import Progress, SyncCounts, sync_runs

if TYPE_CHECKING:
    import pandas as pd

ARENA = "arena"
TITLE = "The arena: every method on every public data set, with equal tuning"
FIRST_COLUMNS = ("kl", "kl_std", "kl_gain_percent", "fit_seconds")
COSTS = ("fit", "predict", "search")


def sync_arena(
    tables: dict[str, Path], tracking_uri: str, local: Path, on_progress: Progress | None = None
) -> SyncCounts:
    """Bring the experiment of the arena in line with its tables, one for each data set.

    Those below the folder ``local`` ran here.
    """
    import pandas as pd

    runs: list[TrackedRun] = []
    for dataset, path in tables.items():
        source = "local" if path.is_relative_to(local) else "reference"
        runs += arena_runs(dataset, pd.read_csv(path, keep_default_na=False), source)
    others = (name for name in metrics.BETTER if name != "kl")
    shown = [metric_column(name) for name in (*FIRST_COLUMNS, *others)] + [tag_column("source")]
    longest_name = max(len(run.name) for run in runs)
    views = {
        (f"{ARENA}-{dataset}", dataset): table_state(
            f"params.dataset = '{dataset}'", "kl", shown, longest_name
        )
        for dataset in tables
    }
    counts = SyncCounts()
    sync_runs(ARENA, TITLE, runs, named_views(views), tracking_uri, counts, on_progress)
    return counts


def arena_runs(dataset: str, table: pd.DataFrame, source: str) -> list[TrackedRun]:
    """Return a run for each method and kind of a data set's table."""
    table = table.astype(dict.fromkeys(metrics.BETTER, float))
    floor = table[(table["method"] == MEAN) & (table["kind"] == "default")]["kl"].mean()
    return [
        _run((dataset, str(method), str(kind)), rows.sort_values("fold"), float(floor), source)
        for (method, kind), rows in table.groupby(["method", "kind"], sort=False)
    ]


def _run(name: tuple[str, str, str], rows: pd.DataFrame, floor: float, source: str) -> TrackedRun:
    dataset, method, kind = name
    scores = {measure: list(rows[measure]) for measure in metrics.BETTER}
    means = {measure: float(np.mean(values)) for measure, values in scores.items()}
    spreads = {
        f"{measure}_std": rounded(float(np.std(values, ddof=1)), DEVIATION_DIGITS)
        for measure, values in scores.items()
    }
    gain = 100 * (1 - means["kl"] / floor)
    # A method that could not be fitted has scores, those of the training mean, and no times.
    timed = rows[rows["fit_s"] != ""]
    costs = {
        f"{cost}_seconds": float(timed[f"{cost}_s"].astype(float).mean())
        for cost in COSTS
        if len(timed)
    }
    note = [
        f"`{method}`, {kind}, on `{dataset}` in the arena, where all methods have the same tuning: "
        f"KL {abs(gain):.0f}% {'above' if gain < 0 else 'below'} that of the training mean, over "
        f"{len(rows)} folds.",
        f"\nIts predictions, computed again: `ldlrepro arena {dataset} --predictions FILE.parquet`",
        "\nBeside the other methods: `ldlrepro recommend`\n\nMeans, ± the deviation over folds:\n",
    ]
    note += [f"- {title_of(name)}: {mean_and_deviation(scores[name])}" for name in scores]
    errors = [error for error in rows["error"] if error]
    summary = {**means, **spreads, **costs, "kl_gain_percent": round(gain, 1)}
    return TrackedRun(
        key="/".join([ARENA, *name]),
        content=sha256(f"{LAYOUT} {source} {floor}\n{rows.to_csv(index=False)}".encode()),
        name=f"{method}, {kind}",
        files=[],
        failed=bool(errors),
        params={
            **{"protocol": ARENA, "dataset": dataset, "method": method, "kind": kind},
            **{"family": str(rows["family"].iloc[0]), "folds": str(len(rows))},
            **chosen("settings", list(rows["settings"])),
        },
        seconds=float(timed[["fit_s", "predict_s"]].astype(float).to_numpy().sum()),
        metrics=[(name, rounded(value, MEAN_DIGITS), 0, 0) for name, value in summary.items()]
        + [
            (f"fold/{measure}", rounded(value), 0, int(fold))
            for measure, values in scores.items()
            for fold, value in zip(rows["fold"], values, strict=True)
        ],
        tags={"source": source, "role": CONTROL if method == MEAN else OTHER}
        | {"mlflow.note.content": "\n".join(note)}
        | ({"error": errors[0]} if errors else {}),
    )
