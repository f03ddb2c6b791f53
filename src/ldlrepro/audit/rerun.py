"""Computes randomly drawn folds again, each in its own process with another number of threads."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from ldl import metrics
from ldlrepro.audit import Check
from ldlrepro.audit.consistency import Scope, current_digests, differing
from ldlrepro.catalogue.project import ROOT
from ldlrepro.core.workspace import Workspace
from ldlrepro.judge.judging import Judge
from ldlrepro.judge.reference import DIGITS
from ldlrepro.judge.scores import LOCAL, UnitScores, is_complete
from ldlrepro.plan import Chunk, Unit
from ldlrepro.train import records
from ldlrepro.train.records import FoldRow

GPU_TOLERANCE = 1e-3
"""How far two predictions of a GPU may be apart. Its kernels do not promise the same bits."""

PROCESSOR_TOLERANCE = 1e-6
"""Largest relative difference of a score between two kinds of processor.

torch's matrix products add in another order on processors of another make. The bits of a training
with them differ, by 1e-7 in its scores. Verdicts need 1e-4.
"""

SEEDS_APART = 3
"""How many standard deviations over folds the scores of two seeds may be apart."""

REFUSED = 2
"""Exit code of a run that did not start: something that it needs is not there."""

FACTS = ("seed", "n_train", "n_test", "data_sha256", "folds_sha256")
"""Facts of a fold that must be the same when it is computed again."""


@dataclass(frozen=True)
class Draw:
    """One fold of one unit."""

    unit: Unit
    scored: UnitScores
    position: int
    """Position of the fold among the unit's folds."""

    @property
    def row(self) -> FoldRow:
        return self.scored.rows[self.position]

    @property
    def name(self) -> str:
        fold = f"repeat {self.row.repeat}, fold {self.row.fold}"
        return f"{self.unit.key}, {fold} ({self.scored.source})"

    @property
    def command(self) -> str:
        return (
            f"ldlrepro run {' '.join(self.unit.ids)} --folds {self.position}-{self.position}"
            f" --threads {self.threads} --fresh"
        )

    @property
    def threads(self) -> int:
        """A number of threads other than the record's."""
        return 2 if self.row.threads == 1 else 1


def every_fold(unit: Unit, scored: UnitScores) -> list[Draw]:
    """Return all folds of a unit."""
    return [Draw(unit, scored, position) for position in range(len(scored.rows))]


def draw(
    units: Mapping[Unit, UnitScores], count: int, longest: float, lot: np.random.Generator
) -> tuple[list[Draw], list[Unit]]:
    """Draw ``count`` units with a fold each; return them, and the units whose fold is too long."""
    candidates, too_long = [], []
    for unit, scored in units.items():
        if not is_complete(unit, scored):
            continue
        position = int(lot.integers(len(scored.rows)))
        one = Draw(unit, scored, position)
        if one.row.fit_s + one.row.predict_s > longest:
            too_long.append(unit)
        else:
            candidates.append(one)
    chosen = lot.permutation(len(candidates))[:count]
    return [candidates[i] for i in sorted(chosen)], too_long


def check_reruns(scope: Scope, draws: Sequence[Draw], say: Callable[[str], None]) -> Check:
    """Compute drawn folds again, and compare predictions and scores."""
    check = Check("reruns", "Does computing it again give the same predictions and scores?")
    check.compared.append(
        f"the digest of predictions, every score to {DIGITS} digits, parameters, seed, numbers of "
        "rows, and the digests of data and folds"
    )
    check.compared.append(
        "where the record is of another kind of processor and the bits differ, every score within "
        f"{PROCESSOR_TOLERANCE:g} of the record's; a training in single precision, which enlarges "
        f"such bits, is not seen while its scores are within {SEEDS_APART} standard "
        "deviations over folds"
    )
    for number, one in enumerate(draws, start=1):
        say(f"rerun {number}/{len(draws)}: {one.name}")
        with check.of(one.name, one.command):
            _rerun(scope, one, check)
    return check


