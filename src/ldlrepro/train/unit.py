"""Runs a unit: every fold of a chunk, saved when it finishes, resumed after a kill.

Finished folds go to a journal beside the results. It is not an output of the Snakemake rule,
because Snakemake deletes the outputs of a failed job. The name of a journal holds a digest of
everything that decides the numbers, so a fold from other code is never reused. Journals outlive the
unit; they are removed when the paper is compared. Where the folds of a unit have been cut into
other chunks since, finished folds come from the old records.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ldl.watch import watched_by
from ldlrepro.catalogue import digests
from ldlrepro.core import numerics
from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.errors import UserError, damage_told
from ldlrepro.core.files import atomically
from ldlrepro.core.seeds import seed_for
from ldlrepro.core.workspace import DATA, id_of_weights
from ldlrepro.data import Dataset, DataUnavailable, load_ready
from ldlrepro.data.pixels import load_pixels
from ldlrepro.folds.splits import Fold, folds_digest, read_folds
from ldlrepro.plan import Chunk, Unit
from ldlrepro.train import cards, provenance, records, selection
from ldlrepro.train.long_training import CURVES, FoldName, FoldWatch
from ldlrepro.train.records import FAILED, OK, UNAVAILABLE, FoldRow, last_line

Say = Callable[[str], None]
# Errors of the machine, not of the method: the job fails and is tried again with more.
MACHINE_ERRORS = (MemoryError, OSError)
# Facts that decide a fold's numbers, besides the seed.
DECIDING = ("data_sha256", "folds_sha256", "spec_sha256", "code_sha256", "versions")


@dataclass(frozen=True)
class UnitJob:
    """The files and settings of a chunk of a unit."""

    chunk: Chunk
    ready: Path
    folds: Path
    record: Path
    journal: Path
    """The unit's folder of finished folds."""
    seed: int
    threads: int = 1
    fresh: bool = False
    """Compute every fold, whatever the journal holds."""
    tracking_uri: str = ""
    """Where runs are tracked. A server gets loss curves while they grow."""
    since: float = 0.0
    """Process age when this chunk began; the first also counts interpreter start."""


def run_unit(job: UnitJob, say: Say = lambda line: None) -> list[FoldRow]:
    """Compute the folds that the journal lacks, write the record, return its rows."""
    unit = job.chunk.unit
    common = _provenance(job)
    try:
        data = load_ready(job.ready)
        X, pixels_sha256 = features(unit, job.ready, data)
        begun_with = _begun_with(unit)
        folds, folds_sha256 = _chunk_folds(job, data.fingerprint["data_sha256"])
        with cards.held(unit.resources.gpu, unit.key, say) as names:
            common |= {
                "data_sha256": data.fingerprint["data_sha256"],
                "folds_sha256": folds_sha256,
            }
            if names:
                common["machine"] = {**common["machine"], "gpu": ", ".join(names)}
            journal = _Journal(job.journal / _identity(job, common, pixels_sha256 + begun_with))
            # Records do not say which pixels they were made of.
            known = {} if job.fresh or pixels_sha256 else _recorded_elsewhere(job, common)
            work = _Work(job, X, data.D, folds, common)
            rows, predictions = _run_folds(work, journal, known, say)
    except (DataUnavailable, cards.NoCardError) as error:
        rows = [_unavailable(job, common, index, str(error)) for index in _positions(job.chunk)]
        predictions = {}
    records.write_record(job.record, rows, predictions)
    return rows


@dataclass(frozen=True)
class _Work:
    """Everything that the folds of a chunk are computed from."""

    job: UnitJob
    X: Any
    D: np.ndarray
    folds: list[Fold]
    common: Mapping[str, Any]
    """The part that the records of all folds share."""


