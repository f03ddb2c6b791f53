"""Makes folds: index arrays, made once for each protocol and data set and shared by all methods.

scikit-learn's splitters draw from other generators, which would change every fold. Without the
drawing, each scheme is one line of NumPy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ldlrepro.catalogue import Protocol
from ldlrepro.core.checksums import array_sha256
from ldlrepro.core.errors import UserError
from ldlrepro.core.files import write_npz
from ldlrepro.core.seeds import rng_for

Part = tuple[int, int, np.ndarray, np.ndarray]
"""Repeat, fold, tested rows, and the rows that the next fold of the repeat tests."""


@dataclass(frozen=True)
class Fold:
    """Row indices of one fold. ``validation`` is a part of ``train``, or empty."""

    repeat: int
    fold: int
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray

    @property
    def fitting(self) -> np.ndarray:
        """Training rows without the validation rows. Candidates are fitted on these."""
        return np.setdiff1d(self.train, self.validation)


def make_folds(
    protocol: Protocol,
    n: int,
    seed_parts: tuple[object, ...],
    groups: np.ndarray | None = None,
    given: list[Part] | None = None,
) -> list[Fold]:
    """Make all folds of a protocol on ``n`` rows, deterministically in ``seed_parts``.

    ``given`` are tested rows that somebody else has drawn.
    """
    if given is not None:
        parts = given
    elif protocol.scheme == "kfold":
        if not protocol.shuffle and protocol.repeats > 1 and not protocol.noise_of:
            raise UserError(
                "shuffle: false makes the same folds each time; leave out `repeats`, or say with "
                "`repeats_of` whose methods get other seeds"
            )
        starts = _starts(n, protocol.folds or 0, protocol.fold_size)
        parts = list(_kfold(n, starts, protocol.repeats, protocol.shuffle, seed_parts))
    elif protocol.scheme == "shuffle_split":
        share = protocol.train_share or 0.0
        parts = list(_shuffle(n, share, protocol.repeats, seed_parts))
    else:
        parts = list(_whole_groups(groups, protocol.folds, protocol.repeats, seed_parts))
    validation = protocol.validation
    if validation == "next_fold" and protocol.scheme != "kfold":
        raise UserError("validation: next_fold needs scheme: kfold; take holdout or none")
    folds = []
    for repeat, number, test, following in parts:
        train = np.setdiff1d(np.arange(n), test)
        if len(train) == 0:
            raise UserError("all rows belong to one person: leaving it out leaves none to train on")
        held = np.array([], dtype=np.int64)
        if validation == "next_fold":
            held = following
        elif validation == "holdout":
            size = max(1, round(len(train) * protocol.validation_share))
            rng = rng_for(*seed_parts, "validation", repeat, number)
            held = np.sort(rng.choice(train, size=size, replace=False))
        if len(held) == len(train):
            raise UserError(
                f"validation: {validation} takes all {len(train)} training rows and leaves none to "
                "fit candidates on; ask for more folds or a smaller validation_share"
            )
        folds.append(Fold(repeat, number, train, held, test))
    return folds


_FOLD_SIZES: dict[str, Callable[[float], int]] = {
    "nearest": lambda size: int(size + 0.5),
    "down": int,
    "up": math.ceil,
}


def _starts(n: int, count: int, fold_size: str) -> np.ndarray:
    """Return where each fold after the first begins.

    With ``even``, the first folds get one more row each where ``count`` does not divide the rows.
    Otherwise each fold has the whole-number share, and the last fold takes the rest.
    """
    if n < count:
        raise UserError(f"{count} folds need at least {count} rows, there are {n}")
    if fold_size == "even":
        return np.cumsum([n // count + (fold < n % count) for fold in range(count - 1)])
    starts = np.arange(1, count) * _FOLD_SIZES[fold_size](n / count)
    if starts[-1] >= n:
        raise UserError(f"fold_size: {fold_size} leaves no row of {n} to the last of {count} folds")
    return starts


def _kfold(
    n: int, starts: np.ndarray, repeats: int, shuffle: bool, seed_parts: tuple[object, ...]
) -> Iterator[Part]:
    for repeat in range(repeats):
        rows = np.arange(n)
        order = rng_for(*seed_parts, "kfold", repeat).permutation(n) if shuffle else rows
        tests = [np.sort(part) for part in np.split(order, starts)]
        for fold, test in enumerate(tests):
            yield repeat, fold, test, tests[(fold + 1) % len(tests)]


def _shuffle(
    n: int, train_share: float, repeats: int, seed_parts: tuple[object, ...]
) -> Iterator[Part]:
    n_train = round(n * train_share)
    if not 0 < n_train < n:
        raise UserError(f"train_share {train_share} leaves an empty part of {n} rows")
    nothing = np.array([], dtype=np.int64)
    for repeat in range(repeats):
        order = rng_for(*seed_parts, "shuffle_split", repeat).permutation(n)
        yield repeat, 0, np.sort(order[n_train:]), nothing


def _whole_groups(
    groups: np.ndarray | None, count: int | None, repeats: int, seed_parts: tuple[object, ...]
) -> Iterator[Part]:
    """Leave out whole persons, one by one or in ``count`` bundles of equally many.

    The first repeat bundles persons in their order, the others in a drawn one.
    """
    if groups is None:
        raise UserError("leave_one_group_out needs a data set that says who each row belongs to")
    nothing = np.array([], dtype=np.int64)
    persons, number = np.unique(groups, return_inverse=True)
    for repeat in range(repeats):
        drawn = rng_for(*seed_parts, "groups", repeat).permutation(len(persons))
        place = drawn[number] if repeat else number
        bundles = place if count is None else place * count // len(persons)
        for fold in np.unique(bundles):
            yield repeat, int(fold), np.flatnonzero(bundles == fold), nothing


# ---------------------------------------------------------------------- files


def write_folds(path: Path, folds: list[Fold], meta: Mapping[str, Any]) -> None:
    """Write folds. ``meta`` must hold data_sha256, so that they are never used on other rows."""
    told = {**meta, **({"folds_sha256": folds_digest(folds)} if folds else {})}
    arrays: dict[str, np.ndarray] = {"meta": np.array(json.dumps(told, sort_keys=True))}
    for f in folds:
        name = name_of(f.repeat, f.fold)
        arrays[f"{name}_train"] = f.train
        arrays[f"{name}_validation"] = f.validation
        arrays[f"{name}_test"] = f.test
    write_npz(path, arrays, compressed=True)


def read_folds(path: Path) -> tuple[list[Fold], dict[str, Any]]:
    """Read what ``write_folds`` wrote: folds and their description.

    Every read refuses folds that leak and indices that were changed.
    """
    with np.load(path, allow_pickle=False) as stored:
        meta = json.loads(str(stored["meta"]))
        names = {key.rpartition("_")[0] for key in stored.files if key != "meta"}
        folds = [
            Fold(
                *numbers_of(name),
                stored[f"{name}_train"],
                stored[f"{name}_validation"],
                stored[f"{name}_test"],
            )
            for name in sorted(names, key=numbers_of)
        ]
    problem = next(filter(None, map(_leak, folds)), "")
    if not problem and folds and folds_digest(folds) != meta["folds_sha256"]:
        problem = "its indices were changed since they were drawn; they have another digest"
    if problem:
        raise UserError(
            f"{path}: {problem}. No unit runs or is scored on them. Remove the file and give the "
            f"same command again:\n  rm {path}"
        )
    return folds, meta


def _leak(fold: Fold) -> str:
    """Name test rows in training, and validation rows outside it; '' where there are none."""
    name = f"repeat {fold.repeat}, fold {fold.fold}"
    if shared := int(np.isin(fold.test, fold.train).sum()):
        return f"{name} trains on {shared} of its {len(fold.test)} test rows"
    if outside := int(np.isin(fold.validation, fold.train, invert=True).sum()):
        return f"{name} has {outside} validation rows that are not training rows"
    return ""


def name_of(repeat: int, fold: int) -> str:
    """Return the name of a fold in files."""
    return f"r{repeat:03d}_f{fold:03d}"


def numbers_of(name: str) -> tuple[int, int]:
    """Return repeat and fold. Either may exceed 999, for example with one fold for each person."""
    repeat, fold = name.split("_")
    return int(repeat[1:]), int(fold[1:])


def folds_digest(folds: list[Fold]) -> str:
    """Return a digest of the indices alone. The same folds have the same digest in any file."""
    joined = [
        np.concatenate(
            [[f.repeat, f.fold, len(f.train), len(f.validation)], f.train, f.validation, f.test]
        )
        for f in folds
    ]
    return array_sha256(np.concatenate(joined).astype(np.int64))


def folds_seed(seed: int, protocol_id: str, dataset: str) -> tuple[object, ...]:
    """Return the parts of the seed that folds are drawn with."""
    return (seed, "folds", protocol_id, dataset)
