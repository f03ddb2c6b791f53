"""``python -m bench``: measures what is missing, then writes the tables. See docs/benchmarks.md."""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ldl import metrics
from ldlrepro.catalogue import Project, digests
from ldlrepro.core.files import write_text
from ldlrepro.data import DataUnavailable
from ldlrepro.report.summary import with_part
from ldlrepro.train import provenance

from . import adapters, entries, measure, tables
from .entries import Comparison
from .process import ROOT, Worker

RESULTS = ROOT / "results" / "bench"
DOCS = ROOT / "docs"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--peers", default=".bench-venv/bin/python", help="the peers' Python")
    parser.add_argument("--only", default="", help="comparisons with this in their name")
    parser.add_argument("--fresh", action="store_true", help="measure again what is measured")
    parser.add_argument("--budget", type=float, default=45.0, help="seconds per comparison")
    parser.add_argument("--page", action="store_true", help="only the page, from benchmarks.csv")
    parser.add_argument("--most", type=int, default=measure.MOST, help="most measurements of each")
    args = parser.parse_args(arguments)
    if args.page:
        write_page(DOCS)
        return 0
    comparisons = entries.read()
    wanted = entries.chosen(comparisons, args.only)
    if not wanted:
        parser.error(f"no comparison has '{args.only}' in its name: see {entries.ENTRIES}")
    for number, comparison in enumerate(wanted, start=1):
        kept = None if args.fresh else stored(comparison)
        result = kept or run(comparison, args.peers, args.budget, args.most)
        if kept is None:
            write_text(_file(comparison), json.dumps(result, indent=1) + "\n")
        row = tables.row_of(comparison, result)
        print(f"[{number}/{len(wanted)}] {_told(row)}", file=sys.stderr, flush=True)
    write_tables(comparisons)
    return 0


def run(comparison: Comparison, peers: str, budget_s: float, most: int) -> dict[str, Any]:
    """Measured samples, with what is needed to know them again."""
    about = {
        "identity": comparison.identity,
        "code": our_code(comparison),
        "commit": provenance.git_commit(ROOT),
        "machine": {**provenance.machine(), "cores": os.cpu_count()},
        "python": sys.version.split()[0],
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_before": os.getloadavg()[0],
    }
    if comparison.measure == "memory" and (record := recorded_peak(comparison)):
        return about | record
    try:
        source = rows_for(comparison.dataset)
    except DataUnavailable:
        hint = f"no data here; see ldlrepro fetch {comparison.dataset}"
        failed = measure.asdict(measure.Samples(error=hint))
        return about | {"ours": failed}
    D_test = adapters.fold(comparison.dataset)[3]

    def score(predictions: Any) -> float:
        P = np.asarray(predictions, dtype=np.float64)
        # Some peers compute in single precision, and their rows sum to one in that.
        return metrics.evaluate(D_test, P / P.sum(axis=1, keepdims=True))["kl"]

    def open_worker(library: str) -> Worker:
        python = sys.executable if library in adapters.OF_THE_PROJECT else str(ROOT / peers)
        log = RESULTS / "logs" / f"{comparison.name.replace('/', '.')}.{library}.txt"
        command = [python, "-m", "bench.worker", library]
        return Worker(command, adapters.environment(library), log)

    samples = measure.measure(comparison, open_worker, score, source, budget_s, most)
    return about | samples | {"load_after": os.getloadavg()[0]}


def rows_for(dataset: str) -> dict[str, str]:
    """Where a worker finds the fold: ours by the data set's id, peers in a file."""
    path = RESULTS / "data" / f"{dataset}.npz"
    X, D, X_test, _ = adapters.fold(dataset)
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        X, X_test = (M.toarray() if hasattr(M, "tocsr") else M for M in (X, X_test))
        part = path.with_suffix(".part")
        with part.open("wb") as handle:
            np.savez_compressed(handle, X=X, D=D, X_test=X_test)
        part.replace(path)
    return {"dataset": dataset, "file": str(path)}


def recorded_peak(comparison: Comparison) -> dict[str, Any] | None:
    """The highest peak of the method's units on the data set, from the reference records."""
    if comparison.ours.get("parameters"):
        return None
    peaks: dict[str, list[float]] = {}
    for path in sorted((ROOT / "reference").glob(f"*/{comparison.ours['method']}.csv")):
        with path.open(newline="", encoding="utf-8") as handle:
            for line in csv.DictReader(handle):
                # Variants lie in the same file; a deeper tree, say, needs memory of its own.
                of = (line["method"], line["dataset"])
                if of == (comparison.ours["method"], comparison.dataset) and line["peak_mb"]:
                    name = path.relative_to(ROOT).as_posix()
                    peaks.setdefault(name, []).append(float(line["peak_mb"]))
    if not peaks:
        return None
    highest = max(max(values) for values in peaks.values())
    source = ", ".join(f"{len(values)} folds of {name}" for name, values in peaks.items())
    samples = measure.asdict(measure.Samples(peak_mb=highest))
    return {"ours": samples, "source": f"highest of {source}"}