def _run_folds(
    work: _Work,
    journal: _Journal,
    recorded: Mapping[tuple[int, int], tuple[FoldRow, np.ndarray]],
    say: Say,
) -> tuple[list[FoldRow], dict[tuple[int, int], np.ndarray]]:
    job = work.job
    unit = job.chunk.unit
    rows, predictions, busy = [], {}, 0.0
    for number, fold in enumerate(work.folds, start=1):
        saved, origin = recorded.get((fold.repeat, fold.fold)), "from another record"
        if saved is None and not job.fresh:
            saved, origin = journal.load(fold), "from the journal"
        if saved is None:
            name = FoldName(unit.key, fold.repeat, fold.fold)
            curves = job.record.parent / CURVES
            with FoldWatch(name, journal.folder, curves, job.fresh, job.tracking_uri, say) as watch:
                with watched_by(watch):
                    row, P = _run_one(work, fold)
                row.curve = watch.curve.last_fit()
                busy += row.fit_s + row.predict_s
                origin = f"fit {row.fit_s:.2f} s" if row.status == OK else last_line(row.error)
                if P is not None:
                    journal.save(row, P)
                watch.forget()
        else:
            row, P = saved
        rows.append(row)
        if P is not None:
            predictions[fold.repeat, fold.fold] = P
        say(f"{unit.key} fold {number}/{len(work.folds)} {row.status}, {origin}")
    mine = [row for row in rows if (row.repeat, row.fold) not in recorded]
    for row in mine:
        row.overhead_s = max(0.0, process_age() - job.since - busy) / len(mine)
    return rows, predictions


def features(unit: Unit, ready: Path, data: Dataset) -> tuple[Any, str]:
    """Return what the method reads: a table of features, or pixels and their digest.

    ``ready`` is the file of ``data``. Pixels lie beside it.
    """
    if not unit.method.needs.images:
        if data.X.shape[1] == 0:
            raise DataUnavailable(f"needs features: {data.id} has photographs only")
        return data.X, ""
    X, about = load_pixels(ready.with_name(f"{ready.stem}.pixels.npy"))
    if about["data_sha256"] != data.fingerprint["data_sha256"]:
        raise UserError(
            f"{X.path}: made for other rows than {ready} holds. Delete it and run snakemake "
            "again; it makes new pixels."
        )
    if unit.method.scaling != "none":
        raise UserError(f"{unit.method.id}: scaling: pixels are not scaled here; write none")
    return X, str(about["sha256"])


def _begun_with(unit: Unit) -> str:
    """Return the checksums of the weights that networks start from; '' where there are none."""
    from ldlrepro.data.weights import weights_facts

    return "".join(weights_facts(name, DATA)["sha256"] for name in unit.method.weights)


def _run_one(work: _Work, fold: Fold) -> tuple[FoldRow, np.ndarray | None]:
    job, unit = work.job, work.job.chunk.unit
    seed = seed_for(job.seed, *unit.ids, fold.repeat, fold.fold)
    row = FoldRow(
        *unit.ids,
        repeat=fold.repeat,
        fold=fold.fold,
        status=OK,
        seed=f"{seed:032x}",
        n_train=len(fold.train),
        n_test=len(fold.test),
        started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        **work.common,
    )
    result = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = selection.run_fold(
                unit.method,
                work.X,
                work.D,
                fold,
                select_by=unit.protocol.select_by,
                seed=seed,
                n_jobs=job.threads,
            )
        except MACHINE_ERRORS:
            raise
        except UserError as error:  # its text is for people, in one line as in tables
            row.status, row.error = FAILED, " ".join(str(error).split())
        except Exception:
            row.status, row.error = FAILED, traceback.format_exc()
    row.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if result is None:
        return row, None
    row.params, row.selection = result.params, result.selection
    if unit.method.weights and row.params["weights"]:  # where they lie differs between machines
        row.params = {**row.params, "weights": id_of_weights(row.params["weights"])}
    row.diagnostics = dict(result.diagnostics)
    elsewhere = row.diagnostics.pop("elsewhere", {})  # an estimator that runs another process
    if caught:
        row.diagnostics["warnings"] = sorted({str(w.message) for w in caught})[:5]
    row.fit_s, row.fit_cpu_s = result.fit_s, result.fit_cpu_s + elsewhere.get("fit_cpu_s", 0.0)
    row.predict_s = result.predict_s
    row.predict_cpu_s = result.predict_cpu_s + elsewhere.get("predict_cpu_s", 0.0)
    row.peak_mb += elsewhere.get("peak_mb", 0.0)
    row.predictions_sha256 = array_sha256(result.predictions)
    return row, result.predictions