def _rerun(scope: Scope, one: Draw, check: Check) -> None:
    with tempfile.TemporaryDirectory(prefix="ldlrepro-audit-") as folder:
        desk = Path(folder)
        os.symlink(scope.workspace.data.absolute(), desk / "data")
        (desk / "results").mkdir()
        folds = scope.workspace.results.absolute() / "folds"
        folds.mkdir(parents=True, exist_ok=True)
        os.symlink(folds, desk / "results" / "folds")
        arguments = [*one.command.split()[1:], "--seed", str(scope.seed)]
        found = subprocess.run(
            [sys.executable, "-m", "ldlrepro.cli", *arguments],
            cwd=desk,
            env={**os.environ, ROOT: str(scope.project.root)},
            capture_output=True,
            text=True,
        )
        path = Chunk(one.unit, one.position, one.position).record(desk / "results")
        if not path.is_file():
            last = found.stderr.strip().splitlines()[-1:] or ["no message"]
            if found.returncode == REFUSED:
                check.skip(one.name, last[0], one.command)
            else:
                said = f"the run ended with {found.returncode}: {last[0]}"
                check.judge(one.name, said, one.command)
            return
        new = records.read_rows(path)[0]
        if new.status == records.UNAVAILABLE:
            check.skip(one.name, new.error, one.command)
        elif new.status != records.OK:
            said = f"the run {new.status}: {new.error.strip().splitlines()[-1]}"
            check.judge(one.name, said, one.command)
        else:
            judge = Judge(scope.plan, Workspace(desk / "results", desk / "data"))
            again = judge.scorer.score(one.unit, {path: [new]})
            today = current_digests(one.unit, scope.project)
            facts, processors = [*_other_facts(one, new)], _by_processor(one, new, today)
            if processors:
                numbers = [*_other_scores(one, again, PROCESSOR_TOLERANCE)]
            elif new.predictions_sha256 == one.row.predictions_sha256:
                numbers = [*_other_scores(one, again)]
            else:
                P = records.read_predictions(path)[new.repeat, new.fold]
                numbers = [*filter(None, [_difference(one, new, P, today)])]
            if processors and not facts and not numbers:
                check.note(one.name, processors, one.command)
            elif processors and not facts and is_enlarged(one.scored, one.position, again):
                told = f"{processors}, which the training enlarged; run it on such a processor"
                check.skip(one.name, told, one.command)
            else:
                check.judge(one.name, "; ".join([*facts, *numbers]), one.command)


def _other_facts(one: Draw, new: FoldRow) -> Iterator[str]:
    then, now = _facts(one.row), _facts(new)
    for name in sorted(then | now):
        if then.get(name) != now.get(name):
            yield f"{name} is {now.get(name)}, the record has {then.get(name)}"


def _facts(row: FoldRow) -> dict[str, str]:
    """Return facts as text, because a parameter may be NaN, which equals nothing.

    Threads are left out, because they differ on purpose.
    """
    params = {f"params.{key}": value for key, value in row.params.items() if key != "n_jobs"}
    facts = params | {name: getattr(row, name) for name in FACTS}
    return {name: json.dumps(value, sort_keys=True) for name, value in facts.items()}


def _other_scores(one: Draw, again: UnitScores, tolerance: float = 0.0) -> Iterator[str]:
    """Yield scores that differ by more than a relative tolerance, or in any digit without one."""
    same = partial(math.isclose, rel_tol=tolerance) if tolerance else same_digits
    ours = {*metrics.BETTER, *metrics.LABEL_BETTER, *metrics.AGE_BETTER} & set(again.scores)
    for name in sorted(ours | set(one.scored.scores)):
        old = one.scored.scores[name][one.position] if name in one.scored.scores else None
        now = again.scores[name][0] if name in again.scores else None
        if old is None or now is None or not same(old, now):
            yield f"{name} is {now}, the record has {old}"


def _by_processor(one: Draw, new: FoldRow, today: Mapping[str, set[str]]) -> str:
    """Name both processors where only they can explain the difference; else ''."""
    old = one.row
    then, now = old.machine.get("cpu"), new.machine.get("cpu")
    another_reason = (
        new.predictions_sha256 == old.predictions_sha256
        or then == now
        or old.machine.get("gpu")
        or new.versions != old.versions
        or set(differing(old, today)) - {"lock file"}
    )
    return "" if another_reason else f"other bits on {now} than on {then}"


def is_enlarged(record: UnitScores, position: int, again: UnitScores) -> bool:
    """Tell whether different last bits may explain a fold's new scores.

    A long training in single precision turns them into what another seed would give. So its scores
    may be as far from the record's as those of two seeds, and no farther. That does not prove the
    record right.
    """
    params = record.rows[position].params
    if params.get("dtype") != "float32" and "mixed_precision" not in params:
        return False
    for name, values in record.scores.items():
        apart = abs(again.scores[name][0] - values[position])
        if len(values) < 2 or not apart <= SEEDS_APART * np.std(values, ddof=1):
            return False
    return True


def same_digits(old: float, new: float) -> bool:
    """Tell whether two numbers agree in the digits of the reference.

    Sums on other processors may differ in the last bit.
    """
    near = (new, new * (1 - 1e-14), new * (1 + 1e-14))
    return f"{old:.{DIGITS}g}" in {f"{value:.{DIGITS}g}" for value in near}


def _difference(one: Draw, new: FoldRow, P: np.ndarray, today: Mapping[str, set[str]]) -> str:
    """Describe predictions whose digests differ; return '' for a GPU's that are near enough."""
    old = one.row
    parts = [f"another {name}" for name in differing(old, today)]
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
