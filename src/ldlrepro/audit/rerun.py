"""Computes folds drawn by lot again, each in a process of its own with other threads."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ldlrepro import config, plan
from ldlrepro.audit import Check
from ldlrepro.audit.records import Scope, current_digests, differing
from ldlrepro.compare.collect import LOCAL, UnitScores, is_complete
from ldlrepro.runs import records
from ldlrepro.runs.records import FoldRow

GPU_TOLERANCE = 1e-3
"""How far two predictions of a GPU may lie apart; its kernels do not promise the same bits."""


@dataclass(frozen=True)
class Draw:
    """One fold of one unit."""

    unit: plan.Unit
    scored: UnitScores
    position: int
    """Of the fold among the unit's."""

    @property
    def row(self) -> FoldRow:
        return self.scored.rows[self.position]

    @property
    def name(self) -> str:
        fold = f"repeat {self.row.repeat}, fold {self.row.fold}"
        return f"{'/'.join(self.scored.key)}, {fold} ({self.scored.source})"

    @property
    def command(self) -> str:
        return (
            f"ldlrepro run {' '.join(self.scored.key)} --folds {self.position}-{self.position}"
            f" --threads {self.threads} --fresh"
        )

    @property
    def threads(self) -> int:
        """Another number than the record's."""
        return 2 if self.row.threads == 1 else 1


def draw(
    units: Sequence[UnitScores], count: int, longest: float, lot: np.random.Generator
) -> tuple[list[Draw], list[UnitScores]]:
    """``count`` units with a fold each, and the units left out because a fold takes too long."""
    candidates, too_long = [], []
    for scored in units:
        unit = plan.Unit(*scored.key)
        if not is_complete(unit, scored):
            continue
        position = int(lot.integers(len(scored.rows)))
        one = Draw(unit, scored, position)
        if one.row.fit_s + one.row.predict_s > longest:
            too_long.append(scored)
        else:
            candidates.append(one)
    chosen = lot.permutation(len(candidates))[:count]
    return [candidates[i] for i in sorted(chosen)], too_long


def check_reruns(scope: Scope, draws: Sequence[Draw], say: Callable[[str], None]) -> Check:
    check = Check("reruns", "Does computing it again give the same bits?")
    for number, one in enumerate(draws, start=1):
        say(f"rerun {number}/{len(draws)}: {one.name}")
        with check.of(one.name, one.command):
            _rerun(scope, one, check)
    return check


def _rerun(scope: Scope, one: Draw, check: Check) -> None:
    with tempfile.TemporaryDirectory(prefix="ldlrepro-audit-") as folder:
        desk = Path(folder)
        os.symlink(scope.places.data.absolute(), desk / "data")
        (desk / "results").mkdir()
        folds = scope.places.results.absolute() / "folds"
        folds.mkdir(parents=True, exist_ok=True)
        os.symlink(folds, desk / "results" / "folds")
        arguments = [*one.command.split()[1:], "--seed", str(scope.seed)]
        found = subprocess.run(
            [sys.executable, "-m", "ldlrepro.cli", *arguments],
            cwd=desk,
            env={**os.environ, "LDLREPRO_ROOT": str(config.project_root())},
            capture_output=True,
            text=True,
        )
        path = plan.record_path(desk / "results", plan.Chunk(one.unit, one.position, one.position))
        if found.returncode or not path.is_file():
            last = found.stderr.strip().splitlines()[-1:] or ["no message"]
            said = f"the run ended with {found.returncode}: {last[0]}"
            check.judge(one.name, said, one.command)
            return
        new = records.read_rows(path)[0]
        if new.status == records.UNAVAILABLE:
            check.skip(one.name, new.error, one.command)
        elif new.status != records.OK:
            said = f"the run {new.status}: {new.error.strip().splitlines()[-1]}"
            check.judge(one.name, said, one.command)
        elif new.predictions_sha256 == one.row.predictions_sha256:
            check.judge(one.name, "", one.command)
        else:
            P = records.read_predictions(path)[new.repeat, new.fold]
            check.judge(one.name, _difference(one, new, P), one.command)


def _difference(one: Draw, new: FoldRow, P: np.ndarray) -> str:
    """Words for predictions whose digests differ; '' for a GPU's that are near enough."""
    old = one.row
    parts = [f"another {name}" for name in differing(old, current_digests(one.unit))]
    parts += ["other data"] * (new.data_sha256 != old.data_sha256)
    parts += ["other folds"] * (new.folds_sha256 != old.folds_sha256)
    parts += ["other versions of libraries"] * (new.versions != old.versions)
    parts += ["another kind of processor"] * (new.machine != old.machine)
    if one.scored.source == LOCAL:
        before = {
            key: values
            for path in one.scored.files
            for key, values in records.read_predictions(path).items()
        }[old.repeat, old.fold]
        apart = float(np.abs(P - before).max()) if P.shape == before.shape else np.inf
        if old.machine.get("gpu") and apart <= GPU_TOLERANCE:
            return ""
        parts.append(f"predictions up to {apart:.3g} apart")
    return f"other bits; {', '.join(parts) or 'and no reason in the record'}"