# ---------------------------------------------------------------------- what is finished


def _file(comparison: Comparison) -> Path:
    return RESULTS / "runs" / f"{comparison.id}.{comparison.dataset}.json"


def our_code(comparison: Comparison) -> dict[str, str]:
    """Digests of our methods in the comparison: code, and settings that the entry leaves alone."""
    sides = [s for s in (comparison.ours, comparison.peer or {}) if s.get("library") == "ldlrepro"]
    classes = {s["class"]: digests.class_digest(f"ldl.{s['class']}") for s in sides if "class" in s}
    project = Project.open(ROOT)
    methods = [project.method(s["method"]) for s in sides if "method" in s]
    return classes | {m.id: digests.method_digest(m) + digests.spec_digest(m, "") for m in methods}


def stored(comparison: Comparison, failures: bool = False) -> dict[str, Any] | None:
    """The finished result, unless its entry or our code has changed, or a side failed."""
    try:
        result: dict[str, Any] = json.loads(_file(comparison).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if result["identity"] != comparison.identity or result["code"] != our_code(comparison):
        return None
    failed = any(result.get(side, {}).get("error") for side in ("ours", "peer"))
    return None if failed and not failures else result


def write_tables(comparisons: list[Comparison]) -> None:
    """Into results/bench; if nothing is missing, into docs as well."""
    results = {c.name: stored(c, failures=True) for c in comparisons}
    missing = [name for name, result in results.items() if result is None]
    rows = [tables.row_of(c, results[c.name]) for c in comparisons]
    about = describe([result for result in results.values() if result])
    for folder in (RESULTS, *([] if missing else [DOCS])):
        write_text(folder / "benchmarks.csv", tables.to_csv(rows))
        write_page(folder, about)
    if missing:
        where = (RESULTS / "benchmarks.md").relative_to(ROOT)
        print(f"{where} written; docs/ waits for {len(missing)} more", file=sys.stderr)


def write_page(folder: Path, about: Mapping[str, str] | None = None) -> None:
    """Renew what the page says of the rows in the file beside it, and of the machine."""
    rows = tables.from_csv((folder / "benchmarks.csv").read_text(encoding="utf-8"))
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    page = with_part(page, "means", tables.ratio_lists(rows))
    page = with_part(page, "ratios", tables.ratio_table(rows))
    if about:
        machine = "".join(f"- {name}: {text}\n" for name, text in about.items())
        page = with_part(page, "machine", machine)
    write_text(folder / "benchmarks.md", page)


def describe(results: list[Mapping[str, Any]]) -> dict[str, str]:
    def each(values: list[str]) -> str:
        return ", ".join(sorted(set(values)))

    versions: dict[str, set[str]] = {}
    for result in results:
        for side in ("ours", "peer"):
            for name, version in result.get(side, {}).get("versions", {}).items():
                versions.setdefault(name, set()).add(version)
    loads = [r[when] for r in results for when in ("load_before", "load_after") if when in r]
    return {
        "Machine": each([f"{r['machine']['cpu']}, {r['machine']['cores']} cores" for r in results]),
        "Python": each([r["python"] for r in results]),
        "Libraries": ", ".join(f"{n} {'/'.join(sorted(v))}" for n, v in sorted(versions.items())),
        "Commit": each([r["commit"] for r in results]),
        "Load of the machine while measuring": f"{min(loads):.1f} to {max(loads):.1f}",
        "Dates": each([r["started"][:10] for r in results]),
    }


def _told(row: tables.Row) -> str:
    name = f"{row.comparison}/{row.dataset}"
    if row.ratio_cpu is not None:
        speed = f"{row.ours_cpu_s:.3g} s against {row.peer_cpu_s:.3g} s, {row.ratio_cpu:.3g} times"
        return f"{name}: {speed}; KL {row.ours_kl:.4f} against {row.peer_kl:.4f} {row.verdict}"
    seconds = "" if row.ours_wall_s is None else f" {row.ours_wall_s:.3g} s"
    peak = "" if row.ours_peak_mb is None else f", peak {row.ours_peak_mb:.0f} MB"
    return f"{name}:{seconds}{peak} {row.verdict} {row.note}"


if __name__ == "__main__":
    sys.exit(main())