def _chunk_folds(job: UnitJob, data_sha256: str) -> tuple[list[Fold], str]:
    """Return the folds of the chunk, and the digest of all folds of the protocol."""
    with damage_told(job.folds, f"Remove it and give the same command again:\n  rm {job.folds}"):
        folds, meta = read_folds(job.folds)
    if meta.get("data_sha256") != data_sha256:  # absent where the data were, too
        raise UserError(
            f"{job.folds}: made for other rows than {job.ready} holds. "
            f"Delete it and run snakemake again; it makes new folds."
        )
    last = len(folds) - 1 if job.chunk.last is None else job.chunk.last
    if last >= len(folds):
        raise UserError(
            f"{job.folds} holds folds 0-{len(folds) - 1}, so '{job.chunk.name}' asks for too many."
        )
    return folds[job.chunk.first : last + 1], folds_digest(folds)


def _positions(chunk: Chunk) -> list[int]:
    """Return a chunk's fold positions without data; a single one where their number is open."""
    return list(range(chunk.first, (chunk.last or 0) + 1))


def _unavailable(job: UnitJob, common: Mapping[str, Any], index: int, reason: str) -> FoldRow:
    unit = job.chunk.unit
    repeat, fold = divmod(index, unit.protocol.folds or 1)
    return FoldRow(
        *unit.ids,
        repeat=repeat,
        fold=fold,
        status=UNAVAILABLE,
        error=reason,
        **common,
    )


def _provenance(job: UnitJob) -> dict[str, Any]:
    unit = job.chunk.unit
    return {
        "spec_sha256": unit.spec_sha256,
        "code_sha256": digests.method_digest(unit.method),
        "lock_sha256": provenance.lock_digest(unit.method.project.root),
        "git_commit": provenance.git_commit(unit.method.project.root),
        "versions": provenance.versions(),
        "machine": {**provenance.machine(), "numerics": numerics.pin()},
        "threads": job.threads,
    }


def _identity(job: UnitJob, common: Mapping[str, Any], pixels_sha256: str) -> str:
    deciding = {key: common[key] for key in DECIDING}
    if pixels_sha256:
        deciding["pixels_sha256"] = pixels_sha256
    text = json.dumps({**deciding, "seed": job.seed}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _recorded_elsewhere(
    job: UnitJob, common: Mapping[str, Any]
) -> dict[tuple[int, int], tuple[FoldRow, np.ndarray]]:
    """Read folds from other records of the unit, whose chunks may be cut differently."""
    found = {}
    for path in sorted(job.record.parent.glob("folds_*.parquet")):
        other = Chunk.parse(job.chunk.unit, path.stem.removeprefix("folds_"))
        if path == job.record or not other.overlaps(job.chunk):
            continue
        try:
            rows, predictions = records.read_rows(path), records.read_predictions(path)
        except Exception:  # a damaged record of any kind is no record
            continue
        for row in rows:
            seed = seed_for(job.seed, *job.chunk.unit.ids, row.repeat, row.fold)
            same = all(getattr(row, key) == common[key] for key in DECIDING)
            P = predictions.get((row.repeat, row.fold))
            if P is None or row.status != OK or row.seed != f"{seed:032x}" or not same:
                continue
            if array_sha256(P) == row.predictions_sha256:
                found[row.repeat, row.fold] = row, P
    return found


def process_age() -> float:
    """Return the seconds since this process started, including interpreter start."""
    try:
        # Field 22 counts clock ticks since boot; psutil would add the boot time in whole seconds.
        started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):
        import psutil

        return time.time() - psutil.Process().create_time()


class _Journal:
    """Finished folds of one chunk, one file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, row: FoldRow, predictions: np.ndarray) -> None:
        text = np.array(json.dumps(asdict(row), sort_keys=True, default=str))

        def write(temporary: Path) -> None:
            with open(temporary, "wb") as handle:
                np.savez(handle, row=text, predictions=predictions)

        atomically(self._path(row.repeat, row.fold), write)

    def load(self, fold: Fold) -> tuple[FoldRow, np.ndarray] | None:
        """Load a saved fold whose predictions still match their digest; None otherwise."""
        path = self._path(fold.repeat, fold.fold)
        if not path.is_file():
            return None
        try:
            with np.load(path, allow_pickle=False) as stored:
                row = FoldRow(**json.loads(str(stored["row"])))
                predictions = stored["predictions"]
        except Exception:  # a damaged file of any kind is computed again
            return None
        intact = array_sha256(predictions) == row.predictions_sha256
        return (row, predictions) if intact else None

    def _path(self, repeat: int, fold: int) -> Path:
        return self.folder / f"r{repeat:03d}_f{fold:03d}.npz"
