"""How near the method that ten minutes recommend comes to the one that an hour recommends.

    python -m bench.in_time movie natural_scene scut_fbp fgnet_features

A fifth of the rows, whole persons where they are known, is kept from both comparisons and judges
their winners. Each line of docs/in_time.csv is a finished comparison, which is not done again; its
page shows those with both times. Two cores must be idle: what else runs takes its time.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from ldl import compare, metrics
from ldlrepro.core import numerics
from ldlrepro.core.files import csv_text, write_text
from ldlrepro.core.groups import grouped
from ldlrepro.judge.verdicts import percent
from ldlrepro.report.study import load
from ldlrepro.report.summary import with_part

from .process import ROOT

RECORD, PAGE = ROOT / "docs" / "in_time.csv", ROOT / "docs" / "my-data.md"
MINUTES = (10, 60)
CORES = 2
KEPT_APART = 0.2
NEAR = 0.02
"""Share of KL within which ten minutes are to come to an hour."""
COLUMNS = ("dataset", "rows", "features", "labels", "minutes", "methods", "winner", "kl", "mean_kl")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.in_time", description=__doc__)
    parser.add_argument("datasets", nargs="+", help="ids of public data sets")
    parser.add_argument("--minutes", type=float, nargs="+", default=MINUTES)
    given = parser.parse_args(arguments)
    numerics.pin()
    for dataset in given.datasets:
        for minutes in given.minutes:
            known = recorded()
            if (dataset, f"{minutes:g}") in {(one["dataset"], one["minutes"]) for one in known}:
                continue
            print(f"{dataset}, {minutes:g} minutes", file=sys.stderr, flush=True)
            line = _line(dataset, minutes)
            lines = sorted([*known, line], key=lambda one: (one["dataset"], float(one["minutes"])))
            write_text(RECORD, csv_text([COLUMNS, *([one[k] for k in COLUMNS] for one in lines)]))
    page = PAGE.read_text(encoding="utf-8")
    write_text(PAGE, with_part(page, "in time", table(recorded())))
    return 0


def recorded() -> list[dict[str, Any]]:
    if not RECORD.is_file():
        return []
    return list(csv.DictReader(RECORD.read_text(encoding="utf-8").splitlines()))


def table(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return in Markdown how near ten minutes come, and a line for each data set with both."""
    rows, near = [], 0
    for dataset, both in grouped(lines, lambda one: one["dataset"]).items():
        if len(both) < len(MINUTES):
            continue
        quick, long = sorted(both, key=lambda one: float(one["minutes"]))
        more = float(quick["kl"]) / float(long["kl"]) - 1
        near += more <= NEAR
        found = [f"{one['winner']} | {float(one['kl']):.4f}" for one in (quick, long)]
        rows.append(f"| {dataset} | {' | '.join(found)} | {percent(more)} |\n")
    return (
        f"Ten minutes come within {NEAR:.0%} of an hour, or do better, on {near} of {len(rows)} "
        "data sets:\n\n| data set | ten minutes | KL | an hour | KL | difference |\n"
        f"|---|---|---|---|---|---|\n{''.join(rows)}"
    )


def _line(dataset: str, minutes: float) -> dict[str, Any]:
    """Compare methods in this time, and score the winner on rows that the comparison never saw."""
    X, D, groups = load(dataset)
    apart = ShuffleSplit if groups is None else GroupShuffleSplit
    ((seen, unseen),) = apart(1, test_size=KEPT_APART, random_state=0).split(X, groups=groups)
    whose = None if groups is None else np.asarray(groups)[seen]
    found = compare(X[seen], D[seen], whose, time=60 * minutes, n_jobs=CORES, verbose=True)
    mean = np.tile(D[seen].mean(axis=0), (len(unseen), 1))
    return {
        "dataset": dataset,
        "rows": X.shape[0],
        "features": X.shape[1],
        "labels": D.shape[1],
        "minutes": f"{minutes:g}",
        "methods": len(found.entries) - 1,
        "winner": found.winner,
        "kl": f"{metrics.measure('kl', D[unseen], found.best.predict(X[unseen])):.6g}",
        "mean_kl": f"{metrics.measure('kl', D[unseen], mean):.6g}",
    }


if __name__ == "__main__":
    raise SystemExit(main())
